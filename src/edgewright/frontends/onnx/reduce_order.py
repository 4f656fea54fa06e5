"""ONNX ops that rank elements along an axis, running sums and products, and the softmax family."""

from collections.abc import Callable

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.foreign import keep_as_source_op
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.dims import element_count
from edgewright.ir.op import Op
from edgewright.ops.axes import normal_axis
from edgewright.ops.elementwise import ElementWiseEqual, ElementWiseSelect
from edgewright.ops.reduce import ReduceMax, ReduceMin, ReduceProd
from edgewright.ops.reduce_order import Argmax, Argmin, CumulativeSum, TopK
from edgewright.ops.reduce_softmax import LogSoftmax, Softmax

# A running product compares every element with every other one: longer axes stay ONNX's.
LONGEST_PRODUCT = 512


@onnx_op("ArgMax")
def arg_max(ctx: Context, node: SourceNode) -> str:
    """Position of the largest element."""
    return _emit_arg(ctx, node, Argmax, ReduceMax)


@onnx_op("ArgMin")
def arg_min(ctx: Context, node: SourceNode) -> str:
    """Position of the smallest element."""
    return _emit_arg(ctx, node, Argmin, ReduceMin)


@onnx_op("TopK")
def top_k_attribute(ctx: Context, node: SourceNode) -> list[str]:
    """The count as an attribute."""
    return _emit_top_k(ctx, node, TopK(k=node.need("k")))


@onnx_op("TopK", since=10)
def top_k(ctx: Context, node: SourceNode) -> list[str]:
    """The count as an input, which must be known."""
    count = ctx.read_dims(node.inputs[1])
    if len(count) != 1:
        raise BadInput(f"k has {len(count)} elements, expected 1", node.where)
    return _emit_top_k(ctx, node, TopK(k=count[0], largest=bool(node.attr("largest", 1))))


@onnx_op("CumSum")
def running_sum(ctx: Context, node: SourceNode) -> str:
    """The axis must be known."""
    op = CumulativeSum(
        axis=_read_axis_input(ctx, node),
        exclusive=bool(node.attr("exclusive", 0)),
        reverse=bool(node.attr("reverse", 0)),
    )
    return ctx.emit(op, node.inputs[0])


@onnx_op("CumProd")
def running_product(ctx: Context, node: SourceNode) -> str | list[str]:
    """Each place multiplies all elements, those that are not its own replaced by 1."""
    _need_axes(ctx, node)
    x, axis = node.inputs[0], _read_axis_input(ctx, node)
    shape = ctx.shape(x)
    size = shape[axis]
    if not isinstance(size, int) or size > LONGEST_PRODUCT:
        return keep_as_source_op(ctx, node)
    own = np.tri(size, k=-1 if node.attr("exclusive", 0) else 0, dtype=np.bool_)
    own = own[::-1, ::-1] if node.attr("reverse", 0) else own
    mask = ctx.add_constant(own.reshape(size, size, *(1,) * (len(shape) - axis - 1)))
    apart = ctx.reshape(x, (*shape[:axis], 1, *shape[axis:]))
    factors = ctx.emit(ElementWiseSelect(), mask, apart, ctx.add_scalar(1, x))
    return ctx.emit(ReduceProd(axes=(axis + 1,)), factors)


@onnx_op("Softmax")
def softmax_flattened(ctx: Context, node: SourceNode) -> str:
    """All axes from the given one on count as one."""
    return _emit_flattened(ctx, node, lambda x, axis: ctx.emit(Softmax(axis=axis), x))


@onnx_op("Softmax", since=13)
def softmax(ctx: Context, node: SourceNode) -> str:
    """Along one axis."""
    return ctx.emit(Softmax(axis=_read_axis(ctx, node, -1)), node.inputs[0])


@onnx_op("LogSoftmax")
def log_softmax_flattened(ctx: Context, node: SourceNode) -> str:
    """All axes from the given one on count as one."""
    return _emit_flattened(ctx, node, lambda x, axis: ctx.emit(LogSoftmax(axis=axis), x))


@onnx_op("LogSoftmax", since=13)
def log_softmax(ctx: Context, node: SourceNode) -> str:
    """Along one axis."""
    return ctx.emit(LogSoftmax(axis=_read_axis(ctx, node, -1)), node.inputs[0])


