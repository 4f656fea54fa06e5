"""Scales of channels that move from one product to the next: what both compute stays what it was."""

from collections.abc import Collection, Iterable

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given


def is_named(names: Collection[str], *nodes: Node) -> bool:
    """Whether weights, biases or outputs of nodes are among the names."""
    return any(value in names for node in nodes for value in (*node.inputs[1:], *node.outputs))


def own_constants(graph: Graph, nodes: Iterable[Node]) -> None:
    """Weights that other nodes read too are copied: those must not change."""
    for node in nodes:
        for place in (1, 2):
            value = given(node.inputs, place)
            if value and len(graph.consumers(value)) > 1:
                twin = graph.add_constant(graph.fresh_name(value), graph.constants[value], of=value)
                graph.set_input(node, place, twin)


def scale_out(graph: Graph, node: Node, factor: Array) -> None:
    """Scales the output channels, and what is known of their distribution."""
    _multiply(graph, node.inputs[1], factor[:, None] if node.op.has_rows else factor)
    bias = given(node.inputs, 2)
    if bias:
        _multiply(graph, bias, factor)
    for name in ("gamma", "beta"):
        if name in node.notes:
            node.notes[name] = node.notes[name] * factor


def scale_in(graph: Graph, node: Node, factor: Array) -> None:
    """Scales the weights of each input channel."""
    is_last = node.op.is_depthwise or node.op.has_rows
    _multiply(graph, node.inputs[1], factor if is_last else factor[:, None])


def _multiply(graph: Graph, value: str, factor: Array) -> None:
    array = graph.constants[value]
    graph.constants[value] = (array * factor).astype(array.dtype)
