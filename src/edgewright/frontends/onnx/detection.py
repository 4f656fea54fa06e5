"""ONNX boxes and regions: NonMaxSuppression, RoiAlign, MaxRoiPool."""

from math import isfinite

import numpy as np

from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.foreign import keep_as_source_op
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import take_along
from edgewright.frontends.onnx.windows import read_int, read_ints, read_text
from edgewright.ir.dims import symbol
from edgewright.ops.cast import Cast
from edgewright.ops.detection import NonMaxSuppression
from edgewright.ops.detection_roi import RoiAlign, RoiPooling
from edgewright.ops.matmul import MatMul

# (x centre, y centre, width, height) times this is (y1, x1, y2, x2).
FROM_CENTRE = [[0, 1, 0, 1], [1, 0, 1, 0], [0, -0.5, 0, 0.5], [-0.5, 0, 0.5, 0]]
LOWEST = float(np.finfo(np.float32).min)
LARGEST_COUNT = (1 << 31) - 1


@onnx_op("NonMaxSuppression", since=10)
def non_max_suppression(ctx: Context, node: SourceNode) -> str:
    """As many rows as are kept: their number is a symbol of its own."""
    boxes, scores = node.inputs[:2]
    limit = int(_number(ctx, node, 2, 0))
    if limit < 1:
        return ctx.add_constant(np.zeros((0, 3), np.int64))
    if read_int(node, "center_point_box", 0):
        matrix = np.asarray(FROM_CENTRE).astype(ctx.dtype(boxes).numpy)
        boxes = ctx.emit(MatMul(), boxes, ctx.add_constant(matrix))
    op = NonMaxSuppression(
        iou_threshold=_number(ctx, node, 3, 0.0),
        score_threshold=_number(ctx, node, 4, LOWEST),
        max_boxes_selected=min(limit, LARGEST_COUNT),
        count=symbol(ctx.graph.fresh_name(f"{node.label}_count")),
        dtype=DType.INT_64,
    )
    return ctx.emit(op, boxes, scores)


@onnx_op("RoiAlign", since=10)
def roi_align(ctx: Context, node: SourceNode) -> str | list[str]:
    """Channel last and back. QNN has no maximum of samples: that mode stays a source op."""
    if read_text(node, "mode", "avg", ("avg", "max")) == "max":
        return keep_as_source_op(ctx, node)
    default = "half_pixel" if node.version >= 16 else "output_half_pixel"
    mode = read_text(node, "coordinate_transformation_mode", default, ("half_pixel", "output_half_pixel"))
    samples = read_int(node, "sampling_ratio", 0)
    op = RoiAlign(
        img_size_ratio=_read_ratio(node),
        size=(read_int(node, "output_height", 1), read_int(node, "output_width", 1)),
        num_samples_y=samples if samples > 0 else -1,
        num_samples_x=samples if samples > 0 else -1,
        aligned=mode == "half_pixel",
    )
    x, regions, images = node.inputs[:3]
    return ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(x), regions, _narrow(ctx, images)))


@onnx_op("MaxRoiPool")
def max_roi_pool(ctx: Context, node: SourceNode) -> str:
    """Channel last and back; the image's index stands before the corners."""
    size = read_ints(node, "pooled_shape")
    x, regions = node.inputs[:2]
    if len(size) != 2 or ctx.rank(regions) != 2 or ctx.shape(regions)[1] != 5:
        raise BadInput(
            f"regions {ctx.type(regions)} and pooled_shape {list(size)}, expected [n,5] and two sizes",
            node.where,
            do="export the model again",
        )
    images = ctx.reshape(take_along(ctx, regions, (0,), 1), ctx.shape(regions)[:1])
    op = RoiPooling(img_size_ratio=_read_ratio(node), size=(size[0], size[1]))
    corners = take_along(ctx, regions, (1, 2, 3, 4), 1)
    return ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(x), corners, _narrow(ctx, images)))


def _number(ctx: Context, node: SourceNode, index: int, default: float) -> float:
    if not node.input(index):
        return default
    found = ctx.read_array(node.input(index)).reshape(-1)
    if found.size != 1 or np.isnan(found[0]):
        raise BadInput(
            f"input {index} is {found.tolist()[:4]}, expected one number", node.where, do="give one number"
        )
    return float(np.clip(found[0], LOWEST, -LOWEST))


def _read_ratio(node: SourceNode) -> tuple[float, float]:
    scale = node.attr("spatial_scale", 1.0)
    if not isinstance(scale, float) or not isfinite(scale) or scale <= 0:
        raise BadInput(
            f"spatial_scale is {scale!r}, expected a positive number", node.where, do="export the model again"
        )
    return 1 / scale, 1 / scale


def _narrow(ctx: Context, images: str) -> str:
    return images if ctx.dtype(images) == DType.INT_32 else ctx.emit(Cast(dtype=DType.INT_32), images)
