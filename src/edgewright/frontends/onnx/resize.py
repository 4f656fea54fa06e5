"""ONNX Resize and Upsample: QNN's resizing ops where they say the same, else one exact map for each axis."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, isfinite

import numpy as np

from edgewright.core.errors import BadInput
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.resize_axis import (
    AxisMap,
    Rule,
    emit_axis_maps,
    name_nearest,
    name_transformation,
)
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.windows import add_height, drop_height, read_int, read_ints, read_text
from edgewright.ir.dims import Dim, Expr
from edgewright.ops.axes import normal_axis
from edgewright.ops.resize import Resize, ResizeBilinear, ResizeNearestNeighbor, Resizing
from edgewright.ops.resize_axis import Interpolation, Nearest, Transformation, nearest_places, positions

MODES = ("nearest", "linear", "bilinear", "cubic", "bicubic")
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
POLICIES = ("stretch", "not_larger", "not_smaller")
# Scales are taken as ratios of small numbers where the size they multiply is symbolic.
LARGEST_DENOMINATOR = 64


@dataclass(frozen=True)
class _Request:
    """What is asked of one axis; the scale is None where it is that of the sizes."""

    axis: int
    length: Dim
    wanted: Dim
    scale: float | None
    roi: tuple[float, float] = (0.0, 1.0)

    @property
    def is_idle(self) -> bool:
        return self.length == self.wanted and self.scale in {None, 1.0} and self.roi == (0.0, 1.0)


@onnx_op("Upsample", "Resize", since=7)
def upsample(ctx: Context, node: SourceNode) -> str:
    """Before opset 11: scales, coordinates divided by them, cut to the element below."""
    rule = Rule(read_text(node, "mode", "nearest", MODES), "asymmetric", "floor")
    if node.has("scales"):
        scales = [float(number) for number in node.need("scales")]
    else:
        scales = [float(number) for number in ctx.read_array(node.input(1)).reshape(-1)]
    return _emit(ctx, node, rule, _from_scales(ctx, node, range(ctx.rank(node.inputs[0])), scales))


@onnx_op("Resize", since=11)
def resize(ctx: Context, node: SourceNode) -> str:
    """Scales or sizes for all or some axes, all coordinate modes."""
    rule = Rule(
        read_text(node, "mode", "nearest", MODES),
        read_text(node, "coordinate_transformation_mode", "half_pixel", COORDINATES),
        read_text(node, "nearest_mode", "round_prefer_floor", NEAREST),
        cubic=float(node.attr("cubic_coeff_a", -0.75)),
        exclude_outside=bool(read_int(node, "exclude_outside", 0)),
        is_antialias=bool(read_int(node, "antialias", 0)),
        extrapolation=float(node.attr("extrapolation_value", 0.0)),
    )
    rank = ctx.rank(node.inputs[0])
    axes = [normal_axis(axis, rank) for axis in read_ints(node, "axes", tuple(range(rank)))]
    scales = ctx.read_array(node.input(2)).reshape(-1) if node.input(2) else np.zeros(0)
    if scales.size:
        requests = _from_scales(ctx, node, axes, [float(number) for number in scales])
    elif node.input(3):
        requests = _from_sizes(ctx, node, axes)
    else:
        raise BadInput("neither scales nor sizes are given", node.where, do="export the model again")
    if rule.coordinates == "tf_crop_and_resize":
        requests = _with_roi(ctx, node, requests)
    return _emit(ctx, node, rule, requests)


def _from_scales(
    ctx: Context, node: SourceNode, axes: Sequence[int], scales: Sequence[float]
) -> list[_Request]:
    if len(scales) != len(axes) or not all(isfinite(scale) and scale > 0 for scale in scales):
        raise BadInput(
            f"scales {list(scales)}, expected {len(axes)} positive numbers",
            node.where,
            do="export the model again",
        )
    requests = []
    for axis, scale in zip(axes, scales, strict=True):
        length = ctx.shape(node.inputs[0])[axis]
        requests.append(_Request(axis, length, _scale_length(node, length, scale), scale))
    return requests


def _scale_length(node: SourceNode, length: Dim, scale: float) -> Dim:
    if isinstance(length, int):
        return floor(np.float32(length) * np.float32(scale))
    ratio = Fraction(scale).limit_denominator(LARGEST_DENOMINATOR)
    if float(ratio) != scale:
        raise NeedsValue(node.inputs[0])
    return length * ratio.numerator // ratio.denominator


def _from_sizes(ctx: Context, node: SourceNode, axes: Sequence[int]) -> list[_Request]:
    sizes = ctx.read_dims(node.input(3))
    if len(sizes) != len(axes):
        raise BadInput(
            f"sizes {list(sizes)}, expected {len(axes)} numbers", node.where, do="export the model again"
        )
    policy = read_text(node, "keep_aspect_ratio_policy", "stretch", POLICIES)
    lengths = [ctx.shape(node.inputs[0])[axis] for axis in axes]
    if policy == "stretch":
        return [_Request(a, n, size, None) for a, n, size in zip(axes, lengths, sizes, strict=True)]
    if any(isinstance(dim, Expr) or dim < 1 for dim in (*lengths, *sizes)):
        raise NeedsValue(node.inputs[0])
    ratios = [int(size) / int(length) for size, length in zip(sizes, lengths, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [_Request(a, n, floor(scale * int(n) + 0.5), scale) for a, n in zip(axes, lengths, strict=True)]


def _with_roi(ctx: Context, node: SourceNode, requests: list[_Request]) -> list[_Request]:
    roi = [float(number) for number in ctx.read_array(node.input(1)).reshape(-1)] if node.input(1) else []
    count = len(requests)
    if len(roi) != 2 * count:
        raise BadInput(
            f"roi has {len(roi)} numbers, expected {2 * count}",
            node.where,
            do="give a start and an end for each axis",
        )
    return [replace(request, roi=(roi[index], roi[index + count])) for index, request in enumerate(requests)]


def _emit(ctx: Context, node: SourceNode, rule: Rule, requests: Sequence[_Request]) -> str:
    x, busy = node.inputs[0], [request for request in requests if not request.is_idle]
    if not busy:
        return x
    _check_sizes(node, busy)
    if len({request.axis for request in busy}) != len(busy):
        raise BadInput("an axis is resized twice", node.where, do="name every axis once")
    if rule.is_plain and all(_is_exact(request) for request in busy):
        axes = {request.axis for request in busy}
        if ctx.rank(x) in {3, 4, 5} and min(axes) >= 2:
            return _emit_resize(ctx, x, rule, busy)
        if ctx.rank(x) == 4 and axes <= {1, 2}:
            return _emit_last(ctx, x, rule, busy)
    if any(isinstance(dim, Expr) for request in busy for dim in (request.length, request.wanted)):
        raise NeedsValue(x)
    maps = [AxisMap(r.axis, int(r.length), int(r.wanted), r.scale, r.roi) for r in busy]
    return emit_axis_maps(ctx, node, x, rule, maps)


def _check_sizes(node: SourceNode, requests: Sequence[_Request]) -> None:
    for request in requests:
        if any(isinstance(dim, int) and dim < 1 for dim in (request.length, request.wanted)):
            raise BadInput(
                f"axis {request.axis} goes from {request.length} to {request.wanted}, expected at least 1",
                node.where,
                do="resize to at least one element",
            )


def _is_exact(request: _Request) -> bool:
    """Whether the scale is what QNN finds from the sizes."""
    if request.scale is None:
        return True
    if isinstance(request.length, int) and isinstance(request.wanted, int):
        return float(np.float32(request.wanted / request.length)) == float(np.float32(request.scale))
    return request.scale == floor(request.scale)


def _emit_resize(ctx: Context, x: str, rule: Rule, requests: Sequence[_Request]) -> str:
    """Channel last and back; one spatial axis becomes two."""
    rank = ctx.rank(x)
    flat = add_height(ctx, x)
    size = list(ctx.shape(flat)[2:])
    for request in requests:
        size[request.axis - rank] = request.wanted
    op = _choose_op(rule, ctx.shape(flat)[2:], tuple(size))
    return drop_height(ctx, ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(flat))), rank)


def _emit_last(ctx: Context, x: str, rule: Rule, requests: Sequence[_Request]) -> str:
    """Already channel last."""
    size = list(ctx.shape(x)[1:3])
    for request in requests:
        size[request.axis - 1] = request.wanted
    return ctx.emit(_choose_op(rule, ctx.shape(x)[1:3], tuple(size)), x)


def _choose_op(rule: Rule, lengths: Sequence[Dim], size: tuple[Dim, ...]) -> Resizing:
    mode = name_transformation(rule)
    if mode == Transformation.PYTORCH_HALF_PIXEL and all(isinstance(n, int) and n > 1 for n in size):
        mode = Transformation.HALF_PIXEL
    classic = len(size) == 2 and mode != Transformation.PYTORCH_HALF_PIXEL
    flags = {
        "align_corners": mode == Transformation.ALIGN_CORNERS,
        "half_pixel_centers": mode == Transformation.HALF_PIXEL,
    }
    if classic and rule.interpolation == Interpolation.LINEAR:
        return ResizeBilinear(size=size, **flags)
    if classic and rule.interpolation == Interpolation.NEAREST:
        same = ResizeNearestNeighbor(size=size, **flags)
        if _is_same_choice(rule, same, lengths, size):
            return same
    return Resize(
        size=size,
        exclude_outside=rule.exclude_outside,
        transformation_mode=mode,
        interpolation_mode=rule.interpolation,
        nearest_mode=name_nearest(rule),
        cubic_coeff=rule.cubic,
    )


def _is_same_choice(
    rule: Rule, op: ResizeNearestNeighbor, lengths: Sequence[Dim], size: Sequence[Dim]
) -> bool:
    """Whether the classic op's way of rounding picks the elements that are asked for."""
    theirs, ours = op.rule().nearest, name_nearest(rule)
    if theirs == ours:
        return True
    if not all(isinstance(dim, int) and dim < 1 << 16 for dim in (*lengths, *size)):
        return False
    return all(
        _list_places(int(n), int(m), op.rule().transformation, theirs)
        == _list_places(int(n), int(m), op.rule().transformation, ours)
        for n, m in zip(lengths, size, strict=True)
    )


def _list_places(length: int, wanted: int, mode: Transformation, nearest: Nearest) -> list[int]:
    found: list[int] = nearest_places(positions(length, wanted, mode), nearest, length).tolist()
    return found
