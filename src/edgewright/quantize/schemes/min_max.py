"""The ranges that cover all that was seen: as they are, or widened where rounding would cut an end."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.quantize.encodings import SMALLEST_RANGE, Grid
from edgewright.quantize.observers import Extremes
from edgewright.quantize.schemes.scheme import FromExtremes


class MinMax(FromExtremes):
    """``tf``, ``min-max``: the true range. On a symmetric grid this is ``symmetric``."""

    def from_extremes(self, extremes: Extremes, grid: Grid) -> Extremes:
        """The extremes themselves."""
        return extremes


class Adjusted(FromExtremes):
    """``adjusted``: the true range, with an end pushed out where making zero exact would move it inside.

    Qualcomm's formula is not public; the guide says that "the max will be expanded or the min will be
    decreased if necessary". Ours: among the two whole zero points next to the exact one, the one that needs
    the smaller step to keep both the true minimum and the true maximum representable.
    """

    def from_extremes(self, extremes: Extremes, grid: Grid) -> Extremes:
        """Ranges whose zero point is whole, so that nothing moves any more."""
        if grid.is_symmetric:
            return extremes
        half = 1 << (grid.bits - 1)
        least, most = grid.steps or (-half, half - 1)
        count = most - least
        low, high = np.minimum(extremes.low, 0.0), np.maximum(extremes.high, 0.0)
        high = np.maximum(high, low + SMALLEST_RANGE)
        exact = -low * count / (high - low)
        zeros = np.stack([np.floor(exact), np.ceil(exact)])
        steps = np.stack([_step(low, high, zero, count) for zero in zeros])
        best = steps.argmin(0), np.arange(len(low))
        return Extremes(-zeros[best] * steps[best], (count - zeros[best]) * steps[best])


def _step(low: Array, high: Array, zero: Array, count: int) -> Array:
    """The smallest step with which a zero point covers both ends; infinite where it cannot."""
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(low < 0, -low / zero, 0.0)
        above = np.where(high > 0, high / (count - zero), 0.0)
    return np.maximum(below, above)
