"""Ops that the library computes in its own way: the simulation does the same."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp.library_kernels import KERNELS
from edgewright.backends.registry import find_backend
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.reduce_order import TopK
from tests.backend.op_types import list_rows, try_row

NAMES = [kind.qnn_name() for kind in KERNELS]
# These mean the same; only their rounding is the library's own.
ROUNDED = {"Convert", "LayerNorm", "PoolAvg2d", "ReduceMean", "ReduceSum", "ResizeBilinear", "Softmax"}
OTHER_MEANINGS = [name for name in NAMES if name not in ROUNDED]


@pytest.mark.parametrize("name", NAMES)
def test_the_emulator_gives_what_the_simulation_gives(name):
    words = {try_row(name, row, "htp-native").word for row in list_rows(name, "HTP")}
    assert words <= {"equal", "refused"}
    assert "equal" in words


@pytest.mark.parametrize("name", OTHER_MEANINGS)
def test_that_is_not_what_the_op_means(name):
    assert "differs" in {try_row(name, row, "htp-sim").word for row in list_rows(name, "HTP")}


@pytest.mark.parametrize("largest", [True, False])
def test_equal_numbers_are_listed_from_the_last(largest):
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 8)))
    kinds = [TensorType((1, 8)), TensorType((1, 8), DType.INT_32)]
    graph.add(Node("n", TopK(k=8, largest=largest), ["x"], ["y", "places"]), kinds)
    graph.outputs = ["y", "places"]
    feed = {"x": np.asarray([[0, 5, 5, 3, 5, 0, 0, 3]], np.float32)}
    expected = [4, 2, 1, 7, 3, 6, 5, 0] if largest else [6, 5, 0, 7, 3, 4, 2, 1]
    for backend in ("htp-sim", "htp-native"):
        found = find_backend(backend).prepare(graph, RunOptions(threads=1)).run(feed)
        assert found["places"].tolist() == [expected]
