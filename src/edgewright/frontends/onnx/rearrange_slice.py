"""ONNX ops that cut and pad: Slice, Split, Pad, CenterCropPad."""

from collections.abc import Sequence

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends._common.terms import emit_slice, read_number
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.rearrange import read_dims, read_ints
from edgewright.frontends.onnx.registry import MICROSOFT, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.dims import Dim, ceil_div, maximum, minimum
from edgewright.ops.axes import normal_axis, normalize_axes
from edgewright.ops.gather import Gather
from edgewright.ops.rearrange import Concat
from edgewright.ops.rearrange_fill import Pad, Scheme
from edgewright.ops.rearrange_slice import Range, Split, bounded_range

SCHEMES = {"constant": Scheme.CONSTANT, "reflect": Scheme.MIRROR_REFLECT, "edge": Scheme.EDGE}
WRAP = "wrap"
# From here on a last part may be smaller than the others.
FIRST_UNEVEN_SPLIT_OPSET = 18


@onnx_op("Slice")
def slice_(ctx: Context, node: SourceNode) -> str:
    """Ends are cut to the axis, negative ones count from the back."""
    shape = ctx.shape(node.inputs[0])
    starts, ends = read_dims(ctx, node, "starts", 1), read_dims(ctx, node, "ends", 2)
    if starts is None or ends is None:
        raise BadInput("starts or ends are missing", do="export the model again")
    given = read_ints(ctx, node, "axes", 3)
    axes = tuple(range(len(starts))) if given is None else given
    steps = read_ints(ctx, node, "steps", 4) or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) <= len(shape):
        raise ShapeMismatch(
            f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps are given "
            f"for {ctx.type(node.inputs[0])}",
            do="give one of each for every axis to slice",
        )
    ranges: list[Range] = [(0, dim, 1) for dim in shape]
    places = normalize_axes(axes, len(shape))
    for start, end, place, step in zip(starts, ends, places, steps, strict=True):
        ranges[place] = bounded_range(start, end, step, shape[place])
    return emit_slice(ctx, node.inputs[0], ranges)


@onnx_op("Split")
def split(ctx: Context, node: SourceNode) -> list[str]:
    """Sizes as they are given, or parts as equal as can be."""
    x = node.inputs[0]
    if not ctx.rank(x):
        raise ShapeMismatch("a number is given, expected a tensor with an axis to split", do="reshape it")
    axis = normal_axis(node.attr("axis", 0), ctx.rank(x))
    dim, count = ctx.shape(x)[axis], len(node.outputs)
    sizes = read_dims(ctx, node, "split", 1)
    edges = _list_equal_edges(node, dim, count) if sizes is None else _list_edges(sizes, dim, count)
    if count == 1:
        return [x]
    return ctx.emit_all(Split(axis=axis, split_index=edges), x)


@onnx_op("Pad", since=2)
@onnx_op("Pad", domain=MICROSOFT)
def pad(ctx: Context, node: SourceNode) -> str:
    """Negative amounts crop first; what is left is padded."""
    x = node.inputs[0]
    before, after = _read_amounts(ctx, node)
    ranges = [
        (maximum(b * -1, 0), dim - maximum(a * -1, 0), 1)
        for dim, b, a in zip(ctx.shape(x), before, after, strict=True)
    ]
    cropped = emit_slice(ctx, x, ranges)
    pairs = [(maximum(b, 0), maximum(a, 0)) for b, a in zip(before, after, strict=True)]
    return _pad_value(ctx, node, cropped, pairs)


