"""TensorFlow's suppression of boxes."""

import numpy as np

from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to, read_number
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ir.dims import symbol
from edgewright.ops.detection import CombinedNms, NonMaxSuppression
from edgewright.ops.gather import Gather

LOWEST = float(np.finfo(np.float32).min)


@tf_op("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3")
def non_max_suppression(ctx: Context, node: SourceNode) -> str:
    """The places of the boxes that are kept, best first: their number is a symbol of its own."""
    boxes, scores, limit = node.need(0, 1, 2)
    most = int(read_number(ctx, limit))
    if most < 1:
        return ctx.add_constant(np.zeros(0, np.int32))
    op = NonMaxSuppression(
        iou_threshold=_overlap(ctx, node),
        score_threshold=_number(ctx, node, 4, LOWEST),
        max_boxes_selected=most,
        count=symbol(ctx.graph.fresh_name(f"{node.label}_count")),
        dtype=DType.INT_64,
    )
    rows = ctx.emit(
        op, ctx.reshape(boxes, (1, *ctx.shape(boxes))), ctx.reshape(scores, (1, 1, *ctx.shape(scores)))
    )
    picked = ctx.emit(Gather(axis=1), rows, ctx.add_constant(np.asarray([2], np.int64)))
    return cast_to(ctx, ctx.reshape(picked, ctx.shape(rows)[:1]), DType.INT_32)


@tf_op("CombinedNonMaxSuppression")
def combined(ctx: Context, node: SourceNode) -> list[str]:
    """Class by class, the best of all; the numbers of those kept come last."""
    boxes, scores, per_class, total, overlap, lowest = node.need(0, 1, 2, 3, 4, 5)
    count = int(read_number(ctx, total))
    op = CombinedNms(
        max_num_boxes=count,
        max_boxes_per_class=int(read_number(ctx, per_class)),
        max_total_boxes=count,
        iou_threshold=float(read_number(ctx, overlap)),
        score_threshold=float(read_number(ctx, lowest)),
        pad_per_class=node.attributes.flag("pad_per_class"),
        clip_boxes=node.attributes.flag("clip_boxes", default=True),
    )
    return ctx.emit_all(op, boxes, scores)


def _overlap(ctx: Context, node: SourceNode) -> float:
    if node.op == "NonMaxSuppression":
        return node.attributes.real("iou_threshold", 0.5)
    return _number(ctx, node, 3, 0.5)


def _number(ctx: Context, node: SourceNode, place: int, default: float) -> float:
    if place >= len(node.inputs):
        return default
    found = float(read_number(ctx, node.inputs[place]))
    if np.isnan(found):
        raise BadInput(f"input {place} is no number", node.where, do="give a number")
    return float(np.clip(found, LOWEST, -LOWEST))
