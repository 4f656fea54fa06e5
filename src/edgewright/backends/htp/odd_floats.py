"""Floats as the vectors of HTP hold them: half a unit is always part of a number.

What is stored is a whole number M of units, and what it stands for is M + 1/2: an odd number of half units.
So a result has two numbers to choose from that are near it: one of its own unit and one of twice that.
"""

import numpy as np

from edgewright.core.numbers import Array

# Bits of the whole numbers below zero's sign: of results that become half and single precision.
NARROW_BITS, WIDE_BITS = 10, 23
# The exponent of the least unit of half precision.
LEAST_EXPONENT = -23


def find_unit(numbers: Array, bits: int, least: int) -> Array:
    """The unit in which a number has all of its bits, as an exponent of two."""
    mantissas, exponents = np.frexp(numbers)
    return np.where(mantissas == 0, least, np.maximum(exponents.astype(np.int64) - bits, least))


def round_half(numbers: Array) -> Array:
    """With the 11 bits of half precision, and no limit above."""
    units = np.exp2(find_unit(numbers, NARROW_BITS + 1, LEAST_EXPONENT - 1).astype(np.float64))
    return np.asarray(np.rint(numbers / units) * units)


def settle(numbers: Array, units: Array, bits: int) -> tuple[Array, Array]:
    """The nearest number that can be held, and its unit; of two that are as near the lower one.

    It has the unit that is given or twice that, and only the latter where it would have too many bits.
    """
    whole, near = _round_half_way(numbers, units)
    _, far = _round_half_way(numbers, units + 1)
    gap = np.abs(near - numbers) - np.abs(far - numbers)
    has_too_many = (whole >= 1 << bits) | (whole < -1 << bits)
    is_coarse = has_too_many | (gap > 0) | ((gap == 0) & (far < near))
    return np.where(is_coarse, far, near), units + is_coarse


def _round_half_way(numbers: Array, units: Array) -> tuple[Array, Array]:
    """Whole units, and what they stand for; halves go to the even one."""
    unit = np.exp2(units.astype(np.float64))
    whole = np.rint(numbers / unit - 0.5)
    return whole, (whole + 0.5) * unit
