"""Means, as HTP rounds them."""

from dataclasses import replace
from typing import cast

import numpy as np

from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.half_means import IMAGE_AXES, IMAGE_RANK
from edgewright.backends.htp.requantize import (
    COARSE_BITS,
    FINE_BITS,
    Multiplier,
    cut_sums,
    is_wide,
    multiplier,
    shift_down,
)
from edgewright.backends.htp.wide_elements import ROUND_UP
from edgewright.backends.htp.wide_functions import keep_bits
from edgewright.backends.htp.wide_moves import rescale_wide
from edgewright.backends.htp.wide_products import WIDE_BITS, cut_wide, split_input
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.reduce import ReduceMean, ReduceSum

# The average pool that has a kernel of its own, size and stride; odd squares that are moved by one place.
HALVING, ONE, THREE = ((2, 2), (2, 2)), (1, 1), 3
# Of pools of 3 x 3 places of 16 bits.
SMOOTHING_WEIGHT = 32
# Between these ratios of scales a pool that halves an image is rounded to parts of a step first.
HALVED_RATIOS = (0.5, 2.0)
# Sums of 16 and of 8 bits have a factor that is a little smaller than it should be; below this ratio those of
# 16 bits go up.
SMALLER, SMALLER_BYTE, SMALL_RATIO = 1 - 1e-5, 1 - 2.0**-15, 0.5


def average_places(graph: Graph, node: Node) -> SumForm | None:
    """Odd squares moved by one place are sums of products, 2 x 2 are rounded to a part of a step first."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    op, image = cast("PoolAvg2d", node.op), graph.types[node.inputs[0]].shape[1:3]
    if x is None or y is None:
        return None
    places, wide = int(np.prod(op.filter_size)), is_wide(graph.types[node.inputs[0]])
    is_padded, is_smoothing = any(map(any, op.pad_amount)), _is_smoothing(op, is_wide=wide)
    if is_padded and not (op.count_pad_for_edges and is_smoothing and not op.is_ceil()):
        return None
    if is_smoothing and (is_padded or op.filter_size != image):
        return (_smooth_wide if wide else _smooth)(x, y, node.inputs[0], places)
    if op.filter_size != image and (op.filter_size, op.stride) == HALVING:
        return _average(x, y, node.inputs[0], places, _find_parts(x.scales[0] / y.scales[0]))
    return _average_wide(graph, node, places) if wide else _average(x, y, node.inputs[0], places)


def _is_smoothing(op: PoolAvg2d, *, is_wide: bool) -> bool:
    """Whether a pool is computed as a convolution: of 16 bits that is known of 3 x 3 places."""
    height, width = op.filter_size
    is_known = height == THREE if is_wide else height >= THREE
    return height == width and height % 2 == 1 and is_known and op.stride == ONE


def _find_parts(ratio: float) -> float:
    """What is added by rounding to parts of a step first: as much as half a part."""
    is_parted = HALVED_RATIOS[0] <= ratio < HALVED_RATIOS[1]
    return float(2.0 ** (np.floor(np.log2(ratio)) - 5)) if is_parted else 0.0


def _smooth(x: Encoding, y: Encoding, value: str, places: int) -> SumForm | None:
    """As a convolution."""
    factor = multiplier(x.scales[0], np.asarray([1 / places]), y.scales[0], COARSE_BITS)
    if factor is None:
        return None
    cut = Step("Mul", factor.cut[0].astype(np.float32))
    steps = (*_sum_whole(places), cut, *cut_sums((factor.value / factor.cut)[0]))
    return SumForm({value: Encoding((1.0,), x.offsets)}, {}, steps)


def _smooth_wide(x: Encoding, y: Encoding, value: str, places: int) -> SumForm | None:
    """As a convolution of bytes, with the same weight at each place."""
    ratio = np.float32(x.scales[0]) / np.float32(y.scales[0])
    factor = multiplier(float(ratio), np.asarray([1 / places / SMOOTHING_WEIGHT]), 1.0, WIDE_BITS)
    if factor is None:
        return None
    single = Multiplier(factor.value[0], factor.exponent[0], factor.exact[0])
    total = np.asarray(places * SMOOTHING_WEIGHT, np.float64)
    wide = replace(split_input(x, total, is_cut=True), before=_sum_whole(places * SMOOTHING_WEIGHT))
    return SumForm({value: x}, steps=cut_wide(single, x, total, np.asarray(0.0)), wide=wide)


def average_axes(graph: Graph, node: Node) -> SumForm | None:
    """A mean along axes; only those over whole images are not sums like others."""
    x, y = (graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    if x.encoding is None or y.encoding is None or not x.is_static:
        return None
    axes, places = cast("ReduceMean", node.op).axes, _count_places(graph, node)
    if places == 1 or _is_whole_image(x.static_shape(), axes):
        if is_wide(x):
            return _average_wide(graph, node, places)
        return _average(x.encoding, y.encoding, node.inputs[0], places)
    return _add_up(x, y.encoding, node.inputs[0], places, is_mean=True)


def _count_places(graph: Graph, node: Node) -> int:
    """How many numbers become one."""
    shape = graph.types[node.inputs[0]].static_shape()
    return int(np.prod([shape[axis] for axis in cast("ReduceMean | ReduceSum", node.op).axes]))


def _is_whole_image(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether all places of images are averaged; fewer axes than four are the last ones of an image."""
    first = IMAGE_RANK - len(shape)
    averaged = {axis + first for axis in axes if shape[axis] > 1}
    return averaged == {axis for axis in IMAGE_AXES if axis >= first and shape[axis - first] > 1}


