"""Samples that are windows of one series and overlap: what they share is one sample's, whoever has it."""

from collections.abc import Mapping

import numpy as np

from edgewright.core.numbers import Array

# Along an axis that is shorter than this, arrays are alike by chance.
LEAST_LENGTH = 16
# So many different values are no blank, mask or code that looks the same where it is moved.
LEAST_VALUES = 8
# Places where one may begin in the other that are looked at.
MOST_PLACES = 64


def is_overlapping(first: Mapping[str, Array], second: Mapping[str, Array]) -> bool:
    """Whether a sample is the other one, moved by half of its length or less; inputs that stay are alike."""
    is_moved = False
    for name, array in first.items():
        other = second[name]
        if array.shape != other.shape or array.dtype != other.dtype:
            return False
        if not np.array_equal(array, other):
            if not (_is_moved(array, other) or _is_moved(other, array)):
                return False
            is_moved = True
    return is_moved


def _is_moved(first: Array, second: Array) -> bool:
    """Whether the second array begins in the first half of the first one along some axis, and goes on so."""
    for axis, length in enumerate(first.shape):
        if length < LEAST_LENGTH:
            continue
        rows, others = (np.moveaxis(array, axis, 0).reshape(length, -1) for array in (first, second))
        places = np.flatnonzero((rows[1 : length // 2 + 1] == others[0]).all(1)) + 1
        for place in places[:MOST_PLACES].tolist():
            shared = rows[place:]
            if np.array_equal(shared, others[: length - place]):
                return len(np.unique(shared)) >= LEAST_VALUES
    return False
