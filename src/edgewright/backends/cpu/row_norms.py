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
# Sums are divided in two parts, of so many bits each. Numbers that a vector holds have so many bits; what is
# added to nothing is so small.
PART, HELD_BITS, NOTHING = 65536.0, 23, 2.0**-40


@dataclass(frozen=True)
class RowNorm:
    """Distances from the mean, times a factor over the root of the variance, times a weight, plus a number.

    Factors keep so many bits. Means are held as vectors of HTP do it (`backends/htp/odd_floats.py`).
    """

    axes: tuple[int, ...]
    # The variance counts in steps of the input.
    epsilon: float
    factor: float
    weights: Array
    added: Array
    factor_bits: int


def normalize_in_one_pass(w: "Writer", value: str, norm: RowNorm, shape: Shape, zero: int) -> str:
    """The integers that are stored for rows of 16 bits; "" where our kernel is not there, or not for them."""
    first = len(shape) - len(norm.axes)
    is_last = norm.axes == tuple(range(first, len(shape))) and norm.weights.shape[first:] == shape[first:]
    if find_kernels() is None or not is_last:
        return ""
    operands = np.stack([norm.weights.reshape(-1), norm.added.reshape(-1)])
    unit = 2.0 ** (1 - norm.factor_bits)
    numbers = np.asarray([norm.epsilon, norm.factor, unit, zero], np.float64)
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
    mean = _write_mean(w, w.node("Add", total, w.scalar(count * MIDDLE, FLOAT_64)), count)
    products = w.node("Mul", w.node("Sub", x, mean), w.node("Mul", factor, w.constant(norm.weights)))
    return w.node("Floor", w.node("Add", products, w.constant(norm.added)))


def _write_mean(w: "Writer", total: str, count: int) -> str:
    """What both parts of a sum make, each times one over the number of what was added."""
    high = w.node("Floor", w.node("Mul", total, w.scalar(1 / PART, FLOAT_64)))
    high = w.node("Mul", high, w.scalar(PART, FLOAT_64))
    parts = [_write_share(w, part, count) for part in (high, w.node("Sub", total, high))]
    unit = w.node("Max", *(_find_unit(w, part, HELD_BITS) for part in parts))
    return _settle(w, w.node("Add", *parts), unit)


def _write_share(w: "Writer", part: str, count: int) -> str:
    """A product has the unit that both of its factors give it."""
    share = float(np.float32(1) / np.float32(count))
    scale = w.scalar(2.0 ** np.floor(np.log2(share)), FLOAT_64)
    unit = _find_unit(w, w.node("Max", part, w.scalar(NOTHING, FLOAT_64)), HELD_BITS)
    return _settle(w, w.node("Mul", part, w.scalar(share, FLOAT_64)), w.node("Mul", unit, scale))


def _settle(w: "Writer", number: str, unit: str) -> str:
    """The nearest number above nothing that can be held, in its unit or in twice that."""
    whole, near = _round_half_way(w, number, unit)
    _, far = _round_half_way(w, number, w.node("Add", unit, unit))
    gaps = [w.node("Abs", w.node("Sub", held, number)) for held in (near, far)]
    is_nearer = w.node("Greater", *gaps)
    is_lower = w.node("And", w.node("Equal", *gaps), w.node("Less", far, near))
    has_too_many = w.node("GreaterOrEqual", whole, w.scalar(2.0**HELD_BITS, FLOAT_64))
    is_coarse = w.node("Or", has_too_many, w.node("Or", is_nearer, is_lower))
    return w.node("Where", is_coarse, far, near)


def _round_half_way(w: "Writer", number: str, unit: str) -> tuple[str, str]:
    """Whole units, and half a unit more of them."""
    half = w.scalar(0.5, FLOAT_64)
    whole = w.node("Round", w.node("Sub", w.node("Div", number, unit), half))
    return whole, w.node("Mul", w.node("Add", whole, half), unit)


def _find_unit(w: "Writer", numbers: str, bits: int) -> str:
    """The last of so many bits of each number."""
    logarithm = w.node("Mul", w.node("Log", numbers), w.scalar(float(np.log2(np.e)), FLOAT_64))
    power = w.node("Pow", w.scalar(2.0, FLOAT_64), w.node("Round", logarithm))
    # Logarithms are not exact: the nearest power is what is known, and half of it the other candidate.
    half = w.node("Mul", power, w.scalar(0.5, FLOAT_64))
    power = w.node("Where", w.node("Greater", power, numbers), half, power)
    return w.node("Mul", power, w.scalar(2.0 ** (1 - bits), FLOAT_64))
