"""Numbers of 11 bits in the vectors of HTP: what they become when they are added, weighed and blended."""

from dataclasses import dataclass

import numpy as np

from edgewright.backends.htp.odd_floats import LEAST_EXPONENT, NARROW_BITS, find_unit, round_half, settle
from edgewright.core.numbers import Array

# Vectors have a unit less than what is stored: half of it stands for nothing, and is stored as 0.
LEAST_HELD = LEAST_EXPONENT - 1
NOTHING = 2.0 ** (LEAST_HELD - 1)


@dataclass(frozen=True)
class Halves:
    """Numbers and the exponents of their units; held ones always have half a unit, stored ones need not."""

    numbers: Array
    units: Array
    is_stored: bool = False

    def __add__(self, other: "Halves") -> "Halves":
        """In the finer of two units, or that of the larger number where it is coarser.

        The sum of two stored numbers below zero is that of what they are without their signs.
        """
        coarser = np.maximum(_find_held_unit(self.numbers), _find_held_unit(other.numbers))
        units = np.maximum(np.minimum(self.units, other.units), coarser)
        if not (self.is_stored and other.is_stored):
            return _hold(self.numbers + other.numbers, units)
        signs = np.where(np.signbit(self.numbers) & np.signbit(other.numbers), -1.0, 1.0)
        held = _hold((self.numbers + other.numbers) * signs, units)
        return Halves(held.numbers * signs, held.units)

    def __neg__(self) -> "Halves":
        """Of stored numbers."""
        return Halves(-self.numbers, self.units, self.is_stored)

    def weigh(self, weights: Array) -> "Halves":
        """Products with float16."""
        return _hold(self.numbers * weights, self.units + _find_held_unit(weights) + NARROW_BITS - 1)

    def store(self) -> Array:
        """As they leave the vectors."""
        return round_half(self.numbers)


def read_halves(numbers: Array) -> Halves:
    """What was stored."""
    exact = numbers.astype(np.float64)
    return Halves(exact, find_unit(exact, NARROW_BITS, LEAST_EXPONENT), is_stored=True)


def blend(first: Halves, second: Halves, shares: Array) -> Halves:
    """What lies between two stored numbers, so much of the way from the first to the second."""
    return (second + -first).weigh(shares) + first


def _hold(numbers: Array, units: Array) -> Halves:
    held, coarser = settle(numbers, units, NARROW_BITS)
    is_nothing = numbers == 0
    return Halves(np.where(is_nothing, NOTHING, held), np.where(is_nothing, LEAST_HELD, coarser))


def _find_held_unit(numbers: Array) -> Array:
    return find_unit(numbers, NARROW_BITS, LEAST_HELD)
