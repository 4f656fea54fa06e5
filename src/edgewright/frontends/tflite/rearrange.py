"""TFLite ops that change shapes and join or take apart tensors."""

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ir.dims import Dim, element_count
from edgewright.ops.axes import normal_axes, normal_axis
from edgewright.ops.rearrange import Concat, Pack, UnPack
from edgewright.ops.rearrange_blocks import BatchToSpace, DepthToSpace, SpaceToBatch, SpaceToDepth
from edgewright.ops.rearrange_slice import Split

SPATIAL = 2


@tflite_op("RESHAPE")
def reshape(ctx: Context, node: SourceNode) -> str:
    """To the shape of the second input, or of the options; one size may be left open."""
    (x,) = node.need(0)
    given = ctx.read_dims(node.input(1)) if node.input(1) else node.option("new_shape")
    if given is None:
        given = node.results[0].shape
    shape, open_axes = list(given), [axis for axis, dim in enumerate(given) if dim == -1]
    if len(open_axes) > 1:
        raise BadInput(f"shape {shape} leaves {len(open_axes)} sizes open, expected 1", node.where)
    if open_axes:
        others: Dim = element_count([dim for dim in shape if dim != -1])
        if others == 0:
            raise ShapeMismatch(f"{ctx.type(x)} does not determine shape {shape}", node.where)
        shape[open_axes[0]] = ctx.type(x).count // others
    return ctx.reshape(x, shape)


@tflite_op("SQUEEZE")
def squeeze(ctx: Context, node: SourceNode) -> str:
    """Axes of size 1 go: those that are named, or all."""
    (x,) = node.need(0)
    shape = ctx.shape(x)
    named = normal_axes(node.option("squeeze_dims") or (), len(shape))
    axes = named or tuple(axis for axis, dim in enumerate(shape) if dim == 1)
    return ctx.reshape(x, [dim for axis, dim in enumerate(shape) if axis not in axes])


@tflite_op("EXPAND_DIMS")
def expand_dims(ctx: Context, node: SourceNode) -> str:
    """A new axis of size 1."""
    x, axis = node.need(0, 1)
    (place,) = ctx.read_ints(axis)
    shape = list(ctx.shape(x))
    shape.insert(normal_axis(place, len(shape) + 1), 1)
    return ctx.reshape(x, shape)


@tflite_op("TRANSPOSE")
def transpose(ctx: Context, node: SourceNode) -> str:
    """The order must be known."""
    x, order = node.need(0, 1)
    places = ctx.read_ints(order)
    if sorted(places) != list(range(ctx.rank(x))):
        raise BadInput(f"order {list(places)} does not fit {ctx.type(x)}", node.where)
    return ctx.transpose(x, places)


@tflite_op("CONCATENATION")
def concatenation(ctx: Context, node: SourceNode) -> str:
    """Along one axis."""
    parts = node.need(*range(len(node.inputs)))
    axis = normal_axis(node.option("axis"), ctx.rank(parts[0]))
    result = parts[0] if len(parts) == 1 else ctx.emit(Concat(axis=axis), *parts)
    return ctx.activated(node, result)


@tflite_op("PACK")
def pack(ctx: Context, node: SourceNode) -> str:
    """Along a new axis."""
    parts = node.need(*range(len(node.inputs)))
    return ctx.emit(Pack(axis=normal_axis(node.option("axis"), ctx.rank(parts[0]) + 1)), *parts)


@tflite_op("UNPACK")
def unpack(ctx: Context, node: SourceNode) -> list[str]:
    """The slices of an axis without it."""
    (x,) = node.need(0)
    return ctx.emit_all(UnPack(axis=normal_axis(node.option("axis"), ctx.rank(x))), x)


