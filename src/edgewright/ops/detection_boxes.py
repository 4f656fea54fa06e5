"""Boxes moved by deltas, and key points found in heat maps."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import Op, Port, Sample, given, register, scalar, tensor
from edgewright.ir.traits import HtpPrecision
from edgewright.ir.types import TensorType
from edgewright.ops.shape_patterns import check_multiple, match_shapes

# Detectron's bound for the logarithm of a growth: a thousand pixels from a stride of sixteen.
MOST_GROWTH = float(np.log(1000 / 16))
# A key point is not moved further than this by its neighbours, in elements of the heat map.
FARTHEST = 1.5
# Below it a curve through nine elements is too flat to have a top.
FLAT = 1e-3


@register
@dataclass(frozen=True, kw_only=True)
class AxisAlignedBboxTransform(Op):
    """Regions [n, 4] moved and scaled by deltas [n, classes * 4], cut at the image.

    Regions are (x1, y1, x2, y2), deltas (dx, dy, dw, dh) by ``weights``: R-CNN's (Girshick et al. 2014).
    in[2] tells the image of each region, in[3] height and width of each image.
    """

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]"), Port("in[3]"))
    outputs = (Port("out[0]"), Port("out[1]", is_required=False))

    weights: tuple[float, ...] = tensor(DType.FLOAT_32, (1.0, 1.0, 1.0, 1.0))

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """A box for each delta, and the number of regions an image."""
        patterns = ("regions 4", "regions deltas", "regions", "images 2")
        lengths = match_shapes(*zip(patterns, inputs, strict=True))
        check_multiple(lengths["deltas"], 4, "the number of deltas")
        return TensorType(inputs[1].shape, inputs[0].dtype), TensorType(inputs[3].shape[:1], DType.INT_32)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """All classes of a region at once."""
        regions, deltas, images, sizes = inputs
        moved = deltas.reshape(len(regions), -1, 4) / np.asarray(self.weights, np.float64)
        boxes = move_boxes(regions.astype(np.float64)[:, None], moved)
        cut = cut_boxes(boxes, sizes.astype(np.float64)[images.astype(np.int64)][:, None])
        counts = np.bincount(images.astype(np.int64), minlength=len(sizes)).astype(np.int32)
        return cut.reshape(deltas.shape).astype(regions.dtype), counts

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Two images of different sizes."""
        images = np.asarray([0, 0, 0, 1, 1], np.int32)
        sizes = np.asarray([[40.0, 60.0], [80.0, 30.0]], np.float32)
        inputs = (make_sample_regions(), TensorType((5, 12)), images, sizes)
        yield Sample("plain", cls(weights=(10.0, 10.0, 5.0, 5.0)), inputs)


