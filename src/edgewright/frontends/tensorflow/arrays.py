"""TensorFlow 1's arrays of tensors, as its loops use them: what flows through the graph is the list."""

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.recurrent import stack_items
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.sequence import LONGEST
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ops.rearrange import Concat, UnPack


@tf_op("TensorArrayV3")
def array(ctx: Context, node: SourceNode) -> list[str]:
    """A handle, and the flow: a list of so many items, none written yet."""
    count = ctx.read_ints(node.need(0)[0])[0]
    if not 0 <= count <= LONGEST:
        raise LimitExceeded(f"an array of {count} items is asked for, at most {LONGEST} are kept", node.where)
    flow = ctx.list_of([""] * count)
    return [flow, flow]


@tf_op("TensorArrayWriteV3")
def write(ctx: Context, node: SourceNode) -> str:
    """The array with one item written; it grows as far as is needed."""
    _, place, value, flow = node.need(0, 1, 2, 3)
    return _write_items(ctx, node, flow, {ctx.read_ints(place)[0]: value})


@tf_op("TensorArrayScatterV3")
def scatter(ctx: Context, node: SourceNode) -> str:
    """The array with an item written for each place of the first axis."""
    _, places, value, flow = node.need(0, 1, 2, 3)
    indices = ctx.read_ints(places)
    if not ctx.rank(value) or not isinstance(ctx.shape(value)[0], int):
        raise NeedsValue(value, is_shape=True)
    items = ctx.emit_all(UnPack(axis=0), value) if indices else []
    if len(items) != len(indices):
        raise BadInput(f"{len(items)} items are written to {len(indices)} places", node.where)
    return _write_items(ctx, node, flow, dict(zip(indices, items, strict=True)))


@tf_op("TensorArrayReadV3")
def read(ctx: Context, node: SourceNode) -> str:
    """One item."""
    _, place, flow = node.need(0, 1, 2)
    return _take_items(ctx, node, flow, [ctx.read_ints(place)[0]])[0]


@tf_op("TensorArrayGatherV3")
def gather(ctx: Context, node: SourceNode) -> str:
    """Items side by side along a new first axis."""
    _, places, flow = node.need(0, 1, 2)
    return stack_items(ctx, _take_items(ctx, node, flow, ctx.read_ints(places)))


@tf_op("TensorArrayConcatV3")
def concat(ctx: Context, node: SourceNode) -> list[str]:
    """All items one behind the other, and their lengths."""
    _, flow = node.need(0, 1)
    items = _take_items(ctx, node, flow, range(len(ctx.lists.get(flow, ()))))
    lengths = [ctx.shape(value)[0] for value in items]
    if not all(isinstance(length, int) for length in lengths):
        raise NeedsValue(items[0], is_shape=True)
    joined = items[0] if len(items) == 1 else ctx.emit(Concat(axis=0), *items)
    return [joined, ctx.add_constant(np.asarray([int(length) for length in lengths], np.int64))]


@tf_op("TensorArraySizeV3")
def size(ctx: Context, node: SourceNode) -> str:
    """How many items there are."""
    _, flow = node.need(0, 1)
    return ctx.add_constant(np.asarray(len(ctx.lists.get(flow, ())), np.int32))


def _write_items(ctx: Context, node: SourceNode, flow: str, values: dict[int, str]) -> str:
    items = list(ctx.lists.get(flow, ()))
    last = max(values, default=-1)
    if min(values, default=0) < 0 or last >= LONGEST:
        raise BadInput(f"items {sorted(values)[:4]} of an array of {len(items)} are written", node.where)
    items += [""] * (last + 1 - len(items))
    for place, value in values.items():
        items[place] = value
    return ctx.list_of(items)


def _take_items(
    ctx: Context, node: SourceNode, flow: str, places: "range | tuple[int, ...] | list[int]"
) -> list[str]:
    items = ctx.lists.get(flow, [])
    missing = [place for place in places if not 0 <= place < len(items) or not items[place]]
    if missing or not places:
        raise ctx.refuse(node, f"item {missing[0] if missing else 0} is read, which was not written")
    return [items[place] for place in places]
