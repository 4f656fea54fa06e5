"""ONNX max pooling with what QNN's lacks: dilation, the places of the maxima, and the way back."""

from collections.abc import Sequence
from math import prod

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import Array
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.pool import check_taps, emit_pool, list_windows, pool_windows
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import emit_onnx_op, take_along
from edgewright.frontends.onnx.windows import make_geometry, read_int, read_ints
from edgewright.ops.pool import PoolMax2d, PoolMax3d
from edgewright.ops.windows import Geometry, Pair


@onnx_op("MaxPool")
def max_pool(ctx: Context, node: SourceNode) -> list[str]:
    """Channel last and back."""
    size, geometry, rounding = pool_windows(ctx, node)
    kind = PoolMax3d if len(size) == 3 else PoolMax2d
    if set(geometry.dilation) == {1}:
        result = emit_pool(ctx, node.inputs[0], kind, size, geometry, rounding)
    else:
        axes = len(size)
        side_by_side = Geometry(size, ((0, 0),) * axes, (1,) * axes)
        result = emit_pool(ctx, _unroll_windows(ctx, node), kind, size, side_by_side)
    has_indices = len(node.outputs) > 1 and node.outputs[1]
    return [result, _find_indices(ctx, node, size)] if has_indices else [result]


@onnx_op("MaxUnpool")
def max_unpool(ctx: Context, node: SourceNode) -> str:
    """Zeros with the values put back where they were; a larger output is padded behind."""
    x, indices = node.inputs[:2]
    size = read_ints(node, "kernel_shape")
    shape = _read_static_shape(ctx, x)
    geometry = make_geometry(ctx, node, size)
    spatial = [
        (shape[axis + 2] - 1) * geometry.stride[axis] + size[axis] - sum(map(int, geometry.pads[axis]))
        for axis in range(len(size))
    ]
    full = (*shape[:2], *spatial)
    wanted = ctx.read_ints(node.input(2)) if node.input(2) else full
    if min(full) < 1 or len(wanted) != len(full) or any(a < b for a, b in zip(wanted, full, strict=True)):
        raise ShapeMismatch(
            f"output shape {list(wanted)} does not hold the unpooled {list(full)}",
            node.where,
            do="give an output shape at least as large",
        )
    check_taps(wanted)
    zeros = ctx.add_constant(np.zeros(prod(full), ctx.dtype(x).numpy))
    flat = [ctx.reshape(value, (prod(shape),)) for value in (indices, x)]
    result = ctx.reshape(emit_onnx_op(ctx, "ScatterElements", zeros, *flat, axis=0), full)
    for axis, (have, want) in enumerate(zip(full, wanted, strict=True)):
        if want > have:
            room = (*ctx.type(result).static_shape()[:axis], want - have)
            rest = (*room, *ctx.type(result).static_shape()[axis + 1 :])
            behind = ctx.add_constant(np.zeros(rest, ctx.dtype(x).numpy))
            result = emit_onnx_op(ctx, "Concat", result, behind, axis=axis)
    return result


def _unroll_windows(ctx: Context, node: SourceNode) -> str:
    """The input with every window's elements side by side along each axis."""
    value = node.inputs[0]
    for axis, places in enumerate(_clamp_taps(ctx, node)):
        value = take_along(ctx, value, places.reshape(-1).tolist(), axis + 2)
    return value


def _clamp_taps(ctx: Context, node: SourceNode) -> list[Array]:
    """What windows see, with places outside replaced by the nearest of the same window inside.

    A maximum does not change by seeing an element twice, and the order of places stays.
    """
    result = []
    for places, length in zip(list_windows(ctx, node), ctx.shape(node.inputs[0])[2:], strict=True):
        is_inside = (places >= 0) & (places < int(length))
        if not is_inside.any(1).all():
            raise BadInput(
                f"a window sees only padding on an axis of {length}", node.where, do="lower the padding"
            )
        first = np.where(is_inside, places, np.iinfo(np.int64).max).min(1, keepdims=True)
        last = np.where(is_inside, places, -1).max(1, keepdims=True)
        result.append(np.clip(places, first, last))
    return result


def _find_indices(ctx: Context, node: SourceNode, size: Pair) -> str:
    """Flat places of the maxima in the whole input: the winning tap looked up in a table."""
    shape, places = _read_static_shape(ctx, node.inputs[0]), _clamp_taps(ctx, node)
    counts, axes = [len(rows) for rows in places], len(size)
    split = [dim for pair in zip(counts, size, strict=True) for dim in pair]
    grouped = ctx.reshape(_unroll_windows(ctx, node), (*shape[:2], *split))
    order = (0, 1, *range(2, 2 + 2 * axes, 2), *range(3, 3 + 2 * axes, 2))
    taps = ctx.reshape(ctx.transpose(grouped, order), (*shape[:2], prod(counts), prod(size)))
    check_taps((prod(counts), prod(size)))
    best = emit_onnx_op(ctx, "ArgMax", taps, axis=3, keepdims=0)
    starts = ctx.add_constant(np.arange(prod(counts), dtype=np.int64) * prod(size))
    table = _flatten_places(places, shape[2:], is_column_major=bool(read_int(node, "storage_order", 0)))
    spots = emit_onnx_op(
        ctx, "Gather", ctx.add_constant(table), emit_onnx_op(ctx, "Add", best, starts), axis=0
    )
    planes = np.arange(prod(shape[:2]), dtype=np.int64).reshape(*shape[:2], 1) * prod(shape[2:])
    return ctx.reshape(emit_onnx_op(ctx, "Add", spots, ctx.add_constant(planes)), (*shape[:2], *counts))


def _flatten_places(places: Sequence[Array], lengths: Sequence[int], *, is_column_major: bool) -> Array:
    """For each window and tap, in row-major order of both, its flat place in a plane of the input."""
    axes = len(places)
    steps = [prod(lengths[:axis]) if is_column_major else prod(lengths[axis + 1 :]) for axis in range(axes)]
    total: Array = np.zeros((1,) * (2 * axes), np.int64)
    for axis, rows in enumerate(places):
        shape = [1] * (2 * axes)
        shape[axis], shape[axes + axis] = rows.shape
        total = total + rows.reshape(shape) * steps[axis]
    return total.reshape(-1).astype(np.int64)


def _read_static_shape(ctx: Context, value: str) -> tuple[int, ...]:
    if not ctx.type(value).is_static:
        raise NeedsValue(value)
    return ctx.type(value).static_shape()
