"""ONNX's quantisation: constant encodings become types, encodings computed at run time become arithmetic."""

# A source model's integers are plain (a graph output of QuantizeLinear is uint8), QNN's are fixed point. They
# meet in casts that keep the stored integers: Quantize, Cast to uint8; Cast to fixed point, Dequantize. If
# DequantizeLinear follows a QuantizeLinear of the same encoding, it reads the fixed-point value itself.

from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch, Where
from edgewright.core.numbers import DType
from edgewright.frontends._common.stored import FIXED
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import MICROSOFT, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.tensors import find_dtype
from edgewright.ir.dims import Dim
from edgewright.ir.encodings import Encoding
from edgewright.ir.types import TensorType
from edgewright.ops.axes import normal_axis
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseRound
from edgewright.ops.quant import Dequantize, Quantize


@dataclass(frozen=True)
class Scaling:
    """Scale and zero point ("" where left out) as ONNX has them: one pair, one a slice, or one a block."""

    scale: str
    zero: str = ""
    axis: int = 1
    block: int = 0


@onnx_op("DequantizeLinear", since=10)
@onnx_op("DequantizeLinear", domain=MICROSOFT)
def dequantize_linear(ctx: Context, node: SourceNode) -> str:
    """Scale * (x - zero point)."""
    wanted = node.attr("output_dtype", 0)
    dtype = find_dtype(wanted, node.where) if wanted else ctx.dtype(node.inputs[1])
    return dequantize_value(ctx, node.inputs[0], _read_scaling(node), dtype, node.where)


@onnx_op("QuantizeLinear", since=10)
@onnx_op("QuantizeLinear", domain=MICROSOFT)
def quantize_linear(ctx: Context, node: SourceNode) -> str:
    """The nearest integer to x / scale, plus zero point, clamped; or an 8-bit float."""
    scaling, wanted = _read_scaling(node), node.attr("output_dtype", 0)
    dtype = find_dtype(wanted, node.where) if wanted else DType.UINT_8
    dtype = ctx.dtype(scaling.zero) if scaling.zero else dtype
    precision = find_dtype(node.attr("precision", 0) or 1, node.where)
    if not precision.is_float or not (dtype in FIXED or dtype.is_float):
        raise BadInput(f"cannot quantize to {dtype.name} in {precision.name}", node.where)
    if dtype.is_float:
        ratio, zero, shape = _divide_by_scale(ctx, node.inputs[0], scaling, precision, node.where)
        shifted = ctx.emit(ElementWiseAdd(), ratio, zero) if zero else ratio
        saturate = bool(node.attr("saturate", 1))
        return ctx.reshape(ctx.emit(Cast(dtype=dtype, saturate=saturate), shifted), shape)
    return quantize_value(ctx, node.inputs[0], scaling, dtype, node.where, precision)


def dequantize_value(ctx: Context, x: str, scaling: Scaling, dtype: DType, where: Where) -> str:
    """Real numbers in a float type: an op where the encoding is known, else arithmetic."""
    plain = ctx.dtype(x)
    encoding = _find_encoding(ctx, x, scaling, plain, where) if plain in FIXED else None
    if encoding is not None and dtype.is_float:
        return ctx.emit(Dequantize(encoding=encoding, dtype=dtype), _as_fixed(ctx, x, encoding))
    shape = ctx.shape(x)
    scale, zero, blocked = _align_scaling(ctx, x, scaling, DType.FLOAT_32, where)
    value = ctx.reshape(cast_to(ctx, x, DType.FLOAT_32), blocked)
    value = ctx.emit(ElementWiseSubtract(), value, zero) if zero else value
    return cast_to(ctx, ctx.reshape(ctx.emit(ElementWiseMultiply(), value, scale), shape), dtype)


def quantize_value(
    ctx: Context,
    x: str,
    scaling: Scaling,
    dtype: DType,
    where: Where,
    precision: DType = DType.FLOAT_32,
) -> str:
    """Plain integers: an op where the encoding is known, else arithmetic."""
    encoding = _find_encoding(ctx, x, scaling, dtype, where)
    if encoding is not None and precision == DType.FLOAT_32:
        if min(encoding.scales) <= 0:
            raise BadInput(f"scale is {min(encoding.scales)}, expected more than 0", where)
        real = x if ctx.dtype(x).is_float else cast_to(ctx, x, DType.FLOAT_32)
        return cast_to(ctx, ctx.emit(Quantize(dtype=FIXED[dtype], encoding=encoding), real), dtype)
    ratio, zero, shape = _divide_by_scale(ctx, x, scaling, precision, where)
    whole = cast_to(ctx, ctx.emit(ElementWiseRound(), ratio), DType.FLOAT_32)
    shifted = ctx.emit(ElementWiseAdd(), whole, cast_to(ctx, zero, DType.FLOAT_32)) if zero else whole
    low, high = Encoding((1.0,), (0,), bitwidth=dtype.bits).limits(dtype)
    raised = ctx.emit(ElementWiseMaximum(), shifted, ctx.add_scalar(low, DType.FLOAT_32))
    clamped = ctx.emit(ElementWiseMinimum(), raised, ctx.add_scalar(high, DType.FLOAT_32))
    return ctx.reshape(cast_to(ctx, clamped, dtype), shape)


