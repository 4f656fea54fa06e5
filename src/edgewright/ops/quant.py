"""Ways between real numbers and the integers that stand for them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from edgewright.core.errors import ShapeMismatch, TypeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.op import (
    FIXED_POINTS,
    FLOATS,
    Op,
    Port,
    Sample,
    register,
    scalar,
    structural,
)
from edgewright.ir.traits import EncodingRule
from edgewright.ir.types import TensorType

EIGHT_BIT = Encoding((0.25,), (-128,))
PER_AXIS = Encoding((0.25, 0.5, 1.0), (0, 1, -2), axis=1)


@dataclass(frozen=True, kw_only=True)
class Encoded(Op):
    """An op with an encoding on one of its sides."""

    is_encoder = True

    encoding: Encoding = structural()

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The encoding's axis moves with the others."""
        return replace(self, encoding=self.encoding.permuted(order)), [True]


@register
@dataclass(frozen=True, kw_only=True)
class Quantize(Encoded):
    """The integers nearest to real numbers, halves to even, clamped; the output's type has the encoding."""

    inputs = (Port("in[0]", FLOATS),)
    outputs = (Port("out[0]", FIXED_POINTS),)
    encoding_rule = EncodingRule.FIXED

    dtype: DType = structural(DType.UFIXED_POINT_8)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The same shape in fixed point."""
        _check(self.encoding, inputs[0])
        return (TensorType(inputs[0].shape, self.dtype, inputs[0].layout, self.encoding),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Encoded."""
        return (self.encoding.encode(inputs[0], self.dtype),)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """As the output's type has it."""
        return {"dtype": outputs[0].dtype, "encoding": outputs[0].encoding}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Widths from 4 to 16 bits, signed and not, one encoding and one a slice."""
        x = (TensorType((2, 3, 4)),)
        yield Sample("eight", cls(encoding=EIGHT_BIT), x)
        yield Sample("per_axis", cls(dtype=DType.SFIXED_POINT_8, encoding=PER_AXIS), x)
        wide = Encoding((0.001,), (0,), bitwidth=16)
        yield Sample("sixteen", cls(dtype=DType.SFIXED_POINT_16, encoding=wide), x)
        narrow = Encoding((0.25,), (-3,), bitwidth=4)
        yield Sample("four", cls(dtype=DType.UFIXED_POINT_4, encoding=narrow), x)
        yield Sample("half", cls(encoding=EIGHT_BIT), (TensorType((2, 3), DType.FLOAT_16),))


@register
@dataclass(frozen=True, kw_only=True)
class Dequantize(Encoded):
    """The real numbers that integers stand for: scale * (stored + offset)."""

    inputs = (Port("in[0]", FIXED_POINTS),)
    outputs = (Port("out[0]", FLOATS),)
    # The constant's encoding is what a quantizer and an artifact want to see, not its decoded numbers.
    is_foldable = False

    dtype: DType = structural(DType.FLOAT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The same shape in floats."""
        x = inputs[0]
        if not x.dtype.is_fixed_point or x.encoding not in {None, self.encoding}:
            raise TypeMismatch(
                f"{x} is read with encoding {self.encoding}, but has {x.encoding}",
                do="cast integers to fixed point with this encoding first",
            )
        _check(self.encoding, x)
        return (TensorType(x.shape, self.dtype, x.layout),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Decoded."""
        return (self.encoding.decode(inputs[0]).astype(self.dtype.numpy),)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """As the input's type has it."""
        encoding = inputs[0].encoding if inputs[0] is not None else None
        return {"encoding": encoding, "dtype": outputs[0].dtype}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Eight bits, one encoding a slice, four bits, 32 bits, into half precision."""
        eight = TensorType((2, 3), DType.UFIXED_POINT_8, encoding=EIGHT_BIT)
        yield Sample("eight", cls(encoding=EIGHT_BIT), (eight,))
        yield Sample("half", cls(encoding=EIGHT_BIT, dtype=DType.FLOAT_16), (eight,))
        sliced = TensorType((2, 3, 4), DType.SFIXED_POINT_8, encoding=PER_AXIS)
        yield Sample("per_axis", cls(encoding=PER_AXIS), (sliced,))
        narrow = Encoding((0.5,), (1,), bitwidth=4)
        yield Sample("four", cls(encoding=narrow), (TensorType((5,), DType.SFIXED_POINT_4, encoding=narrow),))
        bias = Encoding((0.125,), (0,), bitwidth=32)
        yield Sample("bias", cls(encoding=bias), (TensorType((5,), DType.SFIXED_POINT_32, encoding=bias),))


@register
@dataclass(frozen=True, kw_only=True)
class Convert(Op):
    """The same real numbers under another encoding, or between floats and fixed point."""

    is_encoder = True
    encoding_rule = EncodingRule.FIXED

    dynamic_input_data: bool = scalar(DType.BOOL_8, False)
    dynamic_output_data: bool = scalar(DType.BOOL_8, False)
    dtype: DType = structural()
    encoding: Encoding | None = structural(None)
    source: Encoding | None = structural(None)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The same shape in the other type."""
        x = inputs[0]
        if (self.encoding is None) == self.dtype.is_fixed_point or x.encoding not in {None, self.source}:
            raise TypeMismatch(
                f"{x} ({x.encoding}) cannot become {self.dtype.name} ({self.encoding})",
                do="give an encoding exactly to the fixed-point sides",
            )
        for encoding in (self.source, self.encoding):
            if encoding is not None:
                _check(encoding, x)
        return (TensorType(x.shape, self.dtype, x.layout, self.encoding),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Decoded with one encoding, encoded with the other."""
        real = inputs[0] if self.source is None else self.source.decode(inputs[0])
        if self.encoding is None:
            return (real.astype(self.dtype.numpy),)
        return (self.encoding.encode(real.astype(np.float32), self.dtype),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The encodings' axes move with the others."""
        moved = [e if e is None else e.permuted(order) for e in (self.source, self.encoding)]
        return replace(self, source=moved[0], encoding=moved[1]), [True]

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """As the types of both sides have it."""
        source = inputs[0].encoding if inputs[0] is not None else None
        return {"dtype": outputs[0].dtype, "encoding": outputs[0].encoding, "source": source}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Eight bits to sixteen, floats in and out, data whose encodings come at run time."""
        eight = TensorType((2, 3), DType.UFIXED_POINT_8, encoding=EIGHT_BIT)
        wide = Encoding((0.01,), (-32768,), bitwidth=16)
        widening = cls(dtype=DType.UFIXED_POINT_16, encoding=wide, source=EIGHT_BIT)
        yield Sample("wider", widening, (eight,))
        yield Sample("to_float", cls(dtype=DType.FLOAT_32, source=EIGHT_BIT), (eight,))
        dynamic = replace(widening, source=None, dynamic_input_data=True, dynamic_output_data=True)
        yield Sample("from_float", dynamic, (TensorType((2, 3)),))


def _check(encoding: Encoding | None, x: TensorType) -> None:
    if encoding is None:
        raise TypeMismatch(f"{x} needs an encoding, found none", do="give the fixed-point tensor an encoding")
    if len(encoding.scales) != len(encoding.offsets):
        raise ShapeMismatch(f"{len(encoding.scales)} scales come with {len(encoding.offsets)} offsets")
    axis, count = encoding.axis, len(encoding.scales)
    if axis is None:
        fits = count == 1
    else:
        fits = 0 <= axis < x.rank and (x.shape[axis] == count or not isinstance(x.shape[axis], int))
    if not fits:
        raise ShapeMismatch(
            f"{count} scales along axis {axis} do not fit {x}", do="give one scale, or one for each slice"
        )
