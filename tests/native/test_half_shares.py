"""Softmax in half precision: powers, their sums and what divides by them are those of the emulator."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.reduce_softmax import Softmax
from tests.native.equality import emulate

# Numbers of a row, and how far apart they are.
ROWS = ((2, 1.0), (5, 1.0), (17, 0.5), (64, 1.0), (128, 0.5), (300, 0.5))
# Sums of ones, so many of which lie next to where a share is rounded to another float.
TIGHT_COUNTS = (35, 70, 140)
MOST_DIFFERENT = 1e-4


@pytest.mark.parametrize(("width", "spread"), ROWS)
def test_shares_are_those_of_the_emulator(width: int, spread: float) -> None:
    random = np.random.default_rng(width)
    simulated, found = share_both(random.normal(0, spread, (1, 1, 100_000 // width, width)))
    assert np.mean(simulated != found) < MOST_DIFFERENT


def test_equal_numbers_are_added_in_the_order_of_the_emulator() -> None:
    random = np.random.default_rng(0)
    rows = np.full((len(TIGHT_COUNTS), 100, 192), -60000.0)
    for number, count in enumerate(TIGHT_COUNTS):
        for row in rows[number]:
            row[random.permutation(row.size)[:count]] = 0
    simulated, found = share_both(rows[None])
    assert np.array_equal(simulated, found)


def share_both(rows: Array) -> tuple[Array, Array]:
    graph, kind = Graph("g"), TensorType(rows.shape, DType.FLOAT_16)
    graph.add_input("x", kind)
    graph.add(Node("n", Softmax(), ["x"], ["y"]), [kind])
    graph.outputs = ["y"]
    feed = {"x": rows.astype(np.float16)}
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)["y"]
    (found,) = emulate([graph], [feed])
    return simulated, found["y"].reshape(rows.shape)
