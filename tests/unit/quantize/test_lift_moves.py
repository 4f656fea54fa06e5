"""Integers that were moved between Quantize and Dequantize: the pair is found all the same."""

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.activation import Relu
from edgewright.ops.cast import Cast
from edgewright.ops.quant import Dequantize, Quantize
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.quantize.lift_moves import lift_moves
from edgewright.quantize.source_encodings import take_source_encodings

STEP = Encoding((0.5,), (-3,), None, 8)
MOVES = {
    "none": [],
    "transpose": [Transpose(perm=(1, 0))],
    "reshape": [Reshape(shape=(6,))],
    "both": [Transpose(perm=(1, 0)), Reshape(shape=(3, 2))],
}


def moved(moves, last=STEP, dtype=DType.UINT_8):
    """Quantize, plain integers, moves, fixed point again, Dequantize, Relu."""
    graph = Graph("g")
    graph.add_input("x", TensorType((2, 3)))
    ops = [Quantize(dtype=DType.UFIXED_POINT_8, encoding=STEP), Cast(dtype=dtype), *moves]
    ops += [Cast(dtype=DType.UFIXED_POINT_8, encoding=last), Dequantize(encoding=last), Relu()]
    value = "x"
    for number, op in enumerate(ops):
        graph.add(Node(f"n{number}", op, [value], [f"v{number}"]))
        value = f"v{number}"
    graph.outputs = [value]
    return graph


def kinds(graph):
    return [node.op.qnn_name() for node in graph.nodes]


@pytest.mark.parametrize("name", MOVES)
def test_moves_come_after_the_pair_and_the_meaning_stays(name):
    graph = moved(MOVES[name])
    feed = {"x": np.array([[-1.0, 0.3, 2.2], [100.0, -9.0, 5.6]], np.float32)}
    want = next(iter(reference.run(graph, feed).values()))
    lift_moves(graph)
    expected = ["Quantize", "Dequantize", *(op.qnn_name() for op in MOVES[name]), "Relu"]
    assert kinds(graph) == expected
    np.testing.assert_array_equal(next(iter(reference.run(graph, feed).values())), want)
    lift_moves(graph)
    assert kinds(graph) == expected


@pytest.mark.parametrize("name", MOVES)
def test_the_encoding_is_taken_and_nothing_of_the_pair_is_left(name):
    graph = moved(MOVES[name])
    (entry,) = take_source_encodings(graph)
    assert (entry.name, entry.scales, entry.offsets) == ("x", (0.5,), (-3,))
    assert kinds(graph) == [*(op.qnn_name() for op in MOVES[name]), "Relu"]


def test_another_encoding_behind_the_moves_is_another_meaning():
    graph = moved(MOVES["transpose"], last=Encoding((0.25,), (-3,), None, 8))
    before = kinds(graph)
    lift_moves(graph)
    assert kinds(graph) == before


def test_a_cast_that_changes_integers_is_left_alone():
    graph = moved(MOVES["transpose"], dtype=DType.INT_32)
    before = kinds(graph)
    lift_moves(graph)
    assert kinds(graph) == before
