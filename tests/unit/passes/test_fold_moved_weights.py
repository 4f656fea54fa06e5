"""Weights that are stored as integers are moved as such, and keep their encodings."""

import numpy as np
import pytest

import edgewright.passes.pipeline  # noqa: F401 - registers the passes
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ir.verify import verify
from edgewright.ops import reference
from edgewright.ops.quant import Dequantize
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.graph_pass import PASSES

WHOLE = Encoding((0.5,), (3,))
PER_ROW = Encoding((0.5, 0.25), (0, 1), axis=0)
PER_COLUMN = Encoding((0.5, 0.25, 2.0), (0, 1, 2), axis=1)


def moved_weights(op: Op, encoding: Encoding) -> Graph:
    graph = Graph()
    stored = np.arange(-12, 12, dtype=np.int8).reshape(2, 3, 4)
    graph.add_constant("w", stored, TensorType(stored.shape, DType.SFIXED_POINT_8, encoding=encoding))
    graph.add(Node("decode", Dequantize(encoding=encoding), ["w"], ["real"]))
    graph.add(Node("move", op, ["real"], ["y"]))
    graph.outputs = ["y"]
    return graph


@pytest.mark.parametrize("encoding", [WHOLE, PER_ROW, PER_COLUMN])
@pytest.mark.parametrize("op", [Transpose(perm=(2, 0, 1)), Reshape(shape=(2, 3, 1, 4))])
def test_a_move_of_decoded_weights_moves_the_integers(op: Op, encoding: Encoding) -> None:
    graph = moved_weights(op, encoding)
    expected = reference.run(graph, {})["y"]
    assert PASSES["fold_moved_weights"](graph) == 1
    verify(graph)
    assert [type(node.op) for node in graph.nodes] == [Dequantize]
    assert list(graph.constants) == [graph.nodes[0].inputs[0]]
    assert graph.source_names[graph.nodes[0].inputs[0]] == "w"
    np.testing.assert_array_equal(reference.run(graph, {})["y"], expected)


def test_a_reshape_that_breaks_the_axis_of_the_encoding_stays() -> None:
    graph = moved_weights(Reshape(shape=(6, 4)), PER_COLUMN)
    assert PASSES["fold_moved_weights"](graph) == 0


def test_decoded_weights_that_others_read_too_stay_as_they_are() -> None:
    graph = moved_weights(Transpose(perm=(2, 0, 1)), WHOLE)
    graph.outputs.append("real")
    assert PASSES["fold_moved_weights"](graph) == 1
    assert sorted(graph.constants["w"].shape) == [2, 3, 4]
    assert [type(node.op) for node in graph.nodes] == [Dequantize, Dequantize]
