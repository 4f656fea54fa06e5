"""Writes transposes that move nothing but axes of size 1 as reshapes, which cost nothing."""

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.layout.orders import is_view


@register_pass(after=("assign_layout",))
def transpose_to_reshape(graph: Graph) -> int:
    """[N,C,1,1] to [N,1,1,C] and the like."""
    return rewrite_each(graph, _rewrite)


def _rewrite(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, Transpose):
        return False
    tensor_type = graph.types[node.inputs[0]]
    has_axis_encoding = tensor_type.encoding is not None and tensor_type.encoding.axis is not None
    if has_axis_encoding or not is_view(tensor_type.shape, node.op.perm):
        return False
    stored = graph.types[node.outputs[0]]
    graph.replace_op(node, Reshape(shape=stored.shape))
    return True
