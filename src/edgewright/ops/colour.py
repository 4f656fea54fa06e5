"""Camera formats to red, green and blue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Sample, register, scalar, structural
from edgewright.ir.traits import EncodingRule
from edgewright.ir.types import TensorType


class Source(IntEnum):
    """Where the alpha channel stands."""

    ARGB = 0
    RGBA = 1


class Order(IntEnum):
    """The order of the output's channels."""

    RGB = 0
    BGR = 1


@register
@dataclass(frozen=True, kw_only=True)
class ArgbToRgb(Op):
    """Drops alpha, and turns the colours around where asked to."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    input_order: Source = scalar(DType.UINT_32, Source.ARGB)
    reverse_output: bool = scalar(DType.BOOL_8)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Three channels of four."""
        x = inputs[0]
        if x.rank != 4 or x.shape[3] != 4:
            raise ShapeMismatch(f"{x} has no four channels", do="give an image [N,H,W,4]")
        return (x.with_shape((*x.shape[:3], 3)),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """A slice of the channels."""
        start = 1 if self.input_order == Source.ARGB else 0
        colours = inputs[0][..., start : start + 3]
        return (colours[..., ::-1] if self.reverse_output else colours,)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Both orders."""
        x = (TensorType((1, 3, 2, 4), DType.UINT_8),)
        yield Sample("argb", cls(reverse_output=False), x)
        yield Sample("rgba", cls(input_order=Source.RGBA, reverse_output=True), x)


@dataclass(frozen=True, kw_only=True)
class _Nv(Op):
    """A plane of luma and a plane of chroma pairs, [N, W * H * 3 / 2]; QNN reads the size off the output."""

    output_order: Order = scalar(DType.INT_32)
    size: tuple[Dim, Dim] = structural()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Three channels of every pixel."""
        x, count = inputs[0], self.size[0] * self.size[1] * 3 // 2
        known = x.rank == 2 and isinstance(count, int) and isinstance(x.shape[1], int)
        if x.rank != 2 or (known and x.shape[1] != count):
            raise ShapeMismatch(
                f"{x} is no frame of {list(self.size)} pixels", do=f"give a tensor [N,{count}]"
            )
        return (x.with_shape((x.shape[0], *self.size, 3)),)

    @classmethod
    def structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The size is the output's."""
        return {"size": outputs[0].shape[1:3]}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Both orders."""
        x = (TensorType((1, 36), DType.UINT_8),)
        yield Sample("rgb", cls(output_order=Order.RGB, size=(4, 6)), x)
        yield Sample("bgr", cls(output_order=Order.BGR, size=(6, 4)), x)


@register
@dataclass(frozen=True, kw_only=True)
class Nv12ToRgb(_Nv):
    """Chroma pairs in the order U, V. Shape rule only: QNN does not publish the colour matrix."""


@register
@dataclass(frozen=True, kw_only=True)
class Nv21ToRgb(_Nv):
    """Chroma pairs in the order V, U. Shape rule only: QNN does not publish the colour matrix."""
