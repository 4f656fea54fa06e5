"""Ops of 16 bits that compute element by element, as HTP rounds them."""

from dataclasses import dataclass
from math import prod

import numpy as np

from edgewright.backends.cpu.patterns import cast_op
from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.flat_values import is_blocked_sum, is_scaled_in_blocks
from edgewright.backends.htp.requantize import away_from_zero
from edgewright.backends.htp.wide_functions import UNIT_RANGE, find_sigmoid
from edgewright.backends.htp.wide_moves import find_positive, scale_coarsely
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import ElementWiseSubtract
from edgewright.passes.htp.separate_gates import find_gated, is_gated_wrongly

# The larger factor of a sum has so many bits.
SUM_BITS = 15
LARGEST_BLOCKED = (1 << SUM_BITS) - 1.4
# A product's factor has at most so many bits, and so many of them below a step; this many of those are lost
# in what is added for the offsets.
PRODUCT_BITS, MOST_SHIFT, LOST_BITS = 31, 34, 31
# Parts of a step that a gated product is rounded to first.
PARTS = 8
LAST = 65535
# An exponent that is stored as one of 65,536 integers.
SQUARE, EXPONENT_DIGITS = 2.0, 4
ROUND_UP = (Step("Add", np.asarray(0.5)), Step("Floor"), Step("Cast", to=DType.FLOAT_32))


def add_wide(graph: Graph, node: Node) -> SumForm | None:
    """Operands times whole factors with as many bits below a step; halves go up.

    What the offsets add loses its last bit, rounded up.
    """
    a, b, y = (graph.types[value].encoding for value in (*node.inputs, *node.outputs))
    if a is None or b is None or y is None or node.inputs[0] == node.inputs[1]:
        return None
    ratios = (np.array([a.scales[0], b.scales[0]], np.float32) / np.float32(y.scales[0])).astype(np.float64)
    bits = SUM_BITS - 1 - int(np.floor(np.log2(ratios.max())))
    # What is rounded up to a power of two has a bit less; in blocks what is close to it as well.
    largest = float(ratios.max()) * 2.0**bits
    is_close = largest > LARGEST_BLOCKED and is_blocked_sum(graph, node)
    bits -= int(is_close or away_from_zero(largest) >> SUM_BITS)
    factors = {
        value: away_from_zero(ratio * 2.0**bits) / 2.0**bits
        for value, ratio in zip(node.inputs, ratios.tolist(), strict=True)
    }
    whole = {value: Encoding((1.0,), e.offsets) for value, e in zip(node.inputs, (a, b), strict=True)}
    constants = {
        value: (graph.constants[value].astype(np.float64) + e.offsets[0]) * factors[value]
        for value, e in whole.items()
        if value in graph.constants
    }
    # A constant that is taken away from several places is turned round before: its last integer becomes 0.
    result, is_difference = graph.types[node.outputs[0]], cast_op(node, ElementWiseSubtract) is not None
    size = prod(result.static_shape()) if result.is_static and is_difference else 0
    spread = {value for value, array in constants.items() if size > array.size}
    offset = sum(
        int(factors[value] * 2.0**bits) * (e.offsets[0] + LAST * (value in spread))
        for value, e in whole.items()
    )
    added = offset % 2 / 2.0**bits
    steps = (Step("Add", np.asarray(0.5 + added)), *ROUND_UP[1:])
    return SumForm(whole, constants, steps, factors=factors)


@dataclass(frozen=True)
class WideFactor:
    """What products of whole numbers are multiplied with, and what is added to them, in steps."""

    value: float
    added: float


