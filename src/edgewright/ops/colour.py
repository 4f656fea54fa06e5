"""Camera formats to red, green and blue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Sample, register, scalar, structural
from edgewright.ir.traits import EncodingRule
from edgewright.ir.types import TensorType

# Chroma without colour, and JFIF's weights of the two differences of colour.
MIDDLE = np.float32(128)
RED_OF_V, BLUE_OF_U = np.float32(1.402), np.float32(1.772)
GREEN_OF_U, GREEN_OF_V = np.float32(0.344136), np.float32(0.714136)


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
    """A plane of luma and a plane of chroma pairs, [N, W * H * 3 / 2]; QNN reads the size off the output.

    The colours are those of JFIF: BT.601 over the full range of 0 to 255. HTP's library computes the same and
    cuts off fractions.
    """

    # Where U and V stand in a pair.
    chroma: ClassVar[tuple[int, int]]

    output_order: Order = scalar(DType.INT_32)
    size: tuple[Dim, Dim] = structural()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Three channels of every pixel."""
        x, count = inputs[0], self.size[0] * self.size[1] * 3 // 2
        known = x.rank == 2 and isinstance(count, int) and isinstance(x.shape[1], int)
        is_odd = any(isinstance(dim, int) and dim % 2 for dim in self.size)
        if x.rank != 2 or is_odd or (known and x.shape[1] != count):
            raise ShapeMismatch(
                f"{x} is no frame of {list(self.size)} pixels", do=f"give a tensor [N,{count}]"
            )
        return (x.with_shape((x.shape[0], *self.size, 3)),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Each pair is the chroma of two by two pixels."""
        x = inputs[0]
        height, width = (int(dim) for dim in self.size)
        pixels = height * width
        luma = x[:, :pixels].reshape(-1, height, width).astype(np.float32)
        pairs = x[:, pixels:].reshape(-1, height // 2, width // 2, 2).astype(np.float32) - MIDDLE
        u, v = (pairs[..., place].repeat(2, 1).repeat(2, 2) for place in self.chroma)
        red, blue = luma + RED_OF_V * v, luma + BLUE_OF_U * u
        green = luma - GREEN_OF_U * u - GREEN_OF_V * v
        colours = np.clip(np.stack([red, green, blue], -1), 0, 255)
        if self.output_order == Order.BGR:
            colours = colours[..., ::-1]
        whole = np.issubdtype(x.dtype, np.integer)
        return ((np.floor(colours) if whole else colours).astype(x.dtype),)

    @classmethod
    def read_structure(
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
    """Chroma pairs in the order U, V."""

    chroma = (0, 1)


@register
@dataclass(frozen=True, kw_only=True)
class Nv21ToRgb(_Nv):
    """Chroma pairs in the order V, U."""

    chroma = (1, 0)
