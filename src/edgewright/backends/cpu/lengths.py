"""Recurrent layers whose sequences end early: the engine's own stop there, which is the faster form."""

from dataclasses import dataclass

import numpy as np

from edgewright.backends.cpu.graph_edits import move_value, replace_value
from edgewright.backends.cpu.lengths_layer import SWAP, Layer, is_holding_cell, is_known, write_layer
from edgewright.backends.cpu.patterns import Made, cast_op, find_origin, match
from edgewright.core.numbers import DType
from edgewright.ir.dims import Shape
from edgewright.ir.graph import Graph, Node
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseEqual,
    ElementWiseGreater,
    ElementWiseGreaterEqual,
    ElementWiseLess,
    ElementWiseSelect,
    ElementWiseSubtract,
)
from edgewright.ops.gather import GatherNd
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.recurrent import Lstm
from edgewright.ops.reduce import ReduceSum

WHOLE = frozenset({DType.INT_32, DType.INT_64})
# Zero after the end; of that, the last step.
CUT = Made(ElementWiseSelect, (Made(ElementWiseLess, ("steps", "ends")), "sequence", 0.0))
_IS_LAST = Made(ElementWiseEqual, ("steps", Made(ElementWiseAdd, ("ends", -1.0))))
LAST = Made(ElementWiseSelect, (_IS_LAST, "sequence", 0.0))
# The cell of a sequence that is not empty.
KEPT = Made(ElementWiseSelect, (Made(ElementWiseGreater, ("ends", 0.0)), "cell", 0.0))
# The steps of a sequence within its length from the last to the first, then the others.
_BACK = Made(ElementWiseSubtract, (Made(ElementWiseSubtract, ("ends", 1.0)), "steps"))
_TURNED = Made(ElementWiseSelect, (Made(ElementWiseLess, ("steps", "ends")), _BACK, "steps"))
PLACES = Made(Reshape, (_TURNED,))
# One more input, 1 after the end: its weights keep the cell as it is.
_OUTSIDE = Made(Cast, (Made(ElementWiseGreaterEqual, ("steps", "ends")),))
FROZEN = Made(Concat, ("x", _OUTSIDE), {"axis": 2})


def with_lengths(graph: Graph) -> Graph:
    """The graph, or a copy whose layers are told the lengths; what is not read any more stays in it."""
    layers = [node for node in graph.nodes if is_known(graph, node)]
    layers_with_uses = [each for node in layers if (each := _Finder(graph, node).find()) is not None]
    if not layers_with_uses:
        return graph
    changed = graph.copy()
    for layer, uses in layers_with_uses:
        sequence, state, cell = write_layer(changed, layer)
        for value in uses.sequences:
            replace_value(changed, value, sequence)
        for value in uses.states:
            shaped = move_value(changed, state, [Reshape(shape=changed.types[value].shape)])
            replace_value(changed, value, shaped)
        for value in uses.cells:
            replace_value(changed, value, cell)
    changed.sort()
    return changed


@dataclass(frozen=True)
class _Uses:
    """Values that are the sequence up to its length, its last step, and the last cell."""

    sequences: list[str]
    states: list[str]
    cells: list[str]


