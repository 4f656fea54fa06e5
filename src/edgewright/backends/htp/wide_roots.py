"""Square roots of 16 bits, as HTP computes them: numbers times one over their root, of ten bits."""

import numpy as np

from edgewright.backends.cpu.sums import SumForm
from edgewright.backends.htp.wide_functions import INTEGERS, keep_bits, read_results
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node

# Numbers are brought to where the table begins, or to up to four times that; what the table has is in units.
FIRST, ROOT_UNIT = 1 << 14, 2.0**-17
# Bits of a product that are kept below the scale's exponent before it is rounded to a step.
PART_BITS = 16


def extract_roots(graph: Graph, node: Node) -> SumForm | None:
    """A table; numbers below zero, for which the library gives nonsense, have the root of 0."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    factor = keep_bits(float(np.sqrt(np.float32(x.scales[0])) / np.float32(y.scales[0])))
    whole = np.maximum(np.arange(INTEGERS) + float(x.offsets[0]), 0)
    halvings = np.floor((15 - np.floor(np.log2(np.maximum(whole, 1)))) / 2)
    part = np.exp2(np.floor(np.log2(factor)) - PART_BITS - halvings)
    products = whole * np.exp2(halvings) * _find_inverse(whole * np.exp2(2 * halvings)) * factor
    steps = np.floor(np.floor(products / part + 0.5) * part + 0.5) - y.offsets[0]
    return SumForm({node.inputs[0]: x}, table=np.clip(steps, 0, INTEGERS - 1).astype(np.uint16))


def _find_inverse(numbers: Array) -> Array:
    """One over the root of numbers that the table has, and of 0."""
    places = np.maximum(numbers.astype(np.int64) - FIRST, 0)
    return np.asarray(read_results()["Root"][places] * ROOT_UNIT)
