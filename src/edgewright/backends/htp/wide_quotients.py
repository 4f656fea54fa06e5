"""Quotients of 16 bits, as HTP rounds them: dividends of 15 bits times reciprocals of 14, by magnitude."""

import numpy as np

from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.flat_values import is_divided_in_blocks
from edgewright.backends.htp.wide_functions import read_results
from edgewright.backends.htp.wide_moves import find_positive, scale_coarsely
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node

INTEGERS = 1 << 16
# Bits of dividends and of the factor that scales them, those of divisors, and those of reciprocals.
DIVIDEND_BITS, DIVISOR_BITS, RECIPROCAL_BITS = 15, 16, 14
# What a dividend over nothing is multiplied with: it goes to the end of the range.
BEYOND = 2.0**64
# Halves of a step go away from zero; nothing else lies so close to one.
FARTHER = 1 + 2.0**-32


def divide_wide(graph: Graph, node: Node) -> SumForm | None:
    """Dividends in steps of the output over divisors, whose reciprocals lie beside the true ones."""
    first, second = node.inputs
    a, b, y = (graph.types[value].encoding for value in (first, second, node.outputs[0]))
    if a is None or b is None or y is None or first == second:
        return None
    number = find_positive(graph, second)
    if number and is_divided_in_blocks(graph, first, node.outputs[0]):
        return scale_coarsely(first, a, 1 / number, y)
    ratio = float(np.float32(a.scales[0]) / np.float32(b.scales[0]) / np.float32(y.scales[0]))
    if not (np.isfinite(ratio) and ratio > 0):
        return None
    dividends = scale_dividends(_list_integers(a), ratio) * FARTHER
    tables = {first: dividends, second: 1 / invert_wide(_list_integers(b))}
    constants = {value: tables[value][graph.constants[value]] for value in tables if value in graph.constants}
    steps = (Step("Round"), Step("Cast", to=DType.FLOAT_32))
    return SumForm({}, constants, steps, tables=tables)


def scale_dividends(whole: Array, ratio: float) -> Array:
    """Whole numbers cut to 15 bits, which they fill, times a factor of as many; products are rounded."""
    unit = np.exp2(_count_bits(whole) - DIVIDEND_BITS)
    exponent = int(np.floor(np.log2(ratio))) + 1
    factor = np.floor(ratio * 2.0 ** (DIVIDEND_BITS - exponent) + 0.5) / 2.0**DIVIDEND_BITS
    scaled = np.floor(np.floor(np.abs(whole) / unit) * factor + 0.5)
    return np.asarray(np.sign(whole) * scaled * unit * 2.0**exponent)


def invert_wide(whole: Array) -> Array:
    """One over whole numbers of up to 16 bits."""
    size = np.abs(whole)
    bits = _count_bits(whole)
    places = size * np.exp2(DIVISOR_BITS - bits) - (1 << (DIVISOR_BITS - 1))
    reciprocals = read_results()["Reciprocal"][np.maximum(places, 0).astype(np.int64)]
    inverse = reciprocals * np.exp2(1 - RECIPROCAL_BITS - bits)
    return np.asarray(np.where(size == 0, BEYOND, np.copysign(inverse, whole)))


def _list_integers(encoding: Encoding) -> Array:
    return np.arange(INTEGERS) + float(encoding.offsets[0])


def _count_bits(whole: Array) -> Array:
    return np.floor(np.log2(np.maximum(np.abs(whole), 1))) + 1
