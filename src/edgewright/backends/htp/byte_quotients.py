"""Quotients of 8 bits, as HTP rounds them: three factors of 15 bits, the last of which is a reciprocal."""

import numpy as np

from edgewright.backends.cpu.sums import SumForm
from edgewright.backends.htp.wide_quotients import invert_wide
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node

LAST = 255
# Numbers are parts of a power of two that have so many bits, and a product of two of them has as many.
FACTOR_BITS = 15
# More than what a product with a reciprocal may be above a whole number, and less than what it is below one.
ABOVE = 2.0**-20


def divide_bytes(graph: Graph, node: Node) -> SumForm | None:
    """The results of all pairs of integers."""
    a, b, y = (graph.types[value].encoding for value in (*node.inputs, node.outputs[0]))
    if a is None or b is None or y is None:
        return None
    ratio = float(np.float32(a.scales[0]) / np.float32(b.scales[0]) / np.float32(y.scales[0]))
    if not (np.isfinite(ratio) and ratio > 0):
        return None
    steps = _divide(_list_integers(a)[:, None], _list_integers(b)[None], ratio) - y.offsets[0]
    return SumForm({}, pairs=np.clip(steps, 0, LAST).astype(np.uint8))


def _list_integers(encoding: Encoding) -> Array:
    return np.arange(LAST + 1) + float(encoding.offsets[0])


def _divide(dividends: Array, divisors: Array, ratio: float) -> Array:
    """Dividends, which have the sign of the quotient, times the ratio of scales, times a reciprocal."""
    parts, units = _list_parts(np.copysign(1.0, divisors) * dividends)
    (factor,), (unit,) = _list_parts(np.array([ratio]))
    scaled = _multiply(parts, factor)
    inverse, inverse_units = _list_parts(invert_wide(np.maximum(np.abs(divisors), 1.0)))
    # One over a power of two is exact, and others are more than their bits say.
    more = np.where(inverse == 1 << (FACTOR_BITS - 1), 0.0, ABOVE)
    quotients = np.ceil(scaled * inverse / (1 << FACTOR_BITS) + more)
    # A product that lost so many bits twice.
    steps = np.floor(quotients * units * unit * inverse_units * 4.0**FACTOR_BITS + 0.5)
    # What is divided by nothing goes to the ends of the range.
    limits = np.where(dividends < 0, -2.0 * LAST, 2.0 * LAST)
    return np.asarray(np.where(divisors == 0, limits, steps))


def _list_parts(numbers: Array) -> tuple[Array, Array]:
    """Whole numbers of 15 bits and a sign, and what one of them stands for."""
    mantissas, exponents = np.frexp(numbers)
    # As a number of two's complement minus a power of two has one bit more.
    exponents = exponents - (mantissas == -0.5)
    units = np.exp2(exponents.astype(np.float64) - FACTOR_BITS)
    return np.floor(numbers / units + 0.5), units


def _multiply(first: Array, second: Array) -> Array:
    return np.asarray(np.floor(first * second / (1 << FACTOR_BITS) + 0.5))
