"""Moving elements in the engine: reshapes, slices, joins, tiles and padding."""

import numpy as np
import onnx

from edgewright.backends.cpu.patterns import find_origin
from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.writer import ENGINE_CODES, Writer
from edgewright.core.numbers import DType
from edgewright.ir.dims import Dim, Expr
from edgewright.ir.dims import Shape as Dims
from edgewright.ir.graph import Node
from edgewright.ops.rearrange import Concat, ExpandDims, Pack, Reshape, Squeeze, Transpose, UnPack
from edgewright.ops.rearrange_blocks import BlockMode, ChannelShuffle, DepthToSpace, SpaceToDepth
from edgewright.ops.rearrange_fill import (
    ConstantOfShape,
    Pad,
    RandomNormalLike,
    RandomUniformLike,
    Scheme,
    Shape,
    Tile,
)
from edgewright.ops.rearrange_slice import Split, StridedSlice

# Cut to the last place before the first element: the engine reads -1 as the last element.
BEFORE_FIRST = -(1 << 62)
SCHEMES = {Scheme.CONSTANT: "constant", Scheme.MIRROR_REFLECT: "reflect", Scheme.EDGE: "edge"}


@lowers(Reshape)
def reshape(w: Writer, op: Reshape, inputs: list[str], node: Node) -> str:
    """Ones put in or taken out are that; else sizes the engine can copy or infer are left to it."""
    before, _ = find_origin(w.graph, node.inputs[0], (Reshape,))
    is_same = w.graph.types[before] == w.graph.types[node.outputs[0]]
    if is_same and w.graph.types[before].encoding is None and w.is_written(before):
        # An output of the model would be a copy.
        return w.value(before)
    found = w.type(node.inputs[0]).shape
    if not (all(isinstance(dim, int) for dim in op.shape)):
        added, dropped = _find_added_ones(found, op.shape), _find_added_ones(op.shape, found)
        if added is not None:
            return w.node("Unsqueeze", inputs[0], w.ints(added))
        if dropped is not None:
            return w.node("Squeeze", inputs[0], w.ints(dropped))
    shape = _leave_open_sizes(w, found, op.shape)
    return w.node("Reshape", inputs[0], w.ints(shape), allowzero=1 if 0 in op.shape else None)


@lowers(Squeeze)
def squeeze(w: Writer, op: Squeeze, inputs: list[str], node: Node) -> str:
    """Squeeze."""
    return w.node("Squeeze", inputs[0], w.ints(op.axes))


@lowers(ExpandDims)
def expand_dims(w: Writer, op: ExpandDims, inputs: list[str], node: Node) -> str:
    """Unsqueeze."""
    return w.node("Unsqueeze", inputs[0], w.ints([op.axis]))


@lowers(Transpose)
def transpose(w: Writer, op: Transpose, inputs: list[str], node: Node) -> str:
    """Left out where it undoes another."""
    return w.transpose(inputs[0], op.perm)


@lowers(Concat)
def concat(w: Writer, op: Concat, inputs: list[str], node: Node) -> str:
    """Concat."""
    return w.node("Concat", *inputs, axis=op.axis)


@lowers(Pack)
def pack(w: Writer, op: Pack, inputs: list[str], node: Node) -> str:
    """A new axis for each, then Concat."""
    axes = w.ints([op.axis])
    return w.node("Concat", *(w.node("Unsqueeze", name, axes) for name in inputs), axis=op.axis)


@lowers(UnPack)
def unpack(w: Writer, op: UnPack, inputs: list[str], node: Node) -> list[str]:
    """Split, then without the axis."""
    axes = w.ints([op.axis])
    count = len(node.outputs)
    parts = w.node_all("Split", inputs[0], w.ints([1] * count), outputs=count, axis=op.axis)
    return [w.node("Squeeze", part, axes) for part in parts]


@lowers(Split)
def split(w: Writer, op: Split, inputs: list[str], node: Node) -> list[str]:
    """Split with the size of each part."""
    sizes = [w.type(value).shape[op.axis] for value in node.outputs]
    return w.node_all("Split", inputs[0], w.ints(sizes), outputs=len(sizes), axis=op.axis)


