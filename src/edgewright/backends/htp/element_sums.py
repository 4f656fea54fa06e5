"""Ops of 8 bits that compute element by element, as HTP rounds them; encodings are plain (`is_byte`)."""

from collections.abc import Callable

import numpy as np

from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.byte_quotients import divide_bytes
from edgewright.backends.htp.flat_values import is_rounded_once
from edgewright.backends.htp.number_tables import find_number, is_beside_table, read_number
from edgewright.backends.htp.requantize import (
    BENT_PARTS,
    add_number,
    find_rescaling,
    is_byte,
    shift_down,
)
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.passes.htp.separate_gates import find_gated

# A product's multiplier has so many bits, and at most so many of them lie below a step.
PRODUCT_BITS, MOST_SHIFT = 15, 22
# What is taken off a product, so that it fits 16 bits, is a multiple of this.
CENTRE_UNIT = 256
# Bits of what is added to a product, of which the lower half is lost.
ADDED_BITS, LOST_BITS = 30, 15
# Of the slopes of a Prelu, which the steepest fills.
SLOPE_BITS = 15
LAST = 255


def multiply_values(graph: Graph, node: Node) -> SumForm | None:
    """Operands may be constants, of 8 bits as well."""
    types = [graph.types[value] for value in (*node.inputs, *node.outputs)]
    if not all(map(is_byte, types)):
        return None
    gated = find_gated(graph, node)
    if gated:
        return _tabulate(graph, node, gated, lambda x: x / (1 + np.exp(-x)))
    number = find_number(graph, node)
    if number:
        # A table of all results, unless it is positive.
        return _scale_values(graph, node, number) if read_number(graph, number) > 0 else None
    a, b, y = (kind.encoding for kind in types if kind.encoding is not None)
    steps = _multiply(a, b, y)
    whole = {name: Encoding((1.0,), e.offsets) for name, e in zip(node.inputs, (a, b), strict=True)}
    return None if steps is None else SumForm(whole, {}, steps)


def _multiply(a: Encoding, b: Encoding, y: Encoding) -> tuple[Step, ...] | None:
    """Steps from products of whole numbers to steps of the output."""
    factor = a.scales[0] * b.scales[0] / y.scales[0]
    if not (np.isfinite(factor) and 0 < factor < 1 << PRODUCT_BITS):
        return None
    middles = [2 * encoding.offsets[0] + LAST for encoding in (a, b)]
    centre = CENTRE_UNIT * int(np.floor(middles[0] * middles[1] / 2 / CENTRE_UNIT + 0.5))
    shift = min(MOST_SHIFT, PRODUCT_BITS - 1 - int(np.floor(np.log2(factor))))
    if abs(centre * factor - y.offsets[0]) >= 2.0 ** (ADDED_BITS - shift):
        shift -= 1
    while np.floor(factor * 2.0**shift + 0.5) >= 1 << PRODUCT_BITS:
        shift -= 1
    whole = float(np.floor(factor * 2.0**shift + 0.5))
    exact = centre * whole - y.offsets[0] * 2.0**shift
    added = np.floor(exact / (1 << LOST_BITS) + 0.5) * (1 << LOST_BITS)
    # Half a step more: the sum is cut, not rounded.
    return shift_down(np.asarray(whole / 2.0**shift), np.asarray((added - exact) / 2.0**shift + 0.5))


def divide_values(graph: Graph, node: Node) -> SumForm | None:
    """A quotient by a positive number is a product with its reciprocal; of one number it is a plain table."""
    first, second = node.inputs
    number = find_number(graph, node)
    if number == second and read_number(graph, number) > 0:
        return _scale_values(graph, node, number, is_quotient=True)
    return None if first in (second, number) else divide_bytes(graph, node)


def _tabulate(graph: Graph, node: Node, value: str, function: Callable[[Array], Array]) -> SumForm | None:
    """All results of an input of 8 bits, each rounded once, halves to the even one."""
    x, y = (graph.types[name].encoding for name in (value, node.outputs[0]))
    if x is None or y is None:
        return None
    with np.errstate(over="ignore"):
        real = function((np.arange(LAST + 1) + float(x.offsets[0])) * x.scales[0])
    stored = np.clip(np.rint(real / y.scales[0]) - y.offsets[0], 0, LAST)
    return SumForm({value: x}, table=stored.astype(np.uint8))


