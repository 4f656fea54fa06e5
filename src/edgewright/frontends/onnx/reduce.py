"""ONNX reductions."""

from collections.abc import Callable

import numpy as np

from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops.activation import ReluMinMax
from edgewright.ops.axes import normal_axes
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import (
    ElementWiseAbs,
    ElementWiseExp,
    ElementWiseLog,
    ElementWiseSquareRoot,
)
from edgewright.ops.reduce import (
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceProd,
    ReduceSum,
    ReduceSumSquare,
    Reduction,
)

_PLAIN: dict[str, type[Reduction]] = {
    "ReduceMax": ReduceMax,
    "ReduceMean": ReduceMean,
    "ReduceMin": ReduceMin,
    "ReduceProd": ReduceProd,
    "ReduceSum": ReduceSum,
}


@onnx_op(*_PLAIN)
def plain(ctx: Context, node: SourceNode) -> str:
    """A reduction that QNN has."""
    return _emit_reduction(ctx, node, _PLAIN[node.op_type], node.inputs[0])


@onnx_op("ReduceSumSquare")
def sum_square(ctx: Context, node: SourceNode) -> str:
    """One op; over no axes the squares remain."""
    x = node.inputs[0]
    if not _read_axes(ctx, node):
        return ctx.emit(ElementWiseMultiply(), x, x)
    return _emit_reduction(ctx, node, ReduceSumSquare, x)


@onnx_op("ReduceL1")
def sum_of_sizes(ctx: Context, node: SourceNode) -> str:
    """Sum of absolute values."""
    return _emit_reduction(ctx, node, ReduceSum, ctx.emit(ElementWiseAbs(), node.inputs[0]))


@onnx_op("ReduceL2")
def root_of_squares(ctx: Context, node: SourceNode) -> str:
    """Root of the sum of squares."""
    x = node.inputs[0]
    total = _emit_reduction(ctx, node, ReduceSum, ctx.emit(ElementWiseMultiply(), x, x))
    return ctx.emit(ElementWiseSquareRoot(), total)


@onnx_op("ReduceLogSum")
def log_sum(ctx: Context, node: SourceNode) -> str:
    """Logarithm of the sum."""
    return ctx.emit(ElementWiseLog(), _emit_reduction(ctx, node, ReduceSum, node.inputs[0]))


@onnx_op("ReduceLogSumExp")
def log_sum_exp(ctx: Context, node: SourceNode) -> str:
    """The largest element is taken off first and put back, so that nothing overflows."""
    x, axes = node.inputs[0], _read_axes(ctx, node)
    if not axes:
        return x
    largest = _replace_infinite(ctx, ctx.emit(ReduceMax(axes=axes, keep_dims=True), x))
    powers = ctx.emit(ElementWiseExp(), ctx.emit(ElementWiseSubtract(), x, largest))
    total = ctx.emit(ElementWiseLog(), ctx.emit(ReduceSum(axes=axes, keep_dims=True), powers))
    result = ctx.emit(ElementWiseAdd(), total, largest)
    if node.attr("keepdims", 1):
        return result
    return ctx.reshape(result, [dim for axis, dim in enumerate(ctx.shape(x)) if axis not in axes])


def _emit_reduction(ctx: Context, node: SourceNode, kind: Callable[..., Reduction], x: str) -> str:
    axes = _read_axes(ctx, node)
    return ctx.emit(kind(axes=axes, keep_dims=bool(node.attr("keepdims", 1))), x) if axes else x


def _read_axes(ctx: Context, node: SourceNode) -> tuple[int, ...]:
    """From an attribute or an input; none means all, unless the node says that it means none."""
    given = ctx.read_ints(node.input(1)) if node.input(1) else tuple(node.attr("axes", ()))
    rank = ctx.rank(node.inputs[0])
    if not given and not node.attr("noop_with_empty_axes", 0):
        return tuple(range(rank))
    return normal_axes(given, rank)


def _replace_infinite(ctx: Context, value: str) -> str:
    """An infinite largest element would leave infinity minus infinity."""
    dtype = ctx.dtype(value)
    if not dtype.is_float:
        return value
    if dtype.bits <= np.finfo(np.float32).bits:
        largest = float(np.finfo(np.float32).max) if dtype.bits == 32 else 65504.0
        return ctx.emit(ReluMinMax(min_value=-largest, max_value=largest), value)
    largest = float(np.finfo(np.float64).max)
    above = ctx.emit(ElementWiseMaximum(), value, ctx.add_scalar(-largest, value))
    return ctx.emit(ElementWiseMinimum(), above, ctx.add_scalar(largest, value))
