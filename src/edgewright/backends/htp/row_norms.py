"""LayerNorm of 8 and 16 bits, as HTP rounds it: a factor of few bits for each row.

One over the root of a row's variance is found in vectors of single precision, by Newton's method.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

import numpy as np

from edgewright.backends.cpu.compiled import DOMAIN, find_kernels
from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import Writer
from edgewright.backends.htp.half_means import Held, hold, widen
from edgewright.backends.htp.half_norms import invert_roots, multiply_stored, read_stored
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.odd_floats import WIDE_BITS, find_unit
from edgewright.backends.htp.requantize import is_byte, is_wide
from edgewright.core.numbers import Array
from edgewright.ir.graph import Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.norm import LayerNorm

OPERANDS = 3
# Factors of rows are whole numbers of these; with 16 bits they have no more bits than that.
FACTOR_UNIT, FACTOR_BITS = 2.0**-16, 16
# Turns of Newton's method, and what means of 8 bits are cut to.
BYTE_TURNS, WIDE_TURNS, MEAN_UNIT = 2, 3, 1 / 64
# The largest weight of 16 bits, and what stands for one; sums are divided in two parts of so many bits.
LARGEST_WEIGHT, WEIGHT_ONE, PART = 0x7FFF, 1 << 15, 1 << 16
# Squares of distances from halfway through 16 bits have fewer bits; what spreads is two words of so many.
MIDDLE, WORD_BITS = 1 << 15, 32
TINY = float(np.finfo(np.float32).tiny)
LEAST_EXPONENT = -150


@dataclass(frozen=True)
class RowNorm:
    """Distances from the mean, times a factor over the root of the variance, times a weight, plus a number.

    The variance counts in steps of the input; what is added is a whole number of steps and a half.
    """

    epsilon: float
    factor: float
    weights: Array
    added: Array
    zero: int


def is_fixed_norm(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether rows of 8 or 16 bits are normalized, weighed and moved; weights of bytes are bytes."""
    del op
    encodings = [kind.encoding for kind in given]
    if len(given) != OPERANDS or any(x is None or x.axis is not None for x in encodings):
        return False
    return all(map(is_byte, (*given[:2], made[0]))) or (is_wide(given[0]) and is_wide(made[0]))


