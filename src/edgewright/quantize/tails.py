"""How far values may reach beyond what the samples showed: the end of a range, from few elements, is luck.

The largest element of a sample varies from sample to sample; its spread tells how much further others may go.
The more elements were seen, the rarer is what lies beyond: a range grows as long as the values that it would
cut off are expected to cost more than the coarser steps.
"""

from collections.abc import Mapping
from math import log, pi, sqrt

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.quantize.groups import Groups
from edgewright.quantize.observers import Extremes

# The largest of many values has Gumbel's distribution: this part of its deviation is the scale of the tail.
SCALE = sqrt(6) / pi
# 16 bits have steps to spare for other data than the samples.
HEADROOM = {16: 2.0}


class Tails:
    """The smallest and the largest element of each sample: how many, their sums and the sums of squares."""

    def __init__(self) -> None:
        self._count = 0
        self._sums: dict[str, Array] = {}

    def add(self, sample: Mapping[str, Extremes]) -> None:
        """Counts one more sample."""
        self._count += 1
        for value, extremes in sample.items():
            bounds = np.array([extremes.low[0], extremes.high[0]], np.float64)
            both = np.stack([bounds, np.square(bounds)])
            self._sums[value] = self._sums[value] + both if value in self._sums else both

    def extend_range(self, value: str, extremes: Extremes, elements: int, bits: int) -> Extremes:
        """The range that costs least for values to come; never less than what was seen.

        Args:
            value: its name.
            extremes: what all samples covered.
            elements: how many elements of it one sample has.
            bits: the width it is stored in.
        """
        low, high = float(extremes.low[0]), float(extremes.high[0])
        spread = max(high, 0.0) - min(low, 0.0)
        scales = self._compute_scales(value)
        count = max(1, self._count * elements)
        reach = [_compute_reach(scale, spread, count, bits) for scale in scales]
        return Extremes.from_bounds(low - reach[0], high + reach[1])

    def _compute_scales(self, value: str) -> tuple[float, float]:
        """The scale of the tail at each end."""
        if self._count < 2 or value not in self._sums:
            return 0.0, 0.0
        mean, square = self._sums[value] / self._count
        deviation = np.sqrt(np.maximum(square - np.square(mean), 0.0))
        low, high = (SCALE * deviation).tolist()
        return low, high


def extend_ranges(
    graph: Graph, groups: Groups, extremes_by_value: Mapping[str, Extremes], tails: Tails
) -> dict[str, Extremes]:
    """What was seen, and as far beyond as other data is expected to go."""
    extended = {}
    for value, extremes in extremes_by_value.items():
        bits, count = groups.find_bits(value), graph.types[value].count
        # A symbolic size is taken for small: that leaves the more room.
        elements = count if isinstance(count, int) else 1
        room = HEADROOM.get(bits, 1.0)
        wide = Extremes(extremes.low * room, extremes.high * room)
        extended[value] = tails.extend_range(value, extremes, elements, bits).merge(wide)
    return extended


def _compute_reach(scale: float, spread: float, count: int, bits: int) -> float:
    """How far to go beyond the largest of so many elements, with an exponential tail behind it.

    Cutting off at x costs 2 scale^2 exp(-x / scale) / count, rounding ((spread + x) / steps)^2 / 12: the sum
    is least where the slopes of both are opposite.
    """
    if scale <= 0 or spread <= 0:
        return 0.0
    steps = float((1 << bits) - 1)
    gain, cost = 2 * scale / count, spread / (6 * steps * steps)
    return scale * log(gain / cost) if gain > cost else 0.0
