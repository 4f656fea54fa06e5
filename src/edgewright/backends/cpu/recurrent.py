"""Recurrent layers for the engine: the gates' weights packed as ONNX packs them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewright.backends.cpu.empties import refuse_empty
from edgewright.backends.cpu.recurrent_integer import (
    LSTM_RECURRENT,
    LSTM_WEIGHTS,
    find_stored_gates,
    is_integer_lstm,
)
from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Node
from edgewright.ops.recurrent import Direction, Gru, Lstm, Recurrent, has_idle_gates

DIRECTIONS = {Direction.FORWARD: "forward", Direction.REVERSE: "reverse"}
# Input places of an Lstm in ONNX's order of gates: input, output, forget, cell.
LSTM_BIASES = (21, 9, 7, 8)
LSTM_PEEPHOLES = (18, 20, 19)
# The input gate coupled to the forget gate: sigmoid(-x) is 1 - sigmoid(x).
COUPLED = {16: 1, 17: 4, 21: 7, 18: 19}
LSTM_EXTRAS = (12, 13, 14, 15, 22, 23)
# The engine has no recurrent layers in half precision: they run in single precision between casts.
COMPUTED = frozenset({DType.FLOAT_32, DType.FLOAT_16})


@lowers(Lstm)
def lstm(w: Writer, op: Lstm, inputs: list[str], node: Node) -> list[str]:
    """One LSTM of one direction."""
    if op.cell_clip_threshold or any(_has(node, place) for place in LSTM_EXTRAS):
        raise NotOnEngine
    inputs = _widen_inputs(w, inputs, node)
    x, pack = _write_sequence(w, op, inputs[0], node), _Pack(w, node, inputs)
    units = int(w.type(node.inputs[1]).shape[0])
    biases = pack.joined([*LSTM_BIASES, *[None] * 4], units)
    peepholes = pack.joined(LSTM_PEEPHOLES, units) if any(_has(node, p) for p in LSTM_PEEPHOLES) else ""
    states = [_unsqueeze_value(w, inputs[place], 0) if _has(node, place) else "" for place in (10, 11)]
    settings: dict[str, Any] = {"outputs": 3, "hidden_size": units, "direction": DIRECTIONS[op.direction]}
    if is_integer_lstm(w.graph, node) and not w.is_standard:
        outputs = _write_integer_lstm(w, node, [x, biases, "", *states, peepholes], settings)
    else:
        weights = [pack.joined(LSTM_WEIGHTS), pack.joined(LSTM_RECURRENT)]
        outputs = w.node_all("LSTM", *_trimmed(x, *weights, biases, "", *states, peepholes), **settings)
    last, cell = (_squeeze_value(w, value, 0) for value in outputs[1:])
    sequence = last if w.type(node.inputs[0]).rank == 2 else _write_result(w, op, outputs[0])
    return _narrow_outputs(w, [sequence, cell, last], node)


def _write_integer_lstm(w: Writer, node: Node, values: list[str], settings: dict[str, Any]) -> list[str]:
    weights, scales = [], []
    for places in (LSTM_WEIGHTS, LSTM_RECURRENT):
        gates = find_stored_gates(w.graph, node, places)
        assert gates is not None
        weights.append(w.constant(gates.array))
        scales += [w.constant(gates.scale), w.constant(gates.zero)]
    inputs = [values[0], *weights, *values[1:], *scales]
    return w.node_all("DynamicQuantizeLSTM", *inputs, domain="com.microsoft", **settings)


@lowers(Gru)
def gru(w: Writer, op: Gru, inputs: list[str], node: Node) -> list[str]:
    """One GRU of one direction; an RNN where its gates are shut for good."""
    inputs = _widen_inputs(w, inputs, node)
    x, pack = _write_sequence(w, op, inputs[0], node), _Pack(w, node, inputs)
    units = int(w.type(node.inputs[1]).shape[0])
    state = inputs[13] if _has(node, 13) else ""
    is_plain = has_idle_gates(w.graph, node)
    gates = slice(2, None, 3) if is_plain else slice(None)
    has_bias = any(_has(node, place) for place in range(7, 13))
    biases = pack.joined(range(7, 13)[gates], units) if has_bias else ""
    outputs = w.node_all(
        "RNN" if is_plain else "GRU",
        *_trimmed(x, pack.joined(range(1, 4)[gates]), pack.joined(range(4, 7)[gates]), biases, "", state),
        outputs=2,
        hidden_size=units,
        direction=DIRECTIONS[op.direction],
        linear_before_reset=None if is_plain else op.linear_before_reset,
    )
    return _narrow_outputs(w, [_write_result(w, op, outputs[0]), outputs[1]], node)


class _Pack:
    """Joins the weights of gates into one tensor of one direction; known ones are joined here and now."""

    def __init__(self, w: Writer, node: Node, inputs: list[str]) -> None:
        self._writer, self._node, self._inputs = w, node, inputs

    def joined(self, places: Sequence[int | None], units: int = 0) -> str:
        parts = [self._find_known(place, units) for place in places]
        if all(part is not None for part in parts):
            return self._writer.constant(np.concatenate([p for p in parts if p is not None])[None])
        names = [self._name(place, units) for place in places]
        return _unsqueeze_value(self._writer, self._writer.node("Concat", *names, axis=0), 0)

    def _find_known(self, place: int | None, units: int) -> Array | None:
        if place is not None and _has(self._node, place):
            found = self._writer.graph.constants.get(self._node.inputs[place])
            encoding = self._writer.graph.types[self._node.inputs[place]].encoding
            if found is not None and encoding is not None:
                return encoding.decode(found)
            return None if found is None else found.astype(np.float32, copy=False)
        if place in COUPLED and not _has(self._node, 16) and _has(self._node, COUPLED[place]):
            forget = self._find_known(COUPLED[place], units)
            return None if forget is None else -forget
        return np.zeros(units, np.float32)

    def _name(self, place: int | None, units: int) -> str:
        if place is not None and _has(self._node, place):
            return self._inputs[place]
        if place in COUPLED and not _has(self._node, 16) and _has(self._node, COUPLED[place]):
            return self._writer.node("Neg", self._inputs[COUPLED[place]])
        return self._writer.constant(np.zeros(units, np.float32))


def _write_sequence(w: Writer, op: Recurrent, x: str, node: Node) -> str:
    """The input with time first; the engine divides by the number of steps and of sequences."""
    tensor_type = w.type(node.inputs[0])
    if tensor_type.dtype not in COMPUTED or not isinstance(w.type(node.inputs[1]).shape[0], int):
        raise NotOnEngine
    if tensor_type.rank == 2:
        return refuse_empty(w, _unsqueeze_value(w, x, 0), tensor_type, 3)
    return refuse_empty(w, x if op.time_major else w.transpose(x, (1, 0, 2)), tensor_type)


def _widen_inputs(w: Writer, inputs: list[str], node: Node) -> list[str]:
    is_half = [bool(value) and w.type(value).dtype == DType.FLOAT_16 for value in node.inputs]
    return [
        w.node("Cast", name, to=w.code(DType.FLOAT_32)) if half else name
        for name, half in zip(inputs, is_half, strict=True)
    ]


def _narrow_outputs(w: Writer, outputs: list[str], node: Node) -> list[str]:
    if w.type(node.inputs[0]).dtype == DType.FLOAT_32:
        return outputs
    return [w.node("Cast", name, to=w.code(DType.FLOAT_16)) for name in outputs]


def _write_result(w: Writer, op: Recurrent, sequence: str) -> str:
    result = _squeeze_value(w, sequence, 1)
    return result if op.time_major else w.transpose(result, (1, 0, 2))


def _has(node: Node, place: int) -> bool:
    return place < len(node.inputs) and bool(node.inputs[place])


def _trimmed(*inputs: str) -> list[str]:
    names = list(inputs)
    while names and not names[-1]:
        names.pop()
    return names


def _unsqueeze_value(w: Writer, value: str, axis: int) -> str:
    return w.node("Unsqueeze", value, w.constant(np.asarray([axis], np.int64)))


def _squeeze_value(w: Writer, value: str, axis: int) -> str:
    return w.node("Squeeze", value, w.constant(np.asarray([axis], np.int64)))
