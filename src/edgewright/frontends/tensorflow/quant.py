"""TensorFlow's fake quantisation: the ranges of a quantisation-aware training become encodings."""

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ir.encodings import Encoding
from edgewright.ops.elementwise import ElementWiseMaximum
from edgewright.ops.quant import Dequantize, Quantize

LEAST_BITS, MOST_BITS, BYTE = 2, 16, 8


@tf_op("FakeQuantWithMinMaxArgs")
def with_args(ctx: Context, node: SourceNode) -> str:
    """A range that the node itself holds."""
    low, high = node.attributes.real("min", -6.0), node.attributes.real("max", 6.0)
    return _fake_quantize(ctx, node, np.asarray([low]), np.asarray([high]))


@tf_op("FakeQuantWithMinMaxVars")
def with_vars(ctx: Context, node: SourceNode) -> str:
    """A range that was learned."""
    low, high = (ctx.read_array(value).reshape(-1) for value in node.need(1, 2))
    if low.size != 1 or high.size != 1:
        raise ShapeMismatch(f"a range of {low.size} and {high.size} numbers is given, expected one of both")
    return _fake_quantize(ctx, node, low, high)


@tf_op("FakeQuantWithMinMaxVarsPerChannel")
def per_channel(ctx: Context, node: SourceNode) -> str:
    """A range for each place of the last axis."""
    x, *ends = node.need(0, 1, 2)
    low, high = (ctx.read_array(value).reshape(-1) for value in ends)
    if not low.size == high.size == ctx.shape(x)[-1:][0]:
        raise ShapeMismatch(
            f"ranges of {low.size} and {high.size} numbers are given for the last axis of {ctx.type(x)}",
            do="give one range for each channel",
        )
    return _fake_quantize(ctx, node, low, high, axis=ctx.rank(x) - 1)


def _fake_quantize(ctx: Context, node: SourceNode, low: Array, high: Array, axis: int | None = None) -> str:
    """Encoded and decoded; a narrow range has no lowest integer: numbers below it are raised first."""
    x = node.need(0)[0]
    bits, is_narrow = node.attributes.whole("num_bits", 8), node.attributes.flag("narrow_range")
    if not LEAST_BITS <= bits <= MOST_BITS:
        raise BadInput(f"num_bits is {bits}, expected {LEAST_BITS} to {MOST_BITS}", node.where)
    low, high = low.astype(np.float64), high.astype(np.float64)
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= 0).all() and (high >= low).all()):
        raise BadInput(
            f"a range from {low.min()} to {high.max()} is given, expected one that holds 0",
            node.where,
            do="train the ranges, or leave the node out",
        )
    if ((high - low) == 0).any():
        # TensorFlow gives zeros for an empty range; nothing was learned here.
        raise ctx.refuse(node, "its range is empty", do="train the ranges before exporting")
    with np.errstate(over="ignore"):
        scale, zero = _nudge_range(low, high, bits, is_narrow=is_narrow)
    if not np.isfinite(scale).all() or not scale.all():
        raise BadInput(f"a range of {high.max() - low.min()} has no scale", node.where, do="train the ranges")
    is_symmetric = is_narrow and bool((zero == 1 << (bits - 1)).all())
    shift = 1 << (bits - 1) if is_symmetric else 0
    encoding = Encoding(
        tuple(scale.tolist()),
        tuple((shift - zero).astype(int).tolist()),
        axis if scale.size > 1 else None,
        bits,
    )
    if is_narrow:
        x = _raise_lowest(ctx, x, (int(is_narrow) - zero) * scale)
    fixed = ctx.emit(Quantize(dtype=_choose_storage(bits, is_signed=is_symmetric), encoding=encoding), x)
    return ctx.emit(Dequantize(encoding=encoding), fixed)


def _nudge_range(low: Array, high: Array, bits: int, *, is_narrow: bool) -> tuple[Array, Array]:
    """Scale and zero point as TensorFlow moves a range, so that 0 is one of its numbers."""
    first, last = int(is_narrow), (1 << bits) - 1
    # In single precision, as TensorFlow's kernels compute it.
    scale = ((high.astype(np.float32) - low.astype(np.float32)) / np.float32(last - first)).astype(np.float64)
    start = first - low / scale
    zero = np.clip(np.floor(start + 0.5), first, last)
    return scale, zero


def _raise_lowest(ctx: Context, x: str, lowest: Array) -> str:
    known = ctx.find_array(x)
    numbers = lowest.astype(np.float32)
    if known is not None and (known >= numbers - np.abs(numbers) * 1e-6).all():
        return x
    return ctx.emit(
        ElementWiseMaximum(), x, ctx.add_constant(numbers if numbers.size > 1 else numbers.reshape(()))
    )


def _choose_storage(bits: int, *, is_signed: bool) -> DType:
    if bits <= BYTE:
        return DType.SFIXED_POINT_8 if is_signed else DType.UFIXED_POINT_8
    return DType.SFIXED_POINT_16 if is_signed else DType.UFIXED_POINT_16
