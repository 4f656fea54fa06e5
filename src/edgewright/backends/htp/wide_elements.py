"""Ops of 16 bits that compute element by element, as HTP rounds them."""

import numpy as np

from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.requantize import away_from_zero
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node

# The larger factor of a sum has so many bits.
SUM_BITS = 15
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