def _read_scaling(node: SourceNode) -> Scaling:
    return Scaling(node.inputs[1], node.input(2), node.attr("axis", 1), node.attr("block_size", 0))


def _find_encoding(ctx: Context, x: str, scaling: Scaling, dtype: DType, where: Where) -> Encoding | None:
    """The encoding that constant scales and zero points say; None where they are not known, or blocked."""
    scales = ctx.find_array(scaling.scale)
    zeros = ctx.find_array(scaling.zero) if scaling.zero else np.zeros(1, np.int64)
    if scales is None or zeros is None or scaling.block or scales.ndim > 1:
        return None
    if zeros.size not in {1, scales.size} or not scales.size:
        raise ShapeMismatch(
            f"scale {list(scales.shape)} and zero point {list(zeros.shape)} are not of one size",
            where,
            do="export the model again",
        )
    numbers = scales.astype(np.float64).reshape(-1)
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise BadInput("a scale is negative or not finite", where, do="export the model again")
    offsets = np.broadcast_to(-zeros.astype(np.int64).reshape(-1), numbers.shape)
    axis = None if scales.size == 1 else normal_axis(scaling.axis, ctx.rank(x))
    return Encoding(tuple(numbers.tolist()), tuple(offsets.tolist()), axis, dtype.bits)


def _as_fixed(ctx: Context, x: str, encoding: Encoding) -> str:
    """Integers with the encoding in their type: what was cast to integers, a constant, or a cast."""
    before = ctx.graph.producer(x)
    if before is not None and isinstance(before.op, Cast) and ctx.type(before.inputs[0]).encoding == encoding:
        return before.inputs[0]
    fixed = FIXED[ctx.dtype(x)]
    if x in ctx.graph.constants:
        array = ctx.graph.constants[x].astype(fixed.numpy, copy=False)
        return ctx.add_constant(array, TensorType(ctx.shape(x), fixed, encoding=encoding))
    return ctx.emit(Cast(dtype=fixed, encoding=encoding), x)


def _divide_by_scale(
    ctx: Context, x: str, scaling: Scaling, precision: DType, where: Where
) -> tuple[str, str, tuple[Dim, ...]]:
    """The quotient x / scale (in blocks), the zero point aligned with it, and the shape to go back to."""
    scale, zero, blocked = _align_scaling(ctx, x, scaling, precision, where)
    value = ctx.reshape(cast_to(ctx, x, precision), blocked)
    return ctx.emit(ElementWiseDivide(), value, scale), zero, ctx.shape(x)


def _align_scaling(
    ctx: Context, x: str, scaling: Scaling, dtype: DType, where: Where
) -> tuple[str, str, tuple[Dim, ...]]:
    """Scale and zero point in a float type and a shape that broadcasts, and the shape to give to ``x``."""
    shape, count = ctx.shape(x), ctx.type(scaling.scale).count
    if scaling.block:
        blocked, aligned = _split_blocks(ctx, x, scaling, where)
    elif count == 1 and ctx.rank(scaling.scale) < 2:
        blocked, aligned = shape, ()
    elif ctx.rank(scaling.scale) == 1:
        axis = normal_axis(scaling.axis, len(shape))
        blocked, aligned = shape, tuple(count if a == axis else 1 for a in range(len(shape)))
    else:
        # QLinearMatMul's scale of one row each: it has the rank of the matrix
        blocked, aligned = shape, ctx.shape(scaling.scale)
    values = [
        ctx.reshape(cast_to(ctx, v, dtype), aligned) if v else "" for v in (scaling.scale, scaling.zero)
    ]
    return values[0], values[1], blocked


def _split_blocks(
    ctx: Context, x: str, scaling: Scaling, where: Where
) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    """Shapes in which one axis is two: its blocks, and the elements of a block."""
    shape, scales, block = ctx.shape(x), ctx.shape(scaling.scale), scaling.block
    if not isinstance(block, int):
        raise BadInput(f"block_size is {block!r}, expected a number", where)
    axis = normal_axis(scaling.axis, len(shape))
    fits = len(scales) == len(shape) and block > 0 and shape[axis] == scales[axis] * block
    if not fits:
        raise ShapeMismatch(
            f"{ctx.type(scaling.scale)} is no scale for {block} elements on axis {axis} of {ctx.type(x)}",
            where,
            do="make the axis a multiple of block_size",
        )
    before, after = shape[:axis], shape[axis + 1 :]
    return (*before, scales[axis], block, *after), (*before, scales[axis], 1, *after)
