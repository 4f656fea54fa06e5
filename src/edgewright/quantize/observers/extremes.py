"""The smallest and the largest value seen, of a tensor or of each of its slices."""

from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest values, one for each row (a tensor is one row)."""

    low: Array
    high: Array

    @classmethod
    def of(cls, array: Array, axis: int | None = None) -> "Extremes":
        """The extremes of an array, or of each slice along an axis; an empty one has the range 0..0."""
        rows = as_rows(array, axis)
        if not rows.shape[1]:
            return cls(np.zeros(rows.shape[0]), np.zeros(rows.shape[0]))
        return cls(rows.min(1).astype(np.float64), rows.max(1).astype(np.float64))

    @classmethod
    def from_bounds(cls, low: float, high: float) -> "Extremes":
        """One row from two numbers."""
        return cls(np.array([low], np.float64), np.array([high], np.float64))

    def merge(self, other: "Extremes") -> "Extremes":
        """The extremes of both."""
        return Extremes(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def is_finite(self) -> bool:
        """Whether no NaN and no infinity was seen."""
        return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())


def as_rows(array: Array, axis: int | None) -> Array:
    """An array as a matrix: one row, or one row for each slice along an axis."""
    if axis is None:
        return array.reshape(1, -1)
    count = array.shape[axis]
    return np.moveaxis(array, axis, 0).reshape(count, array.size // max(count, 1))