def normalize_rows(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """What numbers are more than the mean of their row, in steps of the output."""
    norm, axes = prepare_norm(op, *arrays[1:]), cast("LayerNorm", op.op).axes
    last = tuple(range(arrays[0].ndim - len(axes), arrays[0].ndim))
    moved = np.moveaxis(arrays[0], axes, last)
    rows = moved.reshape(-1, prod(moved.shape[last[0] :])).astype(np.int64)
    is_bytes = is_byte(op.given[0])
    means = _find_byte_means(rows) if is_bytes else _find_means(rows)
    factors = _find_factors(norm, rows, is_bytes=is_bytes)
    steps = np.floor((rows - means) * (factors * norm.weights) + norm.added) + norm.zero
    stored = np.clip(steps, 0, np.iinfo(op.made[0].dtype.numpy).max)
    return [np.moveaxis(stored.reshape(moved.shape), last, axes)]


def prepare_norm(op: LibraryOp, weights: Array, bias: Array) -> RowNorm:
    """The numbers that rows meet; weights of 16 bits become whole numbers of their own scale."""
    x, y, layer = op.given[0].encoding, op.made[0].encoding, cast("LayerNorm", op.op)
    assert x is not None
    assert y is not None
    numbers, step = _decode(weights, op.given[1]).reshape(-1), 1.0
    if is_byte(op.given[0]):
        assert op.given[1].encoding is not None
        step = op.given[1].encoding.scales[0]
        numbers = numbers / step
    else:
        real = numbers.astype(np.float32)
        unit = np.maximum(np.abs(real).max(initial=0.0), np.float32(TINY)) / np.float32(LARGEST_WEIGHT)
        step, numbers = float(unit) * WEIGHT_ONE, np.rint(real / unit).astype(np.float64) / WEIGHT_ONE
    added = np.rint(_decode(bias, op.given[2]).reshape(-1) / y.scales[0]) + 0.5
    epsilon = max(layer.epsilon, TINY) / x.scales[0] ** 2
    return RowNorm(epsilon, float(np.float32(step / y.scales[0])), numbers, added, -y.offsets[0])


def _decode(stored: Array, kind: TensorType) -> Array:
    assert kind.encoding is not None
    return (stored.astype(np.float64) + kind.encoding.offsets[0]) * kind.encoding.scales[0]


def _find_byte_means(rows: Array) -> Array:
    share = float(np.float32(1) / np.float32(rows.shape[1]))
    return np.asarray(np.floor(rows.sum(axis=1, keepdims=True) * share / MEAN_UNIT) * MEAN_UNIT)


def _find_means(rows: Array) -> Array:
    """Both parts of a sum, each times one over the number of what was added."""
    total, share = rows.sum(axis=1, keepdims=True), read_stored(np.float32(1) / np.float32(rows.shape[1]))
    high, low = (read_stored(part.astype(np.float64)) for part in (total // PART * PART, total % PART))
    return (multiply_stored(high, share) + multiply_stored(low, share)).numbers


def _find_factors(norm: RowNorm, rows: Array, *, is_bytes: bool) -> Array:
    """Those of bytes are cut, the others rounded."""
    count, moved = rows.shape[1], rows - (0 if is_bytes else MIDDLE)
    total = moved.sum(axis=1, keepdims=True)
    spread = (moved * moved).sum(axis=1, keepdims=True) * count - total * total
    hold_variances = _hold_byte_variances if is_bytes else _hold_variances
    variances = hold_variances(spread, count, norm.epsilon)
    roots = invert_roots(variances.numbers, BYTE_TURNS if is_bytes else WIDE_TURNS)
    factors = multiply_stored(read_stored(roots), read_stored(np.float32(norm.factor))).numbers
    if is_bytes:
        return np.asarray(np.floor(factors / FACTOR_UNIT) * FACTOR_UNIT)
    units = np.exp2(np.floor(np.log2(factors)) - FACTOR_BITS + 1)
    units = np.maximum(units, FACTOR_UNIT)
    return np.asarray(np.floor(factors / units + 0.5) * units)


def _hold_variances(spread: Array, count: int, epsilon: float) -> Held:
    """Both halves of 64 bits become floats, each times one over the square of the number of numbers."""
    share = read_stored(np.float32(1) / np.float32(count * count))
    high = spread >> WORD_BITS << WORD_BITS
    parts = (read_stored(part.astype(np.float32)) for part in (high, spread - high))
    first, second = (multiply_stored(part, share) for part in parts)
    return first + second + read_stored(np.float32(epsilon))


def _hold_byte_variances(spread: Array, count: int, epsilon: float) -> Held:
    """A sum that is divided by a power of two keeps its half of a unit."""
    variances = spread / (count * count) + epsilon
    if count & (count - 1):
        return hold(variances, find_unit(variances, WIDE_BITS, LEAST_EXPONENT))
    return widen(variances.astype(np.float32))


def write_row_norm(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    """Our kernel reads rows of the last axes, with constant weights and a constant bias."""
    kind, constants = w.graph.types[node.inputs[0]], [w.graph.constants.get(v) for v in node.inputs[1:]]
    weights, bias = constants
    is_plain = kind.dtype == op.given[0].dtype and w.graph.types[node.outputs[0]].dtype == op.made[0].dtype
    if find_kernels() is None or weights is None or bias is None or not is_plain:
        raise NotOnEngine
    norm, axes = prepare_norm(op, weights, bias), cast("LayerNorm", op.op).axes
    order = [*(axis for axis in range(kind.rank) if axis not in axes), *axes]
    operands = w.constant(np.stack([norm.weights, norm.added]))
    numbers = w.constant(np.asarray([norm.epsilon, norm.factor, norm.zero], np.float64))
    title = "NormalizeBytes" if is_byte(op.given[0]) else "NormalizeWords"
    rows = w.node(title, w.transpose(inputs[0], order), operands, numbers, domain=DOMAIN)
    return w.transpose(rows, [order.index(place) for place in range(kind.rank)])
