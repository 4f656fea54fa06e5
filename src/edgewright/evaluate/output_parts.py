"""Parts of an output whose values have different sizes: each is judged by its own range."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.evaluate.output_kinds import label_parts, spread_value_widths
from edgewright.ir.graph import Graph

# Channels whose ranges are so many times as wide as those of the others mean something else: boxes in pixels
# hide what becomes of scores. So many of the channels are the narrower ones at least, for some are dead.
WIDER_RANGE, LEAST_NARROW = 10.0, 0.1
MOST_CHANNELS = 512
# Values that stand for "nothing here", as -1e9 does in scores that are masked: so large, and so many times as
# large as what comes before them, of which there is this part at least.
LEAST_FILLING, LARGER_VALUE, LEAST_ORDINARY = 1000.0, 50.0, 0.01
# Values that are looked at.
MOST_VALUES = 1 << 20


@dataclass(frozen=True)
class OutputParts:
    """How the values of an output are told apart; all of them are one part where nothing is said."""

    # The number of the part that each element is of.
    labels: Array | None = None
    # What ordinary values reach: they are judged once more with larger ones cut to this.
    ordinary: float = math.inf
    # The ranges of parts whose values are probabilities, whatever samples show of them; 0 of others.
    known: tuple[float, ...] = (0.0,)

    @property
    def widths(self) -> Array:
        """The known range of each part."""
        return np.resize(np.array(self.known), self.count)

    @property
    def count(self) -> int:
        """How many parts there are."""
        return self._labelled * (1 if math.isinf(self.ordinary) else 2)

    @property
    def _labelled(self) -> int:
        return 1 if self.labels is None else int(self.labels.max()) + 1

    def expand(self, values: Array) -> Array:
        """All values in a row, and where larger ones are cut, all of them once more."""
        plain = values.reshape(-1)
        if math.isinf(self.ordinary):
            return plain
        return np.concatenate([plain, np.clip(plain, -self.ordinary, self.ordinary)])

    def list_labels(self, size: int) -> Array | None:
        """The number of the part of each expanded value, of so many in all; None where there is one part."""
        if self.count == 1:
            return None
        single = size if math.isinf(self.ordinary) else size // 2
        labels = np.zeros(single, np.int64) if self.labels is None else self.labels.reshape(-1)
        if math.isinf(self.ordinary):
            return labels
        return np.concatenate([labels, labels + self._labelled])


ONE_PART = OutputParts()


def find_parts(graph: Graph, name: str, values: Sequence[Array]) -> OutputParts:
    """The parts that the graph shows, else those that the float model's values of some samples show."""
    labels, ordinary = label_parts(graph, name), math.inf
    floats = [np.asarray(each) for each in values if each.dtype.kind == "f" and each.size]
    if floats:
        labels, ordinary = _label_by_ranges(floats) if labels is None else labels, _find_ordinary(floats)
    return OutputParts(labels, ordinary, _list_known_widths(spread_value_widths(graph, name), labels))


def _list_known_widths(widths: Array, labels: Array | None) -> tuple[float, ...]:
    """The range of each part all of whose values are probabilities."""
    if labels is None:
        return (float(widths.min()) if widths.size else 0.0,)
    widths = widths.reshape(labels.shape)
    parts = (widths[labels == place] for place in range(int(labels.max()) + 1))
    return tuple(float(part.min()) if part.size else 0.0 for part in parts)


def _label_by_ranges(values: Sequence[Array]) -> Array | None:
    """Two parts by the channels of one axis, where their ranges are far apart."""
    stacked = np.stack(values).astype(np.float64)
    stacked = np.where(np.isfinite(stacked), stacked, 0.0)
    best: tuple[float, int, Array] | None = None
    for axis in range(1, stacked.ndim):
        if not 2 <= stacked.shape[axis] <= MOST_CHANNELS:
            continue
        channels = np.moveaxis(stacked, axis, 0).reshape(stacked.shape[axis], -1)
        ranges = channels.max(1) - channels.min(1)
        factor, least = _find_wide_channels(ranges)
        if factor >= WIDER_RANGE and (best is None or factor > best[0]):
            best = factor, axis - 1, ranges >= least
    if best is None:
        return None
    _, axis, is_wide = best
    shape = values[0].shape
    fitted = is_wide.astype(np.uint8).reshape([-1 if place == axis else 1 for place in range(len(shape))])
    return np.broadcast_to(fitted, shape)


def _find_wide_channels(ranges: Array) -> tuple[float, float]:
    """How far apart the ranges of two groups are, and the smallest one of the wider group."""
    ranked = np.sort(ranges[ranges > 0])
    fewest = max(1, math.ceil(LEAST_NARROW * len(ranked)))
    factors = ranked[fewest:] / ranked[fewest - 1 : -1] if len(ranked) > fewest else np.zeros(0)
    wide = np.flatnonzero(factors >= WIDER_RANGE)
    if not wide.size:
        return 0.0, 0.0
    return float(factors[wide[-1]]), float(ranked[fewest + wide[-1]])


def _find_ordinary(values: Sequence[Array]) -> float:
    """What values reach that do not stand for "nothing here"; infinite where none do."""
    joined = np.concatenate([each.reshape(-1) for each in values])
    sizes = np.abs(joined[:: max(1, joined.size // MOST_VALUES)].astype(np.float64))
    ranked = np.sort(sizes[np.isfinite(sizes)])
    fewest = max(1, math.ceil(LEAST_ORDINARY * len(ranked)))
    if len(ranked) <= fewest or ranked[-1] < LEAST_FILLING:
        return math.inf
    below, above = ranked[fewest - 1 : -1], ranked[fewest:]
    jumps = np.flatnonzero((above >= LEAST_FILLING) & (above >= LARGER_VALUE * below) & (below > 0))
    return float(below[jumps[0]]) if jumps.size else math.inf


class ValueRanges:
    """The range of an output's values, of each of its parts."""

    def __init__(self, parts: OutputParts) -> None:
        self._parts = parts
        self.low, self.high = np.full(parts.count, np.inf), np.full(parts.count, -np.inf)

    def widen(self, array: Array) -> None:
        """Takes in one more array; what is not finite is left out."""
        values = self._parts.expand(array)
        labels = self._parts.list_labels(len(values))
        for place in range(self._parts.count):
            part = values if labels is None else values[labels == place]
            finite = part[np.isfinite(part)] if part.dtype.kind == "f" else part
            if finite.size:
                self.low[place] = min(self.low[place], float(finite.min()))
                self.high[place] = max(self.high[place], float(finite.max()))

    @property
    def widths(self) -> Array:
        """How far each reaches; 0 where there was nothing."""
        is_known = np.isfinite(self.low)
        return np.where(is_known, self.high, 0.0) - np.where(is_known, self.low, 0.0)
