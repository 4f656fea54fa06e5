"""TensorFlow's lists of tensors and arrays of tensors, as loops use them: known item by item."""

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded
from edgewright.core.numbers import DType
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.rearrange_fill import emit_filled
from edgewright.frontends.tensorflow.recurrent import stack_items
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ops.rearrange import Concat, UnPack

LONGEST = 1 << 16


@tf_op("TensorListReserve")
def reserve(ctx: Context, node: SourceNode) -> str:
    """So many items, none written yet."""
    shape, count = node.need(0, 1)
    length = ctx.read_ints(count)[0]
    if not 0 <= length <= LONGEST:
        raise LimitExceeded(f"a list of {length} items is asked for, at most {LONGEST} are kept", node.where)
    name = ctx.list_of([""] * length)
    ctx.shapes[name] = (shape, node.type("element_dtype"))
    return name


@tf_op("EmptyTensorList")
def empty(ctx: Context, node: SourceNode) -> str:
    """No items."""
    name = ctx.list_of([])
    ctx.shapes[name] = (node.need(0)[0], node.type("element_dtype"))
    return name


@tf_op("TensorListFromTensor")
def from_tensor(ctx: Context, node: SourceNode) -> str:
    """One item for each place of the first axis."""
    x, shape = node.need(0, 1)
    size = ctx.shape(x)[0] if ctx.rank(x) else 0
    if not isinstance(size, int):
        raise NeedsValue(x, is_shape=True)
    name = ctx.list_of(ctx.emit_all(UnPack(axis=0), x) if size else [])
    ctx.shapes[name] = (shape, ctx.dtype(x))
    return name


@tf_op("TensorListGetItem")
def item(ctx: Context, node: SourceNode) -> str:
    """One item; zeros where none was written."""
    source, place = node.need(0, 1)
    index = ctx.read_ints(place)[0]
    items = _list_items(ctx, node, source)
    if not 0 <= index < len(items):
        raise BadInput(f"item {index} of a list of {len(items)} is read", node.where)
    return items[index] or _emit_zeros(ctx, node, source)


@tf_op("TensorListSetItem")
def set_item(ctx: Context, node: SourceNode) -> str:
    """A list with one item written; it grows where it may."""
    source, place, value = node.need(0, 1, 2)
    index = ctx.read_ints(place)[0]
    items = list(_list_items(ctx, node, source))
    if index == len(items) and node.attributes.flag("resize_if_index_out_of_bounds"):
        items.append("")
    if not 0 <= index < len(items):
        raise BadInput(f"item {index} of a list of {len(items)} is written", node.where)
    items[index] = value
    return _make_like(ctx, source, items)


@tf_op("TensorListPushBack")
def push(ctx: Context, node: SourceNode) -> str:
    """One item more."""
    source, value = node.need(0, 1)
    return _make_like(ctx, source, [*_list_items(ctx, node, source), value])


@tf_op("TensorListPopBack")
def pop(ctx: Context, node: SourceNode) -> list[str]:
    """The list without its last item, and that item."""
    (source,) = node.need(0)
    items = _list_items(ctx, node, source)
    if not items:
        raise BadInput("an item of an empty list is taken", node.where)
    return [_make_like(ctx, source, items[:-1]), items[-1] or _emit_zeros(ctx, node, source)]


@tf_op("TensorListStack")
def stack(ctx: Context, node: SourceNode) -> str:
    """All items side by side along a new first axis."""
    (source,) = node.need(0)
    items = _list_items(ctx, node, source)
    if not items:
        raise ctx.refuse(node, "the list is empty")
    return stack_items(ctx, [value or _emit_zeros(ctx, node, source) for value in items])


@tf_op("TensorListConcatV2", "TensorListConcat")
def concat(ctx: Context, node: SourceNode) -> list[str]:
    """All items one behind the other, and their lengths."""
    (source,) = node.need(0)
    items = _list_items(ctx, node, source)
    if not items or not all(items):
        raise ctx.refuse(node, "the list has items that were not written")
    lengths = [ctx.shape(value)[0] for value in items]
    if not all(isinstance(length, int) for length in lengths):
        raise NeedsValue(items[0], is_shape=True)
    joined = items[0] if len(items) == 1 else ctx.emit(Concat(axis=0), *items)
    return [joined, ctx.add_constant(np.asarray([int(length) for length in lengths], np.int64))]


@tf_op("TensorListLength")
def length(ctx: Context, node: SourceNode) -> str:
    """How many items there are."""
    return ctx.add_constant(np.asarray(len(_list_items(ctx, node, node.need(0)[0])), np.int32))


def _list_items(ctx: Context, node: SourceNode, name: str) -> list[str]:
    if name not in ctx.lists:
        raise ctx.refuse(node, "its input is no list of tensors that is known")
    return ctx.lists[name]


def _make_like(ctx: Context, source: str, items: list[str]) -> str:
    name = ctx.list_of(items)
    if source in ctx.shapes:
        ctx.shapes[name] = ctx.shapes[source]
    return name


def _emit_zeros(ctx: Context, node: SourceNode, name: str) -> str:
    """What an item is that nobody wrote: zeros, in the shape of its neighbours or of the list."""
    written = next((value for value in ctx.lists[name] if value), "")
    if written:
        found = ctx.type(written)
        dims = ctx.add_constant(np.asarray(found.static_shape(), np.int32))
        return emit_filled(ctx, dims, 0.0 if found.dtype.is_float else 0, found.dtype)
    shape, dtype = ctx.shapes.get(name, ("", DType.FLOAT_32))
    sizes = ctx.find_array(shape) if shape else None
    if sizes is None or (sizes.size and sizes.min() < 0):
        raise ctx.refuse(node, "an item is read that was not written and whose shape is not known")
    return emit_filled(ctx, shape, 0.0 if dtype.is_float else 0, dtype)
