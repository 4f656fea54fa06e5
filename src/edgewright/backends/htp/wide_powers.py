"""Exp and Elu of 16 bits, as HTP computes them: powers of two from a table, times a factor of the output.

`python -m tests.native.wide_functions` asks the genuine emulator for the table.
"""

from typing import cast

import numpy as np

from edgewright.backends.cpu.sums import SumForm
from edgewright.backends.htp.wide_functions import INTEGERS, keep_bits, read_results
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import Elu

# Places of the table in an exponent of one, and what stands for one in powers and factors.
PLACE_BITS, POWER_BITS = 16, 15


def raise_powers(graph: Graph, node: Node) -> SumForm | None:
    """Powers of e: all is cut."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    steps = _find_powers(x, np.float32(1) / np.float32(y.scales[0])) - y.offsets[0]
    return SumForm({node.inputs[0]: x}, table=np.clip(steps, 0, INTEGERS - 1).astype(np.uint16))


def compute_elu(graph: Graph, node: Node) -> SumForm | None:
    """Elu: powers less its height below zero, in whole steps; a factor above it, cut."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    height = np.float32(cast("Elu", node.op).alpha) * (np.float32(1) / np.float32(y.scales[0]))
    whole = np.arange(INTEGERS) + float(x.offsets[0])
    # The unit of a result is the power of two that the factor is below.
    factor = keep_bits(float(np.float32(x.scales[0]) / np.float32(y.scales[0])))
    unit = 2.0 ** np.frexp(factor)[1]
    above = np.floor(whole * factor / unit) * unit
    # What is left of the zero point without the height is cut towards nothing.
    below = _find_powers(x, height) + np.trunc(-y.offsets[0] - float(height))
    steps = np.where(whole < 0, below, above - y.offsets[0])
    return SumForm({node.inputs[0]: x}, table=np.clip(steps, 0, INTEGERS - 1).astype(np.uint16))


def _find_powers(x: Encoding, height: np.float32) -> Array:
    """Powers of e with each input, times a number of steps, cut."""
    whole = np.arange(INTEGERS) + float(x.offsets[0])
    scale = float(np.float32(x.scales[0])) / np.log(2)
    distances = np.floor(np.abs(whole) * keep_bits(scale * (1 << PLACE_BITS))).astype(np.int64)
    octaves, places = distances >> PLACE_BITS, distances & ((1 << PLACE_BITS) - 1)
    is_negative, last = whole < 0, (1 << PLACE_BITS) - 1
    table = read_results()["Exp"]
    # What is above an octave is read as what is below the next; where none is, it is exact.
    upper = np.where(places == 0, 1 << (POWER_BITS - 1), table[(last + 1 - places) & last])
    powers = np.where(is_negative, table[places], upper)
    exponents = np.where(is_negative, -octaves, octaves + 1)
    mantissa, exponent = np.frexp(height)
    products = powers * int(np.rint(float(mantissa) * (1 << POWER_BITS))) >> POWER_BITS
    return np.asarray(np.floor(np.ldexp(products.astype(np.float64), exponents + exponent - POWER_BITS)))