@onnx_op("CenterCropPad")
def center_crop_pad(ctx: Context, node: SourceNode) -> str:
    """The middle of what is too long, zeros around what is too short."""
    x = node.inputs[0]
    shape, targets = ctx.shape(x), ctx.read_dims(node.inputs[1])
    axes = normalize_axes(node.attr("axes", list(range(len(shape)))), len(shape))
    if len(axes) != len(targets):
        raise ShapeMismatch(
            f"{len(targets)} sizes are given for {len(axes)} axes", do="give one for each axis"
        )
    ranges: list[Range] = [(0, dim, 1) for dim in shape]
    pairs: list[tuple[Dim, Dim]] = [(0, 0)] * len(shape)
    for axis, target in zip(axes, targets, strict=True):
        dim = shape[axis]
        begin = maximum(dim - target, 0) // 2
        ranges[axis] = (begin, begin + minimum(dim, target), 1)
        missing = maximum(target - dim, 0)
        pairs[axis] = (missing // 2, missing - missing // 2)
    cropped = emit_slice(ctx, x, ranges)
    if all(pair == (0, 0) for pair in pairs):
        return cropped
    return ctx.emit(Pad(scheme=Scheme.CONSTANT, pad_amount=tuple(pairs), pad_constant_value=0), cropped)


def _list_edges(sizes: Sequence[Dim], dim: Dim, count: int) -> tuple[Dim, ...]:
    """Where the parts after the first begin."""
    total: Dim = sum(sizes, start=0)
    if len(sizes) != count or (isinstance(total, int) and isinstance(dim, int) and total != dim):
        raise ShapeMismatch(
            f"parts of {list(sizes)} are given for an axis of size {dim} and {count} outputs",
            do="give one size for each output that together make the axis",
        )
    starts: list[Dim] = []
    place: Dim = 0
    for size in sizes[:-1]:
        place = place + size
        starts.append(place)
    return tuple(starts)


def _list_equal_edges(node: SourceNode, dim: Dim, count: int) -> tuple[Dim, ...]:
    wanted = node.attr("num_outputs", count)
    is_even = node.version < FIRST_UNEVEN_SPLIT_OPSET
    if wanted != count or count < 1 or (is_even and isinstance(dim, int) and dim % count):
        raise ShapeMismatch(
            f"an axis of size {dim} is split into {wanted} parts for {count} outputs",
            do="give as many parts as outputs, and sizes where they are unequal",
        )
    size = ceil_div(dim, count)
    return tuple(minimum(size * i, dim) for i in range(1, count))


def _read_amounts(ctx: Context, node: SourceNode) -> tuple[list[Dim], list[Dim]]:
    """Amounts before and after each axis."""
    rank = ctx.rank(node.inputs[0])
    amounts = read_dims(ctx, node, "pads", 1)
    axes = ctx.read_ints(node.input(3)) if node.input(3) else tuple(range(rank))
    if amounts is None or len(amounts) != 2 * len(axes):
        raise ShapeMismatch(
            f"{0 if amounts is None else len(amounts)} amounts are given for {len(axes)} axes",
            do="give two for each axis",
        )
    before: list[Dim] = [0] * rank
    after: list[Dim] = [0] * rank
    for i, place in enumerate(normalize_axes(axes, rank)):
        before[place], after[place] = amounts[i], amounts[len(axes) + i]
    return before, after


def _pad_value(ctx: Context, node: SourceNode, value: str, pairs: list[tuple[Dim, Dim]]) -> str:
    mode = node.attr("mode", "constant")
    if mode not in {*SCHEMES, WRAP}:
        raise BadInput(f"mode is '{mode}', expected one of {[*SCHEMES, WRAP]}", do="export the model again")
    if all(pair == (0, 0) for pair in pairs):
        return value
    if mode == WRAP:
        for axis, pair in enumerate(pairs):
            value = value if pair == (0, 0) else _wrap_axis(ctx, value, axis, pair)
        return value
    filling: float | int | bool = 0
    if mode == "constant":
        filling = read_number(ctx, node.input(2)) if node.input(2) else node.attr("value", 0)
    op = Pad(scheme=SCHEMES[mode], pad_amount=tuple(pairs), pad_constant_value=filling)
    return ctx.emit(op, value)


def _wrap_axis(ctx: Context, value: str, axis: int, pair: tuple[Dim, Dim]) -> str:
    """The axis continued on both sides as if it were a ring."""
    dim = ctx.shape(value)[axis]
    if all(isinstance(i, int) for i in (dim, *pair)):
        if dim == 0:
            raise ShapeMismatch("an empty axis is wrapped around", do="pad with a constant")
        places = np.arange(-int(pair[0]), int(dim) + int(pair[1])) % int(dim)
        return ctx.emit(Gather(axis=axis), value, ctx.add_constant(places.astype(np.int64)))
    parts = [value]
    whole: list[Range] = [(0, d, 1) for d in ctx.shape(value)]
    for place, part in ((0, (dim - pair[0], dim, 1)), (2, (0, pair[1], 1))):
        cut = emit_slice(ctx, value, [*whole[:axis], part, *whole[axis + 1 :]])
        parts.insert(place, cut)
    return ctx.emit(Concat(axis=axis), *parts)
