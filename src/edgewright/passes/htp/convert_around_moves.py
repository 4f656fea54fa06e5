"""Puts a Convert behind ops that only move elements, where their output has another encoding."""

from dataclasses import replace

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.gather_scatter import Reduction, ScatterElements, ScatterNd
from edgewright.ops.quant import Convert, Quantize
from edgewright.ops.rearrange import Concat, Pack, Reshape, Transpose
from edgewright.ops.resize import Resize, ResizeNearestNeighbor
from edgewright.ops.resize_axis import Interpolation
from edgewright.passes.graph_pass import register_pass, rewrite_each

WIDEST = 16
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
    if not _is_move(node.op):
        return False
    given = [t for t in graph.input_types(node) if t is not None]
    fixed = {(t.dtype, t.encoding) for t in given if t.encoding is not None}
    if fixed:
        ((dtype, encoding), *others) = fixed
    else:
        # Real numbers are not encoded on the way either.
        dtype, encoding, others = given[0].dtype, None, []
    moved = [value for value in node.outputs if _is_other(graph.types[value], dtype, encoding)]
    if others or not moved or not (fixed or dtype.is_float):
        return False
    names, kinds = list(node.outputs), graph.output_types(node)
    graph.remove(node)
    kept = [graph.fresh_name(name) if name in moved else name for name in names]
    inner = [
        replace(kind, dtype=dtype, encoding=encoding) if name in moved else kind
        for name, kind in zip(names, kinds, strict=True)
    ]
    graph.add(Node(node.name, node.op, node.inputs, kept, node.source, node.subgraphs, node.notes), inner)
    for name, value, kind in zip(names, kept, kinds, strict=True):
        if name in moved:
            _add_conversion(graph, f"{node.name}_convert", (value, encoding), (name, kind))
    return True


def _is_other(result: TensorType, dtype: DType, encoding: Encoding | None) -> bool:
    """Whether a result has an encoding that elements of this type do not have; HTP converts no 32 bits."""
    is_fixed = result.encoding is not None and result.dtype.bits <= WIDEST
    return is_fixed and (dtype, encoding) != (result.dtype, result.encoding)


def _add_conversion(
    graph: Graph, name: str, before: tuple[str, Encoding | None], after: tuple[str, TensorType]
) -> None:
    (value, source), (made, kind) = before, after
    assert kind.encoding is not None
    op: Op = Convert(dtype=kind.dtype, encoding=kind.encoding, source=source)
    if source is None:
        op = Quantize(dtype=kind.dtype, encoding=kind.encoding)
    graph.add(Node(graph.fresh_name(name), op, [value], [made]), [kind])


def _has_stored_inputs(op: Op, result: TensorType) -> bool:
    """Whether inputs must have the encoding of the result."""
    if isinstance(op, ScatterElements | ScatterNd):
        return op.reduction in PUT_TOGETHER
    return isinstance(op, Pack) and result.dtype == DType.SFIXED_POINT_8


def _is_moved_input(graph: Graph, value: str) -> bool:
    """Whether a value is an input of the graph that was only turned or reshaped."""
    maker = graph.producer(value)
    if not isinstance(maker and maker.op, Reshape | Transpose):
        return False
    while maker is not None and isinstance(maker.op, Reshape | Transpose):
        value = maker.inputs[0]
        maker = graph.producer(value)
    return value in graph.inputs


def _convert_before(graph: Graph, node: Node) -> bool:
    """Ops that put elements into others take all of them as they are stored.

    So does Concat with inputs of the graph that were turned, whatever their encodings (2.51).
    """
    result = graph.types[node.outputs[0]] if len(node.outputs) == 1 else None
    if result is None or result.encoding is None:
        return False
    is_stored = _has_stored_inputs(node.op, result)
    changed = False
    for index, value in enumerate(node.inputs):
        kind = graph.types[value] if value else result
        if kind.encoding is None or (kind.dtype, kind.encoding) == (result.dtype, result.encoding):
            continue
        if not is_stored and not (isinstance(node.op, Concat) and _is_moved_input(graph, value)):
            continue
        fresh = graph.fresh_name(value)
        converted = replace(kind, dtype=result.dtype, encoding=result.encoding)
        _add_conversion(graph, f"{node.name}_convert", (value, kind.encoding), (fresh, converted))
        graph.set_input(node, index, fresh)
        changed = True
    return changed
