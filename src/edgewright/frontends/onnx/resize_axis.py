"""One axis of an ONNX Resize as an exact map of its elements: a Gather, or a product with a matrix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from edgewright.core.errors import LimitExceeded
from edgewright.core.numbers import Array, DType
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import take_along
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.matmul import MatMul
from edgewright.ops.resize_axis import (
    Interpolation,
    Nearest,
    Transformation,
    antialias_weights,
    cubic_weights,
    linear_weights,
    nearest_places,
    positions,
    weight_matrix,
)

LARGEST_MATRIX = 1 << 24
# What QNN has no name for is near enough to one of these for everything but the coordinates.
PLAIN = {mode.name.lower(): mode for mode in Transformation}
INTERPOLATIONS = {
    "nearest": Interpolation.NEAREST,
    "linear": Interpolation.LINEAR,
    "bilinear": Interpolation.LINEAR,
    "cubic": Interpolation.CUBIC,
    "bicubic": Interpolation.CUBIC,
}


@dataclass(frozen=True)
class Rule:
    """How a Resize resizes, in ONNX's words."""

    mode: str
    coordinates: str
    nearest: str
    cubic: float = -0.75
    exclude_outside: bool = False
    is_antialias: bool = False
    extrapolation: float = 0.0

    @property
    def interpolation(self) -> Interpolation:
        """The mode as QNN calls it."""
        return INTERPOLATIONS[self.mode]

    @property
    def is_plain(self) -> bool:
        """Whether QNN's parameters can say it."""
        return self.coordinates in PLAIN and not self.is_antialias


@dataclass(frozen=True)
class AxisMap:
    """One axis: its length, the wanted one, the scale where it is not their ratio, the part looked at."""

    axis: int
    length: int
    wanted: int
    scale: float | None
    roi: tuple[float, float]


def name_transformation(rule: Rule) -> Transformation:
    """The coordinate mode as QNN calls it."""
    return PLAIN[rule.coordinates]


def name_nearest(rule: Rule) -> Nearest:
    """The rounding as QNN calls it."""
    return Nearest[rule.nearest.upper()]


def emit_axis_maps(ctx: Context, node: SourceNode, x: str, rule: Rule, maps: Sequence[AxisMap]) -> str:
    """The axes one after the other; integers are interpolated as floats."""
    dtype = ctx.dtype(x)
    is_by_matrix = rule.interpolation != Interpolation.NEAREST or rule.coordinates == "tf_crop_and_resize"
    is_cast = is_by_matrix and not dtype.is_float
    value = ctx.emit(Cast(dtype=DType.FLOAT_32), x) if is_cast else x
    for item in maps:
        if max(item.wanted, item.wanted * item.length if is_by_matrix else 0) > LARGEST_MATRIX:
            raise LimitExceeded(
                f"axis {item.axis} is resized from {item.length} to {item.wanted}, too large for this mode",
                node.where,
                do="use coordinate mode half_pixel, asymmetric or align_corners without antialias",
            )
        if is_by_matrix:
            value = _resize_by_matrix(ctx, value, rule, item)
        else:
            places = nearest_places(_list_coordinates(rule, item), name_nearest(rule), item.length)
            value = take_along(ctx, value, places.tolist(), item.axis)
    return ctx.emit(Cast(dtype=dtype), value) if is_cast else value


def _resize_by_matrix(ctx: Context, value: str, rule: Rule, item: AxisMap) -> str:
    """Elements outside the part looked at get the extrapolation value, which later axes leave as it is."""
    at = _list_coordinates(rule, item)
    matrix = _make_matrix(rule, item, at)
    is_outside = (at < 0) | (at > item.length - 1)
    is_cut = rule.coordinates == "tf_crop_and_resize" and bool(is_outside.any())
    if is_cut:
        matrix[is_outside] = 0
    result = _apply_matrix(ctx, value, matrix.astype(ctx.dtype(value).numpy), item.axis)
    if not is_cut:
        return result
    shape = [1] * ctx.rank(value)
    shape[item.axis] = item.wanted
    bias = np.where(is_outside, rule.extrapolation, 0).astype(ctx.dtype(value).numpy).reshape(shape)
    return ctx.emit(ElementWiseAdd(), result, ctx.add_constant(bias))


def _apply_matrix(ctx: Context, value: str, matrix: Array, axis: int) -> str:
    """The matrix along an axis; the last two need no transpose."""
    rank = ctx.rank(value)
    if axis == rank - 1 and rank > 1:
        return ctx.emit(MatMul(), value, ctx.add_constant(np.ascontiguousarray(matrix.T)))
    if axis == rank - 2:
        return ctx.emit(MatMul(), ctx.add_constant(matrix), value)
    if rank == 1:
        row = ctx.reshape(value, (1, *ctx.shape(value)))
        return ctx.reshape(_apply_matrix(ctx, row, matrix, 1), (len(matrix),))
    order = (*range(axis), *range(axis + 1, rank), axis)
    back = (*range(axis), rank - 1, *range(axis, rank - 1))
    return ctx.transpose(_apply_matrix(ctx, ctx.transpose(value, order), matrix, rank - 1), back)


def _make_matrix(rule: Rule, item: AxisMap, at: Array) -> Array:
    if rule.interpolation == Interpolation.NEAREST:
        matrix = np.zeros((item.wanted, item.length))
        matrix[np.arange(item.wanted), nearest_places(at, name_nearest(rule), item.length)] = 1
        return matrix
    weights: Callable[[Array], Array] = linear_weights
    reach = 1.0
    if rule.interpolation == Interpolation.CUBIC:
        weights, reach = partial(cubic_weights, coefficient=rule.cubic), 2.0
    if rule.is_antialias:
        scale = item.wanted / item.length if item.scale is None else item.scale
        weights, wider = antialias_weights(weights, scale)
        reach *= wider
    return weight_matrix(at, item.length, weights, reach, exclude_outside=rule.exclude_outside)


def _list_coordinates(rule: Rule, item: AxisMap) -> Array:
    """The input coordinate of each output element, for ONNX's own modes too."""
    scale = np.float32(item.wanted / item.length if item.scale is None else item.scale)
    x = np.arange(item.wanted, dtype=np.float32)
    half = np.float32(0.5)
    if rule.coordinates == "tf_half_pixel_for_nn":
        return (x + half) / scale
    if rule.coordinates == "half_pixel_symmetric":
        shrunk = item.wanted / (float(scale) * item.length)
        return np.float32(item.length / 2 * (1 - shrunk)) + (x + half) / scale - half
    if rule.coordinates == "tf_crop_and_resize":
        start, end = (np.float32(number) * np.float32(item.length - 1) for number in item.roi)
        if item.wanted == 1:
            return np.asarray([(start + end) / 2], np.float32)
        return start + x * (end - start) / np.float32(item.wanted - 1)
    return positions(item.length, item.wanted, PLAIN[rule.coordinates], item.scale)
