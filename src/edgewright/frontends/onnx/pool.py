"""ONNX pooling."""

from collections.abc import Sequence
from math import prod

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded
from edgewright.core.numbers import Array
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.conv import emit_conv
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import emit_reduction
from edgewright.frontends.onnx.windows import (
    add_height,
    drop_height,
    lift_geometry,
    make_geometry,
    read_int,
    read_ints,
)
from edgewright.ops.elementwise import ElementWiseDivide, ElementWiseMultiply, ElementWisePower
from edgewright.ops.elementwise_unary import ElementWiseAbs
from edgewright.ops.pool import L2Pool2d, Pool, PoolAvg2d, PoolAvg3d, PoolMax2d, PoolMax3d, Rounding
from edgewright.ops.windows import Geometry, Pair, output_size

LARGEST_TABLE = 1 << 26


@onnx_op("AveragePool")
def average_pool(ctx: Context, node: SourceNode) -> str:
    """Channel last and back; dilated windows are sums by a convolution, divided by what they count."""
    size, geometry, rounding = pool_windows(ctx, node)
    counts_pads = bool(read_int(node, "count_include_pad", 0))
    if set(geometry.dilation) == {1}:
        kind = PoolAvg3d if len(size) == 3 else PoolAvg2d
        return emit_pool(ctx, node.inputs[0], kind, size, geometry, rounding, count_pad_for_edges=counts_pads)
    total, taps = _sum_windows(ctx, node, node.inputs[0])
    counts: Array = np.ones((), np.float64)
    for axis, places in enumerate(taps):
        before, after = geometry.pads[axis]
        length = int(ctx.shape(node.inputs[0])[axis + 2])
        low, high = (-int(before), length + int(after)) if counts_pads else (0, length)
        counts = counts[..., None] * ((places >= low) & (places < high)).sum(1)
    divisor = counts.reshape(1, 1, *counts.shape).astype(ctx.dtype(total).numpy)
    return ctx.emit(ElementWiseDivide(), total, ctx.add_constant(divisor))


@onnx_op("LpPool")
def lp_pool(ctx: Context, node: SourceNode) -> str:
    """The p-norm of each window; QNN's L2 pooling takes the mean, so it is scaled."""
    size, geometry, rounding = pool_windows(ctx, node)
    p = read_int(node, "p", 2)
    if p < 1:
        raise BadInput(f"p is {p}, expected at least 1", node.where, do="export the model again")
    is_plain = not any(side for pair in geometry.pads for side in pair) and set(geometry.dilation) == {1}
    if p == 2 and is_plain and rounding == Rounding.FLOOR and len(size) < 3:
        result = emit_pool(ctx, node.inputs[0], L2Pool2d, size, geometry, rounding)
        return ctx.emit(ElementWiseMultiply(), result, ctx.add_scalar(prod(size) ** 0.5, result))
    power = ctx.emit(ElementWiseAbs(), node.inputs[0])
    power = ctx.emit(ElementWisePower(), power, ctx.add_scalar(p, power))
    total, _ = _sum_windows(ctx, node, power)
    return ctx.emit(ElementWisePower(), total, ctx.add_scalar(1 / p, total))


@onnx_op("GlobalAveragePool")
def global_average_pool(ctx: Context, node: SourceNode) -> str:
    """A window over everything, or a mean where the size is not known."""
    return _emit_global(ctx, node, PoolAvg2d, PoolAvg3d) or _emit_reduction(
        ctx, node, "ReduceMean", node.inputs[0]
    )


@onnx_op("GlobalMaxPool")
def global_max_pool(ctx: Context, node: SourceNode) -> str:
    """A window over everything, or a maximum where the size is not known."""
    return _emit_global(ctx, node, PoolMax2d, PoolMax3d) or _emit_reduction(
        ctx, node, "ReduceMax", node.inputs[0]
    )


@onnx_op("GlobalLpPool")
def global_lp_pool(ctx: Context, node: SourceNode) -> str:
    """The p-norm over all spatial axes."""
    p = read_int(node, "p", 2)
    if p < 1:
        raise BadInput(f"p is {p}, expected at least 1", node.where, do="export the model again")
    power = ctx.emit(ElementWiseAbs(), node.inputs[0])
    power = ctx.emit(ElementWisePower(), power, ctx.add_scalar(p, power))
    total = _emit_reduction(ctx, node, "ReduceSum", power)
    return ctx.emit(ElementWisePower(), total, ctx.add_scalar(1 / p, total))