def _scale_values(graph: Graph, node: Node, number: str, *, is_quotient: bool = False) -> SumForm | None:
    """Values times one number only get another scale."""
    value = next(name for name in node.inputs if name != number)
    x, y = (graph.types[name].encoding for name in (value, node.outputs[0]))
    if x is None or y is None:
        return None
    real = read_number(graph, number)
    if is_beside_table(graph, value, node.outputs[0]):
        return _tabulate(graph, node, value, lambda x: x / real if is_quotient else x * real)
    way = find_rescaling(x.scales[0] * (1 / real if is_quotient else real) / y.scales[0])
    if way is None:
        return None
    factor = 1 / way.factor if is_quotient else way.factor
    constants = {number: np.full(graph.constants[number].shape, factor, np.float32)}
    added = way.half_up if is_rounded_once(graph, value, node.outputs[0]) else way.added
    return SumForm({value: Encoding((1.0,), x.offsets)}, constants, (add_number(added),))


def choose_values(graph: Graph, node: Node) -> SumForm | None:
    """Maxima and minima; those with one number are a table of all results, rounded in the ordinary way."""
    return None if find_number(graph, node) else move_values(graph, node)


def move_values(graph: Graph, node: Node) -> SumForm | None:
    """Values that get the scale of the output, each from its own."""
    y = graph.types[node.outputs[0]].encoding
    inputs, constants, shifts = dict[str, Encoding](), dict[str, Array](), dict[str, float]()
    for value in filter(None, node.inputs):
        x = graph.types[value].encoding
        if x is None or y is None or not is_byte(graph.types[value]):
            return None
        way = find_rescaling(x.scales[0] / y.scales[0])
        if way is None:
            return None
        inputs[value] = Encoding((way.factor,), x.offsets)
        if x.scales != y.scales:
            shifts[value] = way.added
        if value in graph.constants:
            real = inputs[value].decode(graph.constants[value])
            constants[value] = real + np.float32(shifts.get(value, 0))
    return SumForm(inputs, constants, shifts=shifts)


def bend_values(graph: Graph, node: Node) -> SumForm | None:
    """Numbers below zero have factors of their own: products with slopes of 15 bits, cut.

    With one slope there is a table of all results.
    """
    value, slope = node.inputs
    x, slopes, y = (graph.types[name].encoding for name in (value, slope, node.outputs[0]))
    if x is None or y is None or slopes is None or slope not in graph.constants:
        return None
    real = slopes.decode(graph.constants[slope]).astype(np.float64)
    if real.size == 1:
        return _tabulate(
            graph, node, value, lambda numbers: np.where(numbers < 0, real.item() * numbers, numbers)
        )
    # Of all that slopes could be.
    pairs = zip(slopes.scales, slopes.offsets, strict=True)
    steepest = max(scale * max(-offset, LAST + offset) for scale, offset in pairs)
    ratio = float(np.float32(x.scales[0]) / np.float32(y.scales[0]))
    way, fine = (find_rescaling(ratio, BENT_PARTS, reach) for reach in (max(1.0, steepest), 1.0))
    if way is None or fine is None:
        return None
    # Slopes that are all zero have any unit.
    unit = 2.0 ** (np.floor(np.log2(steepest or 1.0)) - SLOPE_BITS + 1)
    given, made = (2.0 ** min(SLOPE_BITS, rescaling.bits) for rescaling in (fine, way))
    straight, factor = (np.floor(ratio * parts + 0.5) / parts for parts in (made, given))
    bent = np.floor(factor * made * np.floor(real / unit + 0.5) * unit) / made
    constants = {slope: (bent / straight).astype(np.float32)}
    return SumForm({value: Encoding((straight,), x.offsets)}, constants, (add_number(way.added),))


def negate_values(graph: Graph, node: Node) -> SumForm | None:
    """Brought to the scale of the output like values that are moved."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None or x.scales[0] == y.scales[0]:
        return None
    way = find_rescaling(x.scales[0] / y.scales[0])
    if way is None:
        return None
    return SumForm({node.inputs[0]: Encoding((way.factor,), x.offsets)}, {}, (add_number(way.added),))
