"""Conversions between encodings, as HTP rounds them: a table of all results."""

import numpy as np

from edgewright.backends.cpu.sums import SumForm
from edgewright.backends.htp.requantize import find_rescaling, is_byte
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType

# Of 16 bits: bits of the factor, at most so many of them below a step, and how many of these are lost
# before offsets are added.
FACTOR_BITS, MOST_BITS, LOST_BITS = 15, 22, 15


def convert_values(graph: Graph, node: Node) -> SumForm | None:
    """What becomes 8 bits from 8 or 16; None for all else."""
    x, y = (graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    if x.encoding is None or y.encoding is None or not is_byte(y) or node.inputs[0] in graph.constants:
        return None
    results = _find_results(x, y.encoding)
    if results is None:
        return None
    stored = np.clip(results, 0, 255).astype(np.uint8)
    return SumForm({node.inputs[0]: x.encoding}, table=stored)


def _find_results(x: TensorType, y: Encoding) -> Array | None:
    """The integer of each integer, before it is clamped."""
    assert x.encoding is not None
    if is_byte(x):
        return _rescale(x.encoding, y)
    is_wide = x.dtype == DType.UFIXED_POINT_16 and x.encoding.axis is None and x.encoding.bitwidth == 16
    return _narrow(x.encoding, y) if is_wide else None


def _rescale(x: Encoding, y: Encoding) -> Array | None:
    """Like values that are moved."""
    way = find_rescaling(x.scales[0] / y.scales[0])
    if way is None or x.scales == y.scales:
        return None
    whole = np.arange(1 << 8) + float(x.offsets[0])
    return np.asarray(np.floor(whole * way.factor + way.added + 0.5) - y.offsets[0])


def _narrow(x: Encoding, y: Encoding) -> Array | None:
    """Products lose 15 bits, what the offsets add has none of these, and then all is cut to a step."""
    ratio = x.scales[0] / y.scales[0]
    if not (np.isfinite(ratio) and 0 < ratio < 1):
        return None
    bits = min(MOST_BITS, FACTOR_BITS - 1 - int(np.ceil(np.log2(ratio))))
    factor = np.floor(ratio * 2.0**bits + 0.5)
    offset = factor * (x.offsets[0] - 1) - (y.offsets[0] - 0.5) * 2.0**bits
    parts = np.ceil(offset / (1 << LOST_BITS) - 0.5)
    products = np.floor(factor * (np.arange(1 << 16) + 1) / (1 << LOST_BITS) + 0.5)
    return np.asarray(np.floor((products + parts) / 2.0 ** (bits - LOST_BITS)))
