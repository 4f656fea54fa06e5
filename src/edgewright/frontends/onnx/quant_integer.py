"""ONNX ops that compute on quantised integers, in terms of the real numbers these stand for."""

import numpy as np

from edgewright.core.errors import Where
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.contrib import copy_attributes
from edgewright.frontends.onnx.foreign import keep_as_source_op
from edgewright.frontends.onnx.quant import Scaling, dequantize_value, quantize_value
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import emit_onnx_op
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.elementwise_unary import ElementWiseFloor

# Up to here float32 counts in ones, so sums of integers are exact.
EXACT = 1 << 24
# Larger sums are made of two: numbers of 8 bits are split into this many steps of this size.
STEP = 16
LARGEST_BYTE = 255


@onnx_op("QLinearConv", since=10)
def qlinear_conv(ctx: Context, node: SourceNode) -> str:
    """A convolution of real numbers between two encodings; the bias has the product of both scales."""
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = node.inputs[:8]
    values = [
        emit_real(ctx, x, x_scale, x_zero, node.where),
        emit_real(ctx, w, w_scale, w_zero, node.where, axis=0),
    ]
    if node.input(8):
        scale = emit_onnx_op(ctx, "Mul", *(cast_to(ctx, s, DType.FLOAT_32) for s in (x_scale, w_scale)))
        values.append(emit_real(ctx, node.input(8), scale, "", node.where, axis=0))
    result = emit_onnx_op(ctx, "Conv", *values, **copy_attributes(node))
    return quantize_value(ctx, result, Scaling(y_scale, y_zero), ctx.dtype(y_zero), node.where)


@onnx_op("QLinearMatMul", since=10)
def qlinear_matmul(ctx: Context, node: SourceNode) -> str:
    """A product of real numbers between two encodings: one a row on the left, one a column on the right."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = node.inputs[:8]
    left = emit_real(ctx, a, a_scale, a_zero, node.where, axis=-2)
    right = emit_real(ctx, b, b_scale, b_zero, node.where, axis=-1)
    result = emit_onnx_op(ctx, "MatMul", left, right)
    return quantize_value(ctx, result, Scaling(y_scale, y_zero, -2), ctx.dtype(y_zero), node.where)


@onnx_op("MatMulInteger", since=10)
def matmul_integer(ctx: Context, node: SourceNode) -> str | list[str]:
    """Exact sums of products."""
    result = emit_integer_matmul(
        ctx, node.inputs[0], node.inputs[1], node.input(2), node.input(3), node.where
    )
    return result or keep_as_source_op(ctx, node)


@onnx_op("ConvInteger", since=10)
def conv_integer(ctx: Context, node: SourceNode) -> str | list[str]:
    """Exact sums of products over windows; padding is the zero point."""
    x, w = node.inputs[:2]
    ones = ctx.add_scalar(1, DType.FLOAT_32)
    values = [
        emit_real(ctx, x, ones, node.input(2), node.where),
        _emit_integers(ctx, w, node.input(3), 0, node.where),
    ]
    taps = ctx.type(w).with_shape(ctx.shape(w)[1:]).count
    known = ctx.find_array(w)
    rows = None if known is None else known.astype(np.int64).reshape(known.shape[0], -1).T
    parts = _split_activation(ctx, values[0], _bound_sums(ctx, rows, node.input(3), taps))
    return _add_up(
        ctx, [emit_onnx_op(ctx, "Conv", part, values[1], **copy_attributes(node)) for part in parts]
    ) or (keep_as_source_op(ctx, node))


def emit_real(ctx: Context, x: str, scale: str, zero: str, where: Where, axis: int = 1) -> str:
    """Float32 numbers that integers stand for."""
    return dequantize_value(ctx, x, Scaling(scale, zero, axis), DType.FLOAT_32, where)


def emit_integer_matmul(ctx: Context, a: str, b: str, a_zero: str, b_zero: str, where: Where) -> str:
    """The product of two integer matrices less their zero points, as int32; "" where it cannot be exact."""
    left, right = _emit_integers(ctx, a, a_zero, -2, where), _emit_integers(ctx, b, b_zero, -1, where)
    known = ctx.find_array(b)
    taps = ctx.shape(b)[-2] if ctx.rank(b) > 1 else ctx.type(b).count
    parts = _split_activation(ctx, left, _bound_sums(ctx, known if ctx.rank(b) > 1 else None, b_zero, taps))
    return _add_up(ctx, [emit_onnx_op(ctx, "MatMul", part, right) for part in parts])


def _emit_integers(ctx: Context, x: str, zero: str, axis: int, where: Where) -> str:
    """Integers less their zero point as floats: an encoding of scale one."""
    count = ctx.type(zero).count if zero else 1
    ones = ctx.add_scalar(1, DType.FLOAT_32)
    if isinstance(count, int) and count > 1 and ctx.rank(zero) == 1:
        ones = ctx.add_constant(np.ones(count, np.float32))
    return emit_real(ctx, x, ones, zero, where, axis)


def _bound_sums(ctx: Context, weights: Array | None, zero: str, taps: object) -> int:
    """A bound of every sum: over the second last axis of known weights, or of any weights."""
    zeros = ctx.find_array(zero) if zero else np.zeros(1, np.int64)
    if weights is None or zeros is None or zeros.size not in {1, weights.shape[-1]}:
        return taps * LARGEST_BYTE * LARGEST_BYTE if isinstance(taps, int) else EXACT * STEP
    sums = np.abs(weights.astype(np.int64) - zeros.astype(np.int64).reshape(-1)).sum(axis=-2)
    return int(sums.max(initial=0)) * LARGEST_BYTE


def _split_activation(ctx: Context, x: str, largest: int) -> list[str]:
    """The activation whole, or the rest and the steps of it, so that sums are exact; else nothing."""
    if largest < EXACT:
        return [x]
    if largest // STEP >= EXACT:
        return []
    steps = ctx.emit(ElementWiseFloor(), ctx.emit(ElementWiseMultiply(), x, ctx.add_scalar(1 / STEP, x)))
    rest = ctx.emit(ElementWiseSubtract(), x, ctx.emit(ElementWiseMultiply(), steps, ctx.add_scalar(STEP, x)))
    return [rest, steps]


def _add_up(ctx: Context, sums: list[str]) -> str:
    if not sums:
        return ""
    whole = [cast_to(ctx, value, DType.INT_32) for value in sums]
    if len(whole) == 1:
        return whole[0]
    steps = ctx.emit(ElementWiseMultiply(), whole[1], ctx.add_scalar(STEP, DType.INT_32))
    return ctx.emit(ElementWiseAdd(), whole[0], steps)