def pool_windows(ctx: Context, node: SourceNode) -> tuple[Pair, Geometry, Rounding]:
    """Size, geometry and rounding of a pool's windows."""
    size = read_ints(node, "kernel_shape")
    if len(size) not in {1, 2, 3}:
        raise ctx.refuse(node, f"{len(size)} spatial axes, expected 1 to 3")
    return size, make_geometry(ctx, node, size), Rounding(bool(read_int(node, "ceil_mode", 0)))


def emit_pool(
    ctx: Context,
    x: str,
    kind: type[Pool],
    size: Pair,
    geometry: Geometry,
    rounding: Rounding = Rounding.FLOOR,
    **params: bool,
) -> str:
    """A pool of a channel-first value; 1-D becomes 2-D of height 1."""
    flat = lift_geometry(geometry)
    given = {**params, "rounding_mode": rounding} if kind is not L2Pool2d else params
    op = kind(
        filter_size=size if len(size) > 1 else (1, *size),
        stride=flat.stride,
        pad_amount=flat.pads,
        **given,
    )
    result = ctx.emit(op, ctx.move_channels_last(add_height(ctx, x)))
    return drop_height(ctx, ctx.move_channels_first(result), ctx.rank(x))


def list_windows(ctx: Context, node: SourceNode) -> list[Array]:
    """The places [windows, taps] that windows see along each spatial axis; some lie outside the data."""
    size, geometry, rounding = pool_windows(ctx, node)
    spatial = ctx.shape(node.inputs[0])[2:]
    if not all(isinstance(dim, int) for dim in spatial):
        raise NeedsValue(node.inputs[0])
    return [
        list_taps(int(length), size[axis], geometry, axis, is_ceil=bool(rounding))
        for axis, length in enumerate(spatial)
    ]


def list_taps(length: int, window: int, geometry: Geometry, axis: int, *, is_ceil: bool) -> Array:
    """The places [windows, taps] that windows see along one axis of a known length."""
    step, stride, pads = geometry.dilation[axis], geometry.stride[axis], geometry.pads[axis]
    count = int(output_size(length, (window - 1) * step + 1, stride, pads, is_ceil=is_ceil))
    check_taps((count, window))
    starts: Array = np.arange(count) * stride - int(pads[0])
    return starts[:, None] + np.arange(window) * step


def check_taps(sizes: Sequence[int]) -> None:
    """Refuses tables of windows that are larger than any real one."""
    if prod(sizes) > LARGEST_TABLE:
        raise LimitExceeded(
            f"windows make a table of {list(sizes)}, expected at most {LARGEST_TABLE} entries",
            do="lower the window or the padding",
        )


def _sum_windows(ctx: Context, node: SourceNode, x: str) -> tuple[str, list[Array]]:
    """The sum over each window, by a convolution of each channel with ones."""
    size, geometry, _ = pool_windows(ctx, node)
    taps, channels = list_windows(ctx, node), ctx.shape(x)[1]
    if not isinstance(channels, int):
        raise NeedsValue(node.inputs[0])
    lengths = [int(dim) for dim in ctx.shape(x)[2:]]
    pads = tuple(
        (-int(places.min()), max(0, int(places.max()) + 1 - length))
        for places, length in zip(taps, lengths, strict=True)
    )
    check_taps((channels, *size))
    ones = np.ones((channels, 1, *size), ctx.dtype(x).numpy)
    summing = Geometry(geometry.stride, pads, geometry.dilation, channels)
    return emit_conv(ctx, x, ctx.add_constant(ones), [], summing), taps


def _emit_global(ctx: Context, node: SourceNode, flat: type[Pool], deep: type[Pool]) -> str | None:
    spatial: Sequence[object] = ctx.shape(node.inputs[0])[2:]
    size = tuple(dim for dim in spatial if isinstance(dim, int) and dim > 0)
    if len(size) != len(spatial) or len(size) not in {1, 2, 3}:
        return None
    axes = len(size)
    whole = Geometry((1,) * axes, ((0, 0),) * axes, (1,) * axes)
    return emit_pool(ctx, node.inputs[0], deep if axes == 3 else flat, size, whole)


def _emit_reduction(ctx: Context, node: SourceNode, op_type: str, value: str) -> str:
    rank = ctx.rank(value)
    if rank < 3:
        raise BadInput(
            f"{ctx.type(value)} has no spatial axes", node.where, do="give an input of rank 3 or more"
        )
    return emit_reduction(ctx, node, op_type, value, range(2, rank))
