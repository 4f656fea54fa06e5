"""Leaves out operands of a Concat that have no elements, which no artifact can hold."""

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Concat
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def drop_empty_parts(graph: Graph) -> int:
    """A part of size 0, such as the features that a rotary embedding leaves as they are, adds nothing."""
    return rewrite_each(graph, _drop)


def _drop(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, Concat):
        return False
    kept = [value for value in node.inputs if 0 not in graph.types[value].shape]
    if not kept or len(kept) == len(node.inputs):
        return False
    types = graph.output_types(node)
    graph.remove(node)
    graph.add(Node(node.name, node.op, kept, node.outputs, node.source, (), node.notes), types)
    return True
