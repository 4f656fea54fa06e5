"""ONNX's recurrent layers: QNN's Lstm and Gru where they mean the same, unrolled steps where they do not."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.frontends._common.own_ops import OWN
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.foreign import keep_as_source_op
from edgewright.frontends.onnx.recurrent_layer import Layer
from edgewright.frontends.onnx.recurrent_lengths import Lengths
from edgewright.frontends.onnx.recurrent_steps import (
    can_unroll,
    emit_gru_steps,
    emit_lstm_steps,
    emit_rnn_steps,
)
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.recurrent import Direction, Gru, Lstm

# A gate whose sum is this is open (or, negative, shut) to the last bit of single precision.
OPEN = 100.0
# An attribute of our own, of what was a DynamicQuantizeLSTM.
ROUNDING = "edgewright_is_rounding"
# Places of the gates in ONNX's order.
INPUT, OUTPUT, FORGET, CELL = range(4)


@dataclass(frozen=True)
class Run:
    """One direction of a layer: the sequence it reads and which way it goes."""

    x: str
    is_reverse: bool
    index: int
    lengths: Lengths | None

    @property
    def direction(self) -> Direction:
        """As QNN says it."""
        return Direction.REVERSE if self.is_reverse else Direction.FORWARD


# What one direction gives: h of every step, the last h, the last c ("" where there is none).
Result = tuple[str, str, str]


@onnx_op("LSTM", since=7)
@onnx_op("LSTM", domain=OWN)
def lstm(ctx: Context, node: SourceNode) -> list[str]:
    """One Lstm a direction with the usual activations, else steps."""
    layer = Layer(ctx, node, 4, ("Sigmoid", "Tanh", "Tanh"))
    is_usual = _is_usual(layer, ("sigmoid", "tanh", "tanh"))
    if not is_usual and not can_unroll(layer):
        return keep_as_source_op(ctx, node)
    peepholes = layer.vectors(node.input(7), 3)
    hidden, cells = layer.states(node.input(5), layer.width), layer.states(node.input(6), layer.units)
    first = list(zip(hidden, cells, strict=True))
    results = [
        _emit_lstm(layer, run, peepholes[run.index], first[run.index])
        if is_usual
        else emit_lstm_steps(layer, run.index, run.x, run.is_reverse, peepholes[run.index], first[run.index])
        for run in _list_runs(layer)
    ]
    return _list_outputs(layer, results)


@onnx_op("GRU", since=7)
def gru(ctx: Context, node: SourceNode) -> list[str]:
    """One Gru a direction with the usual activations, else steps."""
    layer = Layer(ctx, node, 3, ("Sigmoid", "Tanh"))
    is_usual = _is_usual(layer, ("sigmoid", "tanh"))
    if not is_usual and not can_unroll(layer):
        return keep_as_source_op(ctx, node)
    first = layer.states(node.input(5), layer.units)
    results = [
        _emit_gru(layer, run, first[run.index])
        if is_usual
        else emit_gru_steps(layer, run.index, run.x, run.is_reverse, first[run.index])
        for run in _list_runs(layer)
    ]
    return _list_outputs(layer, results)


@onnx_op("RNN", since=7)
def rnn(ctx: Context, node: SourceNode) -> list[str]:
    """A Gru without gates where the activation is tanh, else steps."""
    layer = Layer(ctx, node, 1, ("Tanh",))
    is_usual = _is_usual(layer, ("tanh",))
    if not is_usual and not can_unroll(layer):
        return keep_as_source_op(ctx, node)
    first = layer.states(node.input(5), layer.units)
    results = [
        _emit_rnn(layer, run, first[run.index])
        if is_usual
        else emit_rnn_steps(layer, run.index, run.x, run.is_reverse, first[run.index])
        for run in _list_runs(layer)
    ]
    return _list_outputs(layer, results)


def _is_usual(layer: Layer, names: tuple[str, ...]) -> bool:
    return not layer.clip and all(tuple(a.name for a in each) == names for each in layer.activations)


def _list_runs(layer: Layer) -> list[Run]:
    """With lengths, what runs backwards is turned around within its length and runs forwards."""
    if not layer.lengths:
        return [Run(layer.x, is_reverse, i, None) for i, is_reverse in enumerate(layer.directions)]
    lengths = Lengths(layer)
    return [
        Run(lengths.turned(layer.x) if is_reverse else layer.x, False, i, lengths)
        for i, is_reverse in enumerate(layer.directions)
    ]


def _list_outputs(layer: Layer, results: Sequence[Result]) -> list[str]:
    """Y, Y_h, Y_c as far as they are wanted, cut at the lengths."""
    wanted = [bool(name) for name in (*layer.node.outputs, "", "", "")][:3]
    sequences, states, cells = ([result[i] for result in results] for i in range(3))
    if layer.lengths:
        lengths = Lengths(layer)
        sequences = [lengths.cut(sequence) for sequence in sequences]
        states = [lengths.last(sequence) for sequence in sequences]
        cells = [lengths.keep_cell(cell) if wanted[2] else cell for cell in cells]
        turns = zip(sequences, layer.directions, strict=True)
        sequences = [lengths.turned(s) if is_reverse and wanted[0] else s for s, is_reverse in turns]
    found = [layer.joined_sequence(sequences) if wanted[0] else ""]
    found.append(layer.joined_states(states) if wanted[1] else "")
    found.append(layer.joined_states(cells) if wanted[2] else "")
    return found[: len(layer.node.outputs)]


def _emit_lstm(layer: Layer, run: Run, peepholes: list[str], first: tuple[str, str]) -> Result:
    ctx = layer.ctx
    weights, recurrent = list(layer.weights[run.index]), layer.recurrent[run.index]
    biases = _sum_biases(layer, run.index)
    x, entry, output, forget = run.x, *peepholes
    gate = [INPUT, INPUT]
    if layer.node.attr("input_forget", 0):
        # 1 - sigmoid(x) is sigmoid(-x): the forget gate is the input gate with everything negated.
        weights[FORGET], biases[FORGET] = (ctx.emit(ElementWiseNeg(), v[INPUT]) for v in (weights, biases))
        recurrent = [*recurrent[:FORGET], ctx.emit(ElementWiseNeg(), recurrent[INPUT]), recurrent[CELL]]
        forget, entry, gate = (ctx.emit(ElementWiseNeg(), entry) if entry else ""), "", []
    if run.lengths is not None:
        x, weights = run.lengths.frozen(x, weights, {FORGET: OPEN, INPUT: -OPEN})
    order = (FORGET, CELL, OUTPUT)
    inputs = [x, *(v[g] for v in (weights, recurrent, biases) for g in order), *first, *[""] * 4]
    inputs += [weights[INPUT], recurrent[INPUT]] if gate else ["", ""]
    inputs += [entry, forget, output, biases[INPUT] if gate else "", layer.projections[run.index]]
    is_rounding = bool(layer.node.attr(ROUNDING, 0))
    op = Lstm(direction=run.direction, time_major=layer.time_axis == 0, is_rounding=is_rounding)
    sequence, cell, last = ctx.emit_all(op, *_trim_absent(inputs))
    return sequence, last, cell


def _emit_gru(layer: Layer, run: Run, first: str) -> Result:
    biases = layer.biases[run.index]
    inputs = [run.x, *layer.weights[run.index], *layer.recurrent[run.index], *biases]
    linear = 1 if layer.node.attr("linear_before_reset", 0) else 0
    return _emit_gru_op(layer, run, linear, [*inputs, _drop_leading(layer.ctx, first)])


def _emit_rnn(layer: Layer, run: Run, first: str) -> Result:
    """A Gru with h = (1 - 0) * tanh(Wx + R(1 * h)) + 0 * h: update is shut, reset is open."""
    ctx, units = layer.ctx, layer.units
    (weights,), (recurrent,), (bias, again) = (
        v[run.index] for v in (layer.weights, layer.recurrent, layer.biases)
    )
    nothing, square = (ctx.add_constant(_make_zeros(ctx, v)) for v in (weights, recurrent))
    shut, wide = (ctx.add_constant(np.full(units, v, _find_numpy_dtype(ctx, run.x))) for v in (-OPEN, OPEN))
    inputs = [run.x, nothing, nothing, weights, square, square, recurrent, shut, wide, bias, "", "", again]
    return _emit_gru_op(layer, run, 0, [*inputs, _drop_leading(ctx, first)])


def _emit_gru_op(layer: Layer, run: Run, linear: int, inputs: list[str]) -> Result:
    op = Gru(direction=run.direction, time_major=layer.time_axis == 0, linear_before_reset=linear)
    sequence, last = layer.ctx.emit_all(op, *_trim_absent(inputs))
    return sequence, layer.ctx.reshape(last, layer.ctx.shape(last)[1:]), ""


def _sum_biases(layer: Layer, index: int) -> list[str]:
    """The two biases of each gate as one; zeros where there are none."""
    ctx, biases = layer.ctx, layer.biases[index]
    if not biases[0]:
        zero = ctx.add_constant(np.zeros(layer.units, _find_numpy_dtype(ctx, layer.x)))
        return [zero] * layer.gates
    return [_sum(ctx, *pair) for pair in zip(biases[: layer.gates], biases[layer.gates :], strict=True)]


def _sum(ctx: Context, left: str, right: str) -> str:
    a, b = (ctx.graph.constants.get(value) for value in (left, right))
    if a is not None and b is not None:
        return ctx.add_constant(a + b)
    return ctx.emit(ElementWiseAdd(), left, right)


def _drop_leading(ctx: Context, state: str) -> str:
    return ctx.reshape(state, (1, *ctx.shape(state))) if state else ""


def _make_zeros(ctx: Context, value: str) -> Array:
    return np.zeros(ctx.type(value).static_shape(), _find_numpy_dtype(ctx, value))


def _find_numpy_dtype(ctx: Context, value: str) -> np.dtype[np.generic]:
    return ctx.dtype(value).numpy


def _trim_absent(inputs: list[str]) -> list[str]:
    while not inputs[-1]:
        inputs.pop()
    return inputs
