"""Gives results the encodings that HTP's library wants, and converts them to their own."""

from dataclasses import replace

from edgewright.ir.graph import Graph, Node
from edgewright.ops.quant import Convert
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def give_wanted_encodings(graph: Graph) -> int:
    """The library takes no notice of other encodings, or refuses the op."""
    return rewrite_each(graph, _give)


def _give(graph: Graph, node: Node) -> bool:
    result = graph.types[node.outputs[0]] if len(node.outputs) == 1 else None
    encoding = node.op.specific().find_htp_encoding(result) if result is not None else None
    if result is None or encoding is None:
        return False
    name, made = node.outputs[0], graph.fresh_name(node.outputs[0])
    graph.remove(node)
    graph.add(
        Node(node.name, node.op, node.inputs, [made], node.source, node.subgraphs, node.notes),
        [replace(result, encoding=encoding)],
    )
    op = Convert(dtype=result.dtype, encoding=result.encoding, source=encoding)
    graph.add(Node(graph.fresh_name(f"{node.name}_convert"), op, [made], [name]), [result])
    return True