@onnx_op("Hardmax")
def hardmax_flattened(ctx: Context, node: SourceNode) -> str:
    """All axes from the given one on count as one."""
    return _emit_flattened(ctx, node, lambda x, axis: _emit_hardmax(ctx, x, axis))


@onnx_op("Hardmax", since=13)
def hardmax(ctx: Context, node: SourceNode) -> str:
    """Along one axis."""
    return _emit_hardmax(ctx, node.inputs[0], _read_axis(ctx, node, -1))


def _emit_arg(ctx: Context, node: SourceNode, kind: Callable[..., Op], extreme: Callable[..., Op]) -> str:
    x, axis, keep = node.inputs[0], _read_axis(ctx, node, 0), bool(node.attr("keepdims", 1))
    if not node.attr("select_last_index", 0):
        return cast_to(ctx, ctx.emit(kind(axis=axis, keep_dims=keep), x), DType.INT_64)
    # The last of several: the largest position among the elements that are the extreme.
    is_extreme = ctx.emit(ElementWiseEqual(), x, ctx.emit(extreme(axes=(axis,), keep_dims=True), x))
    places = ctx.emit(
        ElementWiseSelect(), is_extreme, _count_along(ctx, is_extreme, axis), ctx.add_scalar(0, DType.INT_32)
    )
    return cast_to(ctx, ctx.emit(ReduceMax(axes=(axis,), keep_dims=keep), places), DType.INT_64)


def _count_along(ctx: Context, condition: str, axis: int) -> str:
    """0, 1, 2 ... along an axis: a constant, or counted where the size is not known yet."""
    shape = ctx.shape(condition)
    size = shape[axis]
    if isinstance(size, int):
        return ctx.add_constant(np.arange(size, dtype=np.int32).reshape(-1, *(1,) * (len(shape) - axis - 1)))
    one = ctx.add_scalar(1, DType.INT_32)
    ones = ctx.emit(ElementWiseSelect(), condition, one, one)
    return ctx.emit(CumulativeSum(axis=axis, exclusive=True), ones)


def _emit_hardmax(ctx: Context, x: str, axis: int) -> str:
    """1 at the place of the largest element, else 0."""
    best = ctx.emit(Argmax(axis=axis, keep_dims=True), x)
    is_itself = ctx.emit(ElementWiseEqual(), x, x)
    is_best = ctx.emit(ElementWiseEqual(), _count_along(ctx, is_itself, axis), best)
    return ctx.emit(ElementWiseSelect(), is_best, ctx.add_scalar(1, x), ctx.add_scalar(0, x))


def _emit_top_k(ctx: Context, node: SourceNode, op: TopK) -> list[str]:
    """QNN ranks the last axis: another one changes places with it."""
    x = node.inputs[0]
    _need_axes(ctx, node)
    axis, last = _read_axis(ctx, node, -1), ctx.rank(x) - 1
    order = list(range(last + 1))
    order[axis], order[last] = last, axis
    values, places = ctx.emit_all(op, ctx.transpose(x, order))
    return [ctx.transpose(values, order), ctx.transpose(cast_to(ctx, places, DType.INT_64), order)]


def _emit_flattened(ctx: Context, node: SourceNode, emit: Callable[[str, int], str]) -> str:
    x, axis = node.inputs[0], _read_axis(ctx, node, 1)
    shape = ctx.shape(x)
    if axis == len(shape) - 1:
        return emit(x, axis)
    flat = ctx.reshape(x, (element_count(shape[:axis]), element_count(shape[axis:])))
    return ctx.reshape(emit(flat, 1), shape)


def _need_axes(ctx: Context, node: SourceNode) -> None:
    if not ctx.rank(node.inputs[0]):
        raise ShapeMismatch("the input is a single number, expected at least one axis", node.where)


def _read_axis(ctx: Context, node: SourceNode, default: int) -> int:
    return normal_axis(node.attr("axis", default), ctx.rank(node.inputs[0]))


def _read_axis_input(ctx: Context, node: SourceNode) -> int:
    found = ctx.read_ints(node.inputs[1])
    if len(found) != 1:
        raise BadInput(f"axis has {len(found)} elements, expected 1", node.where)
    return normal_axis(found[0], ctx.rank(node.inputs[0]))
