"""Custom ops of TFLite that detectors and segmenters use."""

import struct
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to, emit_slice, read_number
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.detection import DetectionOutput, NmsKind, NonMaxSuppression
from edgewright.ops.elementwise import ElementWiseLess, ElementWiseSelect
from edgewright.ops.gather import Gather

SCALES = ("y_scale", "x_scale", "h_scale", "w_scale")
# As MediaPipe stores it: padding (1 is SAME), stride along the width, stride along the height.
TRANSPOSED = "<iii"
PADDED_SAME = 1
MOST_BOXES = 1 << 20


@tflite_op("TFLite_Detection_PostProcess")
def detection_postprocess(ctx: Context, node: SourceNode) -> list[str]:
    """Boxes decoded from anchors and suppressed; a class before the model's own ones is background."""
    deltas, scores, anchors = node.need(0, 1, 2)
    options = _Options(node)
    kinds, count = options.number("num_classes"), options.number("max_detections")
    shape = ctx.sizes(scores)
    if not 1 <= kinds <= shape[-1] or count < 1:
        raise BadInput(f"{kinds} classes and {count} boxes are asked of {ctx.type(scores)}", node.where)
    is_regular = options.truth("use_regular_nms")
    if not is_regular and options.number("max_classes_per_detection") > 1:
        raise ctx.refuse(node, "several classes of one box")
    op = DetectionOutput(
        delta_scaling_factors=tuple(float(options.value(name)) for name in SCALES),
        confidence_threshold=float(options.value("nms_score_threshold")),
        iou_threshold=float(options.value("nms_iou_threshold")),
        nms_type=NmsKind.REGULAR if is_regular else NmsKind.FAST,
        use_bg_in_nms=True,
        detection_limit=options.number("detections_per_class", 100) if is_regular else -1,
        max_num_boxes=count,
    )
    own = emit_slice(ctx, scores, [(0, shape[0], 1), (0, shape[1], 1), (shape[2] - kinds, shape[2], 1)])
    made, boxes, classes, number = ctx.emit_all(op, own, deltas, anchors)
    return [boxes, cast_to(ctx, classes, DType.FLOAT_32), made, cast_to(ctx, number, DType.FLOAT_32)]


@tflite_op("NON_MAX_SUPPRESSION_V4")
def non_max_suppression(ctx: Context, node: SourceNode) -> list[str]:
    """Places of the boxes that are kept, filled up with zeros, and how many there are."""
    places, number, _ = _emit_suppression(ctx, node)
    return [places, number]


@tflite_op("NON_MAX_SUPPRESSION_V5")
def soft_non_max_suppression(ctx: Context, node: SourceNode) -> list[str]:
    """With the scores of the boxes that are kept; scores that only decay are not QNN's."""
    sigma = read_number(ctx, node.need(5)[0])
    if sigma:
        raise ctx.refuse(node, f"scores decay with sigma {sigma}, expected 0")
    places, number, limit = _emit_suppression(ctx, node)
    scores = ctx.emit(Gather(axis=0), node.inputs[1], places)
    is_kept = ctx.emit(ElementWiseLess(), ctx.add_constant(np.arange(limit, dtype=np.int32)), number)
    kept = ctx.emit(ElementWiseSelect(), is_kept, scores, ctx.add_scalar(0.0, scores))
    return [places, kept, number]


@tflite_op("Convolution2DTransposeBias")
def convolution_transpose_bias(ctx: Context, node: SourceNode) -> str:
    """MediaPipe's transposed convolution: its size follows from the stride."""
    x, filters, bias = node.need(0, 1, 2)
    data = bytes(node.operator.custom_options)
    if len(data) < struct.calcsize(TRANSPOSED):
        raise BadInput(f"{len(data)} bytes of options, expected {struct.calcsize(TRANSPOSED)}", node.where)
    padding, width, height = struct.unpack_from(TRANSPOSED, data)
    size = ctx.sizes(filters)[1:3]
    if min(width, height) < 1 or len(size) != 2:
        raise BadInput(f"strides {height} and {width} of {ctx.type(filters)} do not fit", node.where)
    stride = (height, width)
    totals = [max(0, n - step) if padding == PADDED_SAME else 0 for n, step in zip(size, stride, strict=True)]
    op = TransposeConv2d(
        stride=stride, pad_amount=tuple((total // 2, total - total // 2) for total in totals)
    )
    return ctx.emit(op, x, ctx.turned(filters, (1, 2, 3, 0)), bias)


def _emit_suppression(ctx: Context, node: SourceNode) -> tuple[str, str, int]:
    """Places, their number, and how many there can be."""
    boxes, scores, *numbers = node.need(0, 1, 2, 3, 4)
    limit, overlap, least = (read_number(ctx, value) for value in numbers)
    count = ctx.sizes(scores)[0]
    if ctx.sizes(boxes) != (count, 4) or not 1 <= limit <= MOST_BOXES:
        raise BadInput(f"{limit} of the boxes {ctx.type(boxes)} are asked for", node.where)
    op = NonMaxSuppression(
        iou_threshold=float(overlap),
        score_threshold=float(least),
        max_boxes_selected=int(limit),
        count=int(limit),
    )
    operands = ctx.reshape(boxes, (1, count, 4)), ctx.reshape(scores, (1, 1, count))
    rows, number = ctx.emit_all(op, *operands)
    places = emit_slice(ctx, rows, [(0, int(limit), 1), (2, 3, 1)])
    found = cast_to(ctx, ctx.reshape(number, ()), DType.INT_32)
    return ctx.reshape(places, (int(limit),)), found, int(limit)


class _Options:
    """The map that a custom op carries."""

    def __init__(self, node: SourceNode) -> None:
        self._where = node.where
        self._data = bytearray(node.operator.custom_options)

    def value(self, name: str, default: Any = None) -> Any:
        """A number; an error where there is none and no default."""
        try:
            found = flexbuffers.GetRoot(self._data).AsMap
            if default is not None and name not in {key.AsKey for key in found.Keys}:
                return default
            return found[name].AsFloat
        except Exception as problem:  # whatever damaged bytes make the package raise
            raise BadInput(
                f"option '{name}' cannot be read ({type(problem).__name__})",
                self._where,
                do="export the model again",
            ) from None

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number."""
        return int(self.value(name, default))

    def truth(self, name: str) -> bool:
        """A boolean that is false where it is left out."""
        return bool(self.value(name, 0))
