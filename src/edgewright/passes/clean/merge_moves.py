"""Makes one transpose of two, and one reshape of two."""

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def merge_moves(graph: Graph) -> int:
    """The second reads what the first read; the first goes when nobody else needs it."""
    return rewrite_each(graph, _merge)


def _merge(graph: Graph, node: Node) -> bool:
    before = graph.producer(node.inputs[0]) if node.inputs else None
    if before is None:
        return False
    if isinstance(node.op, Transpose) and isinstance(before.op, Transpose):
        order = tuple(before.op.perm[axis] for axis in node.op.perm)
        graph.set_input(node, 0, before.inputs[0])
        graph.replace_op(node, Transpose(perm=order))
    elif isinstance(node.op, Reshape) and isinstance(before.op, Reshape):
        graph.set_input(node, 0, before.inputs[0])
    else:
        return False
    if not graph.consumers(before.outputs[0]) and before.outputs[0] not in graph.outputs:
        graph.remove(before)
    return True
