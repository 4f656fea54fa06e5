"""TFLite recurrent layers."""

from edgewright.core.errors import ShapeMismatch
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends._common.terms import emit_slice
from edgewright.frontends.tflite.context import ACTIVATIONS, Context
from edgewright.frontends.tflite.encoded import type_in_graph
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.rearrange import Concat, Pack, UnPack
from edgewright.ops.recurrent import Direction, Lstm
from edgewright.ops.reduce import ReduceSum

# More steps than any model that is unrolled has.
MOST_STEPS = 10_000
ABSENT = -1
# Inputs of a bidirectional layer from here on belong to a second sequence.
AUXILIARY = 39


@tflite_op("UNIDIRECTIONAL_SEQUENCE_LSTM")
def sequence_lstm(ctx: Context, node: SourceNode) -> str:
    """All gates of a layer; the state begins with zeros."""
    if node.option("diagonal_recurrent_tensors"):
        raise ctx.refuse(node, "diagonal recurrent weights")
    return _emit_lstm(ctx, node, _list_places(1, 18, norms=20), Direction.FORWARD)


@tflite_op("BIDIRECTIONAL_SEQUENCE_LSTM")
def both_lstms(ctx: Context, node: SourceNode) -> list[str]:
    """A layer forwards and one backwards, side by side or joined."""
    if any(node.input(place) for place in range(AUXILIARY, len(node.inputs))):
        raise ctx.refuse(node, "an auxiliary input")
    forward = _emit_lstm(ctx, node, _list_places(1, 35), Direction.FORWARD)
    backward = _emit_lstm(ctx, node, _list_places(18, 37), Direction.REVERSE)
    if not node.option("merge_outputs"):
        return [forward, backward]
    return [ctx.emit(Concat(axis=ctx.rank(forward) - 1), forward, backward)]


@tflite_op("UNIDIRECTIONAL_SEQUENCE_RNN")
def sequence_rnn(ctx: Context, node: SourceNode) -> str:
    """Step by step: the activation of x * W + h * R + b."""
    x, own, recurrent, bias, state = node.need(0, 1, 2, 3, 4)
    axis = 0 if node.option("time_major") else 1
    steps = []
    for value in _list_steps(ctx, node, x, axis):
        part = ctx.emit(FullyConnected(), value, own, bias)
        total = ctx.emit(ElementWiseAdd(), part, ctx.emit(FullyConnected(), state, recurrent))
        state = total if node.activation == "NONE" else ctx.emit(ACTIVATIONS[node.activation], total)
        steps.append(state)
    return ctx.emit(Pack(axis=axis), *steps)


@tflite_op("SVDF")
def svdf(ctx: Context, node: SourceNode) -> str:
    """A product with features, kept for some steps, and a product with times; the memory is a state."""
    x, features, times = node.need(0, 1, 2)
    memory, rank = node.operands[4], node.option("rank")
    filters, length = ctx.sizes(times)
    if memory is None or rank < 1 or filters % rank:
        raise ShapeMismatch(f"{filters} filters do not make units of rank {rank}", node.where)
    handle = ctx.variables.handle("", memory.name)
    before = ctx.real(ctx.variables.read(handle, type_in_graph(memory)))
    batch = ctx.sizes(x)[0]
    fresh = ctx.reshape(ctx.emit(FullyConnected(), x, features), (batch, filters, 1))
    past = ctx.reshape(before, (batch, filters, length))
    now = ctx.emit(Concat(axis=2), _drop_oldest(ctx, past, length), fresh) if length > 1 else fresh
    ctx.variables.assign(handle, ctx.stored(ctx.reshape(now, (batch, filters * length)), memory))
    weighed = ctx.emit(ReduceSum(axes=(2,)), ctx.emit(ElementWiseMultiply(), now, times))
    units = ctx.emit(ReduceSum(axes=(2,)), ctx.reshape(weighed, (batch, filters // rank, rank)))
    biased = ctx.emit(ElementWiseAdd(), units, node.input(3)) if node.input(3) else units
    return ctx.activated(node, biased)


def _list_places(first: int, state: int, norms: int | None = None) -> list[int]:
    """Where TFLite has what QNN wants, in QNN's order; TFLite lists gates as input, forget, cell, output."""
    own, recurrent, peepholes, biases = first, first + 4, first + 8, first + 11
    return [
        *(0, own + 1, own + 2, own + 3, recurrent + 1, recurrent + 2, recurrent + 3),
        *(biases + 1, biases + 2, biases + 3, state, state + 1),
        *(range(norms, norms + 4) if norms is not None else (ABSENT,) * 4),
        *(own, recurrent, peepholes, peepholes + 1, peepholes + 2, biases, first + 15, first + 16),
    ]


def _emit_lstm(ctx: Context, node: SourceNode, places: list[int], direction: Direction) -> str:
    if node.activation != "TANH":
        raise ctx.refuse(node, f"activation '{node.activation}', expected TANH")
    op = Lstm(
        direction=direction,
        time_major=node.option("time_major"),
        cell_clip_threshold=node.option("cell_clip"),
        output_clip_threshold=node.option("proj_clip"),
    )
    inputs = [node.input(place) if place != ABSENT else "" for place in places]
    while not inputs[-1]:
        inputs.pop()
    return ctx.emit(op, *inputs, outputs=3)


def _drop_oldest(ctx: Context, value: str, length: int) -> str:
    """All steps but the oldest."""
    shape = ctx.shape(value)
    return emit_slice(ctx, value, [(0, shape[0], 1), (0, shape[1], 1), (1, length, 1)])


def _list_steps(ctx: Context, node: SourceNode, x: str, axis: int) -> list[str]:
    length = ctx.shape(x)[axis]
    if not isinstance(length, int):
        raise NeedsValue(x, is_shape=True)
    if not 1 <= length <= MOST_STEPS:
        raise ctx.refuse(node, f"{length} steps, expected 1 to {MOST_STEPS}")
    return ctx.emit_all(UnPack(axis=axis), x)
