"""Reciprocals of 8 bits, as HTP finds them: of the sums of few shares, and of divisors."""

import numpy as np

from edgewright.core.numbers import Array

# They lie on a parabola in each quarter between two powers of two: numbers for the square of what is from 1
# to 2, for itself, and alone. What is shared out or divided gets a little more.
PARABOLAS, ADDED_SHARE = 8, 1 / 256
QUARTERS = (
    (0.71992558, -2.41903726, 2.69912958),
    (0.39996779, -1.63367286, 2.21736590),
    (0.24115881, -1.16497087, 1.87163657),
    (0.15464244, -0.86577820, 1.61300798),
)


def invert_sums(sums: Array) -> Array:
    """Reciprocals that lie on parabolas, each for a part of what lies between two powers of two."""
    mantissa, exponent = np.frexp(sums)
    places = np.minimum((2 * mantissa - 1) * PARABOLAS, PARABOLAS - 1e-9).astype(np.int64)
    first, second, third = find_parabolas()[:, places]
    return np.asarray(np.ldexp((first * mantissa + second) * mantissa + third, -exponent))


def find_parabolas() -> Array:
    """Those of the quarters, for numbers from 1/2 to 1."""
    return np.repeat(QUARTERS, PARABOLAS // len(QUARTERS), axis=0).T * [[8.0], [4.0], [2.0]]
