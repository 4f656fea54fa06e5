"""ONNX sampling: GridSample, AffineGrid, CropAndResize."""

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, ShapeMismatch
from edgewright.core.numbers import Array
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import MICROSOFT, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import emit_onnx_op
from edgewright.frontends.onnx.windows import read_int, read_text
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseAbs, ElementWiseFloor
from edgewright.ops.matmul import MatMul
from edgewright.ops.resize_sample import CropAndResize, CropMode, GridSample, Padding, SampleMode

MODES = {
    "linear": SampleMode.BILINEAR,
    "bilinear": SampleMode.BILINEAR,
    "nearest": SampleMode.NEAREST,
}
CUBIC = -0.75
LARGEST_GRID = 1 << 26


@onnx_op("GridSample", since=16)
def grid_sample(ctx: Context, node: SourceNode) -> str:
    """Channel last and back; cubic is sixteen nearest samples, weighted."""
    mode = read_text(node, "mode", "linear", (*MODES, "cubic", "bicubic"))
    padding = Padding[read_text(node, "padding_mode", "zeros", ("zeros", "border", "reflection")).upper()]
    is_aligned = bool(read_int(node, "align_corners", 0))
    x, grid = node.inputs[:2]
    if mode in MODES:
        op = GridSample(align_corners=is_aligned, mode=MODES[mode], padding_mode=padding)
        return emit_grid_sample(ctx, x, grid, op)
    if ctx.rank(x) != 4 or ctx.rank(grid) != 4:
        raise ctx.refuse(node, f"cubic sampling of rank {ctx.rank(x)}, expected 4")
    return _sample_cubic(ctx, node, padding, is_aligned=is_aligned)


@onnx_op("AffineGrid", since=20)
def affine_grid(ctx: Context, node: SourceNode) -> str:
    """All output places times each image's matrix."""
    theta, size = node.inputs[0], ctx.read_ints(node.inputs[1])
    axes = len(size) - 2
    if (
        axes not in {2, 3}
        or min(size) < 1
        or ctx.rank(theta) != 3
        or ctx.shape(theta)[1:] != (axes, axes + 1)
    ):
        raise ShapeMismatch(
            f"matrices {ctx.type(theta)} do not fit a grid of {list(size)}",
            node.where,
            do="give matrices [N,2,3] and a size [N,C,H,W], or [N,3,4] and [N,C,D,H,W]",
        )
    if np.prod([float(dim) for dim in size[2:]]) > LARGEST_GRID:
        raise LimitExceeded(f"a grid of {list(size)} is too large", node.where, do="lower the size")
    lines = [_list_line(length, is_aligned=bool(read_int(node, "align_corners", 0))) for length in size[2:]]
    places = np.meshgrid(*lines, indexing="ij")
    rows = np.stack([*(place.reshape(-1) for place in reversed(places)), np.ones(places[0].size)], 1)
    base = ctx.add_constant(rows[None].astype(ctx.dtype(theta).numpy))
    found = ctx.emit(MatMul(transpose_in1=True), base, theta)
    return ctx.reshape(found, (ctx.shape(theta)[0], *size[2:], axes))


@onnx_op("CropAndResize", domain=MICROSOFT)
def crop_and_resize(ctx: Context, node: SourceNode) -> str:
    """Channel last and back; the size must be known."""
    x, boxes, images, size = node.inputs[:4]
    mode = read_text(node, "mode", "bilinear", ("bilinear", "nearest"))
    op = CropAndResize(
        resize_dims=ctx.read_ints(size),
        interpolation_mode=CropMode.BILINEAR if mode == "bilinear" else CropMode.NEAREST_NEIGHBOR,
        extrapolation_value=float(node.attr("extrapolation_value", 0.0)),
    )
    return ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(x), boxes, images))


def emit_grid_sample(ctx: Context, x: str, grid: str, op: GridSample) -> str:
    """Samples of a channel-first value."""
    if ctx.dtype(x) != ctx.dtype(grid):
        grid = ctx.emit(Cast(dtype=ctx.dtype(x)), grid)
    return ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(x), grid))


def make_pixel_grid(ctx: Context, places: str, width: int, height: int) -> str:
    """Places (x, y) in elements as coordinates of a grid without aligned corners."""
    factor = np.asarray([2 / width, 2 / height]).astype(ctx.dtype(places).numpy)
    offset = np.asarray([1 / width - 1, 1 / height - 1]).astype(ctx.dtype(places).numpy)
    scaled = ctx.emit(ElementWiseMultiply(), places, ctx.add_constant(factor))
    return ctx.emit(ElementWiseAdd(), scaled, ctx.add_constant(offset))


