"""``entropy``: the range whose quantized distribution tells least from the true one (Kullback-Leibler)."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.quantize.encodings import Grid
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.schemes.scheme import FromHistogram

# Two bins for each step at the start: with fewer there would be nothing to choose from.
BINS_PER_STEP = 2
# Stands in for zero in the logarithm, taken evenly from what is not zero.
FLOOR = 1e-4
# Rows whose windows are narrowed together.
ROWS_AT_ONCE = 64


class Entropy(FromHistogram):
    """Narrows a window from the full range to one bin a step and keeps the one of least divergence.

    For 8 bits; wider grids have more steps than bins and take the full range. On a symmetric grid magnitudes
    are looked at, with half the steps.
    """

    def from_histogram(self, histogram: Histogram, grid: Grid) -> Extremes:
        """The ranges of the best windows, within what was seen."""
        if grid.bits > 8:
            return histogram.extremes
        steps = (1 << (grid.bits - 1)) - 1 if grid.is_symmetric else (1 << grid.bits) - 1
        source = _fold_magnitudes(histogram) if grid.is_symmetric else histogram
        coarse = source.merge_bins(max(BINS_PER_STEP * (steps + 1), 128))
        windows = [
            _search(_select_rows(coarse, at), steps) for at in range(0, len(coarse.width), ROWS_AT_ONCE)
        ]
        low, high = (np.concatenate([getattr(window, end) for window in windows]) for end in ("low", "high"))
        if grid.is_symmetric:
            reach = np.minimum(high, source.extremes.high)
            return Extremes(-reach, reach)
        extremes = histogram.extremes
        return Extremes(np.maximum(low, extremes.low), np.minimum(high, extremes.high))


def _fold_magnitudes(histogram: Histogram) -> Histogram:
    """The histogram of the absolute values."""
    steps = np.abs(histogram.first[:, None] + np.arange(histogram.counts.shape[1]))
    rows, bins = len(steps), steps.shape[1] + 1  # rounding may put the lowest bin one further out
    index = (steps + np.arange(rows)[:, None] * bins).reshape(-1)
    counts = np.bincount(index, histogram.counts.reshape(-1), rows * bins).reshape(rows, bins)
    extremes = histogram.extremes
    reach = Extremes(np.zeros(rows), np.maximum(np.abs(extremes.low), np.abs(extremes.high)))
    return Histogram(counts, np.zeros(rows, np.int64), histogram.width, reach)


def _select_rows(histogram: Histogram, at: int) -> Histogram:
    part = slice(at, at + ROWS_AT_ONCE)
    extremes = Extremes(histogram.extremes.low[part], histogram.extremes.high[part])
    return Histogram(histogram.counts[part], histogram.first[part], histogram.width[part], extremes)


def _search(histogram: Histogram, steps: int) -> Extremes:
    zero = np.clip(-histogram.first, 0, histogram.counts.shape[1] - 1)
    counts = _without_spike(histogram.counts.astype(np.float64), zero)
    rows, bins = counts.shape
    first, last = np.zeros(rows, np.int64), np.full(rows, bins - 1)
    best, kept = np.full(rows, np.inf), (first, last)
    totals = np.concatenate([np.zeros((rows, 1)), np.cumsum(counts, 1)], 1)
    while (last - first + 1).max() >= steps:
        is_open = last - first + 1 >= steps
        divergences = np.where(is_open, _compute_divergence(counts, totals, first, last, steps), np.inf)
        is_better = divergences < best
        best = np.where(is_better, divergences, best)
        kept = np.where(is_better, first, kept[0]), np.where(is_better, last, kept[1])
        first, last = _narrow_window(totals, (first, last), zero)
    centres = histogram.first[:, None] + np.stack(kept, 1)
    edges = (centres + np.array([-0.5, 0.5])) * histogram.width[:, None]
    return Extremes(edges[:, 0], edges[:, 1])


def _without_spike(counts: Array, zero: Array) -> Array:
    """Zeros count as often as their neighbours: they are exact under every encoding and must not decide.

    Behind a Relu half of all values are zero; the divergence would only see that spike being spread.
    """
    rows, bins = np.arange(len(counts)), counts.shape[1]
    around = np.stack([counts[rows, np.clip(zero + side, 0, bins - 1)] for side in (-1, 1)])
    is_end = np.stack([zero == 0, zero == bins - 1])
    near = np.where(is_end, 0, around).sum(0) / np.maximum((~is_end).sum(0), 1)
    calmed = counts.copy()
    calmed[rows, zero] = np.minimum(counts[rows, zero], near)
    return calmed


def _narrow_window(totals: Array, window: tuple[Array, Array], zero: Array) -> tuple[Array, Array]:
    """The window less two bins: one at each end, or two at the end where less is lost; never past zero."""
    first, last = window
    rows = np.arange(len(first))
    options = [(np.minimum(first + a, zero), np.maximum(last - b, zero)) for a, b in ((1, 1), (2, 0), (0, 2))]
    kept = np.stack([totals[rows, high + 1] - totals[rows, low] for low, high in options])
    sizes = np.stack([high - low for low, high in options])
    # A move that zero holds back loses little because it does little: the window must get shorter by two.
    choice = np.argmin(np.where(sizes <= last - first - 2, -kept, np.inf), 0)
    lows, highs = (np.stack(side)[choice, rows] for side in zip(*options, strict=True))
    is_stuck = sizes[choice, rows] >= last - first
    return np.where(is_stuck, zero, lows), np.where(is_stuck, zero, highs)


def _compute_divergence(counts: Array, totals: Array, first: Array, last: Array, steps: int) -> Array:
    """KL(P || Q): P is the window with the outliers in its end bins, Q is P brought down to the steps."""
    rows, bins = counts.shape
    place = np.arange(bins)[None]
    inside = (place >= first[:, None]) & (place <= last[:, None])
    window = np.where(inside, counts, 0.0)
    held = window.copy()
    at = np.arange(rows)
    held[at, first] += totals[at, first]
    held[at, last] += totals[:, -1] - totals[at, last + 1]
    step = (place - first[:, None]) * steps // (last - first + 1)[:, None]
    index = (np.where(inside, step, 0) + at[:, None] * steps).reshape(-1)
    is_seen = (held > 0) & inside
    sums = np.bincount(index, window.reshape(-1), rows * steps)
    occupied = np.bincount(index, is_seen.reshape(-1), rows * steps)
    spread = (sums / np.maximum(occupied, 1))[index].reshape(rows, bins)
    p, q = _smooth_mass(held, inside), _smooth_mass(np.where(is_seen, spread, 0.0), inside)
    terms = np.where(inside, p * np.log(np.where(inside, p / np.maximum(q, 1e-300), 1.0)), 0.0)
    divergence: Array = terms.sum(1)
    return divergence


def _smooth_mass(mass: Array, inside: Array) -> Array:
    """Parts of 1 without zeros inside the window."""
    parts = mass / np.maximum(mass.sum(1, keepdims=True), 1e-300)
    is_zero = inside & (parts <= 0)
    zeros, others = is_zero.sum(1, keepdims=True), (inside & ~is_zero).sum(1, keepdims=True)
    taken = FLOOR * zeros / np.maximum(others, 1)
    return np.where(is_zero, FLOOR, np.where(inside, np.maximum(parts - taken, 1e-12), 1.0))
