"""Ops of 16 bits that compute element by element, as HTP rounds them."""

import numpy as np

from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.requantize import away_from_zero
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node

# The larger factor of a sum has so many bits.
SUM_BITS = 15
# A product's factor has at most so many bits, and so many of them below a step; this many of those are lost
# in what is added for the offsets.
PRODUCT_BITS, MOST_SHIFT, LOST_BITS = 31, 34, 31
LAST = 65535
ROUND_UP = (Step("Add", np.asarray(0.5)), Step("Floor"), Step("Cast", to=DType.FLOAT_32))


def add_wide(graph: Graph, node: Node) -> SumForm | None:
    """Operands times whole factors with as many bits below a step; nothing else is lost, halves go up."""
    a, b, y = (graph.types[value].encoding for value in (*node.inputs, *node.outputs))
    if a is None or b is None or y is None or node.inputs[0] == node.inputs[1]:
        return None
    ratios = (np.array([a.scales[0], b.scales[0]], np.float32) / np.float32(y.scales[0])).astype(np.float64)
    bits = SUM_BITS - 1 - int(np.floor(np.log2(ratios.max())))
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
    return SumForm(whole, constants, ROUND_UP, factors=factors)


def multiply_wide(graph: Graph, node: Node) -> SumForm | None:
    """Products of whole numbers times one factor, halves up; only what the offsets add is rounded before."""
    a, b, y = (graph.types[value].encoding for value in (*node.inputs, *node.outputs))
    if a is None or b is None or y is None:
        return None
    ratio = float(np.float32(a.scales[0]) * np.float32(b.scales[0]) / np.float32(y.scales[0]))
    if not (np.isfinite(ratio) and ratio > 0):
        return None
    bits = min(MOST_SHIFT, PRODUCT_BITS - 1 - int(np.floor(np.log2(ratio))))
    whole = int(np.rint(ratio * 2.0**bits))
    added = _round_centre(a, b, whole) / 2.0**bits
    steps = (Step("Mul", np.asarray(whole / 2.0**bits)), Step("Add", np.asarray(added)), *ROUND_UP)
    inputs = {value: Encoding((1.0,), e.offsets) for value, e in zip(node.inputs, (a, b), strict=True)}
    constants = {
        value: graph.constants[value].astype(np.float64) + e.offsets[0]
        for value, e in inputs.items()
        if value in graph.constants
    }
    return SumForm(inputs, constants, steps, factors=dict.fromkeys(inputs, 1.0))


def _round_centre(a: Encoding, b: Encoding, factor: int) -> int:
    """What rounding the middle of all products adds to each of them, in parts of a step."""
    centre = ((2 * a.offsets[0] + LAST) * (2 * b.offsets[0] + LAST) + 1) // 2
    exact, unit = centre * factor, 1 << LOST_BITS
    # It passes through float32.
    return int(np.floor(float(np.float32(exact / unit)) + 0.5)) * unit - exact
