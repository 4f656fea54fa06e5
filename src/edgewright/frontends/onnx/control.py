"""ONNX control flow: what can be decided while the graph is built is decided, loops are unrolled."""

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx

from edgewright.core.errors import BadInput, LimitExceeded, ShapeMismatch, UnsupportedOp
from edgewright.core.numbers import Array
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends._common.choices import find_truth, is_true, select_value
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.tensors import find_dtype
from edgewright.ops.axes import normal_axis
from edgewright.ops.rearrange import Concat, Pack, UnPack

# Steps of one scan, slices of one axis: far above real models, far below what fills the memory.
MOST_STEPS = 100_000
Rows = list[list[str]]


@onnx_op("If")
def if_(ctx: Context, node: SourceNode) -> list[str]:
    """The branch that a known condition picks; both branches and a choice where it is not known."""
    branches = node.need("then_branch"), node.need("else_branch")
    _check_branches(node, *branches)
    is_true = find_truth(ctx, node.inputs[0])
    if is_true is not None:
        return ctx.inline(branches[0] if is_true else branches[1], [])
    try:
        results = [ctx.inline(branch, []) for branch in branches]
    except (UnsupportedOp, ShapeMismatch):
        # Perhaps only in the branch that is never taken: the condition's inputs decide that.
        raise NeedsValue(node.inputs[0]) from None
    return [_emit_choice(ctx, node.inputs[0], *pair) for pair in zip(*results, strict=False)]


@onnx_op("Loop")
def loop(ctx: Context, node: SourceNode) -> list[str]:
    """Unrolled: the trip count and every condition must be known."""
    body, state = node.need("body"), node.inputs[2:]
    _check_outputs(node, body, 1 + len(state))
    made = body.output[1 + len(state) :]
    rows: Rows = [[] for _ in made]
    trips = _read_trip_count(ctx, node.inputs[0])
    condition = node.inputs[1] or ctx.add_constant(np.asarray(True))
    count = 0
    while (trips is None or count < trips) and is_true(ctx, condition):
        given = [
            _as_declared(ctx, body, 0, ctx.add_constant(np.asarray(count, np.int64))),
            _as_declared(ctx, body, 1, condition),
        ]
        condition, *results = ctx.inline(body, [*given, *state])
        state = results[: len(state)]
        for row, value in zip(rows, results[len(state) :], strict=True):
            row.append(value)
        count += 1
    return [*state, *(_stack(ctx, row, item, node) for row, item in zip(rows, made, strict=True))]


@onnx_op("Scan", since=9)
def scan(ctx: Context, node: SourceNode) -> list[str]:
    """Unrolled over the scanned axes, whose lengths must be known."""
    body = node.need("body")
    count = _scan_count(node, len(node.inputs))
    axes = _read_per_scan(node, "scan_input_axes", count)
    scanned = [
        slice_along(ctx, value, normal_axis(axis, ctx.rank(value)))
        for value, axis in zip(node.inputs[-count:], axes, strict=True)
    ]
    turned = [
        row[::-1] if turn else row
        for row, turn in zip(scanned, _read_turns(node, "scan_input_directions", count), strict=True)
    ]
    state, rows = _run_steps(ctx, node, node.inputs[:-count], turned)
    turns = _read_turns(node, "scan_output_directions", len(rows))
    places = _read_per_scan(node, "scan_output_axes", len(rows))
    outputs = zip(rows, body.output[len(state) :], turns, places, strict=True)
    return [
        *state,
        *(_stack(ctx, r[::-1] if turn else r, item, node, axis) for r, item, turn, axis in outputs),
    ]


@onnx_op("Scan", since=8)
def scan_of_batches(ctx: Context, node: SourceNode) -> list[str]:
    """The first form: everything has a batch axis before it, and each item may have its own length."""
    body, (lengths, *rest) = node.need("body"), node.inputs
    count = _scan_count(node, len(rest))
    turns = _read_turns(node, "directions", count)
    longest = read_length(ctx, rest[-1], 1)
    used = ctx.read_ints(lengths) if lengths else (longest,) * read_length(ctx, rest[-1], 0)
    items = [slice_along(ctx, value, 0) for value in rest]
    counts = sorted({len(used), *(len(item) for item in items)})
    if len(counts) > 1:
        raise ShapeMismatch(f"the batch axes have lengths {counts}, expected equal ones", node.where)
    finals: Rows = [[] for _ in body.output]
    for own, length in zip(zip(*items, strict=True), used, strict=True):
        if not 0 <= length <= longest:
            raise ShapeMismatch(f"sequence length {length} is not within 0 to {longest}", node.where)
        scanned = [slice_along(ctx, value, 0)[:length] for value in own[-count:]]
        turned = [row[::-1] if turn else row for row, turn in zip(scanned, turns, strict=True)]
        state, rows = _run_steps(ctx, node, own[:-count], turned)
        stacked = [_stack(ctx, r, i, node) for r, i in zip(rows, body.output[len(state) :], strict=True)]
        for final, value in zip(
            finals, [*state, *(_pad_value(ctx, v, longest) for v in stacked)], strict=True
        ):
            final.append(value)
    return [_stack(ctx, final, item, node) for final, item in zip(finals, body.output, strict=True)]


def slice_along(ctx: Context, value: str, axis: int) -> list[str]:
    """The slices of a value along an axis, without it."""
    return ctx.emit_all(UnPack(axis=axis), value) if read_length(ctx, value, axis) else []


