"""TensorFlow ops that cut: StridedSlice, Slice, Split, SplitV."""

from dataclasses import dataclass

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends._common.terms import emit_slice
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ir.dims import Dim, Shape
from edgewright.ops.axes import normal_axis
from edgewright.ops.rearrange import Concat
from edgewright.ops.rearrange_slice import Range, Split, bounded_range

# What becomes of an entry of a strided slice.
KEPT, NEW, SHRUNK = "kept", "new", "shrunk"
# Behind the end of every axis.
FAR = (1 << 31) - 1


@dataclass(frozen=True)
class _Cut:
    """What a strided slice says of each entry: bit i of a mask is about entry i."""

    begin: Shape
    end: Shape
    stride: tuple[int, ...]
    begin_mask: int
    end_mask: int
    ellipsis_mask: int
    new_axis_mask: int
    shrink_axis_mask: int


@tf_op("StridedSlice")
def strided_slice(ctx: Context, node: SourceNode) -> str:
    """Ranges, new axes, single places and an ellipsis, as Python writes them."""
    x, begin, end, stride = node.need(0, 1, 2, 3)
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    masks = [node.attributes.whole(name) for name in names]
    cut = _Cut(ctx.read_dims(begin), ctx.read_dims(end), ctx.read_ints(stride), *masks)
    if not len(cut.begin) == len(cut.end) == len(cut.stride):
        raise ShapeMismatch(
            f"{len(cut.begin)} begins, {len(cut.end)} ends and {len(cut.stride)} strides are given",
            do="give one of each for every axis",
        )
    ranges, shape = _list_ranges(cut, ctx.shape(x))
    result = emit_slice(ctx, x, ranges)
    sizes = iter(ctx.shape(result))
    final: list[Dim] = []
    for kind in shape:
        if kind == NEW:
            final.append(1)
        elif kind == SHRUNK:
            next(sizes)
        else:
            final.append(next(sizes))
    return ctx.reshape(result, final)


@tf_op("Roll")
def roll(ctx: Context, node: SourceNode) -> str:
    """What falls out behind comes in before: two slices, joined the other way round."""
    x, shifts, axes = node.need(0, 1, 2)
    for shift, axis in zip(ctx.read_ints(shifts), ctx.read_ints(axes), strict=True):
        place = normal_axis(axis, ctx.rank(x))
        dim = ctx.shape(x)[place]
        if not isinstance(dim, int):
            raise NeedsValue(x, is_shape=True)
        edge = -shift % dim if dim else 0
        if edge:
            first, second = ctx.emit_all(Split(axis=place, split_index=(edge,)), x)
            x = ctx.emit(Concat(axis=place), second, first)
    return x


@tf_op("Slice")
def slice_(ctx: Context, node: SourceNode) -> str:
    """A size of -1 takes the rest."""
    x, begin, size = node.need(0, 1, 2)
    starts, sizes, shape = ctx.read_dims(begin), ctx.read_dims(size), ctx.shape(x)
    if not len(starts) == len(sizes) == len(shape):
        raise ShapeMismatch(
            f"{len(starts)} begins and {len(sizes)} sizes are given for {ctx.type(x)}",
            do="give one of each for every axis",
        )
    ranges: list[Range] = [
        (start, dim if length == -1 else start + length, 1)
        for start, length, dim in zip(starts, sizes, shape, strict=True)
    ]
    return emit_slice(ctx, x, ranges)


@tf_op("Split")
def split(ctx: Context, node: SourceNode) -> list[str]:
    """Equal parts; the axis comes first."""
    axis, x = node.need(0, 1)
    place = normal_axis(ctx.read_ints(axis)[0], ctx.rank(x))
    count, dim = node.attributes.whole("num_split"), ctx.shape(x)[place]
    if count < 1 or (isinstance(dim, int) and dim % count):
        raise ShapeMismatch(
            f"axis {place} of {ctx.type(x)} does not make {count} equal parts", do="use another number"
        )
    if count == 1:
        return [x]
    return ctx.emit_all(Split(axis=place, split_index=tuple(dim // count * i for i in range(1, count))), x)


@tf_op("SplitV")
def split_sizes(ctx: Context, node: SourceNode) -> list[str]:
    """Parts of given sizes; one of them may be left open (-1)."""
    x, lengths, axis = node.need(0, 1, 2)
    place = normal_axis(ctx.read_ints(axis)[0], ctx.rank(x))
    sizes, dim = list(ctx.read_ints(lengths)), ctx.shape(x)[place]
    if sizes.count(-1) > 1 or not sizes:
        raise BadInput(f"sizes {sizes} leave more than one part open", node.where, do="leave one open")
    if -1 in sizes:
        if not isinstance(dim, int):
            raise NeedsValue(x, is_shape=True)
        sizes[sizes.index(-1)] = dim - sum(size for size in sizes if size != -1)
    if len(sizes) == 1:
        return [x]
    edges = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    return ctx.emit_all(Split(axis=place, split_index=tuple(edges)), x)


def _list_ranges(cut: _Cut, dims: Shape) -> tuple[list[Range], list[str]]:
    """One range for each axis of the data, and what becomes of each entry."""
    named = sum(1 for i in range(len(cut.begin)) if not (cut.new_axis_mask | cut.ellipsis_mask) >> i & 1)
    if named > len(dims):
        raise ShapeMismatch(f"{named} ranges are given for {len(dims)} axes", do="give one for each axis")
    ranges: list[Range] = []
    kinds: list[str] = []
    for i in range(len(cut.begin)):
        bit = 1 << i
        if cut.ellipsis_mask & bit:
            spare = len(dims) - named
            kinds += [KEPT] * spare
            ranges += [(0, dim, 1) for dim in dims[len(ranges) : len(ranges) + spare]]
        elif cut.new_axis_mask & bit:
            kinds.append(NEW)
        else:
            ranges.append(_range(cut, i, dims[len(ranges)]))
            kinds.append(SHRUNK if cut.shrink_axis_mask & bit else KEPT)
    rest = dims[len(ranges) :]
    return [*ranges, *((0, dim, 1) for dim in rest)], [*kinds, *[KEPT] * len(rest)]


def _range(cut: _Cut, i: int, dim: Dim) -> Range:
    bit, stride = 1 << i, cut.stride[i]
    if cut.shrink_axis_mask & bit:
        given = cut.begin[i]
        place = given + dim if isinstance(given, int) and given < 0 else given
        if isinstance(place, int) and (place < 0 or (isinstance(dim, int) and place >= dim)):
            raise ShapeMismatch(f"place {given} is outside an axis of size {dim}", do="use a place inside")
        return place, place + 1, 1
    first, last = (0, FAR) if stride > 0 else (FAR, -FAR)
    begin = first if cut.begin_mask & bit else cut.begin[i]
    return bounded_range(begin, last if cut.end_mask & bit else cut.end[i], stride, dim)
