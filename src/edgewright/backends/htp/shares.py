"""Softmax of 8 and 16 bits, as HTP computes it: powers of two, and the reciprocal of their sum."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from edgewright.backends.htp.half_shares import share_halves
from edgewright.backends.htp.library_op import LibraryOp, decode_stored, encode_real
from edgewright.backends.htp.wide_functions import read_results
from edgewright.core.numbers import Array
from edgewright.ops.reduce_softmax import Softmax

# A step of the input as an exponent of two is cut to so many bits; so many of an exponent's choose a power.
EXPONENT_BITS, POWER_BITS = 22, 16
# Powers have so many bits, which those of the largest input fill.
SHARE_BITS = 15
LAST = (1 << 16) - 1
# What has no more than two shares is computed in another way.
FEWEST_SHARES = 3
# Newton's method has come to rest after as many turns; reciprocals keep so many bits.
TURNS, RECIPROCAL_BITS = 5, 16
# With 8 bits a step has so many as an exponent, none below this; from so many shares on they are powers.
BYTE_BITS, LAST_BIT, FEWEST_POWERS = 8, -14, 17
PARTS, PAIR = 256, 2
# Fewer shares have weights of so many bits.
WEIGHT_BITS = 40


def share_bytes(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Each number counts by its distance from the largest."""
    axis = cast("Softmax", op.op).axis_of(arrays[0].ndim)
    weights, parts = weigh_bytes(op, arrays[0].shape[axis])
    largest = arrays[0].max(axis=axis, keepdims=True, initial=0)
    powers = weights[largest.astype(np.int64) - arrays[0]]
    shares = np.floor(powers / powers.sum(axis=axis, keepdims=True) * parts + 0.5)
    return [np.minimum(shares, PARTS - 1)]


def weigh_bytes(op: LibraryOp, count: int) -> tuple[Array, float]:
    """Weights of all distances, whole numbers whose sums are exact, and the parts that one has.

    Parts are of 256; two shares are parts of 255.
    """
    exact, distances = _find_scale(op), np.arange(PARTS)
    if count < FEWEST_POWERS:
        weights = np.rint(np.exp(-distances * exact) * 2.0**WEIGHT_BITS)
        return weights, PARTS - 1.0 if count == PAIR else PARTS
    exponent = exact * np.log2(np.e)
    unit = 2.0 ** max(int(np.floor(np.log2(exponent))) - BYTE_BITS + 1, LAST_BIT)
    return np.floor(np.exp2(SHARE_BITS - distances * (np.floor(exponent / unit) * unit))), PARTS


def share_wide(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Distances from the largest number of a row as powers of two, times the reciprocal of their sum."""
    softmax = cast("Softmax", op.op)
    axis = softmax.axis_of(arrays[0].ndim)
    if softmax.is_wrong_on_htp(op.given):
        # It is written in floats there.
        (real,) = share_halves(op, [decode_stored(arrays[0], op.given[0]).astype(np.float16)])
        return [encode_real(real, op.made[0])]
    if arrays[0].shape[axis] < FEWEST_SHARES:
        (real,) = softmax.compute(decode_stored(arrays[0], op.given[0]))
        return [encode_real(real, op.made[0])]
    rows = np.moveaxis(arrays[0], axis, -1).astype(np.int64)
    distances = rows.max(axis=-1, keepdims=True) - rows
    shares = _share_powers(distances, count_units(op))
    return [np.moveaxis(np.clip(shares, 0, LAST), -1, axis)]


def count_units(op: LibraryOp) -> int:
    """Units of an exponent in a step of the input: no more than leave nothing of a power."""
    return int(min(_find_scale(op) * np.log2(np.e), SHARE_BITS + 2) * (1 << EXPONENT_BITS))


def _find_scale(op: LibraryOp) -> float:
    encoding = op.given[0].encoding
    assert encoding is not None
    return float(np.float32(encoding.scales[0])) * cast("Softmax", op.op).beta


def _share_powers(distances: Array, units: int) -> Array:
    exponents = distances * units
    whole = np.minimum(exponents >> EXPONENT_BITS, SHARE_BITS + 1)
    places = (exponents >> (EXPONENT_BITS - POWER_BITS)) & ((1 << POWER_BITS) - 1)
    powers = read_results()["Power"][places].astype(np.int64) >> whole
    halves = powers.sum(axis=-1, keepdims=True) >> 1
    # The largest power of two in half the sum is the unit of Newton's method.
    bits = np.frexp(np.maximum(halves, 1))[1].astype(np.int64) - 1
    kept = np.minimum(bits, RECIPROCAL_BITS)
    return np.asarray(powers * (_invert(halves, bits) >> (bits - kept)) >> (bits + kept - SHARE_BITS))


def _invert(numbers: Array, bits: Array) -> Array:
    """Reciprocals of so many bits by Newton's method, from one half; all products are cut."""
    inverse, one = np.int64(1) << (bits - 1), np.int64(1) << bits
    for _ in range(TURNS):
        inverse = inverse * (2 * one - (numbers * inverse >> bits)) >> bits
    return np.asarray(inverse)
