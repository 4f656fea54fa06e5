"""The range and the grid of each group of values, and so the encoding they share."""

from collections.abc import Mapping, Sequence

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.quantize.encodings import Grid, change_grid, cover_factors, encode_copy
from edgewright.quantize.groups import Groups, is_real, list_data_inputs
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.pins import Placed
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.rules import find_second_operand_grid

# Nothing but a mask moves scores this far: exp(-1000) is nothing in any type.
MASKED = -1000.0
# The grid of activations of 16 bits.
WIDE = Grid(16)
Range = tuple[float, float]
Statistics = Mapping[str, Extremes | Histogram]


def range_of_array(array: Array) -> Range:
    """The extremes of a constant, infinities left out."""
    extremes = Extremes.of(array if np.isfinite(array).all() else array[np.isfinite(array)])
    return float(extremes.low[0]), float(extremes.high[0])


class Spans:
    """What groups of values cover; groups that nothing is known of have no encoding."""

    def __init__(
        self, graph: Graph, groups: Groups, request: QuantizationRequest, statistics: Statistics | None
    ) -> None:
        self._graph, self._groups, self._request = graph, groups, request
        self._members = self._list_members()
        # Each group is on the activations' grid: HTP's ops write the type they read, and no other.
        self._grids = {root: request.make_act_grid(groups.find_bits(root)) for root in self._members}
        self._ranges: dict[str, Range] = {}
        self._read_ranges: dict[tuple[str, int], Range] = {}
        if statistics is not None:
            self._choose_ranges(statistics)
        for value in self._list_passed_constants():
            # A constant that is moved is known without data; with others it widens their range.
            if statistics is not None or all(v in graph.constants for v in self._list_neighbours(value)):
                self.widen(value, range_of_array(graph.constants[value]))
        for root in list(self._ranges):
            if self._is_second_operand(root):
                self._ranges[root] = cover_factors(*self._ranges[root])

    def is_known(self, value: str) -> bool:
        """Whether a value can be stored in fixed point."""
        pin = self._groups.pin(value)
        is_pinned = pin is not None and pin.placed is not None and not pin.is_float
        return is_pinned or self._groups.find(value) in self._ranges

    def range(self, value: str) -> Range | None:
        """The range that was chosen for a value's group."""
        return self._ranges.get(self._groups.find(value))

    def set_range(self, value: str, new_range: Range) -> None:
        """Replaces the range of a value's group."""
        self._ranges[self._groups.find(value)] = new_range

    def set_read_range(self, node: Node, place: int, new_range: Range) -> None:
        """The range in which a node reads a constant, where that is not its own."""
        self._read_ranges[node.name, place] = new_range

    def widen(self, value: str, other: Range) -> None:
        """Lets the range of a value's group cover another one too."""
        low, high = self.range(value) or other
        self.set_range(value, (min(low, other[0]), max(high, other[1])))

    def place_value(self, value: str) -> Placed:
        """How a value's group is stored in fixed point."""
        pin, root = self._groups.pin(value), self._groups.find(value)
        if pin is not None and pin.placed is not None and not pin.is_float:
            return pin.placed
        grid = self._grids[root]
        return Placed(grid.dtype, grid.encode_range(*self._ranges[root]))

    def read(self, node: Node, place: int, bits: int) -> Placed:
        """How a node of a width reads a value: as it is stored, or its range on the grid that is needed."""
        value = node.inputs[place]
        grid = find_needed_grid(self._graph, node, place, bits)
        if value in self._graph.constants and not self.is_known(value):
            chosen = grid or self._request.make_act_grid(bits)
            return Placed(chosen.dtype, chosen.encode_range(*self._range_beside(node, place)))
        placed = self.place_value(value)
        assert placed.encoding is not None
        if placed.encoding.bitwidth == bits and (
            grid is None or grid == self._grids[self._groups.find(value)]
        ):
            return placed
        chosen, reach = grid or self._request.make_act_grid(bits), self._find_ruled_range(value)
        if reach is not None:
            return Placed(chosen.dtype, encode_copy(chosen, *reach, placed.encoding))
        # The range that is stored, not the one that was measured: encodings given back make the same model.
        return Placed(chosen.dtype, change_grid(placed.encoding, placed.dtype, chosen))

    def _find_ruled_range(self, value: str) -> Range | None:
        """What a value covers whose encoding a rule gives: a copy in fewer bits need not reach further."""
        pin = self._groups.pin(value)
        return self.range(value) if pin is not None and pin.rule else None

    def _range_beside(self, node: Node, place: int) -> Range:
        """The range of a constant; an infinite one reaches as far as what it meets."""
        if (node.name, place) in self._read_ranges:
            return self._read_ranges[node.name, place]
        array = self._graph.constants[node.inputs[place]]
        ranges = [range_of_array(array)]
        if not np.isfinite(array).all():
            others = [self.range(v) for v in (*node.inputs, *node.outputs) if is_real(self._graph, v)]
            ranges += [other for other in others if other is not None]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def _list_members(self) -> dict[str, list[str]]:
        made = [v for node in self._graph.nodes for v in (*node.inputs, *node.outputs)]
        values = dict.fromkeys(v for v in (*self._graph.inputs, *made) if is_real(self._graph, v))
        return self._groups.list_members(values)

    def _is_second_operand(self, root: str) -> bool:
        """Whether a group is only read on the grid of factors: in other steps it would be rounded twice."""
        pin, values = self._groups.pin(root), self._members.get(root, [])
        is_open = pin is None or pin.placed is None
        if not is_open or self._grids.get(root) != WIDE or not set(values).isdisjoint(self._graph.outputs):
            return False
        reads = [
            (node, place, value)
            for value in values
            for node in self._graph.consumers(value)
            for place, read in enumerate(node.inputs)
            if read == value
        ]
        read = [part for part in reads if not self._is_moved_within(root, part[0], part[2])]
        grids = [find_needed_grid(self._graph, node, place, WIDE.bits) for node, place, _ in read]
        return bool(grids) and None not in grids

    def _is_moved_within(self, root: str, node: Node, value: str) -> bool:
        is_same = self._groups.find(node.outputs[0]) == root
        return is_same and _is_passed_on(self._graph, node, value)

    def _choose_ranges(self, statistics: Statistics) -> None:
        by_grid: dict[Grid, list[str]] = {}
        for value in statistics:
            by_grid.setdefault(self._grids[self._groups.find(value)], []).append(value)
        for grid, values in by_grid.items():
            kept = self._merge_ranges([statistics[value] for value in values], grid)
            for value, low, high in zip(values, kept.low.tolist(), kept.high.tolist(), strict=True):
                self.widen(value, self._clip_to_possible(value, low, high))

    def _clip_to_possible(self, value: str, low: float, high: float) -> Range:
        """A range without what the op before cannot give, however much room was added."""
        node = self._graph.producer(value)
        first, last = node.op.specific().value_range() if node is not None else (low, high)
        return min(max(low, first), last), max(min(high, last), first)

    def _merge_ranges(self, statistics: Sequence[Extremes | Histogram], grid: Grid) -> Extremes:
        scheme = self._request.act_scheme
        histograms = [part for part in statistics if isinstance(part, Histogram)]
        if len(histograms) == len(statistics):
            return scheme.choose_ranges(Histogram.stack(histograms), grid)
        parts = [scheme.choose_ranges(part, grid) for part in statistics]
        return Extremes(np.concatenate([p.low for p in parts]), np.concatenate([p.high for p in parts]))

    def _list_passed_constants(self) -> list[str]:
        """Constants that ops which only move data pass on: they belong to the range of what comes out."""
        moving = [n for n in self._graph.nodes if n.op.keeps_encoding and is_real(self._graph, n.outputs[0])]
        values = dict.fromkeys(v for node in moving for v in list_data_inputs(self._graph, node))
        return [value for value in values if value in self._graph.constants]

    def _list_neighbours(self, value: str) -> list[str]:
        nodes = [n for n in self._graph.consumers(value) if _is_passed_on(self._graph, n, value)]
        return [v for node in nodes for v in list_data_inputs(self._graph, node)]


def find_needed_grid(graph: Graph, node: Node, place: int, bits: int) -> Grid | None:
    """The grid that a node of a width needs at a place; None where any will do."""
    is_weight = node.inputs[place] in graph.constants and node.op.is_product
    return find_second_operand_grid(node.op, bits) if place == 1 and not is_weight else None


def _is_passed_on(graph: Graph, node: Node, value: str) -> bool:
    return node.op.keeps_encoding and value in list_data_inputs(graph, node)
