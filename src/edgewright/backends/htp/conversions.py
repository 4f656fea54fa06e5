"""Conversions between encodings, as HTP rounds them: a table of all results."""

import numpy as np

from edgewright.backends.cpu.sums import SumForm
from edgewright.backends.htp.flat_values import is_cut_from_blocks
from edgewright.backends.htp.requantize import find_rescaling, is_byte, is_symmetric, is_wide
from edgewright.backends.htp.wide_moves import rescale_coarsely, rescale_wide
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType

# Of 16 bits: bits of the factor, at most so many of them below a step, and how many of these are lost
# before offsets are added.
FACTOR_BITS, MOST_BITS, LOST_BITS = 15, 22, 15
# Above this ratio of scales a factor has all of its bits below a step, and what is added is cut.
FINE_RATIO = 1 / 16
# Bits of the factor from 8 to 16 bits.
WIDENED_BITS = 16
# So many axes have the filters of a convolution.
IMAGE_AXES = 4


def convert_values(graph: Graph, node: Node) -> SumForm | None:
    """What becomes 8 or 16 bits from 8 or 16 of one encoding; None for all else."""
    x, y = (graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    if x.encoding is None or y.encoding is None or node.inputs[0] in graph.constants:
        return None
    is_coarse = is_wide(x) and is_cut_from_blocks(graph, node.inputs[0])
    results = (
        _find_signed(x, y.encoding, is_coarse=is_coarse)
        if is_symmetric(y)
        else _find_results(x, y, is_coarse=is_coarse)
    )
    if results is None:
        return None
    limits = np.iinfo(y.dtype.numpy)
    stored = np.clip(results, limits.min, limits.max).astype(y.dtype.numpy)
    return SumForm({node.inputs[0]: x.encoding}, table=stored)


def _find_results(x: TensorType, y: TensorType, *, is_coarse: bool) -> Array | None:
    """The integer of each integer, before it is clamped."""
    if x.encoding is None or y.encoding is None:
        return None
    if is_byte(x) and is_wide(y):
        return _widen(x.encoding, y.encoding) - y.encoding.offsets[0]
    if is_wide(x) and is_wide(y):
        return _move(x.encoding, y.encoding, is_coarse=is_coarse) - y.encoding.offsets[0]
    if not is_byte(y):
        return None
    if is_byte(x):
        return _rescale(x.encoding, y.encoding)
    has_16_bits = x.dtype == DType.UFIXED_POINT_16 and x.encoding.axis is None and x.encoding.bitwidth == 16
    return _narrow(x.encoding, y.encoding) if has_16_bits else None


def _move(x: Encoding, y: Encoding, *, is_coarse: bool) -> Array:
    """As values are moved; what a layer has just stored, as in blocks."""
    return rescale_coarsely(x, y) if is_coarse else rescale_wide(x, y)


def _find_signed(x: TensorType, y: Encoding, *, is_coarse: bool) -> Array | None:
    """Of 16 bits as values that are moved."""
    if x.encoding is None or not (is_byte(x) or is_wide(x)):
        return None
    return _move(x.encoding, y, is_coarse=is_coarse) if is_wide(x) else _widen(x.encoding, y)


def _widen(x: Encoding, y: Encoding) -> Array:
    """From 8 to 16 bits by a factor of 16 bits, halves up."""
    ratio = float(np.float32(x.scales[0]) / np.float32(y.scales[0]))
    unit = 2.0 ** (int(np.floor(np.log2(ratio))) - WIDENED_BITS + 1)
    whole = np.arange(1 << 8) + float(x.offsets[0])
    return np.asarray(np.floor(whole * (np.rint(ratio / unit) * unit) + 0.5))


def _rescale(x: Encoding, y: Encoding) -> Array | None:
    """Like values that are moved."""
    way = find_rescaling(x.scales[0] / y.scales[0])
    if way is None or x.scales == y.scales:
        return None
    whole = np.arange(1 << 8) + float(x.offsets[0])
    return np.asarray(np.floor(whole * way.factor + way.added + 0.5) - y.offsets[0])


def _narrow(x: Encoding, y: Encoding) -> Array | None:
    """Products lose 15 bits, what the offsets add has none of these, and then all is cut to a step.

    Steps that are finer than those of 16 bits are taken for as large as these.
    """
    ratio = min(x.scales[0] / y.scales[0], 1.0)
    if not ratio > 0:
        return None
    if ratio == 1:
        return np.arange(1 << 16) + float(x.offsets[0] - y.offsets[0])
    is_fine = ratio > FINE_RATIO
    bits = FACTOR_BITS if is_fine else min(MOST_BITS, FACTOR_BITS - 1 - int(np.ceil(np.log2(ratio))))
    factor = np.floor(ratio * 2.0**bits + 0.5)
    offset = factor * (x.offsets[0] - 1) - (y.offsets[0] - 0.5) * 2.0**bits
    parts = offset / (1 << LOST_BITS)
    added = np.ceil(parts - (1.0 if is_fine else 0.5))
    products = np.floor(factor * (np.arange(1 << 16) + 1) / (1 << LOST_BITS) + 0.5)
    return np.asarray(np.floor((products + added) / 2.0 ** (bits - LOST_BITS)))
