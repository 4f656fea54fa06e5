import numpy as np
import pytest

from edgewright.analyse.comparison_points import align_layout, list_comparison_points
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu, Tanh
from edgewright.ops.rearrange import Reshape, Transpose


def chain(*ops):
    """x -> v0 -> v1 ..."""
    graph = Graph()
    value = graph.add_input("x", TensorType((1, 2, 4, 3), DType.FLOAT_32))
    for place, op in enumerate(ops):
        graph.add(Node(f"n{place}", op, [value], [f"v{place}"]))
        value = f"v{place}"
    graph.outputs = [value]
    return graph


def spots(graph):
    return [(spot.value, spot.op) for spot in list_comparison_points(graph, graph)]


def test_moves_of_data_have_no_figures_of_their_own():
    assert spots(chain(Transpose(perm=(0, 3, 1, 2)), Tanh(), Reshape(shape=(24,)))) == [("v1", "Tanh")]


def test_an_activation_is_measured_with_the_op_before_it_also_behind_a_reshape():
    assert spots(chain(Tanh(), Reshape(shape=(4, 6)), Relu())) == [("v2", "Tanh + Relu")]


def test_what_another_op_reads_too_is_measured_for_itself():
    graph = chain(Tanh(), Relu())
    graph.outputs = ["v0", "v1"]
    assert spots(graph) == [("v0", "Tanh"), ("v1", "Relu")]


@pytest.mark.parametrize(("made", "expected"), [((1, 4, 5, 3), (1, 3, 4, 5)), ((1, 3, 4, 5), (1, 4, 5, 3))])
def test_channels_are_brought_to_where_the_other_graph_has_them(made, expected):
    array = np.arange(60.0).reshape(made)
    moved = align_layout(array, expected)
    assert moved.shape == expected
    axes = (made.index(3), expected.index(3))
    np.testing.assert_array_equal(moved.take(1, axes[1]), array.take(1, axes[0]))


def test_values_of_other_shapes_are_not_compared():
    source, other = chain(Tanh()), chain(Tanh())
    other.types["v0"] = TensorType((1, 2, 4, 4), DType.FLOAT_32)
    assert list_comparison_points(source, other) == []
    other.types["v0"] = TensorType((1, 3, 2, 4), DType.FLOAT_32)
    assert [spot.value for spot in list_comparison_points(source, other)] == ["v0"]
