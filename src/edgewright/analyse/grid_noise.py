"""What rounding to the grid of an encoding costs values: as expected, not as it happens to fall."""

import numpy as np

from edgewright.analyse.noise import to_decibels
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.quantize.encodings import compute_covered_range

# A value that is farther away than this, in steps, was cut by the range, not rounded. Ranges that a rule
# fixes end a step early, such as those of a sigmoid at 255/256.
ROUNDED = 1.01
# Gains explain a difference where they leave so much less of it, in dB, and this much of the values.
EXPLAINED_DB, SAME_DB = 10.0, 20.0
FITS = 2


class GridNoise:
    """Signal over noise of values on a grid: a twelfth of a squared step for each, and what is cut.

    Few values round well or badly by chance: a grid that is 2 dB too coarse is often the luckier one. Zero
    is exact on every grid.
    """

    def __init__(self, encoding: Encoding, dtype: DType) -> None:
        self._encoding, self._dtype = encoding, dtype
        self._levels: list[float] = []

    def add(self, real: Array) -> None:
        """Another sample; one without a signal tells nothing."""
        steps = self._encoding.scales_of(real.shape)
        exact = real.astype(np.float64)
        gaps = exact - self._encoding.decode(self._encoding.encode(real, self._dtype))
        expected = np.where(exact != 0, steps**2 / 12, 0.0)
        noise = np.where(np.abs(gaps) <= ROUNDED * steps, expected, gaps**2).sum()
        level = to_decibels(float((exact**2).sum()), float(noise))
        if level is not None:
            self._levels.append(level)

    def sqnr_db(self) -> float | None:
        """The mean of all samples, so that none decides alone."""
        return round(sum(self._levels) / len(self._levels), 3) if self._levels else None

    def find_range(self) -> tuple[float, float]:
        """The least and the largest number on the grid."""
        low, high = compute_covered_range(self._encoding, self._dtype)
        return float(np.min(low)), float(np.max(high))


def is_scaled(real: Array, other: Array) -> bool:
    """Whether gains of slices along the axes make one array the other, and nothing else does."""
    plain = _measure(real, other)
    # As many gains as elements explain everything.
    if plain is None or sum(real.shape) * 2 > real.size:
        return False
    fitted = real.astype(np.float64)
    for _ in range(FITS):
        for axis in range(real.ndim):
            others = tuple(place for place in range(real.ndim) if place != axis)
            power = (fitted**2).sum(others, keepdims=True)
            gains = (fitted * other).sum(others, keepdims=True) / np.where(power > 0, power, 1.0)
            fitted = fitted * np.where(power > 0, gains, 1.0)
    explained = _measure(fitted, other)
    return explained is not None and explained > max(plain + EXPLAINED_DB, SAME_DB)


def _measure(real: Array, other: Array) -> float | None:
    exact, gaps = real.astype(np.float64), other.astype(np.float64) - real
    with np.errstate(over="ignore"):  # a mask of -3e38 stays one
        return to_decibels(float((exact**2).sum()), float((gaps**2).sum()))
