"""Reciprocals of the sums of few shares of 8 bits, as HTP finds them: numbers of 14 bits."""

import numpy as np

from edgewright.core.numbers import Array

# What lies between two powers of two has so many bits.
PLACE_BITS = 16
# Reciprocals of what is from 1 to 2 are so many parts of one. They lie on a parabola in each quarter: numbers
# for the square of what is more than 1, for itself, and alone; after each of the last two the result is cut.
ONE = 1 << 14
QUARTERS = (
    (11794, -16043, 16384.5),
    (6555, -13659, 16116),
    (3945, -11176.5, 15527),
    (2530, -9111, 14774),
)


def invert_sums(sums: Array) -> tuple[Array, Array]:
    """Reciprocals in parts of one, of what sums are parts of; and these, powers of two."""
    mantissas, exponents = np.frexp(sums)
    powers = np.ldexp(1.0, exponents - 1)
    places = np.floor((2 * mantissas - 1) * (1 << PLACE_BITS)) / (1 << PLACE_BITS)
    quarters = np.array(QUARTERS)[(places * len(QUARTERS)).astype(np.int64)]
    first, second, third = np.moveaxis(quarters, -1, 0)
    return np.floor(np.floor(first * places + second) * places + third), powers
