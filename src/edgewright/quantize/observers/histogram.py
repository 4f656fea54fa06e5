"""How often values occur, in bins whose centres are whole multiples of their width: zero is always one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgewright.core.numbers import Array
from edgewright.quantize.encodings import SMALLEST_RANGE
from edgewright.quantize.observers.extremes import Extremes, as_rows

BINS = 2048
# Of the weights of a channel there are often fewer than bins; searches cost as much as there are bins.
WEIGHT_BINS = 256
# Elements of one tensor that one sample contributes at most. The sum over samples decides how good a
# histogram is, and the extremes are known before: beyond this only time grows.
LARGEST_SHARE = 1 << 16
# Strides that take turns: none divides the sizes that channels have, so that every channel is met.
STRIDES = (
    1,
    3,
    5,
    7,
    11,
    13,
    17,
    19,
    23,
    29,
    31,
    37,
    41,
    43,
    47,
    53,
    59,
    61,
    67,
    71,
    73,
    79,
    83,
    89,
    97,
    101,
)


@dataclass(frozen=True)
class Histogram:
    """Counts for each row; the centre of bin j of row r is (first[r] + j) * width[r]."""

    counts: Array
    first: Array
    width: Array
    extremes: Extremes

    @classmethod
    def of(cls, array: Array, axis: int | None = None, bins: int = WEIGHT_BINS) -> "Histogram":
        """The histogram of an array, or of each slice along an axis."""
        rows = as_rows(array, axis)
        observer = HistogramObserver(Extremes.of(array, axis), bins)
        observer.add_rows(rows)
        return observer.histogram()

    @classmethod
    def stack(cls, parts: Sequence["Histogram"]) -> "Histogram":
        """Histograms of as many bins, their rows below each other: a search costs little more."""
        low, high = (np.concatenate([getattr(p.extremes, end) for p in parts]) for end in ("low", "high"))
        counts, first, width = (
            np.concatenate([getattr(part, field) for part in parts]) for field in ("counts", "first", "width")
        )
        return cls(counts, first, width, Extremes(low, high))

    @property
    def centres(self) -> Array:
        """The value that stands for each bin: [rows, bins]."""
        steps = self.first[:, None] + np.arange(self.counts.shape[1])
        centres: Array = steps * self.width[:, None]
        return centres

    @property
    def frequencies(self) -> Array:
        """Counts as parts of 1, row by row."""
        total = np.maximum(self.counts.sum(1, keepdims=True), 1)
        return np.asarray(self.counts / total)

    def merge_bins(self, bins: int) -> "Histogram":
        """The same with at most so many bins; the new centres are whole multiples of the new width."""
        count = self.counts.shape[1]
        if count <= bins:
            return self
        factor = -(-(count - 1) // (bins - 2)) if bins > 2 else count
        steps = self.first[:, None] + np.arange(count)
        moved = np.floor_divide(steps + factor // 2, factor).astype(np.int64)
        first = moved[:, 0]
        rows = np.arange(len(first))[:, None]
        index = (moved - first[:, None] + rows * bins).reshape(-1)
        sums = np.bincount(index, self.counts.reshape(-1), len(first) * bins).reshape(-1, bins)
        return replace(self, counts=sums, first=first, width=self.width * factor)


class HistogramObserver:
    """Counts values of known extremes as they come."""

    def __init__(self, extremes: Extremes, bins: int = BINS) -> None:
        self._extremes, self._bins = extremes, bins
        # Every encoding covers zero and the smallest range: so do the bins.
        low = np.minimum(extremes.low, 0.0)
        spread = np.maximum(np.maximum(extremes.high, 0.0) - low, SMALLEST_RANGE)
        self._width = spread / (bins - 1)
        self._first = np.rint(low / self._width).astype(np.int64)
        self._counts = np.zeros((len(spread), bins), np.int64)

    def add(self, array: Array) -> None:
        """Counts the elements of a tensor; of a large one, every third, fifth, ... so many are enough."""
        flat = array.reshape(-1)
        excess = flat.size / LARGEST_SHARE
        if excess > 1:
            stride = next((s for s in STRIDES if s >= excess and array.shape[-1] % s), STRIDES[-1])
            flat = flat[::stride]
        scaled = flat * flat.dtype.type(1 / self._width[0])
        np.rint(scaled, out=scaled)
        np.subtract(scaled, self._first[0], out=scaled, casting="same_kind")
        np.clip(scaled, 0, self._bins - 1, out=scaled)
        self._counts[0] += np.bincount(scaled.astype(np.intp), minlength=self._bins)

    def add_rows(self, rows: Array) -> None:
        """Counts each row by itself."""
        steps = np.rint(rows / self._width[:, None]).astype(np.int64) - self._first[:, None]
        places = np.clip(steps, 0, self._bins - 1) + np.arange(len(rows))[:, None] * self._bins
        counts = np.bincount(places.reshape(-1), minlength=self._counts.size)
        self._counts += counts.reshape(self._counts.shape)

    def histogram(self) -> Histogram:
        """What was counted so far."""
        return Histogram(self._counts, self._first, self._width, self._extremes)
