"""ONNX ops that pick elements by index, and those that make indices."""

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to, emit_nonzero_places
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.rearrange_fill import emit_iota, shape_value
from edgewright.frontends.onnx.registry import MICROSOFT, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops.axes import normal_axis
from edgewright.ops.elementwise import ElementWiseLess, ElementWiseSelect, ElementWiseSubtract
from edgewright.ops.gather import Gather, GatherElements, GatherNd, OneHot

# What OneHot writes: off first, on second.
VALUES = 2


@onnx_op("Gather")
def gather(ctx: Context, node: SourceNode) -> str:
    """Along one axis."""
    return ctx.emit(Gather(axis=_read_axis(ctx, node)), *node.inputs[:2])


@onnx_op("GatherElements", since=11)
def gather_elements(ctx: Context, node: SourceNode) -> str:
    """Along one axis, an index for every element."""
    return ctx.emit(GatherElements(axis=_read_axis(ctx, node)), *node.inputs[:2])


@onnx_op("GatherND", since=11)
@onnx_op("GatherND", domain=MICROSOFT)
def gather_nd(ctx: Context, node: SourceNode) -> str:
    """By index tuples."""
    return ctx.emit(GatherNd(batch_dims=node.attr("batch_dims", 0)), *node.inputs[:2])


@onnx_op("OneHot", since=9)
def one_hot(ctx: Context, node: SourceNode) -> str:
    """Depth and values are parameters; indices may be of any number type."""
    indices, depth, values = node.inputs[:3]
    found = ctx.read_array(values).reshape(-1)
    if found.size != VALUES or found.dtype == object:
        raise BadInput(f"values are {ctx.type(values)}, expected two numbers", do="give [off, on]")
    number = float if ctx.dtype(values).is_float else bool if ctx.dtype(values) == DType.BOOL_8 else int
    op = OneHot(
        depth=_read_depth(ctx, depth),
        axis=normal_axis(node.attr("axis", -1), ctx.rank(indices) + 1),
        on_value=number(found[1]),
        off_value=number(found[0]),
        dtype=ctx.dtype(values),
    )
    is_index = ctx.dtype(indices) in {DType.INT_32, DType.INT_64}
    return ctx.emit(op, indices if is_index else cast_to(ctx, indices, DType.INT_64))


@onnx_op("NonZero", since=9)
def non_zero(ctx: Context, node: SourceNode) -> str:
    """A column of indices for each element that is not 0; how many there are, only a run can tell."""
    x = node.inputs[0] if ctx.rank(node.inputs[0]) else ctx.reshape(node.inputs[0], (1,))
    return ctx.transpose(emit_nonzero_places(ctx, x, "NonZero"), (1, 0))


@onnx_op("Compress", since=9)
def compress(ctx: Context, node: SourceNode) -> str:
    """The slices where the condition holds."""
    x, condition = node.inputs[:2]
    if ctx.rank(condition) != 1:
        raise ShapeMismatch(f"the condition is {ctx.type(condition)}, expected a vector", do="reshape it")
    if not node.has("axis"):
        x = ctx.reshape(x, (ctx.type(x).count,))
    axis = normal_axis(node.attr("axis", 0), ctx.rank(x))
    places = emit_nonzero_places(ctx, condition, "NonZero")
    return ctx.emit(Gather(axis=axis), x, ctx.reshape(places, ctx.shape(places)[:1]))


@onnx_op("ReverseSequence", since=10)
def reverse_sequence(ctx: Context, node: SourceNode) -> str:
    """Each sequence of the batch is picked back to front up to its length, and as it is after that."""
    x, lengths = node.inputs[:2]
    rank = ctx.rank(x)
    batch, time = (normal_axis(node.attr(*item), rank) for item in (("batch_axis", 1), ("time_axis", 0)))
    if rank < 2 or batch == time:
        raise ShapeMismatch(
            f"batch axis {batch} and time axis {time} of {ctx.type(x)} are given, expected two axes",
            do="use two different axes",
        )
    order = (batch, time, *(axis for axis in range(rank) if axis not in {batch, time}))
    turned = ctx.transpose(x, order)
    places = _list_reversed_places(ctx, turned, lengths)
    picked = ctx.emit(GatherNd(batch_dims=1), turned, places)
    return ctx.transpose(picked, tuple(order.index(axis) for axis in range(rank)))


def _read_axis(ctx: Context, node: SourceNode) -> int:
    return normal_axis(node.attr("axis", 0), ctx.rank(node.inputs[0]))


def _read_depth(ctx: Context, value: str) -> int:
    found = ctx.read_ints(value)
    if len(found) != 1:
        raise BadInput(f"depth is {ctx.type(value)}, expected one number", do="give one number")
    return found[0]


def _list_reversed_places(ctx: Context, x: str, lengths: str) -> str:
    """For data [batch, time, ...]: which time each place is filled from, as tuples of one."""
    batch, time = ctx.shape(x)[:2]
    steps = emit_iota(ctx, shape_value(ctx, x, 1, 2), time, DType.INT_64)
    ends = ctx.reshape(cast_to(ctx, lengths, DType.INT_64), (batch, 1))
    is_inside = ctx.emit(ElementWiseLess(), steps, ends)
    last = ctx.emit(ElementWiseSubtract(), ends, ctx.add_constant(np.ones((), np.int64)))
    mirrored = ctx.emit(ElementWiseSubtract(), last, steps)
    return ctx.reshape(ctx.emit(ElementWiseSelect(), is_inside, mirrored, steps), (batch, time, 1))
