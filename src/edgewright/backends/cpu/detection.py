"""Boxes and regions for the engine."""

import numpy as np

from edgewright.backends.cpu.empties import refuse_empty
from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.writer import ENGINE_CODES, Writer
from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ops.detection import NonMaxSuppression
from edgewright.ops.detection_roi import RoiAlign, RoiPooling, RoiRegions


@lowers(NonMaxSuppression)
def non_max_suppression(w: Writer, op: NonMaxSuppression, inputs: list[str], node: Node) -> str:
    """As many rows as are kept; a fixed number of them is the reference's."""
    if isinstance(op.count, int) or len(node.outputs) > 1:
        raise NotOnEngine
    result = w.node(
        "NonMaxSuppression",
        *inputs,
        w.constant(np.asarray([op.max_boxes_selected], np.int64)),
        w.constant(np.asarray([op.iou_threshold], np.float32)),
        w.constant(np.asarray([op.score_threshold], np.float32)),
    )
    return result if op.dtype == DType.INT_64 else w.node("Cast", result, to=ENGINE_CODES[op.dtype])


@lowers(RoiAlign)
def roi_align(w: Writer, op: RoiAlign, inputs: list[str], node: Node) -> str:
    """Channel first and back; the engine has one scale and one number of samples for both axes."""
    height, width = _numbers(op)
    if op.num_samples_x != op.num_samples_y:
        raise NotOnEngine
    result = w.node(
        "RoiAlign",
        w.channel_first(refuse_empty(w, inputs[0], w.type(node.inputs[0])), 4),
        inputs[1],
        w.node("Cast", inputs[2], to=ENGINE_CODES[DType.INT_64]),
        mode="avg",
        output_height=height,
        output_width=width,
        sampling_ratio=max(op.num_samples_x, 0),
        spatial_scale=1 / op.img_size_ratio[0],
        coordinate_transformation_mode="half_pixel" if op.aligned else "output_half_pixel",
    )
    return w.channel_last(result, 4)


@lowers(RoiPooling)
def roi_pooling(w: Writer, op: RoiPooling, inputs: list[str], node: Node) -> str:
    """Channel first and back; the engine wants each region's image before its corners."""
    height, width = _numbers(op)
    images = w.node("Cast", inputs[2], to=ENGINE_CODES[w.type(node.inputs[1]).dtype])
    column = w.node("Unsqueeze", images, w.constant(np.asarray([1], np.int64)))
    result = w.node(
        "MaxRoiPool",
        w.channel_first(refuse_empty(w, inputs[0], w.type(node.inputs[0])), 4),
        w.node("Concat", column, inputs[1], axis=1),
        pooled_shape=[height, width],
        spatial_scale=1 / op.img_size_ratio[0],
    )
    return w.channel_last(result, 4)


def _numbers(op: RoiRegions) -> tuple[int, int]:
    height, width = op.size
    if not (isinstance(height, int) and isinstance(width, int)) or len(set(op.img_size_ratio)) > 1:
        raise NotOnEngine
    return height, width
