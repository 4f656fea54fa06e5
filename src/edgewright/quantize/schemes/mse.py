"""``mse``: the range with the smallest mean squared error, found from coarse to fine."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.quantize.encodings import Grid
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.schemes.distortion import choose_cheapest
from edgewright.quantize.schemes.scheme import FromHistogram

BINS = 512
# Parts of each end that are tried first, and how the search narrows around the best.
COARSE = 16
FINE = (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
ROUNDS = 2


class Mse(FromHistogram):
    """Both ends are drawn in by parts of themselves, then by smaller parts around the best pair."""

    def from_histogram(self, histogram: Histogram, grid: Grid) -> Extremes:
        """The pair of ends that costs least; the full range is one of the candidates."""
        coarse = histogram.merge_bins(BINS)
        low = np.minimum(histogram.extremes.low, 0.0)[:, None]
        high = np.maximum(histogram.extremes.high, 0.0)[:, None]
        if grid.is_symmetric:
            low, high = np.minimum(low, -high), np.maximum(high, -low)
        parts = np.arange(COARSE, 0, -1) / COARSE
        best = choose_cheapest(coarse, _pair_bounds(low * parts, high * parts, grid), grid)
        pitch = 1.0 / COARSE
        for _ in range(ROUNDS):
            shifts = np.asarray(FINE) * pitch
            lows = np.clip(best.low[:, None] + low * shifts, low, 0.0)
            highs = np.clip(best.high[:, None] + high * shifts, 0.0, high)
            best = choose_cheapest(coarse, _pair_bounds(lows, highs, grid), grid)
            pitch /= 4
        return best


def _pair_bounds(lows: Array, highs: Array, grid: Grid) -> Extremes:
    """Every low with every high; on a symmetric grid only those that are of one reach."""
    if grid.is_symmetric:
        return Extremes(lows, highs)
    shape = (lows.shape[0], lows.shape[1] * highs.shape[1])
    every = np.broadcast_arrays(lows[:, :, None], highs[:, None, :])
    return Extremes(every[0].reshape(shape), every[1].reshape(shape))
