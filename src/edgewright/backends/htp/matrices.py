"""Products of two matrices of 8 bits, as HTP rounds them."""

import numpy as np

from edgewright.backends.cpu.column_products import HIGHEST, LOWEST, ColumnProduct
from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.requantize import COARSE_BITS, cut_sums, multiplier, round_multiplier
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node

LARGEST = 255
# Scales of columns, from one on, have 12 bits; their reciprocals 16 below one.
UNITS, RECIPROCAL_BITS = 1 << 11, 16


def multiply_matrices(graph: Graph, node: Node) -> SumForm | None:
    """A product of two activations; columns of the second that fit no signed byte get their own scales."""
    operands = node.inputs[:2]
    if any(node.inputs[2:]) or any(value in graph.constants for value in operands):
        return None
    a, b, y = (graph.types[value].encoding for value in (*operands, *node.outputs))
    if a is None or b is None or y is None or operands[0] == operands[1]:
        return None
    if b.offsets[0] != LOWEST:
        columns = _scale_columns(a, b, y)
        return None if columns is None else SumForm({}, columns=columns)
    factor = multiplier(a.scales[0], np.asarray(b.scales), y.scales[0], COARSE_BITS)
    if factor is None:
        return None
    inputs = {value: Encoding((1.0,), e.offsets) for value, e in zip(operands, (a, b), strict=True)}
    cut = Step("Mul", factor.cut[0].astype(np.float32))
    return SumForm(inputs, {}, (cut, *cut_sums((factor.value / factor.cut)[0])))


def _scale_columns(a: Encoding, b: Encoding, y: Encoding) -> ColumnProduct | None:
    """The tables for all scales that a column of bytes may need."""
    f = np.float32
    scales = np.arange(UNITS, round(UNITS * LARGEST / HIGHEST) + 1) / UNITS
    with np.errstate(all="ignore"):
        unscaled = f(a.scales[0]) * f(b.scales[0]) / f(y.scales[0])
    factor = round_multiplier(unscaled * scales.astype(f), COARSE_BITS)
    if factor is None:
        return None
    one = 1 << RECIPROCAL_BITS
    zeros = (-a.offsets[0], -b.offsets[0])
    return ColumnProduct(
        zeros, UNITS, np.floor(one / scales + 0.5) / one, factor.cut, factor.value / factor.cut
    )