def sum_axes(graph: Graph, node: Node) -> SumForm | None:
    """A sum along axes."""
    x, y = (graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    if x.encoding is None or y.encoding is None or not x.is_static:
        return None
    places = _count_places(graph, node)
    return _add_up(x, y.encoding, node.inputs[0], places)


def _add_up(x: TensorType, y: Encoding, value: str, places: int, *, is_mean: bool = False) -> SumForm | None:
    """Sums times a factor of 15 bits: of a large one what the offsets add goes up, small words do."""
    if x.encoding is None:
        return None
    ratio = float(np.float32(x.encoding.scales[0]) / np.float32(y.scales[0])) / (places if is_mean else 1)
    if not (np.isfinite(ratio) and ratio > 0):
        return None
    smaller, least = (SMALLER, 1.0) if is_wide(x) else (SMALLER_BYTE, 0.5)
    factor = keep_bits(ratio * smaller)
    offset = places * x.encoding.offsets[0] * factor
    added = np.asarray(least if ratio < SMALL_RATIO else np.ceil(offset) - offset + 0.5)
    scaled = (Step("Mul", np.asarray(factor)), Step("Add", added), *ROUND_UP[1:])
    whole = (Step("Mul", np.asarray(float(places))), Step("Round")) if is_mean else ()
    return SumForm({value: Encoding((1.0,), x.encoding.offsets)}, {}, (*whole, *scaled), factors={value: 1.0})


def _average_wide(graph: Graph, node: Node, places: int) -> SumForm | None:
    """Products lose as many bits as the number of places has, rounded, before they become steps."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    if places == 1:
        return SumForm({}, tables={node.inputs[0]: rescale_wide(x, y)})
    factor = multiplier(x.scales[0], np.asarray([1 / max(places, 1)]), y.scales[0], FINE_BITS)
    if factor is None:
        return None
    added = 2.0 ** (np.floor(np.log2(places)) + factor.exponent[0] - FINE_BITS + 1)
    return _average(x, y, node.inputs[0], places, float(added))


def _average(x: Encoding, y: Encoding, value: str, places: int, added: float = 0.0) -> SumForm | None:
    """The whole sum times a factor of 15 bits, halves up."""
    factor = multiplier(x.scales[0], np.asarray([1 / max(places, 1)]), y.scales[0], FINE_BITS)
    if factor is None:
        return None
    steps = (*_sum_whole(places), *shift_down(factor.value[0], np.asarray(0.5 + added)))
    return SumForm({value: Encoding((1.0,), x.offsets)}, {}, steps)


def _sum_whole(places: int) -> tuple[Step, ...]:
    """Means of whole numbers as sums, which are whole numbers again."""
    return Step("Mul", np.asarray(places, np.float32)), Step("Round")
