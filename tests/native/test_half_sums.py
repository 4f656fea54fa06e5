"""Sums of few channels in half precision: exact where their axis goes away, held where it stays."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.reduce import ReduceSum
from tests.native.equality import emulate

PLACES = (1, 16, 100)


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_few_channels_are_added_as_the_emulator_does(count: int, keeps: bool) -> None:
    graph, made = Graph("g"), (*PLACES, 1) if keeps else PLACES
    graph.add_input("x", TensorType((*PLACES, count), DType.FLOAT_16))
    op = ReduceSum(axes=(len(PLACES),), keep_dims=keeps)
    graph.add(Node("n", op, ["x"], ["y"]), [TensorType(made, DType.FLOAT_16)])
    graph.outputs = ["y"]
    feed = {"x": np.random.default_rng(0).normal(size=(*PLACES, count)).astype(np.float16)}
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)["y"]
    (found,) = emulate([graph], [feed])
    assert np.array_equal(simulated, found["y"])
