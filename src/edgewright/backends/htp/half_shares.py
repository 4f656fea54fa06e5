"""Softmax in half precision, as HTP computes it in vectors of single precision.

A power is made as a float by its bits: a number times 2^23 is the place of its exponent and mantissa, and a
cubic of the mantissa's upper bits bends the line between powers of two. Sums, and what divides by them, are
held as in other vectors.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np

from edgewright.backends.htp.half_means import Held, hold, widen
from edgewright.backends.htp.half_norms import multiply_held, read_stored
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.odd_floats import (
    LEAST_EXPONENT,
    NARROW_BITS,
    WIDE_BITS,
    find_unit,
    round_half,
    settle,
)
from edgewright.core.numbers import Array
from edgewright.ops.reduce_softmax import Softmax

# Steps of a mantissa that a distance of one is; beyond this distance nothing is left of a power.
STEPS, FARTHEST, FARTHEST_UNIT = 12102203.0, 80.0, -16
MANTISSA_BITS, ONE = 23, 127 << 23
# Of a mantissa the cubic reads so many bits; products with its terms lose as many.
READ_BITS, CUBIC, QUADRATIC, LINEAR, MOVED = 16, 653824, 1897600, 2551968, 626
# Rows of fewer numbers keep all bits of their powers.
FEWEST_ROUNDED = 5
# Powers that are added up side by side, and what stands for none.
LANES, NOTHING = 32, 2.0**-151
# What half the bits of a square are taken from for a guess at one over its root.
GUESS = 0x5F3759DF


def share_halves(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Powers that were rounded, of long rows, times one over the sum of those that were not."""
    softmax = cast("Softmax", op.op)
    axis = softmax.axis_of(arrays[0].ndim)
    real = np.moveaxis(arrays[0], axis, -1).astype(np.float64) * softmax.beta
    largest = real.max(axis=-1, keepdims=True, initial=-np.inf)
    is_known = np.isfinite(largest)
    powers = find_powers(measure_distances(np.where(is_known, largest, 0), np.where(is_known, real, 0)))
    inverse = _invert(_add_powers(powers))
    is_long = real.shape[-1] >= FEWEST_ROUNDED
    read = widen(round_half(powers)) if is_long else read_stored(powers)
    shares = round_half(multiply_held(read, inverse).numbers)
    return [np.moveaxis(np.where(is_known, shares, np.nan).astype(np.float16), -1, axis)]


def measure_distances(largest: Array, real: Array) -> Held:
    """In whole units of the coarser of two numbers, multiples of four of which cannot be held.

    Those below zero are half a unit of single precision nearer to it, where they have 13 bits more.
    """
    unit = np.maximum(*(find_unit(numbers, NARROW_BITS, LEAST_EXPONENT) for numbers in (largest, real)))
    apart = (largest < 0) != (real < 0)
    settled, units = settle(np.where(apart, largest - real, real - largest), unit, NARROW_BITS)
    finer = units - (WIDE_BITS - NARROW_BITS)
    distances = np.where(largest == real, 0.0, np.abs(settled) - np.exp2(finer - 1.0))
    is_near = distances < FARTHEST
    return Held(np.where(is_near, distances, FARTHEST), np.where(is_near, finer, FARTHEST_UNIT))


def find_powers(distances: Held) -> Array:
    """Powers of e with minus each distance: floats, made by their bits."""
    steps = multiply_held(distances, read_stored(np.float32(STEPS))).numbers
    bits = ONE - np.where(distances.numbers == 0, 0, np.trunc(steps)).astype(np.int64)
    place = (bits >> (MANTISSA_BITS - READ_BITS)) & ((1 << READ_BITS) - 1)
    slope = ((CUBIC * place >> READ_BITS) + QUADRATIC) * place >> READ_BITS
    bits += ((slope - LINEAR) * place >> READ_BITS) - MOVED
    return bits.astype(np.int32).view(np.float32).astype(np.float64)


def _add_powers(powers: Array) -> Held:
    """Lane by lane first, then neighbours."""
    padding = [(0, 0)] * (powers.ndim - 1) + [(0, -powers.shape[-1] % LANES)]
    rows = np.pad(powers, padding, constant_values=NOTHING)
    total = read_stored(rows[..., :LANES])
    for at in range(LANES, rows.shape[-1], LANES):
        total = total + read_stored(rows[..., at : at + LANES])
    while total.numbers.shape[-1] > 1:
        first, second = (Held(total.numbers[..., place::2], total.units[..., place::2]) for place in range(2))
        total = first + second
    return total


def _invert(sums: Held) -> Held:
    """One over the root of a square: a guess by its bits, and one turn of Newton's method."""
    squares = multiply_held(sums, sums)
    guess = (GUESS - (squares.numbers.astype(np.float32).view(np.int32) >> 1)).astype(np.int32)
    inverse = read_stored(guess.view(np.float32).astype(np.float64))
    half, most = (widen(np.asarray(number)) for number in (0.5, 1.5))
    product = multiply_held(multiply_held(squares, half), multiply_held(inverse, inverse))
    factor = most + Held(-product.numbers, product.units)
    return read_stored(multiply_held(hold(inverse.numbers, inverse.units), factor).numbers)
