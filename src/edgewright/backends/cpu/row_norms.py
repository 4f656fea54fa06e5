"""Rows of whole numbers that are normalized with factors of few bits, written for the engine."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgewright.backends.cpu.compiled import DOMAIN, find_kernels
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Shape

if TYPE_CHECKING:
    from edgewright.backends.cpu.writer import Writer

FLOAT_64 = DType.FLOAT_64
# Halfway through 16 bits: squares of distances from here have fewer bits.
MIDDLE = 32768.0


@dataclass(frozen=True)
class RowNorm:
    """Distances from the mean, times a factor over the root of the variance, times a weight, plus a number.

    Factors and means keep so many bits; means are one unit more than what they are cut to.
    """

    axes: tuple[int, ...]
    # The variance counts in steps of the input.
    epsilon: float
    factor: float
    weights: Array
    added: Array
    factor_bits: int
    mean_bits: int


def normalize_in_one_pass(w: "Writer", value: str, norm: RowNorm, shape: Shape, zero: int) -> str:
    """The integers that are stored for rows of 16 bits; "" where our kernel is not there, or not for them."""
    first = len(shape) - len(norm.axes)
    is_last = norm.axes == tuple(range(first, len(shape))) and norm.weights.shape[first:] == shape[first:]
    if find_kernels() is None or not is_last:
        return ""
    operands = np.stack([norm.weights.reshape(-1), norm.added.reshape(-1)])
    units = [2.0 ** (1 - bits) for bits in (norm.factor_bits, norm.mean_bits)]
    numbers = np.asarray([norm.epsilon, norm.factor, *units, zero], np.float64)
    return w.node("NormalizeWords", value, w.constant(operands), w.constant(numbers), domain=DOMAIN)


def write_row_norm(w: "Writer", value: str, norm: RowNorm) -> str:
    """Whole steps of the output, in float64; sums are exact, in whatever order they are taken."""
    x, axes, count = w.node("Cast", value, to=w.code(FLOAT_64)), w.ints(norm.axes), norm.weights.size
    moved = w.node("Sub", x, w.scalar(MIDDLE, FLOAT_64))
    total = w.node("ReduceSum", moved, axes, keepdims=1)
    squares = w.node("ReduceSum", w.node("Mul", moved, moved), axes, keepdims=1)
    spread = w.node("Mul", squares, w.scalar(count, FLOAT_64))
    spread = w.node("Sub", spread, w.node("Mul", total, total))
    variance = w.node("Div", spread, w.scalar(count * count, FLOAT_64))
    root = w.node("Sqrt", w.node("Add", variance, w.scalar(norm.epsilon, FLOAT_64)))
    factor = w.node("Div", w.scalar(norm.factor, FLOAT_64), root)
    unit = _find_unit(w, factor, norm.factor_bits)
    factor = w.node("Mul", w.node("Round", w.node("Div", factor, unit)), unit)
    whole = w.node("Add", total, w.scalar(count * MIDDLE, FLOAT_64))
    mean = w.node("Div", whole, w.scalar(count, FLOAT_64))
    unit = _find_unit(w, w.node("Max", mean, w.scalar(1.0, FLOAT_64)), norm.mean_bits)
    cut = w.node("Floor", w.node("Div", mean, unit))
    mean = w.node("Mul", w.node("Add", cut, w.scalar(1.0, FLOAT_64)), unit)
    products = w.node("Mul", w.node("Sub", x, mean), w.node("Mul", factor, w.constant(norm.weights)))
    return w.node("Floor", w.node("Add", products, w.constant(norm.added)))


def _find_unit(w: "Writer", numbers: str, bits: int) -> str:
    """The last of so many bits of each number."""
    logarithm = w.node("Mul", w.node("Log", numbers), w.scalar(float(np.log2(np.e)), FLOAT_64))
    power = w.node("Pow", w.scalar(2.0, FLOAT_64), w.node("Round", logarithm))
    # Logarithms are not exact: the nearest power is what is known, and half of it the other candidate.
    half = w.node("Mul", power, w.scalar(0.5, FLOAT_64))
    power = w.node("Where", w.node("Greater", power, numbers), half, power)
    return w.node("Mul", power, w.scalar(2.0 ** (1 - bits), FLOAT_64))
