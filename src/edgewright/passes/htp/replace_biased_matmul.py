"""Writes a MatMul with constant weights and a bias as FullyConnected, whose channels may have scales."""

from edgewright.ir.graph import Graph, Node
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def replace_biased_matmul(graph: Graph) -> int:
    """HTP lets only one input of a MatMul have a scale for each channel, and the bias needs them too."""
    return rewrite_each(graph, _write)


def _write(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, MatMul) or node.op.transpose_in0 or not any(node.inputs[2:]):
        return False
    name, bias = node.inputs[1], node.inputs[2]
    kind = graph.types[name]
    if name not in graph.constants or bias not in graph.constants or kind.rank != 2 or kind.encoding is None:
        return False
    if graph.types[node.inputs[0]].rank < 2:
        return False
    if not node.op.transpose_in1:
        array = graph.constants[name].T
        name = graph.add_constant(graph.fresh_name(name), array, kind.permuted((1, 0)), of=name)
    types = graph.output_types(node)
    graph.remove(node)
    inputs = [node.inputs[0], name, bias]
    op = FullyConnected(keep_dims=True)
    graph.add(Node(node.name, op, inputs, node.outputs, node.source, (), node.notes), types)
    return True
