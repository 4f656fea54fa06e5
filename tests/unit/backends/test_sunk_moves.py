"""Moves that sink below functions of single elements: nothing that knows axes goes before them."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.activation import Sigmoid
from edgewright.ops.elementwise import ElementWiseSelect
from edgewright.ops.norm import L2Norm
from edgewright.ops.rearrange import Reshape
from edgewright.ops.rearrange_slice import StridedSlice

FLIP = StridedSlice(ranges=((3, -1, -1), (3, -1, -1)))


def make_choice(op, shape, moved):
    """A reshaped value, an op of it, and a choice between that and another value."""
    graph = Graph("g")
    graph.add_input("x", TensorType(shape))
    graph.add_input("c", TensorType((1,), DType.BOOL_8))
    graph.add_input("z", TensorType(moved))
    graph.add(Node("r", Reshape(shape=moved), ["x"], ["r"]))
    graph.add(Node("n", op, ["r"], ["n"]))
    graph.add(Node("y", ElementWiseSelect(), ["c", "n", "z"], ["y"]))
    graph.outputs = ["y"]
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    return graph, {"x": x, "c": np.array([True]), "z": np.zeros(moved, np.float32)}


@pytest.mark.parametrize(
    ("op", "shape", "moved"),
    [
        (L2Norm(axes=(0, 1)), (2, 3, 4), (6, 4)),
        (FLIP, (2, 8), (4, 4)),
        (Sigmoid(), (2, 3, 4), (6, 4)),
    ],
    ids=("norm", "flip", "sigmoid"),
)
def test_what_knows_axes_stays_behind_the_move(op, shape, moved):
    graph, feed = make_choice(op, shape, moved)
    found = find_backend("cpu").prepare(graph, RunOptions()).run(feed)["y"]
    np.testing.assert_allclose(found, reference.run(graph, feed)["y"], rtol=1e-5, atol=1e-6)


def test_what_a_move_made_can_be_asked_for():
    graph, feed = make_choice(Sigmoid(), (2, 3, 4), (6, 4))
    found = find_backend("cpu").prepare(graph, RunOptions(extra_outputs=("r",))).run(feed)
    np.testing.assert_array_equal(found["r"], feed["x"].reshape(6, 4))
