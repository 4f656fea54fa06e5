"""Records that contradict themselves are refused with the place, whatever file they came from."""

from dataclasses import replace

import pytest

from edgewright.core.errors import BadInput
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.lower.lift import lift
from edgewright.lower.lower import lower
from edgewright.lower.qnn_graph import QnnGraph, TensorKind
from edgewright.ops.matmul import MatMul


def records() -> QnnGraph:
    graph = Graph("g")
    for name in ("a", "b"):
        graph.add_input(name, TensorType((3, 3)))
    graph.add(Node("n", MatMul(), ["a", "b"], ["y"]))
    graph.outputs = ["y"]
    return lower(graph)


def test_a_tensor_that_nobody_makes_is_named() -> None:
    stored = records()
    tensors = {**stored.tensors, "b": replace(stored.tensors["b"], kind=TensorKind.NATIVE)}
    with pytest.raises(BadInput, match="no node before computes it") as caught:
        lift(replace(stored, tensors=tensors))
    assert "tensor 'b'" in str(caught.value)


def test_a_node_with_too_few_inputs_is_named() -> None:
    stored = records()
    with pytest.raises(BadInput, match="do not fit the op") as caught:
        lift(replace(stored, nodes=[replace(stored.nodes[0], inputs=("a",))]))
    assert "node 'n'" in str(caught.value)
