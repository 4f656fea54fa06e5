"""Rows of bytes that are normalized with a whole factor for each row, written for the engine."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgewright.core.numbers import Array, DType

if TYPE_CHECKING:
    from edgewright.backends.cpu.writer import Writer

FLOAT_64 = DType.FLOAT_64


@dataclass(frozen=True)
class ByteNorm:
    """Distances from the mean, times a factor over the root of the variance, times a weight, plus a number.

    Means and factors are cut to whole units.
    """

    axes: tuple[int, ...]
    # The variance counts in steps of the input.
    epsilon: float
    factor: float
    weights: Array
    added: Array
    mean_unit: float
    factor_unit: float


def write_byte_norm(w: "Writer", value: str, norm: ByteNorm) -> str:
    """Whole steps of the output, in float64."""
    x, axes = w.node("Cast", value, to=w.code(FLOAT_64)), w.ints(norm.axes)
    mean = w.node("ReduceMean", x, axes, keepdims=1)
    distance = w.node("Sub", x, mean)
    variance = w.node("ReduceMean", w.node("Mul", distance, distance), axes, keepdims=1)
    root = w.node("Sqrt", w.node("Add", variance, w.scalar(norm.epsilon, FLOAT_64)))
    factor = _cut(w, w.node("Div", w.scalar(norm.factor, FLOAT_64), root), norm.factor_unit)
    from_mean = w.node("Sub", x, _cut(w, mean, norm.mean_unit))
    products = w.node("Mul", w.node("Mul", from_mean, factor), w.constant(norm.weights))
    return w.node("Floor", w.node("Add", products, w.constant(norm.added)))


def _cut(w: "Writer", numbers: str, unit: float) -> str:
    whole = w.node("Floor", w.node("Mul", numbers, w.scalar(1 / unit, FLOAT_64)))
    return w.node("Mul", whole, w.scalar(unit, FLOAT_64))
