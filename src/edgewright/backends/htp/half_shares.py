"""Softmax in half precision, as HTP computes it: exact powers, and a reciprocal that is a little small."""

from collections.abc import Sequence
from functools import cache
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


def share_halves(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Powers of e times the reciprocal of their sum; only the product is rounded."""
    softmax = cast("Softmax", op.op)
    axis = softmax.axis_of(arrays[0].ndim)
    real = arrays[0].astype(np.float64) * softmax.beta
    powers = np.exp(-_measure_distances(real.max(axis=axis, keepdims=True), real))
    shares = powers * _invert(powers.sum(axis=axis, keepdims=True))
    return [shares.astype(np.float16)]


def _measure_distances(largest: Array, real: Array) -> Array:
    """In whole units of the coarser of two numbers; multiples of four go one towards the coarser one."""
    units = [np.exp2(np.frexp(numbers)[1].astype(np.float64) - HALF_BITS) for numbers in (largest, real)]
    unit = np.maximum(*units)
    whole = np.rint((largest - real) / unit)
    is_moved = (whole > 0) & (whole % STEP == 0)
    return np.asarray((whole - np.where(units[0] >= units[1], 1, -1) * is_moved) * unit)


def _invert(sums: Array) -> Array:
    mantissa, exponent = np.frexp(sums)
    places = np.minimum((2 * mantissa - 1) * PARABOLAS, PARABOLAS - 1e-9).astype(np.int64)
    first, second, third = _find_parabolas()[:, places]
    return np.asarray(np.ldexp((first * mantissa + second) * mantissa + third, -exponent))


@cache
def _find_parabolas() -> Array:
    """For reciprocals of numbers from 1/2 on: what lies between the floats that were measured is smooth."""
    reciprocals = np.cumsum(read_differences()["Reciprocal"], dtype=np.int16).view(np.float16)
    mantissas = (SUMS + np.arange(SUMS)) / (2 * SUMS)
    parts = zip(*(np.split(numbers, PARABOLAS) for numbers in (mantissas, reciprocals)), strict=True)
    return np.stack([np.polyfit(x, y.astype(np.float64) * 2 * SUMS, 2) for x, y in parts], axis=1)
