"""Softmax of 16 bits, as HTP computes it: powers of two from a table, and the reciprocal of their sum."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from edgewright.backends.htp.library_op import LibraryOp, decode_stored, encode_real
from edgewright.backends.htp.wide_functions import read_results
from edgewright.core.numbers import Array
from edgewright.ops.reduce_softmax import Softmax

# A step of the input as an exponent of two is cut to so many bits; so many of an exponent's choose a power.
EXPONENT_BITS, POWER_BITS = 22, 16
# Powers have so many bits, which those of the largest input fill.
SHARE_BITS = 15
LARGEST_POWER, LAST = (1 << SHARE_BITS) - 1, (1 << 16) - 1
# Steps of fewer units than this are computed in another way, and so is what has no more than two shares.
FEWEST_UNITS, FEWEST_SHARES = 16, 3
# Newton's method has come to rest after as many turns; reciprocals keep so many bits.
TURNS, RECIPROCAL_BITS = 5, 16
# What the library counts the largest inputs for where steps are small: an error of its own.
LARGEST_WEIGHT = 0.5


def share_wide(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Distances from the largest number of a row as powers of two, times the reciprocal of their sum."""
    softmax, encoding = cast("Softmax", op.op), op.given[0].encoding
    assert encoding is not None
    axis = softmax.axis_of(arrays[0].ndim)
    if arrays[0].shape[axis] < FEWEST_SHARES:
        return [encode_real(np.asarray(softmax.compute(decode_stored(arrays[0], op.given[0]))[0]), op.made[0])]
    rows = np.moveaxis(arrays[0], axis, -1).astype(np.int64)
    distances = rows.max(axis=-1, keepdims=True) - rows
    scale = float(np.float32(encoding.scales[0])) * softmax.beta
    units = int(scale * np.log2(np.e) * (1 << EXPONENT_BITS))
    shares = _share_powers(distances, units) if units >= FEWEST_UNITS else _share_evenly(distances, scale)
    return [np.moveaxis(np.clip(shares, 0, LAST), -1, axis)]


def _share_powers(distances: Array, units: int) -> Array:
    exponents = distances * units
    whole = np.minimum(exponents >> EXPONENT_BITS, SHARE_BITS + 1)
    places = (exponents >> (EXPONENT_BITS - POWER_BITS)) & ((1 << POWER_BITS) - 1)
    powers = read_results()["Power"].astype(np.int64)[places] >> whole
    halves = powers.sum(axis=-1, keepdims=True) >> 1
    # The largest power of two in half the sum is the unit of Newton's method.
    bits = np.frexp(np.maximum(halves, 1))[1].astype(np.int64) - 1
    kept = np.minimum(bits, RECIPROCAL_BITS)
    return np.asarray(powers * (_invert(halves, bits) >> (bits - kept)) >> (bits + kept - SHARE_BITS))


def _invert(numbers: Array, bits: Array) -> Array:
    """Reciprocals of so many bits by Newton's method, from one half; all products are cut."""
    found, one = np.int64(1) << (bits - 1), np.int64(1) << bits
    for _ in range(TURNS):
        found = found * (2 * one - (numbers * found >> bits)) >> bits
    return np.asarray(found)


def _share_evenly(distances: Array, scale: float) -> Array:
    """Where steps are small the largest inputs count for half of what they are worth."""
    weights = np.where(distances == 0, LARGEST_WEIGHT, np.exp(-distances * scale))
    return np.floor(weights / weights.sum(axis=-1, keepdims=True) * (LAST + 1) + 0.5).astype(np.int64)
