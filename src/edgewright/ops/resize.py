"""Resizing of the spatial axes, channel last."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Shape
from edgewright.ir.op import Op, Param, Sample, register, scalar, structural
from edgewright.ir.types import TensorType
from edgewright.ops.resize_axis import (
    Interpolation,
    Nearest,
    Transformation,
    cubic_weights,
    linear_weights,
    nearest_places,
    positions,
    weight_matrix,
)
from edgewright.ops.windows import check_count

CUBIC = -0.75


@dataclass(frozen=True)
class ResizeRule:
    """What an op that resizes does, in one form for all of them."""

    interpolation: Interpolation
    transformation: Transformation
    nearest: Nearest = Nearest.FLOOR
    cubic: float = CUBIC
    exclude_outside: bool = False


@dataclass(frozen=True, kw_only=True)
class Resizing(Op):
    """[N, spatial..., C] with other spatial sizes; QNN reads them off the output tensor."""

    size: Shape = structural()

    rank: ClassVar[int | None] = 4

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The new spatial sizes."""
        x = inputs[0]
        if x.rank != len(self.size) + 2 or (self.rank or x.rank) != x.rank:
            raise ShapeMismatch(
                f"{x} does not fit {len(self.size)} new sizes {list(self.size)}",
                do="give one size for each spatial axis",
            )
        if any(isinstance(dim, int) and dim < 1 for dim in (*self.size, *x.shape[1:-1])):
            raise ShapeMismatch(
                f"sizes {list(self.size)} of {x} must be at least 1", do="resize to at least one element"
            )
        check_count(self.size)
        return (x.with_shape((x.shape[0], *self.size, x.shape[-1])),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """One axis after the other."""
        x, rule = inputs[0], self.rule()
        for axis, wanted in enumerate(self.size, start=1):
            x = _resized(x, axis, int(wanted), rule)
        return (x.astype(inputs[0].dtype),)

    def rule(self) -> ResizeRule:
        """The parameters in the common form."""
        raise NotImplementedError

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The sizes are the output's."""
        return {"size": outputs[0].shape[1:-1]}


@register
@dataclass(frozen=True, kw_only=True)
class Resize(Resizing):
    """Any number of spatial axes, any interpolation."""

    rank: ClassVar[int | None] = None

    exclude_outside: bool = scalar(DType.BOOL_8, False)
    transformation_mode: Transformation = scalar(DType.UINT_32, Transformation.HALF_PIXEL)
    interpolation_mode: Interpolation = scalar(DType.UINT_32, Interpolation.NEAREST)
    nearest_mode: Nearest = scalar(DType.UINT_32, Nearest.ROUND_PREFER_FLOOR)
    cubic_coeff: float = scalar(DType.FLOAT_32, CUBIC)

    def params(self) -> list[Param]:
        """Without those of other interpolations: QNN's validators refuse them."""
        idle = {"nearest_mode"} if self.interpolation_mode != Interpolation.NEAREST else set()
        idle |= {"cubic_coeff"} if self.interpolation_mode != Interpolation.CUBIC else set()
        return [param for param in super().params() if param.name not in idle]

    def rule(self) -> ResizeRule:
        """As it stands."""
        return ResizeRule(
            self.interpolation_mode,
            self.transformation_mode,
            self.nearest_mode,
            self.cubic_coeff,
            self.exclude_outside,
        )

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Every mode once."""
        x = (TensorType((1, 5, 4, 2)),)
        for mode in Interpolation:
            yield Sample(mode.name.lower(), cls(size=(7, 6), interpolation_mode=mode), x)
        for transformation in Transformation:
            op = cls(size=(8, 1), transformation_mode=transformation, interpolation_mode=Interpolation.LINEAR)
            yield Sample(transformation.name.lower(), op, x)
        for nearest in Nearest:
            yield Sample(nearest.name.lower(), cls(size=(10, 3), nearest_mode=nearest), x)
        cubic = cls(
            size=(8, 3), interpolation_mode=Interpolation.CUBIC, cubic_coeff=-0.5, exclude_outside=True
        )
        yield Sample("exclude_outside", cubic, x)
        deep = cls(size=(2, 4, 6), interpolation_mode=Interpolation.LINEAR)
        yield Sample("three_axes", deep, (TensorType((1, 3, 4, 3, 2)),))


@dataclass(frozen=True, kw_only=True)
class _Classic(Resizing):
    """The two flags that TensorFlow has."""

    align_corners: bool = scalar(DType.BOOL_8, False)
    half_pixel_centers: bool = scalar(DType.BOOL_8, False)

    def transformation(self) -> Transformation:
        """What the flags say."""
        if self.align_corners:
            return Transformation.ALIGN_CORNERS
        return Transformation.HALF_PIXEL if self.half_pixel_centers else Transformation.ASYMMETRIC

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Larger and smaller, with each flag."""
        x = (TensorType((1, 5, 4, 2)),)
        yield Sample("plain", cls(size=(10, 8)), x)
        yield Sample("smaller", cls(size=(3, 3)), x)
        yield Sample("align_corners", cls(size=(7, 6), align_corners=True), x)
        yield Sample("half_pixel", cls(size=(10, 3), half_pixel_centers=True), x)


@register
@dataclass(frozen=True, kw_only=True)
class ResizeBilinear(_Classic):
    """Height and width, linear."""

    def rule(self) -> ResizeRule:
        """Linear."""
        return ResizeRule(Interpolation.LINEAR, self.transformation())


@register
@dataclass(frozen=True, kw_only=True)
class ResizeNearestNeighbor(_Classic):
    """Height and width, the nearest element: rounded with a flag, cut without."""

    def rule(self) -> ResizeRule:
        """Halves go up where the flags round."""
        plain = self.transformation() == Transformation.ASYMMETRIC
        return ResizeRule(
            Interpolation.NEAREST,
            self.transformation(),
            Nearest.FLOOR if plain else Nearest.ROUND_PREFER_CEIL,
        )


def _resized(x: Array, axis: int, wanted: int, rule: ResizeRule) -> Array:
    length = x.shape[axis]
    if length == wanted:
        return x
    at = positions(length, wanted, rule.transformation)
    if rule.interpolation == Interpolation.NEAREST:
        return np.take(x, nearest_places(at, rule.nearest, length), axis)
    if rule.interpolation == Interpolation.LINEAR:
        matrix = weight_matrix(at, length, linear_weights, 1)
    else:
        weights = partial(cubic_weights, coefficient=rule.cubic)
        matrix = weight_matrix(at, length, weights, 2, exclude_outside=rule.exclude_outside)
    return np.moveaxis(np.tensordot(matrix, x.astype(np.float64), axes=([1], [axis])), 0, axis)
