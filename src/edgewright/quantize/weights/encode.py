"""Encodings of weights and biases."""

from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.traits import Roles
from edgewright.quantize.encodings import Grid, encode_blocks
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.pins import Origin, Pin, Placed
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.rules import FIRST_WITH_WIDE_WEIGHTS
from edgewright.quantize.schemes import Adjusted, MinMax

LARGEST_BIAS = (1 << 31) - 1


def get_weight_bits(request: QuantizationRequest) -> int:
    """The width of weights that nothing else is said of: old processors have no 16-bit ones."""
    is_old = request.architecture is not None and request.architecture < FIRST_WITH_WIDE_WEIGHTS
    return 8 if is_old and request.weight_bw == 16 else request.weight_bw


def place_weight(array: Array, roles: Roles, request: QuantizationRequest, pin: Pin | None) -> Placed:
    """How weights are stored: as they are pinned, in blocks, by channels, or with one encoding."""
    is_sliced = request.per_channel if roles.is_convolution else request.per_row
    axis = roles.axis if is_sliced else None
    if pin is not None and pin.placed is not None and not _is_replaced(pin, axis):
        return pin.placed
    bits = get_weight_bits(request) if pin is None else pin.bits
    if request.block_size and bits == 4 and roles.block_axis is not None and roles.axis is not None:
        encoding = encode_blocks(array, roles.axis, roles.block_axis, request.block_size)
        return Placed(DType.SFIXED_POINT_8, encoding)
    grid = request.make_weight_grid(bits, is_sliced=axis is not None)
    scheme = request.weight_scheme
    if isinstance(scheme, Adjusted) and bits != 8:
        scheme = MinMax()
    statistics = Histogram.of(array, axis) if scheme.needs_histogram else Extremes.of(array, axis)
    chosen = scheme.choose_ranges(statistics, grid)
    return Placed(grid.dtype, grid.encode_range(chosen.low, chosen.high, axis))


def compute_product_scales(left: Placed, right: Placed, channels: int) -> Array | None:
    """The scales of products of two operands, one or one for each channel; None where one is float."""
    if left.encoding is None or right.encoding is None:
        return None
    scales = np.asarray(right.encoding.scales, np.float64) * left.encoding.scales[0]
    if scales.size in {1, channels}:
        return scales
    # Filters of a transposed convolution in groups: the channels of each group have the same scales.
    return np.tile(scales, channels // scales.size) if channels % scales.size == 0 else None


def fit_to_bias(weights: Placed, scales: Array | None, bias: Array) -> tuple[Placed, bool]:
    """Weights with scales large enough for a 32-bit bias; and whether they had to be raised."""
    encoding = weights.encoding
    if scales is None or encoding is None or encoding.block_scales or bias.size % scales.size:
        return weights, False
    needed = np.abs(bias.astype(np.float64)) / LARGEST_BIAS
    rows = needed.max(keepdims=True) if scales.size == 1 else needed
    factors = np.maximum(rows / scales, 1.0)
    if not (factors > 1).any():
        return weights, False
    raised = np.asarray(encoding.scales) * factors.reshape(-1, len(encoding.scales)).max(0)
    return replace(weights, encoding=replace(encoding, scales=tuple(raised.tolist()))), True


def place_bias(array: Array, scales: Array | None, request: QuantizationRequest, pin: Pin | None) -> Placed:
    """How a bias is stored: with the scale of the products it is added to, or with its own in 8 bits."""
    if pin is not None and pin.placed is not None:
        return pin.placed
    bits = request.bias_bw if pin is None else pin.bits
    if bits == 32 and scales is not None:
        axis = None if scales.size == 1 else 0
        encoding = Encoding(tuple(scales.tolist()), (0,) * scales.size, axis, 32)
        return Placed(DType.SFIXED_POINT_32, encoding)
    grid = Grid(bits, is_symmetric=bits == 32)
    extremes = Extremes.of(array)
    return Placed(grid.dtype, grid.encode_range(extremes.low, extremes.high))


def _is_replaced(pin: Pin, axis: int | None) -> bool:
    """The guide: encodings a channel replace those that the source model brought for the whole weight."""
    assert pin.placed is not None
    is_whole = pin.placed.encoding is not None and pin.placed.encoding.axis is None
    return axis is not None and pin.origin == Origin.SOURCE and is_whole