def _sample_cubic(ctx: Context, node: SourceNode, padding: Padding, *, is_aligned: bool) -> str:
    """Nearest samples at the 4 x 4 elements around each place, times the cubic's weights, added up."""
    x, grid = node.inputs[:2]
    height, width = ctx.shape(x)[2:]
    if not (isinstance(height, int) and isinstance(width, int)):
        raise NeedsValue(x)
    if min(height, width) < 1:
        raise BadInput(f"{ctx.type(x)} has no elements", node.where, do="give an image of at least 1 x 1")
    n, rows, columns, _ = ctx.shape(grid)
    places = _unscale_grid(ctx, grid, (width, height), is_aligned=is_aligned)
    floors = ctx.emit(ElementWiseFloor(), places)
    inside = ctx.emit(ElementWiseSubtract(), places, floors)
    offsets = np.asarray([(dx, dy) for dy in range(-1, 3) for dx in range(-1, 3)], np.float64)
    shifts = ctx.add_constant(offsets.reshape(1, 16, 1, 1, 2).astype(ctx.dtype(grid).numpy))
    spread = (n, 1, rows, columns, 2)
    taps = ctx.emit(ElementWiseAdd(), ctx.reshape(floors, spread), shifts)
    distance = ctx.emit(ElementWiseSubtract(), ctx.reshape(inside, spread), shifts)
    op = GridSample(mode=SampleMode.NEAREST, padding_mode=padding)
    if is_aligned and padding == Padding.REFLECTION:
        # Reflection turns at the outermost elements where corners are aligned, half an element later else.
        op = GridSample(mode=SampleMode.NEAREST, padding_mode=padding, align_corners=True)
    flat = ctx.reshape(_scale_places(ctx, taps, (width, height), op), (n, rows * 16, columns, 2))
    found = emit_grid_sample(ctx, x, flat, op)
    parts = ctx.reshape(found, (n, ctx.shape(x)[1], 16, rows * columns))
    weights = ctx.reshape(_emit_cubic_weights(ctx, distance), (n, 1, 16, rows * columns))
    if ctx.dtype(weights) != ctx.dtype(parts):
        weights = ctx.emit(Cast(dtype=ctx.dtype(parts)), weights)
    product = ctx.emit(ElementWiseMultiply(), parts, weights)
    ones = ctx.add_constant(np.ones((1, 16), ctx.dtype(parts).numpy))
    return ctx.reshape(ctx.emit(MatMul(), ones, product), (n, ctx.shape(x)[1], rows, columns))


def _unscale_grid(ctx: Context, grid: str, size: tuple[int, int], *, is_aligned: bool) -> str:
    """Coordinates from -1 to 1 as places (x, y) in elements."""
    lengths = np.asarray(size, np.float64)
    factor = (lengths - 1) / 2 if is_aligned else lengths / 2
    dtype = ctx.dtype(grid).numpy
    scaled = ctx.emit(ElementWiseMultiply(), grid, ctx.add_constant(factor.astype(dtype)))
    return ctx.emit(ElementWiseAdd(), scaled, ctx.add_constant(((lengths - 1) / 2).astype(dtype)))


def _scale_places(ctx: Context, places: str, size: tuple[int, int], op: GridSample) -> str:
    if not op.align_corners:
        return make_pixel_grid(ctx, places, *size)
    lengths = np.maximum(np.asarray(size, np.float64) - 1, 1)
    factor = ctx.add_constant((2 / lengths).astype(ctx.dtype(places).numpy))
    scaled = ctx.emit(ElementWiseMultiply(), places, factor)
    return ctx.emit(ElementWiseAdd(), scaled, ctx.add_scalar(-1.0, places))


def _emit_cubic_weights(ctx: Context, distance: str) -> str:
    """Keys' cubic of both distances, multiplied: near and far are clamped so that their sum is the filter."""
    d = ctx.emit(ElementWiseAbs(), distance)
    near = ctx.emit(ElementWiseMinimum(), d, ctx.add_scalar(1.0, d))
    far = ctx.emit(
        ElementWiseMinimum(),
        ctx.emit(ElementWiseMaximum(), d, ctx.add_scalar(1.0, d)),
        ctx.add_scalar(2.0, d),
    )
    a = CUBIC
    inner = _emit_polynomial(ctx, near, (a + 2, -(a + 3), 0.0, 1.0))
    outer = _emit_polynomial(ctx, far, (a, -5 * a, 8 * a, -4 * a))
    both = ctx.emit(ElementWiseAdd(), inner, outer)
    x, y = (
        emit_onnx_op(ctx, "Gather", both, ctx.add_constant(np.asarray([i], np.int64)), axis=4) for i in (0, 1)
    )
    return ctx.emit(ElementWiseMultiply(), x, y)


def _emit_polynomial(ctx: Context, x: str, factors: tuple[float, ...]) -> str:
    result = ctx.add_scalar(factors[0], x)
    for factor in factors[1:]:
        result = ctx.emit(ElementWiseMultiply(), result, x)
        result = ctx.emit(ElementWiseAdd(), result, ctx.add_scalar(factor, x))
    return result


def _list_line(length: int, *, is_aligned: bool) -> Array:
    """Places from -1 to 1 along an axis."""
    if is_aligned:
        return np.linspace(-1, 1, length) if length > 1 else np.zeros(1)
    return (2 * np.arange(length) + 1) / length - 1
