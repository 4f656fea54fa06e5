"""Where a value may be clipped because no reader sees the difference: a sigmoid is flat far from zero."""

import math

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.traits import EVERYTHING, Range
from edgewright.quantize.encodings import compute_covered_range
from edgewright.quantize.saturation import find_needed_range

# Only whether there is a limit counts, not where it is.
ANY_BITS = 8


class SaturationLimits:
    """The limits beyond which an encoding may clip without a loss; infinite where it may not."""

    def __init__(self, graph: Graph, value: str) -> None:
        self.low, self.high = -math.inf, math.inf
        encoding = graph.types[value].encoding
        is_below, is_above = _find_saturated_sides(graph, value)
        if encoding is not None and len(encoding.scales) == 1 and (is_below or is_above):
            low, high = compute_covered_range(encoding, graph.types[value].dtype)
            self.low = float(low[0]) if is_below else -math.inf
            self.high = float(high[0]) if is_above else math.inf

    def clip(self, array: Array) -> Array:
        """Values as their readers see them."""
        if math.isinf(self.low) and math.isinf(self.high):
            return array
        return np.clip(array, self.low, self.high)


def _find_saturated_sides(graph: Graph, value: str) -> tuple[bool, bool]:
    """Whether all readers of a value are flat far below zero, and far above."""
    low, high = _find_needed_range(graph, value)
    return not math.isinf(low), not math.isinf(high)


def _find_needed_range(graph: Graph, value: str) -> Range:
    readers = graph.consumers(value)
    if value in graph.outputs or not readers:
        return EVERYTHING
    ranges = [_find_range_needed_by(graph, node, value) for node in readers]
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _find_range_needed_by(graph: Graph, node: Node, value: str) -> Range:
    if node.op.keeps_encoding and node.inputs == [value]:
        return _find_needed_range(graph, node.outputs[0])
    if node.op.ignores_masked:
        return 0.0, math.inf
    return find_needed_range(graph, node, value, ANY_BITS)