@register
@dataclass(frozen=True, kw_only=True)
class BboxTransform(Op):
    """Rotated regions [n, 5] moved, scaled and turned by deltas [n, classes * 5]; Caffe2's, without its +1.

    Regions are (x, y, width, height, degrees) in the scaled image, deltas turn by radians. in[2] holds
    height, width and scale of each image, in[3] the image of each region. Boxes turned by no more than
    ``angle_clip_threshold`` degrees are cut at the image.
    """

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]"), Port("in[3]", is_required=False))
    outputs = (Port("out[0]"), Port("out[1]"))

    weights: tuple[float, ...] = tensor(DType.FLOAT_32)
    apply_scale: bool = scalar(DType.BOOL_8, True)
    angle_bounds: tuple[int, int] | None = tensor(DType.INT_32, None)
    angle_clip_threshold: float = scalar(DType.FLOAT_32, -1.0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """A box for each delta, and the number of regions an image."""
        patterns = ("regions 5", "regions deltas", "images 3", "regions")
        lengths = match_shapes(*zip(patterns, inputs, strict=False))
        check_multiple(lengths["deltas"], 5, "the number of deltas")
        return (
            TensorType(inputs[1].shape, inputs[0].dtype),
            TensorType(inputs[2].shape[:1], inputs[0].dtype),
        )

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """In the size of the unscaled image, which is scaled again at the end where asked for."""
        regions, deltas, sizes = inputs[:3]
        images = given(inputs, 3)
        owner = np.zeros(len(regions), np.int64) if images is None else images.astype(np.int64)
        info = sizes.astype(np.float64)[owner][:, None]
        scale = info[..., 2:]
        plain, moved = regions.astype(np.float64)[:, None], deltas.reshape(len(regions), -1, 5)
        boxes = self._move(np.concatenate([plain[..., :4] / scale, plain[..., 4:]], -1), moved)
        boxes = self._cut(boxes, np.floor(info[..., :2] / scale + 0.5))
        if self.apply_scale:
            boxes[..., :4] *= scale
        counts = np.bincount(owner, minlength=len(sizes))
        return boxes.reshape(deltas.shape).astype(regions.dtype), counts.astype(regions.dtype)

    def _move(self, boxes: Array, deltas: Array) -> Array:
        steps = deltas[..., :4].astype(np.float64) / np.asarray(self.weights, np.float64)
        centres = boxes[..., :2] + steps[..., :2] * boxes[..., 2:4]
        sizes = boxes[..., 2:4] * np.exp(np.minimum(steps[..., 2:], MOST_GROWTH))
        angles = boxes[..., 4:] + np.degrees(deltas[..., 4:].astype(np.float64))
        if self.angle_bounds is not None:
            low, high = self.angle_bounds
            period = high - low
            angles = np.where(angles < low, angles + period, np.where(angles > high, angles - period, angles))
        return np.concatenate([centres, sizes, angles], -1)

    def _cut(self, boxes: Array, sizes: Array) -> Array:
        """What is nearly upright, as if it were upright."""
        half = boxes[..., 2:4] / 2
        corners = np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], -1)
        cut = cut_boxes(corners, sizes)
        low, high = cut[..., :2], cut[..., 2:]
        upright = np.concatenate([(low + high) / 2, high - low, boxes[..., 4:]], -1)
        return np.where(np.abs(boxes[..., 4:]) <= self.angle_clip_threshold, upright, boxes)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Angles that turn over, and nearly upright boxes that are cut."""
        sizes = np.asarray([[40.0, 60.0, 2.0], [80.0, 30.0, 0.5]], np.float32)
        regions = np.asarray([[10, 12, 8, 6, 80], [30, 20, 40, 9, -85], [5, 4, 12, 14, 1]] * 2, np.float32)
        deltas, images = TensorType((6, 10)), np.asarray([0, 1, 1, 0, 0, 1], np.int32)
        bound = cls(weights=(1.0, 1.0, 1.0, 1.0), angle_bounds=(-90, 90))
        yield Sample("plain", bound, (regions, deltas, sizes[:1]))
        cut = cls(weights=(10.0, 10.0, 5.0, 5.0), apply_scale=False, angle_clip_threshold=60.0)
        yield Sample("cut", cut, (regions, deltas, sizes, images))


@register
@dataclass(frozen=True, kw_only=True)
class HeatMapMaxKeyPoint(Op):
    """Where each key point of each box is, and how sure that is: Mask R-CNN's, as Android defines it.

    The largest element of a heat map [n, h, w, points], moved to the top of the parabola through its eight
    neighbours (beyond the border they are mirrored), in the box (x1, y1, x2, y2) that the map shows.
    """

    htp_precision = HtpPrecision.EIGHT_BITS
    inputs = (Port("in[0]"), Port("in[1]"))
    outputs = (Port("out[0]"), Port("out[1]"))

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """A score and a place for each key point."""
        maps, boxes = inputs
        lengths = match_shapes(("boxes height width points", maps), ("boxes 4", boxes))
        if any(isinstance(dim, int) and dim < 2 for dim in (lengths["height"], lengths["width"])):
            raise ShapeMismatch(f"heat maps {maps}, expected two rows and columns", do="give larger maps")
        found = (maps.shape[0], maps.shape[3])
        return TensorType(found, maps.dtype), TensorType((*found, 2), boxes.dtype)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Map by map."""
        maps, boxes = inputs
        count, height, width, points = maps.shape
        scores, places = np.zeros((count, points), maps.dtype), np.zeros((count, points, 2), np.float64)
        for box in range(count):
            start, end = boxes[box, :2].astype(np.float64), boxes[box, 2:].astype(np.float64)
            for point in range(points):
                score, place = _find_top(maps[box, :, :, point].astype(np.float64))
                scores[box, point] = score
                places[box, point] = start + (place + 0.5) * (end - start) / (width, height)
        rounded = np.rint(places) if np.issubdtype(boxes.dtype, np.integer) else places
        return scores, rounded.astype(boxes.dtype)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Boxes in pixels, as real and as whole numbers."""
        boxes = make_sample_regions()[:3]
        yield Sample("plain", cls(), (TensorType((3, 8, 8, 5)), boxes))
        yield Sample("whole", cls(), (TensorType((3, 4, 4, 2)), boxes.astype(np.int32)))


def move_boxes(boxes: Array, deltas: Array) -> Array:
    """Boxes (x1, y1, x2, y2) whose centres are moved by parts of their size, and whose sizes are scaled."""
    size = boxes[..., 2:] - boxes[..., :2]
    centre = (boxes[..., :2] + boxes[..., 2:]) / 2 + deltas[..., :2] * size
    half = np.exp(deltas[..., 2:]) * size / 2
    return np.concatenate([centre - half, centre + half], -1)


def cut_boxes(boxes: Array, sizes: Array) -> Array:
    """Boxes (x1, y1, x2, y2) cut at images of (height, width)."""
    limits = np.concatenate([sizes[..., ::-1], sizes[..., ::-1]], -1)
    return np.clip(boxes, 0, limits)


def make_sample_regions() -> Array:
    """Five regions within an image of 40 by 60."""
    regions = [[2, 3, 12, 20], [5, 5, 45, 39], [30, 8, 58, 30], [1, 1, 20, 25], [0, 10, 29, 38]]
    return np.asarray(regions, np.float32)


def _find_top(heat: Array) -> tuple[float, Array]:
    """The score at the top of the parabola around the largest element, and its place (x, y)."""
    row, column = np.unravel_index(int(heat.argmax()), heat.shape)
    near = np.pad(heat, 1, "reflect")[row : row + 3, column : column + 3]
    slope = np.asarray([near[1, 2] - near[1, 0], near[2, 1] - near[0, 1]]) / 2
    mixed = (near[2, 2] - near[2, 0] - near[0, 2] + near[0, 0]) / 4
    bend = np.asarray(
        [
            [near[1, 0] - 2 * near[1, 1] + near[1, 2], mixed],
            [mixed, near[0, 1] - 2 * near[1, 1] + near[2, 1]],
        ]
    )
    place = np.asarray([column, row], np.float64)
    if abs(np.linalg.det(bend)) < FLAT:
        return float(near[1, 1]), place
    step = np.linalg.solve(bend, -slope)
    if np.abs(step).max() > FARTHEST:
        step *= FARTHEST / np.abs(step).max()
    return float(near[1, 1] + slope @ step + step @ bend @ step / 2), place + step
