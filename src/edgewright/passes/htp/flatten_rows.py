"""Writes FullyConnected without keep_dims, which HTP does not know, and a reshape."""

from dataclasses import replace

from edgewright.ir.graph import Graph, Node
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.rearrange import Reshape
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def flatten_rows(graph: Graph) -> int:
    """[..., in] makes [rows, out], and that is reshaped."""
    return rewrite_each(graph, _flatten)


def _flatten(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, FullyConnected) or not node.op.keep_dims:
        return False
    result = graph.types[node.outputs[0]]
    if not result.is_static:
        return False
    *rows, units = result.static_shape()
    count = 1
    for row in rows:
        count *= row
    flat = graph.fresh_name(node.outputs[0])
    graph.remove(node)
    rowwise = Node(node.name, FullyConnected(), node.inputs, [flat], node.source, (), node.notes)
    graph.add(rowwise, [replace(result, shape=(count, units), layout=None)])
    op = Reshape(shape=result.static_shape())
    graph.add(Node(graph.fresh_name(f"{node.name}_reshape"), op, [flat], [node.outputs[0]]), [result])
    return True
