"""TensorFlow ops that hold, pass on or move elements: other shapes, other orders, joins and repeats."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends._common.terms import broadcast_to, emit_slice
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ir.dims import Dim, element_count, is_static
from edgewright.ops.axes import normal_axes, normal_axis
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.rearrange import Concat, Pack, Reshape, Transpose, UnPack
from edgewright.ops.rearrange_blocks import BatchToSpace, DepthToSpace, SpaceToBatch, SpaceToDepth
from edgewright.ops.rearrange_fill import Tile


@tf_op("Const", "HostConst")
def constant(ctx: Context, node: SourceNode) -> str:
    """A stored tensor, under the name of its node."""
    array = node.attributes.array("value", node.where)
    name = node.node.output(0)
    is_free = name not in ctx.graph.types
    return ctx.graph.add_constant(name if is_free else ctx.graph.fresh_name(name), array)


@tf_op(
    "CheckNumerics",
    "DebugIdentity",
    "DeepCopy",
    "EnsureShape",
    "Exit",
    "Identity",
    "PlaceholderWithDefault",
    "PreventGradient",
    "Print",
    "RefExit",
    "Snapshot",
    "StopGradient",
)
def identity(ctx: Context, node: SourceNode) -> str:
    """Another name for the same value."""
    return node.need(0)[0]


@tf_op("IdentityN")
def identities(ctx: Context, node: SourceNode) -> list[str]:
    """Other names for the same values."""
    return node.inputs


@tf_op("Reshape")
def reshape(ctx: Context, node: SourceNode) -> str:
    """-1 takes what is left."""
    x, shape = node.need(0, 1)
    return ctx.emit(Reshape(shape=resolve_shape(ctx.read_dims(shape), ctx.type(x).count)), x)


@tf_op("ExpandDims")
def expand_dims(ctx: Context, node: SourceNode) -> str:
    """One more axis of size 1."""
    x, axis = node.need(0, 1)
    shape = ctx.shape(x)
    place = normal_axis(_number(ctx, axis), len(shape) + 1)
    return ctx.reshape(x, (*shape[:place], 1, *shape[place:]))


@tf_op("Squeeze")
def squeeze(ctx: Context, node: SourceNode) -> str:
    """Without the axes named, or without all that have size 1."""
    (x,) = node.need(0)
    shape = ctx.shape(x)
    given = node.attributes.ints("squeeze_dims")
    if not given:
        if not is_static(shape):
            raise NeedsValue(x, is_shape=True)
        return ctx.reshape(x, tuple(dim for dim in shape if dim != 1))
    axes = normal_axes(given, len(shape))
    wrong = [axis for axis in axes if isinstance(shape[axis], int) and shape[axis] != 1]
    if wrong:
        raise ShapeMismatch(
            f"axis {wrong[0]} of {ctx.type(x)} has size {shape[wrong[0]]}, expected 1",
            do="squeeze axes of size 1",
        )
    return ctx.reshape(x, tuple(dim for axis, dim in enumerate(shape) if axis not in axes))


@tf_op("Transpose")
def transpose(ctx: Context, node: SourceNode) -> str:
    """Axes in another order."""
    x, order = node.need(0, 1)
    return ctx.emit(Transpose(perm=tuple(normal_axis(axis, ctx.rank(x)) for axis in ctx.read_ints(order))), x)


@tf_op("Concat", "ConcatV2")
def concat(ctx: Context, node: SourceNode) -> str:
    """The axis is the last input, in the first form the first one."""
    node.need(0, 1)
    axis, parts = (
        (node.inputs[0], node.inputs[1:]) if node.op == "Concat" else (node.inputs[-1], node.inputs[:-1])
    )
    place = normal_axis(_number(ctx, axis), ctx.rank(parts[0]))
    return parts[0] if len(parts) == 1 else ctx.emit(Concat(axis=place), *parts)


@tf_op("Pack")
def pack(ctx: Context, node: SourceNode) -> str:
    """Side by side along a new axis."""
    node.need(0)
    axis = normal_axis(node.attributes.whole("axis"), ctx.rank(node.inputs[0]) + 1)
    return ctx.emit(Pack(axis=axis), *node.inputs)


@tf_op("Unpack")
def unpack(ctx: Context, node: SourceNode) -> list[str]:
    """One value for each place of an axis."""
    (x,) = node.need(0)
    axis = normal_axis(node.attributes.whole("axis"), ctx.rank(x))
    if not isinstance(ctx.shape(x)[axis], int):
        raise NeedsValue(x, is_shape=True)
    return ctx.emit_all(UnPack(axis=axis), x)


@tf_op("Tile")
def tile(ctx: Context, node: SourceNode) -> str:
    """Repeated along each axis."""
    x, multiples = node.need(0, 1)
    counts = ctx.read_dims(multiples)
    if len(counts) == ctx.rank(x) and all(count == 1 for count in counts):
        return x
    return ctx.emit(Tile(multiples=counts), x)


@tf_op("BroadcastTo")
def broadcast(ctx: Context, node: SourceNode) -> str:
    """Repeated along axes of size 1."""
    x, shape = node.need(0, 1)
    return broadcast_to(ctx, x, ctx.read_dims(shape))


@tf_op("Reverse", "ReverseV2")
def reverse(ctx: Context, node: SourceNode) -> str:
    """Back to front along some axes."""
    x, axes = node.need(0, 1)
    if node.op == "Reverse":
        chosen = tuple(axis for axis, is_turned in enumerate(ctx.read_ints(axes)) if is_turned)
    else:
        chosen = normal_axes(ctx.read_ints(axes), ctx.rank(x))
    ranges = [(dim - 1, -1, -1) if axis in chosen else (0, dim, 1) for axis, dim in enumerate(ctx.shape(x))]
    return emit_slice(ctx, x, ranges)


@tf_op("DepthToSpace", "SpaceToDepth")
def blocks(ctx: Context, node: SourceNode) -> str:
    """Blocks of space for blocks of depth."""
    size = node.attributes.whole("block_size")
    kind = DepthToSpace if node.op == "DepthToSpace" else SpaceToDepth
    return ctx.around(node, node.need(0)[0], lambda x: ctx.emit(kind(block_size=(size, size)), x))


@tf_op("SpaceToBatchND")
def space_to_batch(ctx: Context, node: SourceNode) -> str:
    """Blocks of space become a larger batch."""
    x, sizes, amounts = node.need(0, 1, 2)
    data, shape = _with_two_axes(ctx, node, x)
    block, pads = _read_blocks(ctx, node, sizes, amounts)
    result = ctx.emit(SpaceToBatch(block_size=block, pad_amount=pads), data)
    return _as_before(ctx, result, shape)


@tf_op("BatchToSpaceND")
def batch_to_space(ctx: Context, node: SourceNode) -> str:
    """A larger batch becomes blocks of space."""
    x, sizes, amounts = node.need(0, 1, 2)
    data, shape = _with_two_axes(ctx, node, x)
    block, crops = _read_blocks(ctx, node, sizes, amounts)
    dilated = _match_dilated(ctx, x, block, crops) if data == x else ""
    if dilated:
        return dilated
    result = ctx.emit(BatchToSpace(block_size=block, crops=crops), data)
    return _as_before(ctx, result, shape)


def _match_dilated(
    ctx: Context, value: str, block: tuple[int, int], crops: tuple[tuple[int, int], tuple[int, int]]
) -> str:
    """A convolution between SpaceToBatch and BatchToSpace is a dilated one; "" where it is something else."""
    conv = ctx.graph.producer(value)
    before = ctx.graph.producer(conv.inputs[0]) if conv is not None else None
    if conv is None or before is None or not isinstance(conv.op, Conv2d | DepthWiseConv2d):
        return ""
    if not isinstance(before.op, SpaceToBatch) or before.op.block_size != block or len(conv.inputs) > 2:
        return ""
    is_plain = set(conv.op.stride) == set(conv.op.dilation) == {1} and set(conv.op.pad_amount) == {(0, 0)}
    # What is cut off behind the convolution need not be padded before it.
    pads = tuple(
        (start - first, end - last)
        for (start, end), (first, last) in zip(before.op.pad_amount, crops, strict=True)
    )
    if not is_plain or min(min(pair) for pair in pads) < 0:
        return ""
    op = replace(conv.op, pad_amount=pads, dilation=block)
    return ctx.emit(op, before.inputs[0], conv.inputs[1])


def resolve_shape(wanted: Sequence[Dim], count: Dim) -> tuple[Dim, ...]:
    """A shape with its open dimension told by the number of elements."""
    shape = list(wanted)
    unknown = [axis for axis, dim in enumerate(shape) if dim == -1]
    if len(unknown) > 1:
        raise ShapeMismatch(f"shape {shape} leaves {len(unknown)} dimensions open", do="leave at most one -1")
    if unknown:
        rest = element_count(dim for dim in shape if dim != -1)
        shape[unknown[0]] = count // rest if rest != 0 else 0
    return tuple(shape)


def _number(ctx: Context, value: str) -> int:
    found = ctx.read_ints(value)
    if len(found) != 1:
        raise BadInput(f"{ctx.type(value)} is given, expected one number", do="give one number")
    return found[0]


def _with_two_axes(ctx: Context, node: SourceNode, x: str) -> tuple[str, tuple[Dim, ...]]:
    """Data of one spatial axis get another one of size 1; what lies behind is one axis."""
    axes = ctx.shape(node.inputs[1])[0]
    shape = ctx.shape(x)
    if axes not in {1, 2} or len(shape) <= int(axes):
        raise ctx.refuse(node, f"{axes} spatial axes of {ctx.type(x)}, expected 1 or 2")
    depth = element_count(shape[int(axes) + 1 :])
    inner = shape[1 : int(axes) + 1]
    return ctx.reshape(x, (shape[0], *inner, *(1,) * (2 - len(inner)), depth)), shape


def _as_before(ctx: Context, value: str, shape: tuple[Dim, ...]) -> str:
    """The result with the axes that the data had."""
    batch, height, width, _ = ctx.shape(value)
    if len(shape) == 3:
        return ctx.reshape(value, (batch, height, shape[2]))
    return ctx.reshape(value, (batch, height, width, *shape[3:]))


def _read_blocks(
    ctx: Context, node: SourceNode, sizes: str, amounts: str
) -> tuple[tuple[int, int], tuple[tuple[int, int], tuple[int, int]]]:
    block, flat = ctx.read_ints(sizes), ctx.read_ints(amounts)
    if len(flat) != 2 * len(block) or not 1 <= len(block) <= 2 or min((*flat, 0)) < 0:
        raise BadInput(
            f"blocks {list(block)} and amounts {list(flat)} do not fit",
            node.where,
            do="give two amounts of 0 or more for each block",
        )
    pairs = [*zip(flat[::2], flat[1::2], strict=True), (0, 0)]
    return ((*block, 1)[0], (*block, 1)[1]), (pairs[0], pairs[1])


@tf_op("InvertPermutation")
def invert_permutation(ctx: Context, node: SourceNode) -> str:
    """The order that undoes an order, which must be known."""
    order = ctx.read_array(node.need(0)[0])
    return ctx.add_constant(np.argsort(order).astype(order.dtype))
