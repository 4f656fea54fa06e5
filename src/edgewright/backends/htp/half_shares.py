"""Softmax in half precision, as HTP computes it: exact powers, and a reciprocal that is a little small."""

from collections.abc import Sequence
from functools import cache
from math import factorial
from typing import cast

import numpy as np

from edgewright.backends.htp.half_functions import read_differences
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.core.numbers import Array
from edgewright.ops.reduce_softmax import Softmax

HALF_BITS = 11
# Sums between two powers of two whose reciprocals were measured, and the parabolas that these lie on.
SUMS, PARABOLAS = 256, 8
# Which distances the library takes for another one.
STEP = 4
# Bits of powers, and of the sums of powers that are exact. Beyond this distance nothing is left of them.
POWER_BITS, DOUBLE_BITS, FARTHEST = 40, 53, 40.0
# The logarithm of two in two parts, the first of which has few bits; terms of the exponential function.
LOG2_E, LN_2_HIGH, LN_2_LOW = (
    float.fromhex(n) for n in ("0x1.71547652b82fep+0", "0x1.62e42feep-1", "0x1.a39ef35793c76p-33")
)
TERMS = tuple(1 / factorial(power) for power in range(12, -1, -1))


def share_halves(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Powers of e times the reciprocal of their sum; only the product is rounded."""
    softmax = cast("Softmax", op.op)
    axis = softmax.axis_of(arrays[0].ndim)
    real = arrays[0].astype(np.float64) * softmax.beta
    largest, one = real.max(axis=axis, keepdims=True, initial=-np.inf), count_units(real.shape[axis])
    is_known = np.isfinite(largest)
    powers = _find_powers(
        _measure_distances(np.where(is_known, largest, 0), np.where(is_known, real, 0)), one
    )
    sums = powers.sum(axis=axis, keepdims=True) / one
    shares = powers / one * invert_sums(sums, find_parabolas())
    return [np.where(is_known, shares, np.nan).astype(np.float16)]


def count_units(count: int) -> float:
    """Units that one has in powers: the sum of so many is exact."""
    return 2.0 ** min(POWER_BITS, DOUBLE_BITS - count.bit_length())


def list_numbers(beta: float, count: int) -> Array:
    """All that a kernel needs to know."""
    return np.concatenate([[beta, count_units(count)], TERMS, find_parabolas().reshape(-1)])


def _find_powers(distances: Array, one: float) -> Array:
    """Powers of e with minus each distance, in whole units; each step is one operation of IEEE 754."""
    near = np.minimum(distances, FARTHEST)
    whole = np.rint(near * LOG2_E)
    rest = (whole * LN_2_HIGH - near) + whole * LN_2_LOW
    power = np.full_like(rest, TERMS[0])
    for term in TERMS[1:]:
        power = power * rest + term
    return np.asarray(np.rint(np.ldexp(power, -whole.astype(np.int64)) * one))


def _measure_distances(largest: Array, real: Array) -> Array:
    """In whole units of the coarser of two numbers; multiples of four go one towards the coarser one."""
    units = [np.exp2(np.frexp(numbers)[1].astype(np.float64) - HALF_BITS) for numbers in (largest, real)]
    unit = np.maximum(*units)
    whole = np.rint((largest - real) / unit)
    is_moved = (whole > 0) & (whole % STEP == 0)
    return np.asarray((whole - np.where(units[0] >= units[1], 1, -1) * is_moved) * unit)


def invert_sums(sums: Array, parabolas: Array) -> Array:
    """Reciprocals that lie on parabolas, each for a part of what lies between two powers of two."""
    mantissa, exponent = np.frexp(sums)
    places = np.minimum((2 * mantissa - 1) * PARABOLAS, PARABOLAS - 1e-9).astype(np.int64)
    first, second, third = parabolas[:, places]
    return np.asarray(np.ldexp((first * mantissa + second) * mantissa + third, -exponent))


@cache
def find_parabolas() -> Array:
    """For reciprocals of numbers from 1/2 on: what lies between the floats that were measured is smooth."""
    reciprocals = np.cumsum(read_differences()["Reciprocal"], dtype=np.int16).view(np.float16)
    mantissas = (SUMS + np.arange(SUMS)) / (2 * SUMS)
    parts = zip(*(np.split(numbers, PARABOLAS) for numbers in (mantissas, reciprocals)), strict=True)
    return np.stack([np.polyfit(x, y.astype(np.float64) * 2 * SUMS, 2) for x, y in parts], axis=1)
