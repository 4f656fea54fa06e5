"""Region proposals: decoded, suppressed, collected from and sorted onto the levels of a pyramid."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, register, scalar, structural, tensor
from edgewright.ir.traits import HtpPrecision
from edgewright.ir.types import TensorType
from edgewright.ops.detection_boxes import (
    MOST_GROWTH,
    cut_boxes,
    make_sample_regions,
    move_boxes,
)
from edgewright.ops.shape_patterns import match_shapes
from edgewright.ops.suppression import fill_rows, lower_scores_softly, suppress_boxes


@dataclass(frozen=True, kw_only=True)
class _Counted(Op):
    """Ops whose number of rows QNN reads off the output tensor."""

    count: Dim = structural()

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The number is the output's."""
        return {"count": outputs[0].shape[0]}


class NmsKernel(IntEnum):
    """How a box lowers the scores of what overlaps it."""

    HARD = 0
    LINEAR = 1
    GAUSSIAN = 2


@register
@dataclass(frozen=True, kw_only=True)
class BoxWithNmsLimit(_Counted):
    """Boxes [n, classes * 4] of all classes but the background (class 0) suppressed, image by image.

    Android's BOX_WITH_NMS_LIMIT: in[2] tells the image of each row, ``pre_nms_limit`` how many of the best
    boxes of a class take part. Kept rows stand by image, by class, best first; further outputs count the rows
    of each image, name the input's rows, and count the rows of each class.
    """

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]"), Port("in[3]", is_required=False))
    outputs = (
        Port("out[0]"),
        Port("out[1]"),
        Port("out[2]"),
        Port("out[3]"),
        Port("out[4]", is_required=False),
        Port("out[5]", is_required=False),
        Port("out[6]", is_required=False),
    )

    nms_kernel_method: int = scalar(DType.INT_32)
    nms_score_threshold: float = scalar(DType.FLOAT_32)
    score_threshold: float = scalar(DType.FLOAT_32, 0.0)
    pre_nms_limit: int = scalar(DType.INT_32, -1)
    iou_threshold: float = scalar(DType.FLOAT_32)
    sigma: float = scalar(DType.FLOAT_32)
    # How many images out[4] counts the rows of; 0 where there is no such output.
    images: Dim = structural(0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Boxes, scores, classes and images of what is kept, and what is counted."""
        boxes, scores = inputs[:2]
        lengths = match_shapes(("rows corners", boxes), ("rows classes", scores), ("rows", inputs[2]))
        match_shapes(
            ("corners", TensorType((4 * lengths["classes"],))), ("corners", TensorType(boxes.shape[1:]))
        )
        rows, whole = TensorType((self.count,), DType.INT_32), DType.INT_32
        found = (
            TensorType((self.count, 4), boxes.dtype),
            TensorType((self.count,), scores.dtype),
            rows,
            rows,
        )
        if self.images == 0:
            return found
        return (*found, TensorType((self.images,), whole), rows, TensorType(scores.shape[1:], whole))

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The numbers are the outputs'."""
        images = outputs[4].shape[0] if len(outputs) > len(cls.outputs) - 3 else 0
        return {"count": outputs[0].shape[0], "images": images}

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Image by image and class by class."""
        boxes, scores, owner = inputs[:3]
        kept = [
            (image, kind, int(rows[place]), score)
            for image in np.unique(owner)
            for rows in [np.flatnonzero(owner == image)]
            for kind in range(1, scores.shape[1])
            for place, score in self._suppress(boxes[rows, 4 * kind : 4 * kind + 4], scores[rows, kind])
        ][: int(self.count)]
        table = np.asarray(kept, np.float64).reshape(-1, 4)
        images, kinds, rows = table[:, :3].astype(np.int32).T
        corners = boxes.reshape(len(boxes), -1, 4)[rows, kinds]
        count = int(self.count)
        found = (corners, table[:, 3].astype(scores.dtype), kinds, images)
        results = tuple(fill_rows(array, count) for array in found)
        if self.images == 0:
            return results
        by_image = np.bincount(images, minlength=int(self.images)).astype(np.int32)
        by_class = np.bincount(kinds, minlength=scores.shape[1]).astype(np.int32)
        return (*results, by_image, fill_rows(rows, count), by_class)

    def _suppress(self, boxes: Array, scores: Array) -> list[tuple[int, float]]:
        """Places and scores of what one class of an image keeps."""
        order = np.argsort(-scores.astype(np.float64), kind="stable")
        order = order[scores[order] > self.score_threshold]
        if self.pre_nms_limit >= 0:
            order = order[: self.pre_nms_limit]
        own, ranked = boxes[order], scores[order]
        if self.nms_kernel_method == NmsKernel.HARD:
            # Android drops what overlaps by just the threshold, too.
            most = float(np.nextafter(self.iou_threshold, -np.inf))
            places = suppress_boxes(own, ranked, most, -np.inf, len(order))
            return [(int(order[place]), float(ranked[place])) for place in places]
        kept = lower_scores_softly(own, ranked, self._lower_scores, self.nms_score_threshold, len(order))
        return [(int(order[place]), score) for place, score in kept]

    def _lower_scores(self, ratio: Array) -> Array:
        """What is left of the scores of boxes that overlap a better one."""
        if self.nms_kernel_method == NmsKernel.GAUSSIAN:
            factors: Array = np.exp(-(ratio**2) / self.sigma)
            return factors
        return np.where(ratio >= self.iou_threshold, 1 - ratio, 1.0)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Each way of suppressing."""
        owner, scores = np.asarray([0, 0, 0, 1, 1], np.int32), TensorType((5, 3))
        boxes = np.tile(make_sample_regions(), (1, 3))
        for kernel in NmsKernel:
            op = cls(
                nms_kernel_method=int(kernel), nms_score_threshold=0.1, iou_threshold=0.3, sigma=0.5, count=6
            )
            yield Sample(kernel.name.lower(), op, (boxes, scores, owner))
        full = cls(
            nms_kernel_method=0,
            nms_score_threshold=0.0,
            score_threshold=-9.0,
            pre_nms_limit=2,
            iou_threshold=0.5,
            sigma=1.0,
            count=8,
            images=2,
        )
        yield Sample("counted", full, (boxes, scores, owner))


@register
@dataclass(frozen=True, kw_only=True)
class CollectRpnProposals(_Counted):
    """The best proposals of all levels of a pyramid, best first (Detectron).

    Rows (image, x1, y1, x2, y2) of each level, then the scores of each level; what is missing is zero.
    """

    htp_precision = HtpPrecision.FLOAT
    inputs = (
        Port("in[0]"),
        Port("in[1..4]", is_required=False, is_repeated=True),
        Port("in[5]"),
        Port("in[6..9]", is_required=False, is_repeated=True),
    )

    rpn_min_level: int = scalar(DType.UINT_32, 2)
    rpn_max_level: int = scalar(DType.UINT_32, 6)
    post_nms_top: int = scalar(DType.UINT_32, 2000)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Rows of an image and a box."""
        levels = [kind for kind in inputs if kind is not None]
        half = len(levels) // 2
        if 2 * half != len(levels):
            raise ShapeMismatch(
                f"{len(levels)} inputs, expected the rows and the scores of each level", do="give both"
            )
        for level, (rows, scores) in enumerate(zip(levels[:half], levels[half:], strict=True)):
            match_shapes((f"rows{level} 5", rows), (f"rows{level}", scores))
        return (TensorType((self.count, 5), inputs[0].dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Sorted by score, over all levels."""
        levels = [array for array in inputs if array is not None]
        half = len(levels) // 2
        rows, scores = np.concatenate(levels[:half]), np.concatenate(levels[half:])
        order = np.argsort(-scores.astype(np.float64), kind="stable")[: self.post_nms_top]
        return (fill_rows(rows[order], int(self.count)),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """One level, and all five."""
        op = cls(rpn_min_level=2, rpn_max_level=2, post_nms_top=3, count=3)
        empty = (None,) * 4
        yield Sample("one_level", op, (TensorType((5, 5)), *empty, TensorType((5,))))
        rows = [TensorType((size, 5)) for size in (6, 5, 4, 3, 2)]
        scores = [TensorType((size,)) for size in (6, 5, 4, 3, 2)]
        yield Sample("levels", cls(post_nms_top=7, count=9), (*rows, *scores))


@register
@dataclass(frozen=True, kw_only=True)
class DistributeFpnProposals(Op):
    """Proposals sorted onto the levels of a pyramid by their size: level = k0 + log2(sqrt(area) / scale).

    That is equation 1 of Lin et al. 2017. Every level has room for all proposals; what is not filled is zero.
    out[0] tells where each proposal stands in all levels, one behind the other.
    """

    htp_precision = HtpPrecision.FLOAT
    outputs = (Port("out[0]"), Port("out[1]"), Port("out[2..4]", is_required=False, is_repeated=True))

    roi_min_level: int = scalar(DType.UINT_32, 2)
    roi_max_level: int = scalar(DType.UINT_32, 5)
    roi_canonical_scale: int = scalar(DType.UINT_32, 224)
    roi_canonical_level: int = scalar(DType.UINT_32, 4)
    dtype: DType = structural(DType.INT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The order, and as much room as all proposals need on every level."""
        x = inputs[0]
        if x.rank != 2 or x.shape[1] not in {4, 5}:
            raise ShapeMismatch(f"proposals {x}, expected four or five columns", do="give boxes")
        levels = self.roi_max_level - self.roi_min_level + 1
        if not 1 <= levels <= 4:
            raise ShapeMismatch(
                f"levels {self.roi_min_level} to {self.roi_max_level}, expected one to four", do="lower them"
            )
        return (TensorType(x.shape[:1], self.dtype), *[x] * levels)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The datatype is the output's."""
        return {"dtype": outputs[0].dtype}

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Level by level, in the order of the input."""
        x = inputs[0]
        size = np.maximum(x[:, -2:].astype(np.float64) - x[:, -4:-2], 0)
        # Detectron's small number keeps a proposal without area off the logarithm of zero.
        steps = np.log2(np.sqrt(size.prod(1)) / self.roi_canonical_scale + 1e-6)
        level = np.clip(np.floor(self.roi_canonical_level + steps), self.roi_min_level, self.roi_max_level)
        places, tables = np.zeros(len(x), self.dtype.numpy), []
        for index in range(self.roi_max_level - self.roi_min_level + 1):
            rows = np.flatnonzero(level == self.roi_min_level + index)
            places[rows] = index * len(x) + np.arange(len(rows))
            tables.append(fill_rows(x[rows], len(x)))
        return (places, *tables)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Two levels of rows without an image, and four with one."""
        small = make_sample_regions()
        yield Sample("two_levels", cls(roi_min_level=2, roi_max_level=3), (8 * small,))
        rows = np.concatenate([np.zeros((5, 1), np.float32), small * [[1], [4], [16], [40], [2]]], 1)
        yield Sample("four_levels", cls(), (rows.astype(np.float32),))


@register
@dataclass(frozen=True, kw_only=True)
class GenerateProposals(_Counted):
    """Proposals decoded from a feature map's anchors, suppressed and limited (Ren et al. 2015).

    Scores [N,h,w,anchors], deltas [N,h,w,anchors * 4], anchors (x1, y1, x2, y2), height and width of each
    image. ``img_size_ratio`` is the image's height and width by the map's. ``bbox_xform_clip`` bounds growth
    as Detectron does. Rows stand by image, best first; what is not filled is zero.
    """

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]"), Port("in[3]"))
    outputs = (Port("out[0]"), Port("out[1]"), Port("out[2]"))

    img_size_ratio: tuple[float, ...] = tensor(DType.FLOAT_32)
    min_size: float = scalar(DType.FLOAT_32, 0.0)
    pre_nms_limit: int | None = scalar(DType.UINT_32, None)
    post_nms_limit: int | None = scalar(DType.UINT_32, None)
    iou_threshold: float = scalar(DType.FLOAT_32)
    bbox_xform_clip: bool = scalar(DType.BOOL_8, False)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Scores, boxes and images."""
        patterns = ("N height width anchors", "N height width corners", "anchors 4", "N 2")
        lengths = match_shapes(*zip(patterns, inputs, strict=True))
        wanted = TensorType((4 * lengths["anchors"],))
        match_shapes(("corners", wanted), ("corners", TensorType(inputs[1].shape[3:])))
        return (
            TensorType((self.count,), inputs[0].dtype),
            TensorType((self.count, 4), inputs[3].dtype),
            TensorType((self.count,), DType.INT_32),
        )

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Image by image."""
        scores, deltas, anchors, sizes = inputs
        images, found = [], []
        for image in range(len(scores)):
            boxes = self._decode(deltas[image], anchors, sizes[image])
            own = scores[image].reshape(-1)
            rows = self._choose(boxes, own)
            found.append((own[rows], boxes[rows].astype(sizes.dtype)))
            images += [image] * len(rows)
        count = int(self.count)
        kept = [np.concatenate(arrays) for arrays in zip(*found, strict=True)]
        return (
            fill_rows(kept[0], count),
            fill_rows(kept[1], count),
            fill_rows(np.asarray(images, np.int32), count),
        )

    def _decode(self, deltas: Array, anchors: Array, size: Array) -> Array:
        """Boxes [h * w * anchors, 4], cut at the image."""
        rows, columns = np.indices(deltas.shape[:2]).astype(np.float64)
        height, width = self.img_size_ratio
        corner = np.stack([columns * width, rows * height], -1)[:, :, None]
        placed = anchors.astype(np.float64) + np.concatenate([corner, corner], -1)
        moved = deltas.reshape(*deltas.shape[:2], -1, 4).astype(np.float64)
        if self.bbox_xform_clip:
            moved[..., 2:] = np.minimum(moved[..., 2:], MOST_GROWTH)
        return cut_boxes(move_boxes(placed, moved), size.astype(np.float64)).reshape(-1, 4)

    def _choose(self, boxes: Array, scores: Array) -> list[int]:
        """Rows of the proposals of an image, best first."""
        order = np.argsort(-scores.astype(np.float64), kind="stable")[: self.pre_nms_limit]
        sides = boxes[order, 2:] - boxes[order, :2]
        order = order[(sides >= self.min_size).all(1)]
        limit = len(order) if self.post_nms_limit is None else self.post_nms_limit
        kept = suppress_boxes(boxes[order], scores[order], self.iou_threshold, -np.inf, limit)
        return [int(order[place]) for place in kept]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Limited, and two images with a least size."""
        limited = cls(
            img_size_ratio=(2.0, 2.0), iou_threshold=0.5, pre_nms_limit=9, post_nms_limit=4, count=4
        )
        anchors = np.asarray([[-4, -4, 4, 4], [-8, -3, 8, 3]], np.float32)
        maps = (TensorType((1, 3, 4, 2)), TensorType((1, 3, 4, 8)))
        yield Sample("limited", limited, (*maps, anchors, np.asarray([[6, 8]], np.float32)))
        open_ended = cls(
            img_size_ratio=(8.0, 4.0), min_size=3.0, iou_threshold=0.3, bbox_xform_clip=True, count=20
        )
        maps = (TensorType((2, 3, 4, 2)), TensorType((2, 3, 4, 8)))
        yield Sample("two_images", open_ended, (*maps, anchors, np.asarray([[24, 16], [20, 12]], np.float32)))