def multiply_wide(graph: Graph, node: Node) -> SumForm | None:
    """Products of whole numbers times one factor, halves up; a value times its own sigmoid is a table."""
    a, b, y = (graph.types[value].encoding for value in (*node.inputs, *node.outputs))
    if a is None or b is None or y is None:
        return None
    gated = find_gated(graph, node)
    if gated and not is_gated_wrongly(graph, gated):
        return _gate_values(graph, gated, y)
    if (scaled := _scale_in_blocks(graph, node, y)) is not None:
        return scaled
    ratio = np.float32(a.scales[0]) * np.float32(b.scales[0]) / np.float32(y.scales[0])
    factor = _find_factor(float(ratio), _find_middle(a, b))
    if factor is None:
        return None
    steps = (Step("Mul", np.asarray(factor.value)), Step("Add", np.asarray(factor.added)), *ROUND_UP)
    inputs = {value: Encoding((1.0,), e.offsets) for value, e in zip(node.inputs, (a, b), strict=True)}
    constants = {
        value: graph.constants[value].astype(np.float64) + e.offsets[0]
        for value, e in inputs.items()
        if value in graph.constants
    }
    return SumForm(inputs, constants, steps, factors=dict.fromkeys(inputs, 1.0))


def square_wide(graph: Graph, node: Node) -> SumForm | None:
    """A power of two: all products of a value with itself."""
    value, exponent = node.inputs
    x, y = (graph.types[name].encoding for name in (value, node.outputs[0]))
    is_square = round(find_positive(graph, exponent), EXPONENT_DIGITS) == SQUARE
    if x is None or y is None or not is_square or value in graph.constants:
        return None
    ratio = np.float32(x.scales[0]) * np.float32(x.scales[0]) / np.float32(y.scales[0])
    factor = _find_factor(float(ratio), _find_middle(x, x))
    if factor is None:
        return None
    steps = np.square(np.arange(LAST + 1) + float(x.offsets[0])) * factor.value + factor.added
    return SumForm({value: x}, table=np.clip(np.floor(steps + 0.5) - y.offsets[0], 0, LAST).astype(np.uint16))


def _scale_in_blocks(graph: Graph, node: Node, y: Encoding) -> SumForm | None:
    """A value in blocks times one positive number."""
    for value, other in (node.inputs, reversed(node.inputs)):
        x, number = graph.types[value].encoding, find_positive(graph, other)
        if x is None or not number or value in graph.constants:
            continue
        if is_scaled_in_blocks(graph, value, node.outputs[0]):
            return scale_coarsely(value, x, number, y)
    return None


def _find_middle(a: Encoding, b: Encoding) -> int:
    """The middle of all products."""
    return (2 * a.offsets[0] + LAST) * (2 * b.offsets[0] + LAST) // 2


def _find_factor(ratio: float, middle: int) -> WideFactor | None:
    """From products of steps to steps; what their middle adds is rounded by itself. None beyond float32."""
    if not (np.isfinite(ratio) and ratio > 0):
        return None
    bits = min(MOST_SHIFT, PRODUCT_BITS - 1 - int(np.floor(np.log2(ratio))))
    whole = int(np.rint(ratio * 2.0**bits))
    exact, unit = middle * whole, 1 << LOST_BITS
    added = (exact + unit // 2) // unit * unit - exact
    return WideFactor(whole / 2.0**bits, added / 2.0**bits)


def _gate_values(graph: Graph, value: str, y: Encoding) -> SumForm | None:
    """All results; the encoding of the sigmoid does not matter, and products are rounded to parts first.

    Here the middle of all products passes through float32.
    """
    x = graph.types[value].encoding
    if x is None:
        return None
    ratio = np.float32(x.scales[0]) * (np.float32(1) / np.float32(y.scales[0]))
    middle = int(np.float32(_find_middle(x, UNIT_RANGE)))
    factor = _find_factor(float(ratio) * UNIT_RANGE.scales[0], middle)
    if factor is None:
        return None
    products = (np.arange(LAST + 1) + float(x.offsets[0])) * find_sigmoid(x)
    steps = np.floor(products * factor.value + factor.added + 0.5 / PARTS + 0.5) - y.offsets[0]
    return SumForm({value: x}, table=np.clip(steps, 0, LAST).astype(np.uint16))
