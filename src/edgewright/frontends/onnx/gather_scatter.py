"""ONNX ops that write elements by index: the scatters."""

from math import prod

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.frontends._common.builder import LARGEST_FOLD, NeedsValue
from edgewright.frontends._common.terms import broadcast_to, cast_to
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.foreign import keep_as_source_op
from edgewright.frontends.onnx.rearrange_fill import emit_iota, shape_value
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops.axes import normal_axis
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseEqual,
    ElementWiseGreaterEqual,
    ElementWiseLess,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWiseSelect,
    ElementWiseSubtract,
)
from edgewright.ops.gather import tuple_width
from edgewright.ops.gather_scatter import Reduction, ScatterElements, ScatterNd
from edgewright.ops.reduce import ReduceMax, ReduceMin, ReduceSum

EXTREMES = {"max": (ReduceMax, ElementWiseMaximum), "min": (ReduceMin, ElementWiseMinimum)}


@onnx_op("Scatter", since=9)
@onnx_op("ScatterElements", since=11)
def scatter_elements(ctx: Context, node: SourceNode) -> str | list[str]:
    """Along one axis, an index for every update."""
    data, indices, updates = node.inputs[:3]
    axis = normal_axis(node.attr("axis", 0), ctx.rank(data))
    if node.attr("reduction", "none") in EXTREMES:
        ScatterElements(axis=axis).infer(*(ctx.type(value) for value in node.inputs[:3]))
        shape, places = _read_numbers(ctx, data), _read_numbers(ctx, indices)
        strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
        others = sum(
            np.arange(n).reshape(-1, *[1] * (len(shape) - a - 1)) * strides[a]
            for a, n in enumerate(places)
            if a != axis
        )
        along = _scale_places(ctx, _from_front(ctx, indices, (shape[axis],)), (strides[axis],))
        flat = ctx.emit(ElementWiseAdd(), along, ctx.add_constant(np.asarray(others, np.int64)))
        return _scatter_extreme(ctx, node, flat, prod(shape))
    op = ScatterElements(axis=axis, reduction=_read_reduction(node))
    return ctx.emit(op, data, indices, updates)


@onnx_op("ScatterND", since=11)
def scatter_nd(ctx: Context, node: SourceNode) -> str | list[str]:
    """By index tuples."""
    data, indices, updates = node.inputs[:3]
    if node.attr("reduction", "none") in EXTREMES:
        ScatterNd().infer(*(ctx.type(value) for value in node.inputs[:3]))
        width = tuple_width(ctx.type(data), ctx.type(indices))
        shape = _read_numbers(ctx, data)[:width]
        _read_numbers(ctx, indices)
        strides = tuple(prod(shape[i + 1 :]) for i in range(width))
        places = _scale_places(ctx, _from_front(ctx, indices, shape), strides)
        flat = ctx.emit(ReduceSum(axes=(ctx.rank(indices) - 1,)), places)
        return _scatter_extreme(ctx, node, flat, prod(shape))
    return ctx.emit(ScatterNd(reduction=_read_reduction(node)), data, indices, updates)


@onnx_op("TensorScatter", since=24)
def tensor_scatter(ctx: Context, node: SourceNode) -> str:
    """Writes a run of slices into a cache, for each batch entry from its own index on."""
    cache, update = node.inputs[:2]
    rank = ctx.rank(cache)
    axis = normal_axis(node.attr("axis", -2), rank)
    if ctx.rank(update) != rank or axis == 0:
        raise ShapeMismatch(
            f"{ctx.type(update)} is written into {ctx.type(cache)} along axis {axis}",
            do="give an update of the cache's rank, and an axis after the batch",
        )
    length = ctx.shape(update)[axis]
    steps = emit_iota(ctx, shape_value(ctx, update, axis, axis + 1), length, DType.INT_64)
    places = ctx.reshape(steps, (length, *[1] * (rank - axis - 1)))
    if node.input(2):
        starts = cast_to(ctx, node.input(2), DType.INT_64)
        first = ctx.reshape(starts, (ctx.shape(cache)[0], *[1] * (rank - 1)))
        places = ctx.emit(ElementWiseAdd(), first, places)
    if node.attr("mode", "linear") == "circular":
        size = ctx.reshape(shape_value(ctx, cache, axis, axis + 1), ())
        is_over = ctx.emit(ElementWiseGreaterEqual(), places, size)
        around = ctx.emit(ElementWiseSubtract(), places, size)
        places = ctx.emit(ElementWiseSelect(), is_over, around, places)
    indices = broadcast_to(ctx, places, ctx.shape(update))
    return ctx.emit(ScatterElements(axis=axis), cache, indices, update)


def _read_reduction(node: SourceNode) -> Reduction:
    name = node.attr("reduction", "none").upper()
    if name not in Reduction.__members__:
        raise BadInput(
            f"reduction is '{name.lower()}', expected none, add, mul, max or min", do="export the model again"
        )
    return Reduction[name]


def _read_numbers(ctx: Context, value: str) -> tuple[int, ...]:
    if not ctx.type(value).is_static:
        raise NeedsValue(value, is_shape=True)
    return ctx.type(value).static_shape()


def _from_front(ctx: Context, indices: str, sizes: tuple[int, ...]) -> str:
    """Indices (of axes of these sizes, along the last axis) counted from the front."""
    places = cast_to(ctx, indices, DType.INT_64)
    is_negative = ctx.emit(ElementWiseLess(), places, ctx.add_constant(np.zeros((), np.int64)))
    moved = ctx.emit(ElementWiseAdd(), places, ctx.add_constant(np.asarray(sizes, np.int64)))
    return ctx.emit(ElementWiseSelect(), is_negative, moved, places)


def _scale_places(ctx: Context, places: str, strides: tuple[int, ...]) -> str:
    return ctx.emit(ElementWiseMultiply(), places, ctx.add_constant(np.asarray(strides, np.int64)))


def _scatter_extreme(ctx: Context, node: SourceNode, flat: str, count: int) -> str | list[str]:
    """Scatters with max or min: every update meets every place, and stands for the data where it is not its.

    ``flat`` tells the place of each update among ``count`` ones.
    """
    data, _, updates = node.inputs[:3]
    number = int(ctx.type(flat).count)
    size = int(ctx.type(data).count) // max(count, 1)
    if number * count * size > LARGEST_FOLD:
        return keep_as_source_op(ctx, node)
    if number * count * size == 0:
        return data
    reduce, combine = EXTREMES[node.attr("reduction")]
    here = ctx.add_constant(np.arange(count).reshape(1, count, 1))
    is_its = ctx.emit(ElementWiseEqual(), ctx.reshape(flat, (number, 1, 1)), here)
    old = ctx.reshape(data, (1, count, size))
    new = ctx.reshape(updates, (number, 1, size))
    candidates = ctx.emit(ElementWiseSelect(), is_its, new, old)
    best = ctx.emit(reduce(axes=(0,), keep_dims=True), candidates)
    return ctx.reshape(ctx.emit(combine(), best, old), ctx.shape(data))
