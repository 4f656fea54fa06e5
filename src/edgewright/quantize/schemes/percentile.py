"""``percentile``: the range without the rarest values at each end."""

from dataclasses import dataclass

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import UsageError
from edgewright.quantize.encodings import Grid
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.schemes.scheme import FromHistogram


@dataclass(frozen=True)
class Percentile(FromHistogram):
    """Leaves out what lies beyond the percentile, as much at the bottom as at the top; 100: nothing."""

    value: float = 99.99

    def __post_init__(self) -> None:
        if not (isinstance(self.value, int | float) and 90 <= self.value <= 100):
            raise UsageError(
                f"the percentile is {self.value!r}, expected 90 to 100",
                do=f"use {spell_option('percentile', '99.99')}",
            )

    def from_histogram(self, histogram: Histogram, grid: Grid) -> Extremes:
        """Edges of the first and the last bin that are kept, within the extremes."""
        del grid
        part = 1 - self.value / 100
        below = np.cumsum(histogram.frequencies, 1)
        above = np.cumsum(histogram.frequencies[:, ::-1], 1)[:, ::-1]
        bins = np.arange(below.shape[1])
        # A hair of tolerance: sums of frequencies end near 1, not at it.
        first = np.where(below > part - 1e-12, bins, len(bins) - 1).min(1)
        last = np.where(above > part - 1e-12, bins, -1).max(1)
        rows = np.arange(len(first))
        low = histogram.centres[rows, first] - histogram.width / 2
        high = histogram.centres[rows, np.maximum(last, first)] + histogram.width / 2
        if self.value == 100:
            return histogram.extremes
        return Extremes(np.maximum(low, histogram.extremes.low), np.minimum(high, histogram.extremes.high))
