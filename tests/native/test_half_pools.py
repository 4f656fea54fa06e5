"""Means of the places around each in half precision, in images that are smaller than the window."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.pool import PoolAvg2d
from tests.native.equality import emulate

AROUND = ((1, 1), (1, 1))


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (1, 9), (2, 16), (7, 2), (3, 3)])
def test_means_of_what_is_around_are_those_of_the_emulator(size: tuple[int, int]) -> None:
    kind, graph = TensorType((2, *size, 64), DType.FLOAT_16), Graph("g")
    graph.add_input("x", kind)
    op = PoolAvg2d(filter_size=(3, 3), stride=(1, 1), pad_amount=AROUND, count_pad_for_edges=False)
    graph.add(Node("n", op, ["x"], ["y"]), [kind])
    graph.outputs = ["y"]
    feed = {"x": np.random.default_rng(0).normal(size=kind.static_shape()).astype(np.float16)}
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)["y"]
    (found,) = emulate([graph], [feed])
    assert np.array_equal(simulated, found["y"])
