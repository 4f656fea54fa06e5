"""``enhanced``, ``sqnr``: the range with the best signal-to-noise ratio among stretched and shifted ones."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.quantize.encodings import Grid
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.schemes.distortion import choose_cheapest
from edgewright.quantize.schemes.scheme import FromHistogram

BINS = 512
# An error of clipping weighs as three of rounding: a clipped value is wrong in every sample it occurs in.
CLIPPING = 3.0


class Sqnr(FromHistogram):
    """Steps from a sixteenth of the full one upwards, zero in 21 places; or 101 reaches where symmetric."""

    def from_histogram(self, histogram: Histogram, grid: Grid) -> Extremes:
        """The candidate with the smallest cost; the full range is one of them."""
        low = np.minimum(histogram.extremes.low, 0.0)
        high = np.maximum(histogram.extremes.high, 0.0)
        candidates = _list_reaches(low, high) if grid.is_symmetric else _list_windows(low, high)
        return choose_cheapest(histogram.merge_bins(BINS), candidates, grid, CLIPPING)


def _list_reaches(low: Array, high: Array) -> Extremes:
    reach = np.maximum(-low, high)[:, None] * (np.arange(1, 101)[::-1] / 100)
    return Extremes(-reach, reach)


def _list_windows(low: Array, high: Array) -> Extremes:
    """Windows of 1/16 to 17/16 of the range, with zero at 0, 1/20 ... 20/20 of them, cut to what was seen."""
    size, place = (
        a.reshape(-1) for a in np.meshgrid(np.arange(1, 18) / 16, np.arange(21) / 20, indexing="ij")
    )
    spread = (high - low)[:, None] * size
    lows, highs = np.maximum(-spread * place, low[:, None]), np.minimum(spread * (1 - place), high[:, None])
    return Extremes(
        np.concatenate([low[:, None], lows], 1), np.concatenate([high[:, None], np.maximum(highs, lows)], 1)
    )
