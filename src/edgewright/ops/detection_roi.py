"""Regions of interest pooled from feature maps, channel last."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType, round_half_away
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, register, scalar, structural, tensor
from edgewright.ir.traits import HtpPrecision
from edgewright.ir.types import TensorType


@dataclass(frozen=True, kw_only=True)
class RoiRegions(Op):
    """Features [N, H, W, C], regions [n, 4] as x1, y1, x2, y2 in pixels of the image, their images [n].

    ``img_size_ratio`` is the image's height and width by the feature map's.
    """

    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]"))

    img_size_ratio: tuple[float, float] = tensor(DType.FLOAT_32)
    size: tuple[Dim, Dim] = structural()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """One small map a region; QNN reads its size off the output tensor."""
        x, regions, images = inputs
        fits = x.rank == 4 and regions.rank == 2 and images.rank == 1 and regions.shape[1] == 4
        if not fits or any(isinstance(dim, int) and dim < 1 for dim in self.size):
            raise ShapeMismatch(
                f"features {x}, regions {regions}, images {images} and size {list(self.size)} do not fit",
                do="give features of rank 4, regions [n,4], images [n] and two sizes",
            )
        if len(self.img_size_ratio) != 2 or min(self.img_size_ratio) <= 0:
            raise ShapeMismatch(
                f"img_size_ratio {list(self.img_size_ratio)}, expected two positive numbers",
                do="give the image's size by the feature map's",
            )
        return (x.with_shape((regions.shape[0], *self.size, x.shape[3])),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Region by region."""
        x, regions, images = inputs
        height, width = self.img_size_ratio
        scaled = regions.astype(np.float64) / np.asarray([width, height, width, height])
        size = tuple(int(dim) for dim in self.size)
        found = [self.pooled(x[int(i)], box, size) for box, i in zip(scaled, images, strict=True)]
        result = np.stack(found) if found else np.zeros((0, *size, x.shape[3]))
        return (result.astype(x.dtype),)

    def pooled(self, features: Array, box: Array, size: tuple[int, ...]) -> Array:
        """One region [x1, y1, x2, y2], in elements of the feature map."""
        raise NotImplementedError

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The size is the output's."""
        return {"size": outputs[0].shape[1:3]}


@register
@dataclass(frozen=True, kw_only=True)
class RoiAlign(RoiRegions):
    """The mean of samples interpolated in each cell of a region."""

    num_samples_y: int = scalar(DType.INT_32, -1)
    num_samples_x: int = scalar(DType.INT_32, -1)
    aligned: bool = scalar(DType.BOOL_8, False)
    allow_invalid_roi: bool = scalar(DType.BOOL_8, False)

    def pooled(self, features: Array, box: Array, size: tuple[int, ...]) -> Array:
        """Samples along both axes are a matrix each: cells times elements."""
        offset = 0.5 if self.aligned else 0.0
        x1, y1, x2, y2 = (box - offset).tolist()
        rows = self._cells(y1, y2, size[0], features.shape[0], self.num_samples_y)
        columns = self._cells(x1, x2, size[1], features.shape[1], self.num_samples_x)
        found: Array = np.einsum("yh,xw,hwc->yxc", rows, columns, features.astype(np.float64))
        return found

    def _cells(self, start: float, end: float, count: int, length: int, samples: int) -> Array:
        """How much each element weighs in each cell along one axis."""
        extent = end - start if self.aligned else max(end - start, 1.0)
        number = samples if samples > 0 else max(ceil(extent / count), 0)
        matrix = np.zeros((count, length))
        for cell in range(count):
            for sample in range(number):
                at = start + extent / count * (cell + (sample + 0.5) / number)
                if -1.0 <= at <= length:
                    _add_sample(matrix[cell], min(max(at, 0.0), length - 1.0), 1 / number)
        return matrix

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Aligned or not, with a number of samples or as many as fit."""
        x, images = TensorType((2, 7, 6, 3)), np.asarray([0, 1, 1], np.int32)
        regions = np.asarray([[0, 0, 8, 9], [2.5, 1, 11, 13], [-3, 4, 5, 20]], np.float32)
        plain = cls(img_size_ratio=(2.0, 2.0), size=(3, 2), num_samples_y=2, num_samples_x=2)
        yield Sample("plain", plain, (x, regions, images))
        yield Sample(
            "adaptive", cls(img_size_ratio=(2.0, 2.0), size=(2, 2), aligned=True), (x, regions, images)
        )
        uneven = cls(
            img_size_ratio=(2.0, 1.5), size=(2, 3), num_samples_y=1, num_samples_x=3, allow_invalid_roi=True
        )
        yield Sample("uneven", uneven, (x, regions, images))


@register
@dataclass(frozen=True, kw_only=True)
class RoiPooling(RoiRegions):
    """The largest element in each cell of a region, whose edges are rounded to elements."""

    htp_precision = HtpPrecision.FLOAT

    def pooled(self, features: Array, box: Array, size: tuple[int, ...]) -> Array:
        """A cell without elements is 0."""
        x1, y1, x2, y2 = (int(edge) for edge in round_half_away(box))
        rows = _edges(y1, y2, size[0], features.shape[0])
        columns = _edges(x1, x2, size[1], features.shape[1])
        result = np.zeros((*size, features.shape[2]), features.dtype)
        for i, (top, bottom) in enumerate(rows):
            for j, (left, right) in enumerate(columns):
                if bottom > top and right > left:
                    result[i, j] = features[top:bottom, left:right].max(axis=(0, 1))
        return result

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Inside and partly outside."""
        regions = np.asarray([[0, 0, 8, 9], [3, 1, 11, 13], [-3, 4, 5, 20]], np.float32)
        images = np.asarray([0, 1, 1], np.uint32)
        op = cls(img_size_ratio=(2.0, 2.0), size=(3, 2))
        yield Sample("plain", op, (TensorType((2, 7, 6, 3)), regions, images))


def _add_sample(row: Array, at: float, weight: float) -> None:
    low = int(at)
    high = min(low + 1, len(row) - 1)
    row[low] += weight * (1 - (at - low))
    row[high] += weight * (at - low)


def _edges(start: int, end: int, count: int, length: int) -> list[tuple[int, int]]:
    step = max(end - start + 1, 1) / count
    found = []
    for cell in range(count):
        low, high = int(np.floor(cell * step)) + start, int(np.ceil((cell + 1) * step)) + start
        found.append((min(max(low, 0), length), min(max(high, 0), length)))
    return found
