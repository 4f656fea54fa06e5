"""Sampling an image at computed places, channel last."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType, round_half_away
from edgewright.ir.op import Op, Port, Sample, register, scalar, tensor
from edgewright.ir.traits import HtpPrecision
from edgewright.ir.types import TensorType
from edgewright.ops.shape_patterns import match_shapes
from edgewright.ops.windows import Pair


class SampleMode(IntEnum):
    """How values between elements are made."""

    BILINEAR = 0
    NEAREST = 1


class CropMode(IntEnum):
    """How values between elements are made, as cropping ops call it."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1


class Padding(IntEnum):
    """What lies outside the image."""

    ZEROS = 0
    BORDER = 1
    REFLECTION = 2


@register
@dataclass(frozen=True, kw_only=True)
class GridSample(Op):
    """The input at coordinates from -1 to 1: grid [N, out..., axes] holds x, y (and z) of each output."""

    inputs = (Port("in[0]"), Port("in[1]"))

    align_corners: bool = scalar(DType.BOOL_8, False)
    mode: SampleMode = scalar(DType.UINT_32, SampleMode.BILINEAR)
    padding_mode: Padding = scalar(DType.UINT_32, Padding.ZEROS)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The grid's places, the input's channels."""
        x, grid = inputs
        if x.rank != grid.rank or x.rank not in {4, 5} or grid.shape[-1] != x.rank - 2:
            raise ShapeMismatch(
                f"grid {grid} does not fit {x}",
                do=f"give a grid of rank {x.rank} whose last axis is {x.rank - 2}",
            )
        batches = {size for size in (x.shape[0], grid.shape[0]) if isinstance(size, int)}
        if len(batches) > 1:
            raise ShapeMismatch(
                f"a grid of {grid.shape[0]} images is given for {x.shape[0]}", do="give one grid an image"
            )
        return (x.with_shape((*grid.shape[:-1], x.shape[-1])),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Coordinates to places, then the elements around them."""
        x, grid = inputs
        places = []
        for axis, length in enumerate(x.shape[1:-1]):
            at = grid[..., grid.shape[-1] - 1 - axis].astype(np.float64)
            spot = (at + 1) / 2 * (length - 1) if self.align_corners else ((at + 1) * length - 1) / 2
            places.append(self._inside(spot, length))
        if self.mode == SampleMode.NEAREST:
            places = [np.rint(spot) for spot in places]
        return (_interpolated(x, places).astype(x.dtype),)

    def _inside(self, spot: Array, length: int) -> Array:
        if self.padding_mode == Padding.ZEROS:
            return spot
        if self.padding_mode == Padding.REFLECTION:
            low, span = (0.0, length - 1.0) if self.align_corners else (-0.5, float(length))
            away = np.abs(spot - low)
            turns, rest = np.divmod(away, span) if span else (away * 0, away * 0)
            spot = np.where(turns % 2 == 0, low + rest, low + span - rest)
        return np.clip(spot, 0, length - 1)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Every mode, in two and three dimensions."""
        x, grid = TensorType((2, 5, 4, 3)), TensorType((2, 3, 6, 2))
        for padding in Padding:
            yield Sample(padding.name.lower(), cls(padding_mode=padding), (x, grid))
        nearest = cls(mode=SampleMode.NEAREST, padding_mode=Padding.REFLECTION, align_corners=True)
        yield Sample("nearest", nearest, (x, grid))
        deep = (TensorType((1, 3, 5, 4, 2)), TensorType((1, 2, 3, 6, 3)))
        yield Sample("three_axes", cls(align_corners=True), deep)


@register
@dataclass(frozen=True, kw_only=True)
class CropAndResize(Op):
    """Boxes (y1, x1, y2, x2, where 1 is the last element) of the images that in[2] names, in one size."""

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]"))

    resize_dims: Pair = tensor(DType.UINT_32)
    interpolation_mode: CropMode = scalar(DType.UINT_32, CropMode.BILINEAR)
    extrapolation_value: float = scalar(DType.FLOAT_32, 0.0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """One image a box."""
        x, boxes, images = inputs
        fits = x.rank == 4 and boxes.rank == 2 and images.rank == 1 and boxes.shape[1] == 4
        if not fits or len(self.resize_dims) != 2 or min(self.resize_dims) < 1:
            raise ShapeMismatch(
                f"images {x}, boxes {boxes}, indices {images} and size {list(self.resize_dims)} do not fit",
                do="give images of rank 4, boxes [n,4], indices [n] and two sizes",
            )
        return (x.with_shape((boxes.shape[0], *self.resize_dims, x.shape[3])),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Lines of places for each box; outside the image the extrapolation value."""
        x, boxes, images = inputs
        rows = _lines(boxes[:, 0], boxes[:, 2], x.shape[1], self.resize_dims[0])[:, :, None]
        columns = _lines(boxes[:, 1], boxes[:, 3], x.shape[2], self.resize_dims[1])[:, None, :]
        rows, columns = np.broadcast_arrays(rows, columns)
        is_inside = (rows >= 0) & (rows <= x.shape[1] - 1) & (columns >= 0) & (columns <= x.shape[2] - 1)
        if self.interpolation_mode == CropMode.NEAREST_NEIGHBOR:
            rows, columns = round_half_away(rows), round_half_away(columns)
        found = _interpolated(x[images.astype(np.int64)], [rows, columns])
        return (np.where(is_inside[..., None], found, self.extrapolation_value).astype(x.dtype),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Inside, outside, nearest."""
        x, images = TensorType((2, 6, 5, 3)), np.asarray([0, 1, 1], np.int32)
        boxes = np.asarray([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [0.9, -0.3, 0.1, 1.4]], np.float32)
        yield Sample("bilinear", cls(resize_dims=(4, 3), extrapolation_value=0.5), (x, boxes, images))
        nearest = cls(resize_dims=(3, 1), interpolation_mode=CropMode.NEAREST_NEIGHBOR)
        yield Sample("nearest", nearest, (x, boxes, images))


@register
@dataclass(frozen=True, kw_only=True)
class ImageProjectionTransform(Op):
    """Each output looks at (a0 x + a1 y + a2, b0 x + b1 y + b2) / (c0 x + c1 y + 1); outside are zeros."""

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"))

    interpolation_mode: CropMode = scalar(DType.UINT_32, CropMode.BILINEAR)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The input's type."""
        x, matrix = inputs
        if x.rank != 4 or matrix.rank != 2 or matrix.shape[1] != 8:
            raise ShapeMismatch(
                f"image {x} and transforms {matrix} do not fit",
                do="give images of rank 4 and transforms [n,8]",
            )
        return (x,)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Places of all outputs, then the elements around them."""
        x = inputs[0]
        a0, a1, a2, b0, b1, b2, c0, c1 = (
            part[:, None, None] for part in np.moveaxis(inputs[1].astype(np.float64), 1, 0)
        )
        row, column = np.mgrid[: x.shape[1], : x.shape[2]].astype(np.float64)
        scale = c0 * column + c1 * row + 1
        columns, rows = (a0 * column + a1 * row + a2) / scale, (b0 * column + b1 * row + b2) / scale
        places = [np.broadcast_to(spot, x.shape[:3]) for spot in (rows, columns)]
        if self.interpolation_mode == CropMode.NEAREST_NEIGHBOR:
            places = [round_half_away(spot) for spot in places]
        return (_interpolated(x, places).astype(x.dtype),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A small turn."""
        matrix = np.asarray([[0.9, 0.2, 0.3, -0.1, 1.1, -0.4, 0.01, 0.02]] * 2, np.float32)
        x = TensorType((2, 5, 4, 3))
        yield Sample("bilinear", cls(), (x, matrix))
        yield Sample("nearest", cls(interpolation_mode=CropMode.NEAREST_NEIGHBOR), (x, matrix))


class GlimpseNoise(IntEnum):
    """What stands outside an image."""

    UNIFORM = 0
    GAUSSIAN = 1
    ZERO = 2


@register
@dataclass(frozen=True, kw_only=True)
class ExtractGlimpse(Op):
    """A window of each image around an offset (y, x), as TensorFlow cuts it.

    ``normalized`` offsets are parts of the image's size, ``centered`` ones start from its middle. What lies
    outside has the range (0), the mean and deviation (1) of the image, or is zero (2); the random numbers are
    the same in every run.
    """

    htp_precision = HtpPrecision.EIGHT_BITS
    inputs = (Port("in[0]"), Port("in[1]"))
    is_pure = False

    size: Pair = tensor(DType.INT_32)
    centered: bool = scalar(DType.BOOL_8, True)
    normalized: bool = scalar(DType.BOOL_8, True)
    noise: int = scalar(DType.INT_32, 0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """One window an image."""
        x = inputs[0]
        if x.rank != 4 or len(self.size) != 2 or min(self.size) < 1:
            raise ShapeMismatch(f"windows {list(self.size)} of {x}", do="give images of rank 4 and two sizes")
        match_shapes(("N height width channels", x), ("N 2", inputs[1]))
        return (x.with_shape((x.shape[0], *self.size, x.shape[3])),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Image by image."""
        x, offsets = inputs
        random = np.random.default_rng(0)
        windows = [self._cut(image, offset, random) for image, offset in zip(x, offsets, strict=True)]
        return (np.stack(windows).astype(x.dtype),)

    def _cut(self, image: Array, offset: Array, random: np.random.Generator) -> Array:
        window = self._make_noise(image, random)
        start, lengths = self._find_start(offset, image.shape[:2]), np.asarray(image.shape[:2])
        low = np.clip(start, 0, lengths)
        high = np.maximum(np.clip(start + np.asarray(self.size), 0, lengths), low)
        (top, left), (bottom, right) = low - start, high - start
        window[top:bottom, left:right] = image[low[0] : high[0], low[1] : high[1]]
        return window

    def _find_start(self, offset: Array, shape: Sequence[int]) -> Array:
        """The first row and column, cut to whole numbers."""
        place: Array = offset.astype(np.float32)
        whole = np.asarray(shape, np.float32)
        if self.normalized:
            place = place * whole
            if self.centered:
                place = place / 2 + whole / 2 - np.asarray(self.size, np.float32) / 2
        elif self.centered:
            # TensorFlow does not take half of the window off here, and neither does HTP's library.
            place = place + whole / 2
        return np.trunc(place).astype(np.int64)

    def _make_noise(self, image: Array, random: np.random.Generator) -> Array:
        shape = (*self.size, image.shape[2])
        if self.noise == GlimpseNoise.ZERO:
            return np.zeros(shape)
        if self.noise == GlimpseNoise.GAUSSIAN:
            return random.normal(float(image.mean()), float(image.std()), shape)
        return random.uniform(float(image.min()), float(image.max()), shape)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """All ways to say where."""
        x = TensorType((2, 7, 6, 3))
        parts = np.asarray([[0.4, -0.3], [0.1, 0.9]], np.float32)
        pixels = np.asarray([[1.0, 2.0], [-2.0, 4.0]], np.float32)
        zero = int(GlimpseNoise.ZERO)
        yield Sample("plain", cls(size=(3, 2), noise=zero), (x, parts))
        yield Sample("corner", cls(size=(3, 4), centered=False, noise=zero), (x, parts))
        yield Sample("pixels", cls(size=(3, 4), normalized=False, noise=zero), (x, pixels))
        plain = cls(size=(3, 4), centered=False, normalized=False, noise=zero)
        yield Sample("corner_pixels", plain, (x, pixels))


def _lines(start: Array, end: Array, length: int, count: int) -> Array:
    """``count`` places from start to end, in elements, for each box.

    In the boxes' own precision, as engines compute it: a place just beside a half rounds as theirs does.
    """
    last = np.asarray(length - 1).astype(start.dtype)
    if count == 1:
        middle: Array = np.asarray(0.5).astype(start.dtype) * (start + end) * last
        return middle[:, None]
    step = (end - start) * last / np.asarray(count - 1).astype(start.dtype)
    line: Array = (start * last)[:, None] + np.arange(count).astype(start.dtype) * step[:, None]
    return line


def _interpolated(x: Array, places: Sequence[Array]) -> Array:
    """[N, spatial..., C] at fractional places [N, out...] of each axis; elements outside count as zero."""
    spots = [
        np.where(np.isfinite(spot), np.clip(spot, -2, n + 1), -2.0)
        for spot, n in zip(places, x.shape[1:-1], strict=True)
    ]
    floors = [np.floor(spot) for spot in spots]
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * (spots[0].ndim - 1))
    total: Array = np.zeros((*spots[0].shape, x.shape[-1]), np.float64)
    for corner in product((0, 1), repeat=len(spots)):
        weight: Array = np.ones(spots[0].shape)
        index: list[Array] = [batch]
        for spot, floor, side, length in zip(spots, floors, corner, x.shape[1:-1], strict=True):
            place = floor + side
            weight = weight * (1 - np.abs(spot - place)) * ((place >= 0) & (place < length))
            index.append(np.clip(place, 0, length - 1).astype(np.int64))
        total += np.where(weight[..., None] == 0, 0, x[tuple(index)] * weight[..., None])
    return total
