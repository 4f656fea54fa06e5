"""Choosing boxes: non-maximum suppression in QNN's forms."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, register, scalar, structural, tensor
from edgewright.ir.traits import HtpPrecision
from edgewright.ir.types import TensorType


class NmsKind(IntEnum):
    """How thoroughly DetectionOutput suppresses."""

    FAST = 0
    REGULAR = 1


@register
@dataclass(frozen=True, kw_only=True)
class NonMaxSuppression(Op):
    """Rows (batch, class, box) of the boxes kept, best first within each class, and how many there are."""

    inputs = (Port("in[0]"), Port("in[1]"))
    outputs = (Port("out[0]"), Port("out[1]", is_required=False))

    iou_threshold: float = scalar(DType.FLOAT_32)
    score_threshold: float = scalar(DType.FLOAT_32, 0.0)
    max_boxes_selected: int = scalar(DType.UINT_32, 0)
    # How many rows there are: a number is filled up with zeros, a symbol is as many as are kept.
    count: Dim = structural()
    dtype: DType = structural(DType.INT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Rows of three, and one number."""
        boxes, scores = inputs
        if boxes.rank != 3 or scores.rank != 3 or boxes.shape[2] != 4:
            raise ShapeMismatch(
                f"boxes {boxes} and scores {scores} do not fit",
                do="give boxes [N,n,4] and scores [N,classes,n]",
            )
        return TensorType((self.count, 3), self.dtype), TensorType((1,), DType.UINT_32)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Class by class of each image."""
        boxes, scores = inputs
        rows = [
            (image, kind, box)
            for image in range(scores.shape[0])
            for kind in range(scores.shape[1])
            for box in suppressed(
                boxes[image],
                scores[image, kind],
                self.iou_threshold,
                self.score_threshold,
                self.max_boxes_selected,
            )
        ]
        found: Array = np.asarray(rows, self.dtype.numpy).reshape(-1, 3)
        kept = np.asarray([len(found)], np.uint32)
        if isinstance(self.count, int):
            filled = np.zeros((self.count, 3), self.dtype.numpy)
            filled[: len(found)] = found[: self.count]
            return filled, np.minimum(kept, np.uint32(self.count))
        return found, kept

    @classmethod
    def structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """Count and datatype are the output's."""
        return {"count": outputs[0].shape[0], "dtype": outputs[0].dtype}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Limited, and with a threshold."""
        boxes, scores = _some_boxes()
        limited = cls(iou_threshold=0.5, max_boxes_selected=2, score_threshold=-9.0, count=6)
        yield Sample("limited", limited, (boxes, scores))
        strict = cls(
            iou_threshold=0.1, score_threshold=0.4, max_boxes_selected=9, count=4, dtype=DType.INT_64
        )
        yield Sample("threshold", strict, (boxes, scores))


@dataclass(frozen=True, kw_only=True)
class _Detections(Op):
    """Ops that put out a fixed number of boxes an image; QNN reads the number off the output tensor."""

    outputs: ClassVar[tuple[Port, ...]] = tuple(Port(f"out[{index}]") for index in range(4))

    max_num_boxes: Dim = structural()

    def kept(self, boxes: TensorType, scores: TensorType, classes: DType) -> tuple[TensorType, ...]:
        """Boxes, scores, classes and the number of them."""
        if boxes.rank < 3 or scores.rank != 3 or boxes.shape[-1] != 4:
            raise ShapeMismatch(
                f"boxes {boxes} and scores {scores} do not fit",
                do="give boxes [N,n,...,4] and scores [N,n,classes]",
            )
        n, m = scores.shape[0], self.max_num_boxes
        return (
            TensorType((n, m, 4), boxes.dtype),
            TensorType((n, m), scores.dtype),
            TensorType((n, m), classes),
            TensorType((n,), DType.UINT_32),
        )

    @classmethod
    def structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The number is the output's."""
        return {"max_num_boxes": outputs[0].shape[1]}