@lowers(StridedSlice)
def strided_slice(w: Writer, op: StridedSlice, inputs: list[str], node: Node) -> str:
    """Slice on the axes that change, then the axes that go and come."""
    shape = w.type(node.inputs[0]).shape
    parts = op.parts(shape)
    ranges = [part for _, part in parts if part is not None]
    axes = [axis for axis, part in enumerate(ranges) if part != (0, shape[axis], 1)]
    x = inputs[0]
    if axes:
        chosen = [ranges[axis] for axis in axes]
        ends = [_clip_end(end, stride) for _, end, stride in chosen]
        begins, strides = [part[0] for part in chosen], [part[2] for part in chosen]
        x = w.node("Slice", x, w.ints(begins), w.ints(ends), w.ints(axes), w.ints(strides))
    shrunk = [axis for axis, (bit, _) in enumerate(_list_existing(parts)) if op.shrink_axes & bit]
    if shrunk:
        x = w.node("Squeeze", x, w.ints(shrunk))
    added = _list_new_axes(op, parts)
    return w.node("Unsqueeze", x, w.ints(added)) if added else x


@lowers(Tile)
def tile(w: Writer, op: Tile, inputs: list[str], node: Node) -> str:
    """A broadcast where only axes of size 1 are repeated: the engine does that faster."""
    shape = w.type(node.inputs[0]).shape
    if all(dim == 1 or multiple == 1 for dim, multiple in zip(shape, op.multiples, strict=True)):
        return w.node("Expand", inputs[0], w.ints(op.multiples))
    return w.node("Tile", inputs[0], w.ints(op.multiples))


@lowers(Pad)
def pad(w: Writer, op: Pad, inputs: list[str], node: Node) -> str:
    """Pad; the engine mirrors without the edge only, and only as far as the axis reaches."""
    source = w.type(node.inputs[0])
    if op.scheme not in SCHEMES or (op.scheme == Scheme.MIRROR_REFLECT and _overreaches(op, source.shape)):
        raise NotOnEngine
    amounts = [before for before, _ in op.pad_amount] + [after for _, after in op.pad_amount]
    value = [w.scalar(op.pad_constant_value, source.dtype)] if op.scheme == Scheme.CONSTANT else []
    return w.node("Pad", inputs[0], w.ints(amounts), *value, mode=SCHEMES[op.scheme])


@lowers(Shape)
def shape_of(w: Writer, op: Shape, inputs: list[str], node: Node) -> str:
    """Shape, in the datatype wanted."""
    found = w.node("Shape", inputs[0], start=op.start, end=op.end)
    return found if op.dtype == DType.INT_64 else w.node("Cast", found, to=ENGINE_CODES[op.dtype])


@lowers(ConstantOfShape)
def constant_of_shape(w: Writer, op: ConstantOfShape, inputs: list[str], node: Node) -> str:
    """ConstantOfShape."""
    sizes = inputs[0]
    if w.type(node.inputs[0]).dtype != DType.INT_64:
        sizes = w.node("Cast", sizes, to=onnx.TensorProto.INT64)
    value = onnx.numpy_helper.from_array(np.full(1, op.value).astype(op.dtype.numpy))
    return w.node("ConstantOfShape", sizes, value=value)


@lowers(DepthToSpace)
def depth_to_space(w: Writer, op: DepthToSpace, inputs: list[str], node: Node) -> str:
    """DepthToSpace, channel first; blocks are squares there."""
    if op.block_size[0] != op.block_size[1]:
        raise NotOnEngine
    x = w.channel_first(inputs[0], 4)
    return w.channel_last(
        w.node("DepthToSpace", x, blocksize=op.block_size[0], mode=BlockMode(op.mode).name), 4
    )


