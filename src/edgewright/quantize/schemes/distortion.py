"""What an encoding costs: the expected squared error of a histogram's values under it."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.quantize.encodings import SMALLEST_RANGE, Grid
from edgewright.quantize.observers import Extremes, Histogram

# Elements of one temporary array: candidates are weighed in groups that stay in the cache.
LARGEST_GROUP = 1 << 18


def compute_distortion(histogram: Histogram, ranges: Extremes, grid: Grid, clipping: float = 1.0) -> Array:
    """Mean squared error for each row and candidate range [rows, candidates].

    The errors of values outside a range count ``clipping`` times.
    """
    scale, zero, count = _lay_out_grid(ranges, grid)
    rows, candidates = scale.shape
    bins = histogram.counts.shape[1]
    group = max(1, LARGEST_GROUP // (rows * bins))
    # A mask of the largest negative float has a square that is infinite: that is its cost.
    with np.errstate(over="ignore", invalid="ignore"):
        costs = [
            _weigh_errors(histogram, scale[:, at : at + group], zero[:, at : at + group], count, clipping)
            for at in range(0, candidates, group)
        ]
    return np.concatenate(costs, 1)


def choose_cheapest(histogram: Histogram, ranges: Extremes, grid: Grid, clipping: float = 1.0) -> Extremes:
    """The best of the candidate ranges [rows, candidates] for each row; the first among equals."""
    best = compute_distortion(histogram, ranges, grid, clipping).argmin(1)
    rows = np.arange(len(best))
    return Extremes(ranges.low[rows, best], ranges.high[rows, best])


def _lay_out_grid(ranges: Extremes, grid: Grid) -> tuple[Array, Array, int]:
    """Scales, zero points counted from the lowest step, and the number of steps: as ``Grid`` lays them."""
    half = 1 << (grid.bits - 1)
    least, most = grid.steps or (-half, half - 1)
    low, high = np.minimum(ranges.low, 0.0), np.maximum(ranges.high, 0.0)
    if grid.is_symmetric:
        reach = np.maximum(np.maximum(-low, high), SMALLEST_RANGE / 2)
        return reach / min(most, -least), np.full(reach.shape, -least, np.float64), most - least
    spread = np.maximum(high - low, SMALLEST_RANGE)
    count = most - least
    return spread / count, np.clip(np.rint(-low * count / spread), 0, count), count


def _weigh_errors(histogram: Histogram, scale: Array, zero: Array, count: int, clipping: float) -> Array:
    # Single precision: candidates differ by more, and there are many.
    x = histogram.centres.astype(np.float32)[:, None]
    step, origin = scale.astype(np.float32)[:, :, None], zero.astype(np.float32)[:, :, None]
    place = np.rint(x / step)
    held = np.clip(place, -origin, count - origin)
    is_clipped = place != held
    held *= step
    error = np.square(np.subtract(x, held, out=held), out=held)
    # Steps finer than the bins: where in its bin a value lies is not known, the error is that of any value.
    is_fine = step < histogram.width[:, None, None]
    if is_fine.any():
        error = np.where(is_fine & ~is_clipped, np.square(step) / 12, error)
    if clipping != 1.0:
        np.multiply(error, clipping, out=error, where=is_clipped)
    cost: Array = np.einsum("rkb,rb->rk", error, histogram.frequencies.astype(np.float32))
    return cost
