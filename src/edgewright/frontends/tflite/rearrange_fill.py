"""TFLite ops that repeat, pad and fill, and those that tell shapes."""

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.frontends._common.builder import LARGEST_FOLD
from edgewright.frontends._common.terms import broadcast_to, cast_to, read_number
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ir.dims import Dim
from edgewright.ops.broadcast import broadcast_shapes
from edgewright.ops.rearrange_fill import Pad, Scheme, Shape, Tile

MIRRORS = {0: Scheme.MIRROR_REFLECT, 1: Scheme.MIRROR_SYMMETRIC}


@tflite_op("TILE")
def tile(ctx: Context, node: SourceNode) -> str:
    """Repeated along each axis."""
    x, multiples = node.need(0, 1)
    counts = ctx.read_dims(multiples)
    return x if all(count == 1 for count in counts) else ctx.emit(Tile(multiples=counts), x)


@tflite_op("BROADCAST_TO")
def broadcast(ctx: Context, node: SourceNode) -> str:
    """Axes of size 1 repeated."""
    x, shape = node.need(0, 1)
    return broadcast_to(ctx, x, ctx.read_dims(shape))


@tflite_op("BROADCAST_ARGS")
def broadcast_args(ctx: Context, node: SourceNode) -> str:
    """The shape that two shapes broadcast to."""
    left, right = (ctx.read_dims(value) for value in node.need(0, 1))
    return _emit_dims(ctx, broadcast_shapes(left, right), ctx.dtype(node.inputs[0]))


@tflite_op("PAD", "PADV2")
def pad(ctx: Context, node: SourceNode) -> str:
    """With zeros, or with the value of the third input."""
    x, amounts = node.need(0, 1)
    filling = read_number(ctx, node.input(2)) if node.input(2) else 0
    return _pad_tensor(ctx, node, x, amounts, Scheme.CONSTANT, filling)


@tflite_op("MIRROR_PAD")
def mirror_pad(ctx: Context, node: SourceNode) -> str:
    """With what lies inside, the edge repeated or not."""
    x, amounts = node.need(0, 1)
    mode = node.option("mode")
    if mode not in MIRRORS:
        raise BadInput(f"mode {mode} is not known, expected 0 or 1", node.where)
    return _pad_tensor(ctx, node, x, amounts, MIRRORS[mode], 0)


@tflite_op("FILL")
def fill(ctx: Context, node: SourceNode) -> str:
    """One value everywhere."""
    shape, value = node.need(0, 1)
    return broadcast_to(
        ctx, ctx.reshape(value, (1,) * max(len(ctx.read_dims(shape)), 0)), ctx.read_dims(shape)
    )


@tflite_op("SHAPE")
def shape(ctx: Context, node: SourceNode) -> str:
    """Sizes as far as they are known."""
    (x,) = node.need(0)
    return _emit_dims(ctx, ctx.shape(x), node.results[0].dtype or DType.INT_32, of=x)


@tflite_op("RANK")
def rank(ctx: Context, node: SourceNode) -> str:
    """The number of axes."""
    return ctx.add_constant(np.asarray(ctx.rank(node.need(0)[0]), np.int32))


@tflite_op("RANGE")
def range_(ctx: Context, node: SourceNode) -> str:
    """Numbers in equal steps; all three bounds must be known."""
    start, limit, step = (read_number(ctx, value) for value in node.need(0, 1, 2))
    if step == 0 or not np.isfinite([start, limit, step]).all():
        raise BadInput(f"a range from {start} to {limit} in steps of {step}", node.where)
    if abs((limit - start) / step) > LARGEST_FOLD:
        raise LimitExceeded(f"a range from {start} to {limit} in steps of {step} is too long", node.where)
    return ctx.add_constant(np.arange(start, limit, step).astype(ctx.dtype(node.inputs[0]).numpy))


def _pad_tensor(
    ctx: Context, node: SourceNode, x: str, amounts: str, scheme: Scheme, filling: float | int | bool
) -> str:
    flat = ctx.read_dims(amounts)
    if len(flat) != 2 * ctx.rank(x):
        raise ShapeMismatch(f"{len(flat)} amounts are given for {ctx.type(x)}", node.where)
    pairs = tuple(zip(flat[::2], flat[1::2], strict=True))
    if all(pair == (0, 0) for pair in pairs):
        return x
    return ctx.emit(Pad(scheme=scheme, pad_amount=pairs, pad_constant_value=filling), x)


def _emit_dims(ctx: Context, dims: tuple[Dim, ...], dtype: DType, of: str = "") -> str:
    """Dimensions as a value: a constant, or one that the builder can follow."""
    if all(isinstance(dim, int) for dim in dims):
        return ctx.add_constant(np.asarray(dims, dtype.numpy))
    if not of:
        raise ShapeMismatch(f"shape {list(dims)} has symbolic sizes", do="give the input's shape with -d")
    value = cast_to(ctx, ctx.emit(Shape(dtype=dtype), of), dtype)
    ctx.set_dims(value, dims)
    return value
