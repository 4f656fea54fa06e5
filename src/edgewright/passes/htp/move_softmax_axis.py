"""Moves the axis of a softmax to the end: HTP computes along the last one only."""

from dataclasses import replace

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Transpose
from edgewright.ops.reduce_softmax import LogSoftmax, Softmax
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def move_softmax_axis(graph: Graph) -> int:
    """A transpose before and its inverse behind."""
    return rewrite_each(graph, _move)


def _move(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, Softmax | LogSoftmax):
        return False
    x, result = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    last = x.rank - 1
    axis = node.op.axis_of(x.rank)
    if axis == last:
        return False
    order = list(range(x.rank))
    order[axis], order[last] = last, axis
    before, behind = graph.fresh_name(node.inputs[0]), graph.fresh_name(node.outputs[0])
    graph.remove(node)
    _transpose(graph, node, order, node.inputs[0], before)
    op = replace(node.op, axis=last)
    graph.add(Node(node.name, op, [before], [behind], node.source), [result.permuted(order)])
    _transpose(graph, node, order, behind, node.outputs[0])
    graph.types[node.outputs[0]] = result
    return True


def _transpose(graph: Graph, node: Node, order: list[int], source: str, result: str) -> None:
    """A swap of two axes is its own inverse."""
    moved = graph.types[source].permuted(order)
    name = graph.fresh_name(f"{node.name}_transpose")
    graph.add(Node(name, Transpose(perm=tuple(order)), [source], [result]), [moved])
