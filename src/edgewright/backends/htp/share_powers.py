"""Powers of two below one for Softmax, as HTP finds them: 15 bits, on a parabola in each quarter."""

import numpy as np

from edgewright.core.numbers import Array

# Fractions of exponents have so many bits.
PLACE_BITS = 16
PLACES, LAST = 1 << PLACE_BITS, (1 << 15) - 1
# Numbers for the square of what a fraction leaves of one, for itself, and alone; after each of the last two
# the result is cut. In rows of 8 bits the first quarter has others.
QUARTERS = ((7227, 8200.5, 17340.5), (6087, 9928.5, 16685.5), (5119, 10908, 16438), (4300, 11326, 16384.5))
BYTE_QUARTERS = ((7230, 8202, 17337.5), *QUARTERS[1:])


def raise_fractions(places: Array, quarters: tuple[tuple[float, float, float], ...] = QUARTERS) -> Array:
    """Two to the power of minus each fraction, of which so many places are given."""
    rest = (PLACES - 1 - places) / PLACES
    rows = np.array(quarters)[places * len(quarters) >> PLACE_BITS]
    first, second, third = np.moveaxis(rows, -1, 0)
    powers = np.floor(np.floor(first * rest + second) * rest + third)
    return np.asarray(np.minimum(powers, LAST).astype(np.int64))
