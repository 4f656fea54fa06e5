"""Softmax in half precision, as HTP computes it: a polynomial for powers, and one turn of Newton's method."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.odd_floats import LEAST_EXPONENT, NARROW_BITS, find_unit, settle
from edgewright.core.numbers import Array
from edgewright.ops.reduce_softmax import Softmax

# Bits of powers, and of the sums of powers that are exact. Beyond this distance nothing is left of them.
POWER_BITS, DOUBLE_BITS, FARTHEST = 40, 53, 40.0
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
# Of powers of two between 1 and 2; within this distance of the largest number a power is a little larger.
TERMS = (0.07795391523214691, 0.22618736202131232, 0.6957884891953009, 0.9999265624278704)
NEAREST, LARGEST_POWER = 2.0**-24, 0.9999626
# Rows of fewer numbers keep all bits of their powers.
FEWEST_ROUNDED = 5
# What half the bits of a square are taken from for a guess at one over its root; what Newton's method
# takes half a product from.
GUESS, HEIGHT = 0x5F3759DF, 1.4999995


def share_halves(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Powers that were rounded, of long rows, times one over the sum of those that were not."""
    softmax = cast("Softmax", op.op)
    axis = softmax.axis_of(arrays[0].ndim)
    real = arrays[0].astype(np.float64) * softmax.beta
    largest, one = real.max(axis=axis, keepdims=True, initial=-np.inf), count_units(real.shape[axis])
    is_known = np.isfinite(largest)
    powers = _find_powers(_measure_distances(np.where(is_known, largest, 0), np.where(is_known, real, 0)))
    sums = np.rint(powers * one).sum(axis=axis, keepdims=True) / one
    if real.shape[axis] >= FEWEST_ROUNDED:
        powers = powers.astype(np.float16).astype(np.float64)
    shares = powers * _invert(sums)
    return [np.where(is_known, shares, np.nan).astype(np.float16)]


def count_units(count: int) -> float:
    """Units that one has in powers: the sum of so many is exact."""
    return 2.0 ** min(POWER_BITS, DOUBLE_BITS - count.bit_length())


def list_numbers(beta: float, count: int) -> Array:
    """All that a kernel needs to know."""
    return np.asarray([beta, count_units(count), *TERMS, LARGEST_POWER])


def _measure_distances(largest: Array, real: Array) -> Array:
    """In whole units of the coarser of two numbers, multiples of four of which cannot be held."""
    units = (find_unit(numbers, NARROW_BITS, LEAST_EXPONENT) for numbers in (largest, real))
    unit = np.maximum(*units)
    apart = (largest < 0) != (real < 0)
    settled, _ = settle(np.where(apart, largest - real, real - largest), unit, NARROW_BITS)
    return np.where(largest == real, 0.0, np.abs(settled))


def _find_powers(distances: Array) -> Array:
    """Powers of e with minus each distance; each step is one operation of IEEE 754."""
    exponents = -np.minimum(distances, FARTHEST) * LOG2_E
    whole = np.floor(exponents)
    rest, power = exponents - whole, np.full_like(exponents, TERMS[0])
    for term in TERMS[1:]:
        power = power * rest + term
    scaled = np.ldexp(power, whole.astype(np.int64))
    return np.where(distances <= NEAREST, LARGEST_POWER, scaled)


def _invert(sums: Array) -> Array:
    """One over the root of a square."""
    squares = (sums * sums).astype(np.float32)
    guess = (GUESS - (squares.view(np.int32) >> 1)).astype(np.int32).view(np.float32).astype(np.float64)
    return np.asarray(guess * (HEIGHT - 0.5 * squares.astype(np.float64) * guess * guess))