def read_length(ctx: Context, value: str, axis: int) -> int:
    """The length of an axis, which must be a number to be walked along."""
    shape = ctx.shape(value)
    if axis >= len(shape):
        raise ShapeMismatch(f"axis {axis} is not one of the {len(shape)} axes of {ctx.type(value)}")
    length = shape[axis]
    if not isinstance(length, int):
        raise NeedsValue(value, is_shape=True)
    if length > MOST_STEPS:
        raise LimitExceeded(f"axis {axis} has length {length}, at most {MOST_STEPS} steps are unrolled")
    return length


def _emit_choice(ctx: Context, condition: str, left: str, right: str) -> str:
    if left == right or (ctx.is_tensor(left) and ctx.is_tensor(right)):
        return select_value(ctx, condition, left, right)
    raise NeedsValue(condition)


def _read_trip_count(ctx: Context, value: str) -> int | None:
    if not value:
        return None
    found = ctx.read_ints(value)
    if len(found) != 1:
        raise ShapeMismatch(f"the trip count is {ctx.type(value)}, expected one element")
    return found[0]


def _run_steps(ctx: Context, node: SourceNode, state: Sequence[str], scanned: Rows) -> tuple[list[str], Rows]:
    """The last states, and the rows of each scan output."""
    body, values = node.need("body"), list(state)
    _check_outputs(node, body, len(values))
    lengths = sorted({len(row) for row in scanned})
    if len(lengths) > 1:
        raise ShapeMismatch(f"the scanned axes have lengths {lengths}, expected equal ones", node.where)
    rows: Rows = [[] for _ in body.output[len(values) :]]
    for given in zip(*scanned, strict=True):
        results = ctx.inline(body, [*values, *given])
        values = results[: len(values)]
        for row, value in zip(rows, results[len(values) :], strict=True):
            row.append(value)
    return values, rows


def _stack(
    ctx: Context, rows: Sequence[str], item: onnx.ValueInfoProto, node: SourceNode, axis: int = 0
) -> str:
    """Values joined along a new axis; an empty result takes its type from the declaration."""
    if not rows:
        return ctx.add_constant(_empty(item, node, axis))
    if not all(ctx.is_tensor(row) for row in rows):
        raise ctx.refuse(node, "it collects sequences")
    return ctx.emit(Pack(axis=normal_axis(axis, ctx.rank(rows[0]) + 1)), *rows)


def _as_declared(ctx: Context, body: onnx.GraphProto, index: int, value: str) -> str:
    """A counter or a condition in the rank that the body declares: some exporters say [1] for a scalar."""
    if index >= len(body.input) or not body.input[index].type.tensor_type.HasField("shape"):
        return value
    return ctx.reshape(value, (1,) * len(body.input[index].type.tensor_type.shape.dim))


def _check_outputs(node: SourceNode, body: onnx.GraphProto, least: int) -> None:
    if len(body.output) < least:
        raise BadInput(
            f"the body has {len(body.output)} outputs, expected {least} or more",
            node.where,
            do="export the model again",
        )


def _check_branches(node: SourceNode, *branches: onnx.GraphProto) -> None:
    counts = [len(branch.output) for branch in branches]
    if set(counts) != {len(node.proto.output)}:
        raise BadInput(
            f"the branches have {counts} outputs, expected {len(node.proto.output)} as the node",
            node.where,
            do="export the model again",
        )


def _scan_count(node: SourceNode, inputs: int) -> int:
    count: int = node.need("num_scan_inputs")
    if not 1 <= count <= inputs:
        raise BadInput(
            f"{count} inputs are scanned, expected 1 to {inputs}", node.where, do="export the model again"
        )
    return count


def _read_per_scan(node: SourceNode, name: str, count: int) -> list[int]:
    values: list[int] = node.attr(name, [0] * count)
    if len(values) != count:
        raise BadInput(
            f"attribute '{name}' has {len(values)} entries, expected {count}",
            node.where,
            do="export the model again",
        )
    return values


def _read_turns(node: SourceNode, name: str, count: int) -> list[int]:
    values = _read_per_scan(node, name, count)
    if not {0, 1}.issuperset(values):
        raise BadInput(
            f"attribute '{name}' is {values}, expected 0 (forward) or 1 (backward)",
            node.where,
            do="export the model again",
        )
    return values


def _pad_value(ctx: Context, value: str, length: int) -> str:
    """Zeros after the last row, up to the length of the longest item."""
    shape = ctx.type(value).static_shape()
    if shape[0] == length:
        return value
    zeros = np.zeros((length - shape[0], *shape[1:]), ctx.dtype(value).numpy)
    return ctx.emit(Concat(axis=0), value, ctx.add_constant(zeros))


def _empty(item: onnx.ValueInfoProto, node: SourceNode, axis: int) -> Array:
    declared = item.type.tensor_type
    dims = [max(0, dim.dim_value) for dim in declared.shape.dim]
    place = normal_axis(axis, len(dims) + 1)
    if prod(dim or 1 for dim in dims) > 1 << 40:
        raise LimitExceeded(f"the body declares shape {dims} for '{item.name}'", node.where)
    return np.empty((*dims[:place], 0, *dims[place:]), find_dtype(declared.elem_type, node.where).numpy)
