"""Puts a Convert behind ops that only move elements, where their output has another encoding."""

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import EncodingRule, Op
from edgewright.ops.quant import Convert
from edgewright.ops.resize import Resize, ResizeNearestNeighbor
from edgewright.ops.resize_axis import Interpolation
from edgewright.passes.graph_pass import graph_pass, rewrite_each

__all__ = ["one_encoding"]


@graph_pass()
def one_encoding(graph: Graph) -> int:
    """HTP keeps the stored integers of such ops, whatever the output's encoding says."""
    return rewrite_each(graph, _convert)


def _moves_elements(op: Op) -> bool:
    if isinstance(op, Resize):
        return op.interpolation_mode == Interpolation.NEAREST
    return op.encoding_rule == EncodingRule.SAME_AS_INPUT or isinstance(op, ResizeNearestNeighbor)


def _convert(graph: Graph, node: Node) -> bool:
    if not _moves_elements(node.op) or len(node.outputs) != 1:
        return False
    fixed = {
        (t.dtype, t.encoding) for t in graph.input_types(node) if t is not None and t.encoding is not None
    }
    result = graph.types[node.outputs[0]]
    if len(fixed) != 1 or result.encoding is None:
        return False
    ((dtype, encoding),) = fixed
    if (dtype, encoding) == (result.dtype, result.encoding) or encoding is None:
        return False
    name, kept = node.outputs[0], graph.fresh_name(node.outputs[0])
    graph.remove(node)
    inner = type(result)(result.shape, dtype, result.layout, encoding)
    graph.add(Node(node.name, node.op, node.inputs, [kept], node.source, node.subgraphs, node.notes), [inner])
    op = Convert(dtype=result.dtype, encoding=result.encoding, source=encoding)
    graph.add(Node(graph.fresh_name(f"{node.name}_convert"), op, [kept], [name]), [result])
    return True
