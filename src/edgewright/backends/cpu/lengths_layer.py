"""Writes a recurrent layer with the lengths of its sequences as the one op of ONNX that it is."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.backends.cpu.graph_edits import add_array, add_source_op, move_value
from edgewright.backends.cpu.patterns import cast_op
from edgewright.backends.cpu.recurrent import LSTM_BIASES, LSTM_EXTRAS, LSTM_PEEPHOLES
from edgewright.backends.cpu.recurrent_integer import LSTM_RECURRENT, LSTM_WEIGHTS
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.ir.types import TensorType
from edgewright.ops.cast import Cast
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.ops.recurrent import SATURATED, Direction, Gru, Lstm, has_idle_gates

# Batches first to time first, and back.
SWAP = Transpose(perm=(1, 0, 2))
FORGET, INPUT = 1, 16


@dataclass(frozen=True)
class Layer:
    """A layer, the sequence that it reads from one end or the other, and the lengths of that."""

    node: Node
    x: str
    lengths: str
    is_reverse: bool
    is_time_major: bool

    @property
    def settings(self) -> tuple[tuple[str, Hashable], ...]:
        """The attributes that all kinds have."""
        return (("direction", "reverse" if self.is_reverse else "forward"),)


def is_known(graph: Graph, node: Node) -> bool:
    """Whether the layer runs forwards, has weights that are known, and nothing that the engine lacks."""
    gru, lstm = cast_op(node, Gru), cast_op(node, Lstm)
    op = gru or lstm
    if op is None or op.direction != Direction.FORWARD:
        return False
    if lstm is not None and (lstm.is_rounding or lstm.cell_clip_threshold or not given(node.inputs, INPUT)):
        return False
    x = graph.types[node.inputs[0]]
    states, lacking = ((13,), (14,)) if lstm is None else ((10, 11), LSTM_EXTRAS)
    if x.dtype != DType.FLOAT_32 or x.rank != 3 or any(given(node.inputs, place) for place in lacking):
        return False
    rest = [name for place, name in enumerate(node.inputs) if name and place not in (0, *states)]
    return all(name in graph.constants and graph.types[name].dtype == DType.FLOAT_32 for name in rest)


def is_holding_cell(graph: Graph, node: Node) -> bool:
    """Whether the weights of the last input open the forget gate and shut the input gate, and no more."""
    columns = {place: graph.constants[node.inputs[place]][:, -1] for place in LSTM_WEIGHTS}
    is_open = bool((columns.pop(FORGET) >= SATURATED).all())
    is_shut = bool((columns.pop(INPUT) <= -SATURATED).all())
    return is_open and is_shut and not any(column.any() for column in columns.values())


def write_layer(graph: Graph, layer: Layer) -> tuple[str, str, str]:
    """The sequence as the layer has it, the last state and the last cell ("" where there is none)."""
    outputs = (_write_gru if cast_op(layer.node, Lstm) is None else _write_lstm)(graph, layer)
    steps, directions, batch, units = graph.types[outputs[0]].shape
    del directions
    moves = [Reshape(shape=(steps, batch, units)), *([] if layer.is_time_major else [SWAP])]
    sequence = move_value(graph, outputs[0], moves)
    cell = move_value(graph, outputs[2], [Reshape(shape=(batch, units))]) if len(outputs) > 2 else ""
    return sequence, outputs[1], cell


def _write_gru(graph: Graph, layer: Layer) -> list[str]:
    op, node = layer.node.op, layer.node
    is_plain = has_idle_gates(graph, node)
    gates = slice(2, None, 3) if is_plain else slice(None)
    weights = [_join(graph, node, range(first, first + 3)[gates]) for first in (1, 4)]
    has_bias = any(given(node.inputs, place) for place in range(7, 13))
    biases = _join(graph, node, range(7, 13)[gates]) if has_bias else ""
    inputs = [*weights, biases, _write_lengths(graph, layer), given(node.inputs, 13) or ""]
    settings = () if is_plain else (("linear_before_reset", getattr(op, "linear_before_reset", 0)),)
    return _write_op(graph, layer, ("RNN" if is_plain else "GRU", 2), inputs, settings)


def _write_lstm(graph: Graph, layer: Layer) -> list[str]:
    node = layer.node
    weights = [_join(graph, node, LSTM_WEIGHTS, is_wider=True), _join(graph, node, LSTM_RECURRENT)]
    units = _count_units(graph, node)
    states = [
        move_value(graph, name, [Reshape(shape=(1, *graph.types[name].shape))]) if name else ""
        for name in (given(node.inputs, place) for place in (10, 11))
    ]
    peepholes = ""
    if any(given(node.inputs, place) for place in LSTM_PEEPHOLES):
        peepholes = _join(graph, node, LSTM_PEEPHOLES)
    biases = np.concatenate([_read(graph, node, place) for place in LSTM_BIASES])
    whole = add_array(graph, np.concatenate([biases, np.zeros(4 * units, np.float32)])[None])
    inputs = [*weights, whole, _write_lengths(graph, layer), *states, peepholes]
    return _write_op(graph, layer, ("LSTM", 3), inputs, ())


def _write_op(
    graph: Graph,
    layer: Layer,
    kind: tuple[str, int],
    inputs: list[str],
    settings: tuple[tuple[str, Hashable], ...],
) -> list[str]:
    is_time_first = layer.is_time_major and not layer.is_reverse
    x = move_value(graph, layer.x, [] if is_time_first else [SWAP])
    steps, batch, _ = graph.types[x].shape
    units = _count_units(graph, layer.node)
    state = TensorType((1, batch, units))
    types = [TensorType((steps, 1, batch, units)), *[state] * (kind[1] - 1)]
    attributes = (("hidden_size", units), *layer.settings, *settings)
    return add_source_op(graph, kind[0], [x, *inputs], types, attributes)


def _write_lengths(graph: Graph, layer: Layer) -> str:
    is_narrow = graph.types[layer.lengths].dtype == DType.INT_32
    return move_value(graph, layer.lengths, [] if is_narrow else [Cast(dtype=DType.INT_32)])


def _join(graph: Graph, node: Node, places: Sequence[int], *, is_wider: bool = False) -> str:
    """The weights of gates as one tensor of one direction, without the input that keeps the cell."""
    arrays = [_read(graph, node, place) for place in places]
    return add_array(graph, np.concatenate([a[:, :-1] if is_wider else a for a in arrays])[None])


def _read(graph: Graph, node: Node, place: int) -> Array:
    name = given(node.inputs, place)
    return graph.constants[name] if name else np.zeros(_count_units(graph, node), np.float32)


def _count_units(graph: Graph, node: Node) -> int:
    return int(graph.constants[node.inputs[1]].shape[0])