@lowers(ChannelShuffle)
def channel_shuffle(w: Writer, op: ChannelShuffle, inputs: list[str], node: Node) -> str:
    """The axis split into groups and rest, the two swapped, and joined again.

    Whole planes are gathered instead: around integer convolutions the engine would merge its own transposes
    into this one, and has no quick form of what comes out.
    """
    shape = w.type(node.inputs[0]).shape
    axis = len(shape) - 1 if op.axis is None else op.axis
    size = shape[axis]
    if isinstance(size, int) and axis < len(shape) - 1:
        chosen = np.arange(size).reshape(op.num_groups, -1).T.ravel()
        return w.node("Gather", inputs[0], w.constant(chosen), axis=axis)
    split = (*shape[:axis], op.num_groups, size // op.num_groups, *shape[axis + 1 :])
    order = [*range(axis), axis + 1, axis, *range(axis + 2, len(split))]
    groups = w.node("Transpose", w.node("Reshape", inputs[0], w.ints(split)), perm=order)
    return w.node("Reshape", groups, w.ints(shape))


@lowers(SpaceToDepth)
def space_to_depth(w: Writer, op: SpaceToDepth, inputs: list[str], node: Node) -> str:
    """SpaceToDepth, channel first; one order and squares only."""
    if op.block_size[0] != op.block_size[1] or op.mode != BlockMode.DCR:
        raise NotOnEngine
    return w.channel_last(
        w.node("SpaceToDepth", w.channel_first(inputs[0], 4), blocksize=op.block_size[0]), 4
    )


@lowers(RandomNormalLike)
def random_normal_like(w: Writer, op: RandomNormalLike, inputs: list[str], node: Node) -> str:
    """RandomNormalLike; the engine aborts the whole process where there is no spread."""
    if not op.scale > 0:
        raise NotOnEngine
    code = ENGINE_CODES[w.type(node.outputs[0]).dtype]
    return w.node("RandomNormalLike", inputs[0], dtype=code, mean=op.mean, scale=op.scale)


@lowers(RandomUniformLike)
def random_uniform_like(w: Writer, op: RandomUniformLike, inputs: list[str], node: Node) -> str:
    """RandomUniformLike; the engine aborts the whole process where there is no spread."""
    if not op.high > op.low:
        raise NotOnEngine
    code = ENGINE_CODES[w.type(node.outputs[0]).dtype]
    return w.node("RandomUniformLike", inputs[0], dtype=code, low=op.low, high=op.high)


def _find_added_ones(small: Dims, large: Dims) -> list[int] | None:
    """The axes of size 1 that ``large`` has more than ``small``; None where that is not the difference."""
    axes, rest = [], list(small)
    for axis, dim in enumerate(large):
        if rest and rest[0] == dim:
            del rest[0]
        elif dim == 1:
            axes.append(axis)
        else:
            return None
    return axes if axes and not rest else None


def _leave_open_sizes(w: Writer, found: Dims, wanted: Dims) -> Dims:
    """The shape with 0 for a size the engine can copy and -1 for the one it can infer."""
    if 0 in wanted:
        return wanted
    inputs = frozenset().union(*(w.type(value).symbols for value in w.graph.inputs))
    shape: list[Dim] = list(wanted)
    symbolic = [axis for axis, dim in enumerate(wanted) if isinstance(dim, Expr)]
    copied = [axis for axis in symbolic if len(symbolic) > 1 and found[axis : axis + 1] == (wanted[axis],)]
    for axis in copied:
        shape[axis] = 0
    inferred = [axis for axis in symbolic if axis not in copied]
    counted = [axis for axis in inferred if not wanted[axis].symbols <= inputs]  # type: ignore[union-attr]
    if len(symbolic) == 1 or counted:
        shape[(counted or inferred)[0]] = -1
    return tuple(shape)


def _clip_end(end: Dim, stride: int) -> Dim:
    if stride > 0:
        return end
    if isinstance(end, Expr):
        raise NotOnEngine
    return BEFORE_FIRST if end == -1 else end


def _list_existing(parts: list[tuple[int, tuple[Dim, Dim, int] | None]]) -> list[tuple[int, object]]:
    return [(bit, part) for bit, part in parts if part is not None]


def _list_new_axes(op: StridedSlice, parts: list[tuple[int, tuple[Dim, Dim, int] | None]]) -> list[int]:
    """Where new axes stand in the result."""
    kept = [part is None for bit, part in parts if part is None or not op.shrink_axes & bit]
    return [axis for axis, is_new in enumerate(kept) if is_new]


def _overreaches(op: Pad, shape: Dims) -> bool:
    """Whether more is mirrored than there is; the engine itself checks an axis that is still open."""
    return any(
        isinstance(amount, int) and isinstance(dim, int) and amount >= max(dim, 1)
        for dim, pair in zip(shape, op.pad_amount, strict=True)
        for amount in pair
        if amount != 0
    )