@tflite_op("SPLIT")
def split(ctx: Context, node: SourceNode) -> list[str]:
    """Equal parts."""
    axis, x = node.need(0, 1)
    place = normal_axis(ctx.read_ints(axis)[0], ctx.rank(x))
    count, size = node.option("num_splits"), ctx.shape(x)[place]
    if count < 1 or (isinstance(size, int) and size % count):
        raise ShapeMismatch(f"axis {place} of {ctx.type(x)} does not make {count} equal parts", node.where)
    return _cut_parts(ctx, x, place, [size // count] * count)


@tflite_op("SPLIT_V")
def split_v(ctx: Context, node: SourceNode) -> list[str]:
    """Parts of the given sizes; one of them may be left open."""
    x, given, axis = node.need(0, 1, 2)
    place = normal_axis(ctx.read_ints(axis)[0], ctx.rank(x))
    sizes: list[Dim] = list(ctx.read_dims(given))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = ctx.shape(x)[place] - sum((dim for dim in sizes if dim != -1), start=0)
    if sum(sizes, start=0) != ctx.shape(x)[place]:
        raise ShapeMismatch(f"parts of {sizes} do not make axis {place} of {ctx.type(x)}", node.where)
    return _cut_parts(ctx, x, place, sizes)


@tflite_op("SPACE_TO_DEPTH")
def space_to_depth(ctx: Context, node: SourceNode) -> str:
    """Blocks of the image into channels."""
    return ctx.emit(SpaceToDepth(block_size=_read_block(node)), *node.need(0))


@tflite_op("DEPTH_TO_SPACE")
def depth_to_space(ctx: Context, node: SourceNode) -> str:
    """Channels into blocks of the image."""
    return ctx.emit(DepthToSpace(block_size=_read_block(node)), *node.need(0))


@tflite_op("SPACE_TO_BATCH_ND")
def space_to_batch(ctx: Context, node: SourceNode) -> str:
    """Blocks of the padded image into the batch; a sequence is an image of width 1."""
    x, blocks, pairs = node.need(0, 1, 2)
    flat, size, amounts = _as_image(ctx, node, x, blocks, pairs)
    result = ctx.emit(SpaceToBatch(block_size=size, pad_amount=amounts), flat)
    return _encode_like(ctx, result, x)


@tflite_op("BATCH_TO_SPACE_ND")
def batch_to_space(ctx: Context, node: SourceNode) -> str:
    """The batch into blocks of the image, which is cropped."""
    x, blocks, pairs = node.need(0, 1, 2)
    flat, size, amounts = _as_image(ctx, node, x, blocks, pairs)
    result = ctx.emit(BatchToSpace(block_size=size, crops=amounts), flat)
    return _encode_like(ctx, result, x)


def _cut_parts(ctx: Context, x: str, axis: int, sizes: list[Dim]) -> list[str]:
    places: list[Dim] = []
    at: Dim = 0
    for size in sizes[:-1]:
        at = at + size
        places.append(at)
    return ctx.emit_all(Split(axis=axis, split_index=tuple(places)), x) if places else [x]


def _read_block(node: SourceNode) -> tuple[int, int]:
    size = node.option("block_size")
    if size < 1:
        raise BadInput(f"block_size is {size}, expected 1 or more", node.where, do="export the model again")
    return size, size


def _as_image(
    ctx: Context, node: SourceNode, x: str, blocks: str, pairs: str
) -> tuple[str, tuple[int, int], tuple[tuple[int, int], tuple[int, int]]]:
    size, amounts = ctx.read_ints(blocks), ctx.read_ints(pairs)
    rank = ctx.rank(x)
    if not 1 <= len(size) <= SPATIAL or len(amounts) != 2 * len(size) or rank != len(size) + 2:
        raise ctx.refuse(node, f"blocks {list(size)} and amounts {list(amounts)} of {ctx.type(x)}")
    if min(size) < 1 or min(amounts) < 0:
        raise BadInput(f"blocks {list(size)} and amounts {list(amounts)} are out of range", node.where)
    if len(size) == SPATIAL:
        return x, (size[0], size[1]), ((amounts[0], amounts[1]), (amounts[2], amounts[3]))
    shape = ctx.shape(x)
    flat = ctx.reshape(x, (shape[0], shape[1], 1, shape[2]))
    return flat, (size[0], 1), ((amounts[0], amounts[1]), (0, 0))


def _encode_like(ctx: Context, value: str, x: str) -> str:
    shape = ctx.shape(value)
    return value if ctx.rank(x) == len(shape) else ctx.reshape(value, (shape[0], shape[1], shape[3]))
