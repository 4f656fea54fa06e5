"""Rows of whole numbers that are normalized with factors of few bits, written for the engine."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgewright.core.numbers import Array, DType

if TYPE_CHECKING:
    from edgewright.backends.cpu.writer import Writer

FLOAT_64 = DType.FLOAT_64


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


def write_row_norm(w: "Writer", value: str, norm: RowNorm) -> str:
    """Whole steps of the output, in float64."""
    x, axes = w.node("Cast", value, to=w.code(FLOAT_64)), w.ints(norm.axes)
    mean = w.node("ReduceMean", x, axes, keepdims=1)
    distance = w.node("Sub", x, mean)
    variance = w.node("ReduceMean", w.node("Mul", distance, distance), axes, keepdims=1)
    root = w.node("Sqrt", w.node("Add", variance, w.scalar(norm.epsilon, FLOAT_64)))
    factor = w.node("Div", w.scalar(norm.factor, FLOAT_64), root)
    unit = _find_unit(w, factor, norm.factor_bits)
    factor = w.node("Mul", w.node("Round", w.node("Div", factor, unit)), unit)
    unit = _find_unit(w, w.node("Max", mean, w.scalar(1.0, FLOAT_64)), norm.mean_bits)
    cut = w.node("Floor", w.node("Div", mean, unit))
    mean = w.node("Mul", w.node("Add", cut, w.scalar(1.0, FLOAT_64)), unit)
    products = w.node("Mul", w.node("Sub", x, mean), w.node("Mul", factor, w.constant(norm.weights)))
    return w.node("Floor", w.node("Add", products, w.constant(norm.added)))


def _find_unit(w: "Writer", numbers: str, bits: int) -> str:
    """The last of so many bits of each number."""
    logarithm = w.node("Mul", w.node("Log", numbers), w.scalar(float(np.log2(np.e)), FLOAT_64))
    exponent = w.node("Sub", w.node("Floor", logarithm), w.scalar(bits - 1.0, FLOAT_64))
    return w.node("Pow", w.scalar(2.0, FLOAT_64), exponent)
