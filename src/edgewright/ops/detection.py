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
from edgewright.ops.shape_patterns import match_shapes
from edgewright.ops.suppression import lower_scores_softly, suppress_boxes

# Score, box and class of what is kept.
Chosen = tuple[float, int, int]


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
            for box in suppress_boxes(
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
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """Count and datatype are the output's."""
        return {"count": outputs[0].shape[0], "dtype": outputs[0].dtype}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Limited, and with a threshold."""
        boxes, scores = _make_boxes()
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
        pattern = "N boxes 4" if boxes.rank == 3 else "N boxes kinds 4"
        match_shapes((pattern, boxes), ("N boxes classes", scores))
        n, m = scores.shape[0], self.max_num_boxes
        return (
            TensorType((n, m, 4), boxes.dtype),
            TensorType((n, m), scores.dtype),
            TensorType((n, m), classes),
            TensorType((n,), DType.UINT_32),
        )

    def gather(
        self, chosen: Sequence[list[Chosen]], inputs: Sequence[Array], classes: np.dtype[Any]
    ) -> tuple[Array, ...]:
        """Boxes, scores, classes, numbers and features of what each image keeps; the rest is zero."""
        boxes, scores, *features = inputs
        room, images = int(self.max_num_boxes), len(scores)
        kept = [np.zeros((images, room, 4), boxes.dtype), np.zeros((images, room), scores.dtype)]
        kinds, counts = np.zeros((images, room), classes), np.zeros(images, np.uint32)
        others = [np.zeros((images, room, *array.shape[2:]), array.dtype) for array in features]
        for image, found in enumerate(chosen):
            for place, (score, row, kind) in enumerate(found[:room]):
                kept[0][image, place] = boxes[image, row] if boxes.ndim == 3 else boxes[image, row, kind]
                kept[1][image, place], kinds[image, place] = score, kind
                for array, source in zip(others, features, strict=True):
                    array[image, place] = source[image, row]
            counts[image] = min(len(found), room)
        return (*kept, kinds, counts, *others)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The number is the output's."""
        return {"max_num_boxes": outputs[0].shape[1]}


@register
@dataclass(frozen=True, kw_only=True)
class MultiClassNms(_Detections):
    """The best boxes of all classes, class by class, with features gathered for them.

    Boxes [N,n,4], scores [N,n,classes], features [N,n,...]. ``soft_nms_sigma`` above 0 lowers the scores of
    what overlaps (Bodla et al. 2017: exp(-iou^2 / (2 sigma)), as TensorFlow has it) before dropping any.
    """

    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2..m]", is_required=False, is_repeated=True))
    outputs = (*_Detections.outputs, Port("out[4..M]", is_required=False, is_repeated=True))

    iou_threshold: float = scalar(DType.FLOAT_32)
    score_threshold: float = scalar(DType.FLOAT_32, 0.0)
    soft_nms_sigma: float = scalar(DType.FLOAT_32, 0.0)
    # Of the boxes kept; None is that of the input. HTP's library gives real numbers for fixed-point ones.
    box_dtype: DType | None = structural(None)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Boxes, scores, classes, numbers, and the features of the boxes kept."""
        for kind in inputs[2:]:
            rest = " ".join(f"d{axis}" for axis in range(2, kind.rank))
            match_shapes(("N boxes 4", inputs[0]), (f"N boxes {rest}", kind))
        boxes, *found = self.kept(inputs[0], inputs[1], DType.INT_32)
        boxes = boxes.with_dtype(self.box_dtype or boxes.dtype)
        features = [t.with_shape((*t.shape[:1], self.max_num_boxes, *t.shape[2:])) for t in inputs[2:]]
        return (boxes, *found, *features)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The number and the datatype of boxes are the outputs'."""
        boxes = inputs[0]
        own = outputs[0].dtype if boxes is None or outputs[0].dtype != boxes.dtype else None
        return {**super().read_structure(inputs, outputs), "box_dtype": own}

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Best first over all classes of an image; what is not filled is zero."""
        boxes, scores, *features = inputs
        chosen = [self._choose(*image) for image in zip(boxes, scores, strict=True)]
        return self.gather(chosen, (boxes, scores, *features), np.dtype(np.int32))

    def _choose(self, boxes: Array, scores: Array) -> list[Chosen]:
        kept = [
            (score, row, kind)
            for kind in range(scores.shape[1])
            for row, score in self._suppress(boxes, scores[:, kind])
        ]
        return sorted(kept, key=lambda item: -item[0])

    def _suppress(self, boxes: Array, scores: Array) -> list[tuple[int, float]]:
        if self.soft_nms_sigma > 0:
            return lower_scores_softly(boxes, scores, self._lower_scores, self.score_threshold, len(boxes))
        kept = suppress_boxes(boxes, scores, self.iou_threshold, self.score_threshold, len(boxes))
        return [(row, float(scores[row])) for row in kept]

    def _lower_scores(self, ratio: Array) -> Array:
        factors: Array = np.exp(-0.5 * ratio**2 / self.soft_nms_sigma)
        # As in TensorFlow: beyond the threshold a box is dropped all the same.
        return np.where(ratio > self.iou_threshold, 0.0, factors)

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
    """TensorFlow's combined non-maximum suppression: class by class, then the best of all classes.

    Boxes [N,n,q,4], where q is 1 or the number of classes, as (y1, x1, y2, x2); scores [N,n,classes].
    """

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"))

    max_boxes_per_class: int = scalar(DType.UINT_32)
    max_total_boxes: int = scalar(DType.UINT_32)
    iou_threshold: float = scalar(DType.FLOAT_32)
    score_threshold: float = scalar(DType.FLOAT_32, 0.0)
    pad_per_class: bool = scalar(DType.BOOL_8, False)
    clip_boxes: bool = scalar(DType.BOOL_8, False)
    # Of the classes: TensorFlow counts them in the scores' datatype, QNN in whole numbers.
    dtype: DType = structural(DType.FLOAT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Boxes, scores, classes and numbers."""
        found = self.kept(inputs[0], inputs[1], self.dtype)
        if inputs[0].rank != 4 or inputs[0].shape[2] not in {1, inputs[1].shape[2]}:
            raise ShapeMismatch(
                f"boxes {inputs[0]} for scores {inputs[1]}, expected one for all classes or one for each",
                do="give boxes [N,n,1,4] or [N,n,classes,4]",
            )
        return found

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Image by image; what is not filled is zero."""
        boxes, scores = inputs
        chosen = [self._choose(*image) for image in zip(boxes, scores, strict=True)]
        spread = np.broadcast_to(boxes, (*boxes.shape[:2], scores.shape[2], 4))
        if self.clip_boxes:
            spread = np.clip(spread, 0, 1)
        return self.gather(chosen, (spread, scores), self.dtype.numpy)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The number and the datatype of classes are the outputs'."""
        return {**super().read_structure(inputs, outputs), "dtype": outputs[2].dtype}

    def _choose(self, boxes: Array, scores: Array) -> list[Chosen]:
        """Score, box and class of what is kept, best first."""
        kept = [
            (float(scores[row, kind]), row, kind)
            for kind in range(scores.shape[1])
            for row in suppress_boxes(
                boxes[:, min(kind, boxes.shape[1] - 1)],
                scores[:, kind],
                self.iou_threshold,
                self.score_threshold,
                self.max_boxes_per_class,
            )
        ]
        total = self.max_total_boxes
        if self.pad_per_class:
            total = min(total, self.max_boxes_per_class * scores.shape[1])
        return sorted(kept, key=lambda item: -item[0])[:total]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """One box for all classes, and one for each."""
        full = cls(
            max_boxes_per_class=3,
            max_total_boxes=9,
            iou_threshold=0.3,
            score_threshold=0.2,
            pad_per_class=True,
            clip_boxes=True,
            max_num_boxes=9,
        )
        yield Sample("each_class", full, (TensorType((2, 6, 3, 4)), TensorType((2, 6, 3))))
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
            boxes = self._decode(deltas[image], anchors)
            best = self._choose_best(own, boxes)[:room]
            rows, kinds = np.asarray(best, np.int64).reshape(-1, 2).T
            count = counts[image] = len(best)
            found[0][image, :count] = own[rows, kinds]
            found[1][image, :count] = boxes[rows]
            classes[image, :count] = kinds
        return found[0], found[1], classes, counts

    def _decode(self, deltas: Array, anchors: Array) -> Array:
        """Corners (y1, x1, y2, x2)."""
        moved = deltas[:, :4] / np.asarray(self.delta_scaling_factors, deltas.dtype)
        centre = moved[:, :2] * anchors[:, 2:4] + anchors[:, :2]
        half = np.exp(moved[:, 2:]) * anchors[:, 2:4] / 2
        return np.concatenate([centre - half, centre + half], 1).astype(np.float32)

    def _choose_best(self, scores: Array, boxes: Array) -> list[tuple[int, int]]:
        """Anchor and class of what is kept, best first."""
        # A score of just the threshold counts.
        least = float(np.nextafter(np.float32(self.confidence_threshold), np.float32(-np.inf)))
        kinds = [kind for kind in range(scores.shape[1]) if self.use_bg_in_nms or kind != self._background]
        if self.nms_type == NmsKind.FAST:
            tops = np.asarray(kinds)[scores[:, kinds].argmax(1)]
            own = scores[np.arange(len(scores)), tops]
            kept = suppress_boxes(boxes, own, self.iou_threshold, least, len(scores))
            return [(row, int(tops[row])) for row in kept]
        limit = self.detection_limit if self.detection_limit >= 0 else len(scores)
        pairs = [
            (row, kind)
            for kind in kinds
            for row in suppress_boxes(boxes, scores[:, kind], self.iou_threshold, least, limit)
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


def _make_boxes() -> tuple[Array, Array]:
    random = np.random.default_rng(3)
    start = random.random((2, 6, 2))
    boxes = np.concatenate([start, start + 0.6 * random.random((2, 6, 2))], 2)
    return boxes.astype(np.float32), random.random((2, 2, 6)).astype(np.float32)
