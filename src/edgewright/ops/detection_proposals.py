"""Region proposals and key points: signatures and shape rules of what no frontend writes yet."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, register, scalar, structural, tensor
from edgewright.ir.traits import HtpPrecision
from edgewright.ir.types import TensorType


@dataclass(frozen=True, kw_only=True)
class _Counted(Op):
    """Ops whose number of rows QNN reads off the output tensor."""

    count: Dim = structural()

    @classmethod
    def structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The number is the output's."""
        return {"count": outputs[0].shape[0]}


@register
@dataclass(frozen=True, kw_only=True)
class AxisAlignedBboxTransform(Op):
    """Regions [n, 4] moved and scaled by deltas [n, classes * 4], cut at the image."""

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]"), Port("in[3]"))
    outputs = (Port("out[0]"), Port("out[1]", is_required=False))

    weights: tuple[float, ...] = tensor(DType.FLOAT_32, (1.0, 1.0, 1.0, 1.0))

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """A box for each delta, and the number of regions an image."""
        _check(inputs[0], 2, 4)
        return TensorType(inputs[1].shape, inputs[0].dtype), TensorType(inputs[3].shape[:1], DType.INT_32)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain."""
        images = TensorType((5,), DType.INT_32)
        given = (TensorType((5, 4)), TensorType((5, 12)), images, TensorType((2, 2)))
        yield Sample("plain", cls(weights=(10.0, 10.0, 5.0, 5.0)), given)


@register
@dataclass(frozen=True, kw_only=True)
class BboxTransform(Op):
    """Rotated regions [n, 5] moved, scaled and turned by deltas [n, classes * 5]."""

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]"), Port("in[3]", is_required=False))
    outputs = (Port("out[0]"), Port("out[1]"))

    weights: tuple[float, ...] = tensor(DType.FLOAT_32)
    apply_scale: bool = scalar(DType.BOOL_8, True)
    angle_bounds: tuple[int, int] | None = tensor(DType.INT_32, None)
    angle_clip_threshold: float = scalar(DType.FLOAT_32, -1.0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """A box for each delta, and the number of regions an image."""
        _check(inputs[0], 2, 5)
        return (
            TensorType(inputs[1].shape, inputs[0].dtype),
            TensorType(inputs[2].shape[:1], inputs[0].dtype),
        )

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain."""
        op = cls(weights=(1.0, 1.0, 1.0, 1.0), angle_bounds=(-90, 90))
        yield Sample("plain", op, (TensorType((5, 5)), TensorType((5, 10)), TensorType((2, 3))))


@register
@dataclass(frozen=True, kw_only=True)
class BoxWithNmsLimit(_Counted):
    """Boxes of all classes suppressed and limited, image by image."""

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

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Boxes, scores, classes and images of what is kept."""
        boxes, scores = inputs[:2]
        _check(scores, 2, None)
        rows, whole = (self.count,), DType.INT_32
        return (
            TensorType((self.count, 4), boxes.dtype),
            TensorType(rows, scores.dtype),
            TensorType(rows, whole),
            TensorType(rows, whole),
        )

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain."""
        op = cls(nms_kernel_method=0, nms_score_threshold=0.1, iou_threshold=0.5, sigma=1.0, count=3)
        given = (TensorType((5, 8)), TensorType((5, 2)), TensorType((5,), DType.INT_32))
        yield Sample("plain", op, given)


@register
@dataclass(frozen=True, kw_only=True)
class CollectRpnProposals(_Counted):
    """The best proposals of all levels of a pyramid."""

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
        _check(inputs[0], 2, 5)
        return (TensorType((self.count, 5), inputs[0].dtype),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """One level."""
        op = cls(rpn_min_level=2, rpn_max_level=2, post_nms_top=3, count=3)
        yield Sample("one_level", op, (TensorType((5, 5)), TensorType((5,))))


@register
@dataclass(frozen=True, kw_only=True)
class DistributeFpnProposals(Op):
    """Proposals sorted onto the levels of a pyramid by their size."""

    htp_precision = HtpPrecision.FLOAT
    outputs = (Port("out[0]"), Port("out[1]"), Port("out[2..4]", is_required=False, is_repeated=True))

    roi_min_level: int = scalar(DType.UINT_32, 2)
    roi_max_level: int = scalar(DType.UINT_32, 5)
    roi_canonical_scale: int = scalar(DType.UINT_32, 224)
    roi_canonical_level: int = scalar(DType.UINT_32, 4)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The order, and as much room as all proposals need on every level."""
        x = inputs[0]
        _check(x, 2, None)
        levels = self.roi_max_level - self.roi_min_level + 1
        if not 1 <= levels <= 4:
            raise ShapeMismatch(
                f"levels {self.roi_min_level} to {self.roi_max_level}, expected one to four", do="lower them"
            )
        return (TensorType(x.shape[:1], DType.INT_32), *[x] * levels)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Two levels."""
        yield Sample("two_levels", cls(roi_min_level=2, roi_max_level=3), (TensorType((6, 5)),))


@register
@dataclass(frozen=True, kw_only=True)
class GenerateProposals(_Counted):
    """Proposals decoded from a feature map's anchors, suppressed and limited."""

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
        _check(inputs[0], 4, None)
        return (
            TensorType((self.count,), inputs[0].dtype),
            TensorType((self.count, 4), inputs[3].dtype),
            TensorType((self.count,), DType.INT_32),
        )

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Limited."""
        op = cls(img_size_ratio=(2.0, 2.0), iou_threshold=0.5, pre_nms_limit=9, post_nms_limit=4, count=4)
        maps = (TensorType((1, 3, 4, 2)), TensorType((1, 3, 4, 8)))
        yield Sample("limited", op, (*maps, TensorType((2, 4)), TensorType((1, 2))))


@register
@dataclass(frozen=True, kw_only=True)
class HeatMapMaxKeyPoint(Op):
    """Where each key point of each box is, and how sure that is."""

    htp_precision = HtpPrecision.EIGHT_BITS
    inputs = (Port("in[0]"), Port("in[1]"))
    outputs = (Port("out[0]"), Port("out[1]"))

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """A score and a place for each key point."""
        maps, boxes = inputs
        _check(maps, 4, None)
        found = (maps.shape[0], maps.shape[3])
        return TensorType(found, maps.dtype), TensorType((*found, 2), boxes.dtype)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain."""
        yield Sample("plain", cls(), (TensorType((3, 8, 8, 5)), TensorType((3, 4))))


def _check(tensor_type: TensorType, rank: int, last: int | None) -> None:
    if tensor_type.rank != rank or last not in {None, tensor_type.shape[-1]}:
        raise ShapeMismatch(
            f"{tensor_type}, expected rank {rank}" + (f" with a last axis of {last}" if last else ""),
            do="give a tensor of that shape",
        )
