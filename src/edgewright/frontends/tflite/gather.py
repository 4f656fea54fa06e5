"""TFLite ops that pick or write elements by index."""

from math import prod

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.frontends._common.builder import LARGEST_FOLD
from edgewright.frontends._common.terms import cast_to, emit_nonzero_places, read_number
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ir.types import TensorType
from edgewright.ops.axes import normal_axis
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseLess,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseSelect,
    ElementWiseSubtract,
)
from edgewright.ops.gather import Gather, GatherNd, OneHot
from edgewright.ops.gather_scatter import Reduction, ScatterNd


@tflite_op("GATHER")
def gather(ctx: Context, node: SourceNode) -> str:
    """Along one axis; with a batch, each item by its own indices."""
    x, indices = node.need(0, 1)
    axis = normal_axis(node.option("axis"), ctx.rank(x))
    batch = node.option("batch_dims")
    batch = batch + ctx.rank(indices) if batch < 0 else batch
    if not batch:
        return ctx.emit(Gather(axis=axis), x, indices)
    if axis != batch:
        raise ctx.refuse(node, f"axis {axis} of a batch of {batch} axes, expected axis {batch}")
    tuples = ctx.reshape(indices, (*ctx.shape(indices), 1))
    return ctx.emit(GatherNd(batch_dims=batch), x, tuples)


@tflite_op("GATHER_ND")
def gather_nd(ctx: Context, node: SourceNode) -> str:
    """By index tuples."""
    return ctx.emit(GatherNd(), *node.need(0, 1))


@tflite_op("EMBEDDING_LOOKUP")
def embedding_lookup(ctx: Context, node: SourceNode) -> str:
    """Rows of a table."""
    indices, table = node.need(0, 1)
    return ctx.emit(Gather(axis=0), table, indices)


@tflite_op("ONE_HOT")
def one_hot(ctx: Context, node: SourceNode) -> str:
    """Depth and both values must be known."""
    indices, *others = node.need(0, 1, 2, 3)
    depth, on, off = (read_number(ctx, value) for value in others)
    if depth < 0:
        raise BadInput(f"depth is {depth}, expected 0 or more", node.where)
    axis = normal_axis(node.option("axis"), ctx.rank(indices) + 1)
    dtype = ctx.dtype(others[1])
    op = OneHot(depth=int(depth), axis=axis, on_value=on, off_value=off, dtype=dtype)
    return ctx.emit(op, cast_to(ctx, indices, DType.INT_32))


@tflite_op("WHERE")
def where(ctx: Context, node: SourceNode) -> str:
    """The places of what is not 0."""
    (x,) = node.need(0)
    return emit_nonzero_places(ctx, x, "Where")


@tflite_op("SCATTER_ND")
def scatter_nd(ctx: Context, node: SourceNode) -> str:
    """Updates of one place add up in a field of zeros."""
    indices, updates, shape = node.need(0, 1, 2)
    return _scatter_add(ctx, node, indices, updates, ctx.read_ints(shape))


@tflite_op("UNSORTED_SEGMENT_SUM")
def unsorted_segment_sum(ctx: Context, node: SourceNode) -> str:
    """Slices of one segment add up."""
    x, segments, count = node.need(0, 1, 2)
    own = ctx.rank(segments)
    tuples = ctx.reshape(segments, (*ctx.shape(segments), 1))
    return _scatter_add(ctx, node, tuples, x, (*ctx.read_ints(count), *ctx.sizes(x)[own:]))


@tflite_op("SEGMENT_SUM")
def segment_sum(ctx: Context, node: SourceNode) -> str:
    """Rows of one segment add up; the segments must be known."""
    x, segments = node.need(0, 1)
    count = max(ctx.read_ints(segments), default=-1) + 1
    tuples = ctx.reshape(segments, (*ctx.shape(segments), 1))
    return _scatter_add(ctx, node, tuples, x, (count, *ctx.sizes(x)[1:]))


@tflite_op("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(ctx: Context, node: SourceNode) -> str:
    """Writes a block into a copy, moved so that all of it lies inside."""
    x, block, start = node.need(0, 1, 2)
    shape, size = ctx.sizes(x), ctx.sizes(block)
    if len(shape) != len(size) or any(a < b for a, b in zip(shape, size, strict=True)):
        raise ShapeMismatch(f"{ctx.type(block)} does not fit into {ctx.type(x)}", node.where)
    _check_field((*size, len(size)), node)
    room = np.asarray([a - b for a, b in zip(shape, size, strict=True)], np.int32)
    begin = cast_to(ctx, start, DType.INT_32)
    begin = ctx.emit(ElementWiseMaximum(), begin, ctx.add_constant(np.zeros_like(room)))
    begin = ctx.emit(ElementWiseMinimum(), begin, ctx.add_constant(room))
    places = np.stack(np.meshgrid(*(np.arange(n) for n in size), indexing="ij"), -1).astype(np.int32)
    return ctx.emit(ScatterNd(), x, ctx.emit(ElementWiseAdd(), ctx.add_constant(places), begin), block)


@tflite_op("REVERSE_SEQUENCE")
def reverse_sequence(ctx: Context, node: SourceNode) -> str:
    """Each sequence of the batch back to front up to its length, and as it is after that."""
    x, lengths = node.need(0, 1)
    rank = ctx.rank(x)
    time, batch = (normal_axis(node.option(name), rank) for name in ("seq_dim", "batch_dim"))
    if time == batch:
        raise BadInput(f"time and batch are both axis {time}, expected two axes", node.where)
    order = (batch, time, *(axis for axis in range(rank) if axis not in {batch, time}))
    turned = ctx.transpose(x, order)
    count, steps = ctx.sizes(turned)[:2]
    here = ctx.add_constant(np.arange(steps, dtype=np.int32)[None])
    ends = ctx.reshape(cast_to(ctx, lengths, DType.INT_32), (count, 1))
    last = ctx.emit(ElementWiseSubtract(), ends, ctx.add_constant(np.ones((), np.int32)))
    mirrored = ctx.emit(ElementWiseSubtract(), last, here)
    picked = ctx.emit(ElementWiseSelect(), ctx.emit(ElementWiseLess(), here, ends), mirrored, here)
    result = ctx.emit(GatherNd(batch_dims=1), turned, ctx.reshape(picked, (count, steps, 1)))
    return ctx.transpose(result, tuple(order.index(axis) for axis in range(rank)))


def _scatter_add(ctx: Context, node: SourceNode, indices: str, updates: str, shape: tuple[int, ...]) -> str:
    _check_field(shape, node)
    field = ctx.zeros(TensorType(shape, ctx.dtype(updates)), f"{node.label}_zeros")
    return ctx.emit(ScatterNd(reduction=Reduction.ADD), field, indices, updates)


def _check_field(shape: tuple[int, ...], node: SourceNode) -> None:
    if any(dim < 0 for dim in shape):
        raise BadInput(f"shape {list(shape)} has a negative size", node.where)
    if prod(shape) > LARGEST_FOLD:
        raise LimitExceeded(f"shape {list(shape)} has more than {LARGEST_FOLD} elements", node.where)
