"""ONNX sequences and optionals: what they hold is decided while the graph is built."""

from collections.abc import Sequence

import numpy as np
import onnx

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.control import read_length, slice_along
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops.axes import normal_axis
from edgewright.ops.rearrange import Concat, Pack
from edgewright.ops.rearrange_slice import Split


@onnx_op("SequenceConstruct")
def sequence_construct(ctx: Context, node: SourceNode) -> str:
    """The inputs in order."""
    return ctx.sequence(node.inputs)


@onnx_op("SequenceEmpty")
def sequence_empty(ctx: Context, node: SourceNode) -> str:
    """Nothing yet."""
    del node
    return ctx.sequence([])


@onnx_op("SequenceAt")
def sequence_at(ctx: Context, node: SourceNode) -> str:
    """The item at a known position."""
    items = _list_items(ctx, node, node.inputs[0])
    return items[_read_position(ctx, node, node.inputs[1], len(items))]


@onnx_op("SequenceInsert")
def sequence_insert(ctx: Context, node: SourceNode) -> str:
    """One item more, at the end where no position is given."""
    items = _list_items(ctx, node, node.inputs[0])
    place = (
        _read_position(ctx, node, node.input(2), len(items), is_insert=True) if node.input(2) else len(items)
    )
    return ctx.sequence([*items[:place], node.inputs[1], *items[place:]])


@onnx_op("SequenceErase")
def sequence_erase(ctx: Context, node: SourceNode) -> str:
    """One item less, the last where no position is given."""
    items = _list_items(ctx, node, node.inputs[0])
    if not items:
        raise BadInput("an item of an empty sequence is erased", node.where, do="export the model again")
    place = _read_position(ctx, node, node.input(1), len(items)) if node.input(1) else len(items) - 1
    return ctx.sequence([*items[:place], *items[place + 1 :]])


@onnx_op("SequenceLength")
def sequence_length(ctx: Context, node: SourceNode) -> str:
    """A constant."""
    return ctx.add_constant(np.asarray(len(_list_items(ctx, node, node.inputs[0])), np.int64))


@onnx_op("SplitToSequence")
def split_to_sequence(ctx: Context, node: SourceNode) -> str:
    """Parts of given lengths, or slices of one."""
    value = node.inputs[0]
    axis = normal_axis(node.attr("axis", 0), ctx.rank(value))
    if not node.input(1):
        parts = slice_along(ctx, value, axis)
        if node.attr("keepdims", 1):
            parts = [_with_axis(ctx, part, axis) for part in parts]
        return ctx.sequence(parts)
    lengths = _list_lengths(ctx, node, axis)
    if len(lengths) == 1:
        return ctx.sequence([value])
    marks = tuple(int(mark) for mark in np.cumsum(lengths)[:-1])
    return ctx.sequence(ctx.emit_all(Split(axis=axis, split_index=marks), value))


@onnx_op("ConcatFromSequence")
def concat_from_sequence(ctx: Context, node: SourceNode) -> str:
    """Joined along an axis that the items have, or along a new one."""
    items = _list_items(ctx, node, node.inputs[0])
    if not items:
        raise BadInput("an empty sequence is joined", node.where, do="export the model again")
    rank = ctx.rank(items[0])
    if node.attr("new_axis", 0):
        return ctx.emit(Pack(axis=normal_axis(node.need("axis"), rank + 1)), *items)
    axis = normal_axis(node.need("axis"), rank)
    return items[0] if len(items) == 1 else ctx.emit(Concat(axis=axis), *items)


@onnx_op("SequenceMap")
def sequence_map(ctx: Context, node: SourceNode) -> list[str]:
    """The body for each item; what is no sequence is given to every one."""
    body: onnx.GraphProto = node.need("body")
    count = len(_list_items(ctx, node, node.inputs[0]))
    results: list[list[str]] = [[] for _ in body.output]
    for index in range(count):
        given = [_choose_item(ctx, node, value, index, count) for value in node.inputs]
        for result, value in zip(results, ctx.inline(body, given), strict=True):
            result.append(value)
    return [ctx.sequence(result) for result in results]


@onnx_op("Optional")
def optional(ctx: Context, node: SourceNode) -> str:
    """Holds its input, or nothing."""
    return ctx.optional(node.input(0))


@onnx_op("OptionalHasElement")
def optional_has_element(ctx: Context, node: SourceNode) -> str:
    """A constant; what is no optional counts as one that holds it."""
    value = node.input(0)
    return ctx.add_constant(np.asarray(bool(ctx.optionals.get(value, value))))


@onnx_op("OptionalGetElement")
def optional_get_element(ctx: Context, node: SourceNode) -> str:
    """What it holds."""
    value = ctx.optionals.get(node.inputs[0], node.inputs[0])
    if not value:
        raise BadInput("an empty optional is opened", node.where, do="export the model again")
    return value


def _list_items(ctx: Context, node: SourceNode, value: str) -> list[str]:
    if value not in ctx.sequences:
        raise BadInput("the input is not a sequence", node.where, do="export the model again")
    return ctx.sequences[value]


def _choose_item(ctx: Context, node: SourceNode, value: str, index: int, count: int) -> str:
    if value not in ctx.sequences:
        return value
    items = ctx.sequences[value]
    if len(items) != count:
        raise ShapeMismatch(
            f"sequences of {count} and {len(items)} items are mapped together, expected equal lengths",
            node.where,
        )
    return items[index]


def _read_position(ctx: Context, node: SourceNode, value: str, count: int, *, is_insert: bool = False) -> int:
    found = ctx.read_ints(value)
    last = count if is_insert else count - 1
    if len(found) != 1 or not -count <= found[0] <= last:
        raise BadInput(
            f"position {list(found)} lies outside a sequence of {count} items",
            node.where,
            do="export the model again",
        )
    return found[0] + count if found[0] < 0 else found[0]


def _with_axis(ctx: Context, value: str, axis: int) -> str:
    shape = ctx.shape(value)
    return ctx.reshape(value, (*shape[:axis], 1, *shape[axis:]))


def _list_lengths(ctx: Context, node: SourceNode, axis: int) -> Sequence[int]:
    """The lengths of the parts: given, or equal ones and a shorter last one."""
    total = read_length(ctx, node.inputs[0], axis)
    given = ctx.read_ints(node.inputs[1])
    if ctx.rank(node.inputs[1]) == 0:
        if given[0] < 1:
            raise ShapeMismatch(f"parts of length {given[0]} are wanted, expected 1 or more", node.where)
        return [min(given[0], total - start) for start in range(0, total, given[0])] or [0]
    if sum(given) != total or min(given, default=0) < 0 or not given:
        raise ShapeMismatch(f"parts {list(given)} do not add up to axis {axis} of {total}", node.where)
    return given
