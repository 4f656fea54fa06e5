"""Puts a Convert behind ops that only move elements, where their output has another encoding."""

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.gather_scatter import Reduction, ScatterElements, ScatterNd
from edgewright.ops.quant import Convert
from edgewright.ops.resize import Resize, ResizeNearestNeighbor
from edgewright.ops.resize_axis import Interpolation
from edgewright.passes.graph_pass import register_pass, rewrite_each

PUT_TOGETHER = frozenset({Reduction.NONE, Reduction.ADD})


@register_pass()
def convert_around_moves(graph: Graph) -> int:
    """HTP keeps the stored integers of such ops, whatever the output's encoding says."""
    return rewrite_each(graph, _convert) + rewrite_each(graph, _convert_before)


def _is_move(op: Op) -> bool:
    if isinstance(op, Resize):
        return op.interpolation_mode == Interpolation.NEAREST
    return op.keeps_encoding or isinstance(op, ResizeNearestNeighbor)


def _convert(graph: Graph, node: Node) -> bool:
    if not _is_move(node.op) or len(node.outputs) != 1:
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


def _convert_before(graph: Graph, node: Node) -> bool:
    """Ops that put elements into others take all of them as they are stored."""
    result = graph.types[node.outputs[0]] if len(node.outputs) == 1 else None
    if not isinstance(node.op, ScatterElements | ScatterNd) or result is None or result.encoding is None:
        return False
    if node.op.reduction not in PUT_TOGETHER:
        return False
    changed = False
    for index, value in enumerate(node.inputs):
        kind = graph.types[value] if value else result
        if kind.encoding is None or (kind.dtype, kind.encoding) == (result.dtype, result.encoding):
            continue
        op = Convert(dtype=result.dtype, encoding=result.encoding, source=kind.encoding)
        fresh = graph.fresh_name(value)
        converted_type = type(kind)(kind.shape, result.dtype, kind.layout, result.encoding)
        graph.add(Node(graph.fresh_name(f"{node.name}_convert"), op, [value], [fresh]), [converted_type])
        graph.set_input(node, index, fresh)
        changed = True
    return changed
