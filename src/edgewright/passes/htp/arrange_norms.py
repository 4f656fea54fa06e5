"""Brings the axes of norms to the end, as HTP wants them, and takes the beta out of an RmsNorm of floats."""

from dataclasses import replace
from math import prod

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.ops.norm import AxesNorm, LayerNorm, RmsNorm
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.graph_pass import register_pass, rewrite_each

MOST_AXES = 4
WIDE_BITS = 16
FLOATS = frozenset({DType.FLOAT_16, DType.FLOAT_32})


@register_pass(after=("complete_norms",))
def arrange_norms(graph: Graph) -> int:
    """A transpose and a reshape before, their inverses behind; the last of at most four axes stays alone."""
    return rewrite_each(graph, _add_beta) + rewrite_each(graph, _arrange)


def _add_beta(graph: Graph, node: Node) -> bool:
    """In floats the emulator (2.51) leaves the beta of an RmsNorm out, without a word."""
    if not isinstance(node.op, RmsNorm) or len(node.inputs) < 3 or not node.inputs[2]:
        return False
    result, beta = graph.types[node.outputs[0]], node.inputs[2]
    if result.dtype not in FLOATS or beta not in graph.constants:
        return False
    shape = [result.shape[axis] if axis in node.op.axes else 1 for axis in range(result.rank)]
    spread = graph.add_constant(
        graph.fresh_name(beta),
        graph.constants[beta].reshape(shape),
        graph.types[beta].with_shape(shape),
        of=beta,
    )
    plain = graph.fresh_name(node.outputs[0])
    graph.remove(node)
    graph.add(Node(node.name, node.op, node.inputs[:2], [plain], node.source, (), node.notes), [result])
    name = graph.fresh_name(f"{node.name}_beta")
    graph.add(Node(name, ElementWiseAdd(), [plain, spread], node.outputs, node.source), [result])
    return True


def _arrange(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, LayerNorm | RmsNorm):
        return False
    x, result, axes = graph.types[node.inputs[0]], graph.types[node.outputs[0]], node.op.axes
    is_mixed_up = _is_mixed_up(graph, node, axes)
    is_arranged = axes == (x.rank - 1,) and x.rank <= MOST_AXES and not is_mixed_up
    if is_arranged or not (x.is_static and _has_constant_weights(graph, node)):
        return False
    order = (*(axis for axis in range(x.rank) if axis not in axes), *axes)
    moved = tuple(x.static_shape()[axis] for axis in order)
    width = prod(moved[-len(axes) :])
    count = prod(moved[: -len(axes)])
    rows = (count // moved[-2], 1, moved[-2], width) if is_mixed_up else (count, width)
    graph.remove(node)
    value = _move(graph, node, Transpose(perm=order), node.inputs[0], replace(x, shape=moved))
    value = _move(graph, node, Reshape(shape=rows), value, replace(x, shape=rows))
    value = _normalize(graph, node, node.op, value, replace(result, shape=rows, layout=None))
    value = _move(graph, node, Reshape(shape=moved), value, replace(result, shape=moved))
    back = Transpose(perm=tuple(order.index(axis) for axis in range(x.rank)))
    name = graph.fresh_name(f"{node.name}_back")
    graph.add(Node(name, back, [value], node.outputs, node.source), [result])
    return True


def _is_mixed_up(graph: Graph, node: Node, axes: tuple[int, ...]) -> bool:
    """Whether the library (2.51) takes what a product spreads over rows for a part of the norm.

    In 16 bits, a norm of [1, 4, 8, 16] times a value of [1, 1, 8, 16] is right in the first of the four
    alone; so are pieces of it. A norm of [4, 1, 8, 16] between reshapes is right.
    """
    result = graph.types[node.outputs[0]]
    if result.encoding is None or result.dtype.bits != WIDE_BITS or axes != (result.rank - 1,):
        return False
    has_rows = 2 < result.rank <= MOST_AXES and result.shape[-3] != 1
    return has_rows and _is_spread_over(graph, node.outputs[0])


def _is_spread_over(graph: Graph, value: str) -> bool:
    """Whether the value, moved or in pieces, is multiplied with something smaller."""
    for reader in graph.consumers(value):
        if isinstance(reader.op, ElementWiseMultiply):
            shapes = {tuple(graph.types[name].shape) for name in (*reader.inputs, *reader.outputs)}
            if len(shapes) > 1:
                return True
        elif reader.op.keeps_encoding and any(
            _is_spread_over(graph, name) for name in reader.outputs if name
        ):
            return True
    return False


def _has_constant_weights(graph: Graph, node: Node) -> bool:
    return all(name in graph.constants for name in node.inputs[1:] if name)


def _move(graph: Graph, node: Node, op: Op, value: str, kind: TensorType) -> str:
    moved = graph.fresh_name(value)
    name = graph.fresh_name(f"{node.name}_{op.qnn_name().lower()}")
    graph.add(Node(name, op, [value], [moved], node.source), [replace(kind, layout=None)])
    return moved


def _normalize(graph: Graph, node: Node, op: AxesNorm, value: str, kind: TensorType) -> str:
    weights = [name and _flatten(graph, name) for name in node.inputs[1:]]
    normal = graph.fresh_name(node.outputs[0])
    rowwise = replace(op, axes=(kind.rank - 1,))
    graph.add(Node(node.name, rowwise, [value, *weights], [normal], node.source, (), node.notes), [kind])
    return normal


def _flatten(graph: Graph, name: str) -> str:
    kind, array = graph.types[name], graph.constants[name]
    if array.ndim == 1:
        return name
    return graph.add_constant(
        graph.fresh_name(name), array.reshape(-1), kind.with_shape([array.size]), of=name
    )