@register
@dataclass(frozen=True, kw_only=True)
class MultiClassNms(_Detections):
    """The best boxes of all classes, with features gathered for them. Shape rule only."""

    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2..m]", is_required=False, is_repeated=True))
    outputs = (*_Detections.outputs, Port("out[4..M]", is_required=False, is_repeated=True))

    iou_threshold: float = scalar(DType.FLOAT_32)
    score_threshold: float = scalar(DType.FLOAT_32, 0.0)
    soft_nms_sigma: float = scalar(DType.FLOAT_32, 0.0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Boxes, scores, classes, numbers, and the features of the boxes kept."""
        found = self.kept(inputs[0], inputs[1], DType.INT_32)
        features = [t.with_shape((*t.shape[:1], self.max_num_boxes, *t.shape[2:])) for t in inputs[2:]]
        return (*found, *features)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Without and with features."""
        boxes, scores = TensorType((2, 6, 4)), TensorType((2, 6, 3))
        yield Sample("plain", cls(iou_threshold=0.5, max_num_boxes=4), (boxes, scores))
        full = cls(iou_threshold=0.5, score_threshold=0.1, soft_nms_sigma=0.2, max_num_boxes=4)
        yield Sample("features", full, (boxes, scores, TensorType((2, 6, 5))))


@register
@dataclass(frozen=True, kw_only=True)
class CombinedNms(_Detections):
    """TensorFlow's combined non-maximum suppression. Shape rule only."""

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"))

    max_boxes_per_class: int = scalar(DType.UINT_32)
    max_total_boxes: int = scalar(DType.UINT_32)
    iou_threshold: float = scalar(DType.FLOAT_32)
    score_threshold: float = scalar(DType.FLOAT_32, 0.0)
    pad_per_class: bool = scalar(DType.BOOL_8, False)
    clip_boxes: bool = scalar(DType.BOOL_8, False)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Boxes, scores, classes and numbers; classes come in the scores' datatype."""
        return self.kept(inputs[0], inputs[1], inputs[1].dtype)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain."""
        op = cls(max_boxes_per_class=2, max_total_boxes=4, iou_threshold=0.5, max_num_boxes=4)
        yield Sample("plain", op, (TensorType((2, 6, 1, 4)), TensorType((2, 6, 3))))


@register
@dataclass(frozen=True, kw_only=True)
class DetectionOutput(_Detections):
    """Boxes decoded from anchors, then suppressed: single-shot detectors' last step.

    Scores [N,n,classes], deltas [N,n,4] and anchors [n,4], both (y, x, height, width) of centres. FAST lets
    each anchor stand for its best class only; REGULAR suppresses class by class, ``detection_limit`` of each.
    """

    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]"))

    delta_scaling_factors: tuple[float, ...] = tensor(DType.FLOAT_32)
    confidence_threshold: float = scalar(DType.FLOAT_32)
    iou_threshold: float = scalar(DType.FLOAT_32)
    nms_type: NmsKind = scalar(DType.UINT_32, NmsKind.FAST)
    background_class_idx: int = scalar(DType.UINT_32, 0)
    use_bg_in_nms: bool = scalar(DType.BOOL_8, False)
    output_background: bool = scalar(DType.BOOL_8, True)
    share_location: bool = scalar(DType.BOOL_8, True)
    nms_eta: float = scalar(DType.FLOAT_32, 1.0)
    detection_limit: int = scalar(DType.INT_32, -1)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Scores first, then boxes, classes and numbers."""
        boxes, scores, classes, count = self.kept(inputs[1], inputs[0], DType.INT_32)
        return scores, boxes.with_dtype(DType.FLOAT_32), classes, count

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Image by image; what is not filled is zero."""
        scores, deltas, anchors = inputs
        room = int(self.max_num_boxes)
        found = [np.zeros((len(scores), room), scores.dtype), np.zeros((len(scores), room, 4), np.float32)]
        classes, counts = np.zeros((len(scores), room), np.int32), np.zeros(len(scores), np.uint32)
        for image, own in enumerate(scores):
            boxes = self._decoded(deltas[image], anchors)
            best = self._best(own, boxes)[:room]
            rows, kinds = np.asarray(best, np.int64).reshape(-1, 2).T
            count = counts[image] = len(best)
            found[0][image, :count] = own[rows, kinds]
            found[1][image, :count] = boxes[rows]
            classes[image, :count] = kinds
        return found[0], found[1], classes, counts

    def _decoded(self, deltas: Array, anchors: Array) -> Array:
        """Corners (y1, x1, y2, x2)."""
        moved = deltas[:, :4] / np.asarray(self.delta_scaling_factors, deltas.dtype)
        centre = moved[:, :2] * anchors[:, 2:4] + anchors[:, :2]
        half = np.exp(moved[:, 2:]) * anchors[:, 2:4] / 2
        return np.concatenate([centre - half, centre + half], 1).astype(np.float32)

    def _best(self, scores: Array, boxes: Array) -> list[tuple[int, int]]:
        """Anchor and class of what is kept, best first."""
        # A score of just the threshold counts.
        least = float(np.nextafter(np.float32(self.confidence_threshold), np.float32(-np.inf)))
        kinds = [kind for kind in range(scores.shape[1]) if self.use_bg_in_nms or kind != self._background]
        if self.nms_type == NmsKind.FAST:
            tops = np.asarray(kinds)[scores[:, kinds].argmax(1)]
            own = scores[np.arange(len(scores)), tops]
            kept = suppressed(boxes, own, self.iou_threshold, least, len(scores))
            return [(row, int(tops[row])) for row in kept]
        limit = self.detection_limit if self.detection_limit >= 0 else len(scores)
        pairs = [
            (row, kind)
            for kind in kinds
            for row in suppressed(boxes, scores[:, kind], self.iou_threshold, least, limit)
        ]
        return sorted(pairs, key=lambda pair: -float(scores[pair]))

    @property
    def _background(self) -> int:
        return self.background_class_idx

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain."""
        op = cls(
            delta_scaling_factors=(10.0, 10.0, 5.0, 5.0),
            confidence_threshold=0.3,
            iou_threshold=0.5,
            max_num_boxes=4,
        )
        yield Sample("plain", op, (TensorType((1, 6, 3)), TensorType((1, 6, 4)), TensorType((6, 4))))


def suppressed(boxes: Array, scores: Array, iou: float, threshold: float, limit: int) -> list[int]:
    """Indices of the boxes kept, best first: each suppresses what overlaps it more than ``iou``."""
    order = np.argsort(-scores.astype(np.float64), kind="stable")
    kept: list[int] = []
    for index in order:
        if len(kept) >= limit or not scores[index] > threshold:
            break
        if not kept or _overlaps(boxes[index], boxes[kept]).max() <= iou:
            kept.append(int(index))
    return kept


def _overlaps(box: Array, others: Array) -> Array:
    """Intersection over union; corners may come in any order."""
    corners = np.concatenate([box[None], others]).astype(np.float64)
    low = np.minimum(corners[:, :2], corners[:, 2:])
    high = np.maximum(corners[:, :2], corners[:, 2:])
    areas = (high - low).prod(1)
    common = np.maximum(0, np.minimum(high[0], high[1:]) - np.maximum(low[0], low[1:])).prod(1)
    union = areas[0] + areas[1:] - common
    ratio: Array = np.where(union > 0, common / np.where(union > 0, union, 1), 0.0)
    return ratio


def _some_boxes() -> tuple[Array, Array]:
    random = np.random.default_rng(3)
    start = random.random((2, 6, 2))
    boxes = np.concatenate([start, start + 0.6 * random.random((2, 6, 2))], 2)
    return boxes.astype(np.float32), random.random((2, 2, 6)).astype(np.float32)
