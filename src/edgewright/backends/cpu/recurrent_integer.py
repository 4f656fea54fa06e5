"""LSTMs of integers: the engine multiplies 8-bit weights with rounded activations where the source did."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.quant import Dequantize
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.ops.rearrange_slice import Split
from edgewright.ops.recurrent import Lstm

# Input places of an Lstm in ONNX's order of gates: input, output, forget, cell.
LSTM_WEIGHTS, LSTM_RECURRENT = (16, 3, 1, 2), (17, 6, 4, 5)
MOVES = (Reshape, Split, Transpose)


@dataclass(frozen=True)
class StoredGates:
    """The stored weights of all gates, [1, inputs, gates x units], with one scale and zero point."""

    array: Array
    scale: Array
    zero: Array


def is_integer_lstm(graph: Graph, node: Node) -> bool:
    """Whether all products of an Lstm are of integers."""
    if not isinstance(node.op, Lstm) or not node.op.is_rounding:
        return False
    is_single = graph.types[node.inputs[0]].dtype == DType.FLOAT_32 and graph.types[node.inputs[0]].rank == 3
    return is_single and all(
        find_stored_gates(graph, node, p) is not None for p in (LSTM_WEIGHTS, LSTM_RECURRENT)
    )


def feeds_integer_lstm(graph: Graph, value: str) -> bool:
    """Whether parts of a value are weights of such an Lstm."""
    for reader in graph.consumers(value):
        if isinstance(reader.op, MOVES) and any(feeds_integer_lstm(graph, part) for part in reader.outputs):
            return True
        if is_integer_lstm(graph, reader):
            return True
    return False


def find_stored_gates(graph: Graph, node: Node, places: Sequence[int]) -> StoredGates | None:
    """The integers behind the weights of gates, where they are parts of what is decoded with one scale."""
    values = [node.inputs[place] if place < len(node.inputs) else "" for place in places]
    gates = [_find_stored(graph, value) for value in values]
    known = [gate for gate in gates if gate is not None]
    if len(known) < len(gates):
        return None
    array, scales, zeros = (np.concatenate([gate[part] for gate in known]) for part in range(3))
    if np.ptp(scales) or np.ptp(zeros):
        return None
    first = (0,) * array.ndim
    return StoredGates(
        np.ascontiguousarray(array.T[None]),
        np.asarray([scales[first]], np.float32),
        np.asarray([zeros[first]], array.dtype),
    )


def _find_stored(graph: Graph, value: str) -> tuple[Array, Array, Array] | None:
    """Stored integers with the scale and the zero point of each, moved as the real numbers are."""
    maker = graph.producer(value)
    if maker is None or not isinstance(maker.op, (Dequantize, *MOVES)):
        return None
    if not isinstance(maker.op, Dequantize):
        source, place = _find_stored(graph, maker.inputs[0]), maker.outputs.index(value)
        if source is None:
            return None
        moved = [maker.op.compute(part)[place] for part in source]
        return moved[0], moved[1], moved[2]
    array, encoding = graph.constants.get(maker.inputs[0]), maker.op.encoding
    if array is None or encoding.block_axis is not None or array.dtype.itemsize != 1:
        return None
    shape = [1] * array.ndim
    shape[encoding.axis or 0] = len(encoding.scales)
    pairs = np.asarray(encoding.scales, np.float32), -np.asarray(encoding.offsets, np.int32)
    scales, zeros = (np.broadcast_to(pair.reshape(shape), array.shape) for pair in pairs)
    return array, scales, zeros