class _Finder:
    """Finds what a layer that computes all steps is read by."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self._graph, self._node = graph, node
        is_time_major = bool(getattr(node.op, "time_major", True))
        self._time, self._moves = (0, [SWAP]) if is_time_major else (1, [])
        shape = graph.types[node.inputs[0]].shape
        self._size, self._batch = shape[self._time], shape[1 - self._time]
        self._lengths = ""
        self._is_lstm = cast_op(node, Lstm) is not None

    def find(self) -> tuple[Layer, _Uses] | None:
        """The layer with its lengths; None where it is used in another way."""
        graph, node = self._graph, self._node
        readers = graph.consumers(node.outputs[0])
        if len(readers) != 1 or graph.consumers(node.outputs[2 if self._is_lstm else 1]):
            return None
        cut = readers[0].outputs[0]
        if not self._is_masked(cut, CUT, node.outputs[0]):
            return None
        x = self._find_unfrozen(node.inputs[0]) if self._is_lstm else node.inputs[0]
        turned = self._find_turned(x) if x else ""
        uses = self._list_uses(cut, is_turned=bool(turned))
        if not x or uses is None:
            return None
        layer = Layer(node, turned or x, self._lengths, is_reverse=bool(turned), is_time_major=not self._time)
        return layer, uses

    def _list_uses(self, cut: str, *, is_turned: bool) -> _Uses | None:
        """What becomes of the sequence; one that ran backwards must be turned around again."""
        uses = _Uses([] if is_turned else [cut], [], [])
        if self._is_lstm:
            cells = self._graph.consumers(self._node.outputs[1])
            if not all(map(self._is_kept_cell, cells)):
                return None
            uses.cells.extend(reader.outputs[0] for reader in cells)
        for reader in self._graph.consumers(cut):
            last, back = self._find_last(reader, cut), self._find_back(reader) if is_turned else ""
            if is_turned and not last and not back:
                return None
            uses.states.extend([last] if last else [])
            uses.sequences.extend([back] if back else [])
        return uses

    def _is_kept_cell(self, reader: Node) -> bool:
        names = match(self._graph, reader.outputs[0], KEPT)
        is_own = names is not None and names["cell"] == self._node.outputs[1]
        return is_own and names is not None and _find_lengths(self._graph, names["ends"]) == self._lengths

    def _find_last(self, reader: Node, cut: str) -> str:
        value = reader.outputs[0]
        sums = self._graph.consumers(value)
        if not self._is_masked(value, LAST, cut) or len(sums) != 1:
            return ""
        op = cast_op(sums[0], ReduceSum)
        is_over_time = op is not None and tuple(op.axes) == (self._time,)
        return sums[0].outputs[0] if is_over_time else ""

    def _find_back(self, reader: Node) -> str:
        """The sequence behind the turn that a reader of it begins."""
        for _ in self._moves:
            readers = self._graph.consumers(reader.outputs[0])
            if reader.op != SWAP or len(readers) != 1:
                return ""
            reader = readers[0]
        value = reader.outputs[0]
        if not self._is_turn(reader):
            return ""
        for _ in self._moves:
            readers = self._graph.consumers(value)
            if len(readers) != 1 or readers[0].op != SWAP:
                return ""
            value = readers[0].outputs[0]
        return value

    def _find_turned(self, x: str) -> str:
        """The sequence before it was turned around, time first or batches first as the layer reads it."""
        origin, moves = find_origin(self._graph, x, (Transpose,))
        maker = self._graph.producer(origin)
        is_turn = maker is not None and self._is_turn(maker) and list(moves) == self._moves
        return maker.inputs[0] if maker is not None and is_turn else ""

    def _is_turn(self, node: Node) -> bool:
        op = cast_op(node, GatherNd)
        if op is None or op.batch_dims != 1:
            return False
        names = match(self._graph, node.inputs[1], PLACES)
        return names is not None and self._is_clock(names, -1, (self._batch, 1))

    def _find_unfrozen(self, x: str) -> str:
        """The input without what keeps the cell."""
        names = match(self._graph, x, FROZEN)
        if names is None or not self._is_clock(names, self._time, self._ends_shape):
            return ""
        return names["x"] if is_holding_cell(self._graph, self._node) else ""

    def _is_masked(self, value: str, mask: Made, sequence: str) -> bool:
        names = match(self._graph, value, mask)
        is_own = names is not None and names["sequence"] == sequence
        return names is not None and is_own and self._is_clock(names, self._time, self._ends_shape)

    @property
    def _ends_shape(self) -> Shape:
        return (self._batch, 1, 1) if self._time else (1, self._batch, 1)

    def _is_clock(self, names: dict[str, str], axis: int, shape: Shape) -> bool:
        """Whether steps are counted along an axis and held against the one and only lengths."""
        steps = self._graph.constants.get(names["steps"])
        if (
            steps is None
            or not isinstance(self._size, int)
            or self._graph.types[names["ends"]].shape != shape
        ):
            return False
        is_counted = steps.size == self._size and steps.shape[axis] == self._size
        lengths = _find_lengths(self._graph, names["ends"])
        self._lengths = self._lengths or lengths
        is_own = bool(lengths) and lengths == self._lengths
        return is_own and is_counted and np.array_equal(steps.reshape(-1), np.arange(self._size))


def _find_lengths(graph: Graph, mask_side: str) -> str:
    """The lengths behind the ends, one for each sequence; "" where they are something else."""
    value, moves = find_origin(graph, mask_side, (Reshape, Cast))
    is_whole = all(getattr(op, "dtype", DType.INT_32) in WHOLE for op in moves)
    kind = graph.types[value]
    return value if is_whole and kind.rank == 1 and kind.dtype in WHOLE else ""
