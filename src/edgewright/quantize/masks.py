"""Masked scores: what a mask pushes far below all scores before a softmax needs no steps of its own.

A mask is added, subtracted or chosen into the scores, once or several times, and moved or scaled on the way.
The range without masked elements is followed from the scores to the softmax; how far down steps must reach
is followed back from the softmax to the mask.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, log

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseSubtract
from edgewright.passes.match import number_of
from edgewright.quantize.groups import Groups, is_real, list_data_inputs
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.rules import MASKED_RULE
from edgewright.quantize.spans import MASKED, Range, Spans, range_of_array

# How far below the least score a masked one stays: exp(-10) and exp(-20) vanish in 8 and in 16 bits.
MARGINS = {8: 10.0, 16: 20.0}
# Of so many masked elements: more add up, and stay further below.
FEW = 64
NOTHING = (-inf, inf)


def leave_out_masks(graph: Graph, groups: Groups, spans: Spans, report: QuantizationReport) -> None:
    """Narrows the ranges of masked scores, and of the masks, to what a softmax can tell apart."""
    masks = _Masks(graph, groups, spans)
    for node in reversed(graph.nodes):
        if node.op.ignores_masked and is_real(graph, node.inputs[0]):
            masks.start_at(node)
        elif not node.op.keeps_encoding and node.outputs and is_real(graph, node.outputs[0]):
            masks.follow(node, report)
    for value in graph.inputs:
        if is_real(graph, value):
            masks.narrow(value, report)


class _Masks:
    def __init__(self, graph: Graph, groups: Groups, spans: Spans) -> None:
        self._graph, self._groups, self._spans = graph, groups, spans
        self._plain: dict[str, Range] = {}
        # Beyond these bounds nothing can be told apart: one for each reader of a group.
        self._bounds: dict[str, list[Range]] = {}
        self._readers = _count_readers(graph, groups)

    def start_at(self, softmax: Node) -> None:
        """Bounds what a softmax reads, where some of it is masked."""
        value = softmax.inputs[0]
        low, _ = self._find_plain_range(value)
        reach = self._spans.range(value)
        margin = MARGINS.get(self._groups.find_bits(value), 20.0) + self._count_masked(softmax)
        is_masked = reach is not None and _is_masked(reach) and isfinite(low)
        self._bound(value, (low - margin, inf) if is_masked else NOTHING)

    def follow(self, node: Node, report: QuantizationReport) -> None:
        """Narrows what a node makes to its bounds, and bounds what the node reads."""
        bounds = self.narrow(node.outputs[0], report)
        if bounds is None:
            return
        factor = _find_factor(self._graph, node)
        if factor is not None:
            self._bound(node.inputs[factor.place], _scale(bounds, 1 / factor.number))
        elif node.op.specific().slopes is not None:
            for place, operand in enumerate(node.inputs):
                if is_real(self._graph, operand):
                    self._bound_operand(node, place, operand, bounds)

    def narrow(self, value: str, report: QuantizationReport) -> Range | None:
        """Narrows a value to its bounds, and tells them where they cut something off."""
        bounds, reach = self._find_bounds(value), self._spans.range(value)
        if bounds is None or reach is None or not _is_cut_by(reach, bounds):
            return None
        self._spans.set_range(value, (max(reach[0], bounds[0]), min(reach[1], bounds[1])))
        report.record_rule(MASKED_RULE, value)
        return bounds

    def _bound_operand(self, node: Node, place: int, operand: str, bounds: Range) -> None:
        needed = self._invert(node, place, bounds)
        if operand not in self._graph.constants:
            self._bound(operand, needed)
            return
        array = self._graph.constants[operand]
        low, high = float(array.min(initial=0.0)), float(array.max(initial=0.0))
        if _is_masked((low, high)):
            self._spans.set_read_range(node, place, (max(low, needed[0]), min(high, needed[1])))

    def _invert(self, node: Node, place: int, bounds: Range) -> Range:
        """Beyond which bounds an operand makes results beyond the given ones, whatever the other one is."""
        op, (low, high) = node.op.specific(), bounds
        assert op.slopes is not None
        if isinstance(op, (ElementWiseAdd, ElementWiseSubtract)):
            other = self._find_plain_range(node.inputs[1 - place])
            if not all(map(isfinite, other)):
                return NOTHING
            least, most = other if op.slopes[1 - place] > 0 else (-other[1], -other[0])
            low, high = low - most, high - least
        return (low, high) if op.slopes[place] > 0 else (-high, -low)

    def _bound(self, value: str, bounds: Range) -> None:
        self._bounds.setdefault(self._groups.find(value), []).append(bounds)

    def _find_bounds(self, value: str) -> Range | None:
        """The bounds of a group, once each of its readers has said what it needs."""
        root = self._groups.find(value)
        bounds = self._bounds.get(root, [])
        if not bounds or len(bounds) != self._readers.get(root):
            return None
        return min(low for low, _ in bounds), max(high for _, high in bounds)

    def _find_plain_range(self, value: str) -> Range:
        """The range of what is not masked: (inf, inf) or (-inf, -inf) where everything is."""
        if value not in self._plain:
            self._plain[value] = self._compute_plain_range(value)
        return self._plain[value]

    def _compute_plain_range(self, value: str) -> Range:
        if value in self._graph.constants:
            array = self._graph.constants[value]
            kept = array[np.abs(array) < -MASKED]
            sign = inf if array.size and array.max() > 0 else -inf
            return range_of_array(kept) if kept.size else (sign, sign)
        reach, maker = self._spans.range(value), self._graph.producer(value)
        if reach is None or not _is_masked(reach) or maker is None:
            return _leave_out_far_ends(reach) if reach is not None else NOTHING
        if maker.op.keeps_encoding:
            return _merge([self._find_plain_range(v) for v in list_data_inputs(self._graph, maker)])
        return self._compute_made_range(maker, reach)

    def _compute_made_range(self, maker: Node, reach: Range) -> Range:
        op = maker.op.specific()
        parts = [self._find_plain_range(v) for v in maker.inputs if is_real(self._graph, v)]
        factor = _find_factor(self._graph, maker)
        if factor is not None:
            return _scale(parts[factor.place], factor.number)
        if op.slopes is None:
            return _leave_out_far_ends(reach)
        if 0 in op.slopes:
            return _merge(parts)
        low, high = (_compute_end(op, parts, op.slopes, side) for side in (0, 1))
        # Of mask * 1e9 - 1e9 the parts tell nothing: both are far out.
        return (low, high) if isfinite(low) and isfinite(high) else _leave_out_far_ends(reach)

    def _count_masked(self, softmax: Node) -> float:
        """What masked elements add to the margin: there may be as many as the axis is long."""
        kind = self._graph.types[softmax.inputs[0]]
        axis = getattr(softmax.op, "axis", None)
        length = kind.shape[kind.rank - 1 if axis is None else axis]
        return max(0.0, log(length / FEW)) if isinstance(length, int) and length else 0.0


def _count_readers(graph: Graph, groups: Groups) -> dict[str, int]:
    """How many places read each group, those that only move it left out; outputs are read by everyone."""
    counts: dict[str, int] = {}
    for node in graph.nodes:
        moved = list_data_inputs(graph, node) if node.op.keeps_encoding else []
        for value in (v for v in node.inputs if is_real(graph, v) and v not in moved):
            root = groups.find(value)
            counts[root] = counts.get(root, 0) + 1
    for value in graph.outputs:
        counts[groups.find(value)] = -1
    return counts


def _compute_end(op: Op, parts: Sequence[Range], slopes: Sequence[int], side: int) -> float:
    """The least (0) or the largest (1) result of an op, from the ends of its operands."""
    operands = [part[side if slope > 0 else 1 - side] for part, slope in zip(parts, slopes, strict=True)]
    with np.errstate(invalid="ignore"):
        return float(op.compute(*(np.array([operand], np.float64) for operand in operands))[0][0])


def _is_masked(reach: Range) -> bool:
    return reach[0] <= MASKED or reach[1] >= -MASKED


def _is_cut_by(reach: Range, bounds: Range) -> bool:
    low, high = max(reach[0], bounds[0]), min(reach[1], bounds[1])
    return low < high and (low, high) != reach


def _leave_out_far_ends(reach: Range) -> Range:
    """A mask that comes from elsewhere: besides what is far out, it has zeros."""
    return (0.0 if reach[0] <= MASKED else reach[0], 0.0 if reach[1] >= -MASKED else reach[1])


def _merge(parts: Sequence[Range]) -> Range:
    known = [part for part in parts if part not in {(inf, inf), (-inf, -inf)}]
    if not known:
        return parts[0] if parts else NOTHING
    return min(low for low, _ in known), max(high for _, high in known)


def _scale(reach: Range, factor: float) -> Range:
    low, high = sorted((reach[0] * factor, reach[1] * factor))
    return low, high


@dataclass(frozen=True)
class _Factor:
    """The place of what is scaled, and the number that scales it."""

    place: int
    number: float


def _find_factor(graph: Graph, node: Node) -> _Factor | None:
    """How a node scales, where one number does: the factor of a mask itself is none."""
    op = node.op.specific()
    moving = [place for place, value in enumerate(node.inputs) if value not in graph.constants]
    numbers = [number_of(graph, value) for value in node.inputs]
    if len(numbers) != 2 or len(moving) != 1 or moving[0] not in op.scaled_inputs:
        return None
    number = numbers[1 - moving[0]]
    if not number or abs(number) >= -MASKED:
        return None
    operands = [np.array([1.0 if place in moving else number]) for place in (0, 1)]
    return _Factor(moving[0], float(op.compute(*operands)[0][0]))
