"""Inputs that are left out: at the end they vanish from the records, before others they keep their place."""

import numpy as np
import pytest

from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.lower.lower import SOURCE_ORDERS, lower
from edgewright.ops.matmul import FullyConnected


@pytest.mark.parametrize("inputs", [["x", "w"], ["x", "w", ""]])
def test_inputs_left_out_at_the_end_are_not_written(inputs):
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 4)))
    graph.add_constant("w", np.ones((3, 4), np.float32))
    graph.add(Node("n", FullyConnected(), inputs, ["y"]))
    graph.outputs = ["y"]
    (node,) = lower(graph).nodes
    assert list(node.inputs) == ["x", "w"]


@pytest.mark.parametrize(
    ("layout", "shape"), [("NFC", (2, 5, 3)), ("NHWC", (2, 5, 6, 3)), ("NDHWC", (2, 5, 6, 7, 3))]
)
def test_the_order_of_a_source_puts_channels_behind_the_batch(layout, shape):
    order = SOURCE_ORDERS[layout]
    assert sorted(order) == list(range(len(shape)))
    assert [shape[axis] for axis in order] == [2, 3, *shape[1:-1]]
