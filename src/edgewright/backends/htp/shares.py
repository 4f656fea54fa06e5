"""Softmax of 8 and 16 bits, as HTP computes it: powers of two, and the reciprocal of their sum."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from edgewright.backends.htp.half_shares import share_halves
from edgewright.backends.htp.inverses import ONE as INVERSE_ONE
from edgewright.backends.htp.inverses import QUARTERS, invert_sums
from edgewright.backends.htp.library_op import LibraryOp, decode_stored, encode_real
from edgewright.backends.htp.share_powers import BYTE_QUARTERS, PLACE_BITS, PLACES, raise_fractions
from edgewright.core.numbers import Array
from edgewright.ops.reduce_softmax import Softmax

# A step of the input as an exponent of two is cut to so many bits.
EXPONENT_BITS = 22
# Powers have so many bits, which those of the largest input fill.
SHARE_BITS = 15
LAST = (1 << 16) - 1
# What has no more than two shares is computed in another way: by a power of two that lies on a cubic.
FEWEST_SHARES, ONE = 3, 1 << 16
CUBIC = (-0.035785, 0.226307, -0.690523, 1.0)
# Newton's method has come to rest after as many turns; reciprocals keep so many bits.
TURNS, RECIPROCAL_BITS = 5, 16
# With 8 bits a step has so many as an exponent, none below this; from so many shares on they are powers.
BYTE_BITS, LAST_BIT, FEWEST_POWERS = 8, -14, 17
PARTS, PAIR = 256, 2
# Two shares have weights of so many bits.
PAIR_BITS = 40
# Fewer shares have weights of 15 bits: products of one for 16 steps and one for what is left of them. Sums of
# so many shares or fewer are even.
WEIGHT_BITS, LARGEST, COARSE, MOST_EVEN = 15, (1 << 15) - 1, 16, 4


def share_bytes(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Each number counts by its distance from the largest."""
    axis = cast("Softmax", op.op).axis_of(arrays[0].ndim)
    weights, numbers = weigh_bytes(op, arrays[0].shape[axis])
    rows = np.moveaxis(arrays[0], axis, -1).astype(np.int64)
    distances = rows.max(axis=-1, keepdims=True, initial=0) - rows
    shares = _share_bytes(weights, numbers, distances)
    if rows.shape[-1] == PAIR:
        shares[..., 0] = PARTS - 1 - shares[..., 1]
    return [np.moveaxis(np.minimum(shares, PARTS - 1), -1, axis)]


def _share_bytes(weights: Array, numbers: Array, distances: Array) -> Array:
    powers = weights[distances]
    sums = powers.sum(axis=-1, keepdims=True)
    if len(numbers) == 1:
        inverse, bits = _invert_whole(sums.astype(np.int64))
        return np.asarray(np.floor(powers * inverse * numbers[0] / np.exp2(bits) + 0.5))
    parts, unit = numbers[:2]
    if len(numbers) == 2:
        return np.asarray(np.floor(powers / sums * parts + 0.5))
    inverse, one = invert_sums(np.floor(sums / unit) * unit)
    # A product has lost less than a part, and is stored as one more.
    shares = np.floor(powers * inverse / INVERSE_ONE) + (inverse < INVERSE_ONE)
    return np.asarray(np.floor(shares / one * parts + 0.5))


def weigh_bytes(op: LibraryOp, count: int) -> tuple[Array, Array]:
    """Weights of all distances, whole numbers whose sums are exact, and how they become shares.

    That is the parts of one, 256; of two shares 255, and nothing; of few the unit of sums, and parabolas.
    """
    exact, distances = _find_scale(op), np.arange(PARTS)
    if count == PAIR:
        return np.rint(np.exp(-distances * exact) * 2.0**PAIR_BITS), np.array([PARTS - 1, 0])
    if count < FEWEST_POWERS:
        sum_unit = 2 if count <= MOST_EVEN else 1
        return _weigh_few(exact, distances), np.array([PARTS, sum_unit, *np.ravel(QUARTERS)])
    exponent = exact * np.log2(np.e)
    unit = 2.0 ** max(int(np.floor(np.log2(exponent))) - BYTE_BITS + 1, LAST_BIT)
    exponents = distances * np.floor(exponent / unit) * unit
    whole = np.minimum(exponents, SHARE_BITS + 1).astype(np.int64)
    places = ((exponents - np.floor(exponents)) * PLACES).astype(np.int64)
    return (raise_fractions(places, BYTE_QUARTERS) >> whole).astype(np.float64), np.array([PARTS])


def _weigh_few(exact: float, distances: Array) -> Array:
    rest = distances % COARSE
    coarse, fine = (np.floor(np.exp(-steps * exact) * LARGEST + 0.5) for steps in (distances - rest, rest))
    return np.asarray(np.floor(coarse * fine / (1 << WEIGHT_BITS) + 0.5))


def share_wide(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Distances from the largest number of a row as powers of two, times the reciprocal of their sum."""
    softmax = cast("Softmax", op.op)
    axis = softmax.axis_of(arrays[0].ndim)
    if softmax.is_wrong_on_htp(op.given):
        # It is written in floats there.
        (real,) = share_halves(op, [decode_stored(arrays[0], op.given[0]).astype(np.float16)])
        return [encode_real(real, op.made[0])]
    rows = np.moveaxis(arrays[0], axis, -1).astype(np.int64)
    distances = rows.max(axis=-1, keepdims=True, initial=0) - rows
    if rows.shape[-1] < FEWEST_SHARES:
        shares = _share_few(distances * _find_scale(op) * np.log2(np.e))
    else:
        shares = _share_powers(distances, count_units(op))
    return [np.moveaxis(np.clip(shares, 0, LAST), -1, axis)]


def count_units(op: LibraryOp) -> int:
    """Units of an exponent in a step of the input: no more than leave nothing of a power."""
    return int(min(_find_scale(op) * np.log2(np.e), SHARE_BITS + 2) * (1 << EXPONENT_BITS))


def _find_scale(op: LibraryOp) -> float:
    encoding = op.given[0].encoding
    assert encoding is not None
    return float(np.float32(encoding.scales[0])) * cast("Softmax", op.op).beta


def _share_few(exponents: Array) -> Array:
    """Powers of a row over their sum, rounded."""
    whole = np.floor(exponents)
    powers = np.ldexp(np.polyval(CUBIC, exponents - whole), -whole.astype(np.int64))
    return np.asarray(np.floor(powers / powers.sum(axis=-1, keepdims=True) * ONE + 0.5))


def _share_powers(distances: Array, units: int) -> Array:
    exponents = distances * units
    whole = np.minimum(exponents >> EXPONENT_BITS, SHARE_BITS + 1)
    places = (exponents >> (EXPONENT_BITS - PLACE_BITS)) & (PLACES - 1)
    powers = raise_fractions(places) >> whole
    inverse, bits = _invert_whole(powers.sum(axis=-1, keepdims=True) >> 1)
    return np.asarray(powers * inverse >> (bits - SHARE_BITS))


def _invert_whole(numbers: Array) -> tuple[Array, Array]:
    """Reciprocals by Newton's method from one half, all cut, and the bits that a product with them loses.

    The largest power of two in a number is its unit; reciprocals keep as many bits.
    """
    bits = np.frexp(np.maximum(numbers, 1))[1].astype(np.int64) - 1
    kept = np.minimum(bits, RECIPROCAL_BITS)
    inverse, one = np.int64(1) << (kept - 1), np.int64(1) << bits
    for _ in range(TURNS):
        inverse = inverse * (2 * one - (numbers * inverse >> kept)) >> bits
    return np.asarray(inverse), bits + kept
