"""Making tensors larger or from nothing: tiles, padding, shapes, constants, random numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, ClassVar, Self

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, is_static
from edgewright.ir.op import Op, Sample, register, scalar, structural, tensor
from edgewright.ir.traits import EncodingRule, HtpPrecision, HtpWork
from edgewright.ir.types import TensorType
from edgewright.ops.axes import permute_shape


@register
@dataclass(frozen=True, kw_only=True)
class Tile(Op):
    """The tensor repeated along each axis."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    multiples: tuple[Dim, ...] = tensor(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Each size times its multiple."""
        shape = inputs[0].shape
        if len(self.multiples) != len(shape) or any(isinstance(m, int) and m < 0 for m in self.multiples):
            raise ShapeMismatch(
                f"multiples {list(self.multiples)} do not fit {inputs[0]}",
                do=f"give {len(shape)} multiples of 0 or more",
            )
        return (inputs[0].with_shape(d * m for d, m in zip(shape, self.multiples, strict=True)),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Tiled."""
        return (np.tile(inputs[0], tuple(int(m) for m in self.multiples)),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The multiples move with their axes."""
        return replace(self, multiples=permute_shape(self.multiples, order)), [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A real repetition, a broadcast, nothing left."""
        yield Sample("repeat", cls(multiples=(2, 1, 3)), (TensorType((2, 3, 2)),))
        yield Sample("broadcast", cls(multiples=(1, 4)), (TensorType((3, 1)),))
        yield Sample("empty", cls(multiples=(1, 0)), (TensorType((3, 2), DType.INT_32),))


class Scheme(IntEnum):
    """What padding is filled with."""

    CONSTANT = 0
    MIRROR_SYMMETRIC = 1
    MIRROR_REFLECT = 2
    EDGE = 3


_NUMPY_MODES = {
    Scheme.CONSTANT: "constant",
    Scheme.MIRROR_SYMMETRIC: "symmetric",
    Scheme.MIRROR_REFLECT: "reflect",
    Scheme.EDGE: "edge",
}


@register
@dataclass(frozen=True, kw_only=True)
class Pad(Op):
    """Elements added before and after each axis."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    scheme: Scheme = scalar(DType.UINT_32)
    pad_amount: tuple[tuple[Dim, Dim], ...] = tensor(DType.UINT_32)
    pad_constant_value: float | int | bool = scalar(DType.FLOAT_32, 0.0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Each size with its two amounts added."""
        shape = inputs[0].shape
        self._check(shape)
        sizes = (before + dim + after for dim, (before, after) in zip(shape, self.pad_amount, strict=True))
        return (inputs[0].with_shape(sizes),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Padded."""
        self._check(inputs[0].shape)
        amounts = [(int(before), int(after)) for before, after in self.pad_amount]
        mode: Any = _NUMPY_MODES[self.scheme]
        if self.scheme == Scheme.CONSTANT:
            value = np.asarray(self.pad_constant_value).astype(inputs[0].dtype)
            return (np.pad(inputs[0], amounts, mode, constant_values=value),)
        return (np.pad(inputs[0], amounts, mode),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The amounts move with their axes."""
        return replace(self, pad_amount=permute_shape(self.pad_amount, order)), [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Every scheme, and a value."""
        x = (TensorType((3, 4)),)
        amounts = ((1, 0), (2, 1))
        for scheme in Scheme:
            yield Sample(scheme.name.lower(), cls(scheme=scheme, pad_amount=amounts), x)
        yield Sample("value", cls(scheme=Scheme.CONSTANT, pad_amount=amounts, pad_constant_value=2.5), x)

    def _check(self, shape: Sequence[Dim]) -> None:
        amounts = self.pad_amount
        flat = [amount for pair in amounts for amount in pair]
        if len(amounts) != len(shape) or any(isinstance(a, int) and a < 0 for a in flat):
            raise ShapeMismatch(
                f"padding {[list(pair) for pair in amounts]} does not fit shape {list(shape)}",
                do=f"give {len(shape)} pairs of 0 or more",
            )
        if self.scheme != Scheme.CONSTANT and any(
            dim == 0 and pair != (0, 0) for dim, pair in zip(shape, amounts, strict=True)
        ):
            raise ShapeMismatch(
                f"shape {list(shape)} has an empty axis that nothing can be repeated from",
                do="pad with a constant",
            )


@register
@dataclass(frozen=True, kw_only=True)
class Shape(Op):
    """Sizes of the axes from start up to end."""

    htp_work = HtpWork.NONE

    # It reads no element.
    htp_precision = HtpPrecision.UNLISTED

    start: int = scalar(DType.UINT_32, 0)
    end: int | None = scalar(DType.UINT_32, None)
    dtype: DType = structural(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """A vector."""
        return (TensorType((len(inputs[0].shape[self.start : self.end]),), self.dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The sizes."""
        return (np.asarray(inputs[0].shape[self.start : self.end], self.dtype.numpy),)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The datatype is the output's."""
        return {"dtype": outputs[0].dtype}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """All sizes, and some."""
        x = (TensorType((2, 3, 4)),)
        yield Sample("all", cls(), x)
        yield Sample("some", cls(start=1, end=2, dtype=DType.INT_64), x)


@register
@dataclass(frozen=True, kw_only=True)
class ConstantOfShape(Op):
    """A tensor filled with one value, whose shape is the input's content."""

    # It writes one or two known numbers.
    htp_precision = HtpPrecision.UNLISTED

    value: float | int | bool = scalar(DType.FLOAT_32)
    # What the input holds: the type must be known before there are values.
    shape: tuple[Dim, ...] = structural()
    dtype: DType = structural(DType.FLOAT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The shape that the input holds."""
        if inputs[0].shape != (len(self.shape),) or any(isinstance(d, int) and d < 0 for d in self.shape):
            raise ShapeMismatch(
                f"shape {list(self.shape)} does not fit an input of {inputs[0]}",
                do="give a vector of sizes of 0 or more",
            )
        return (TensorType(self.shape, self.dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Filled (a view of one element); the input says the shape where it is there."""
        shape = self.shape if is_static(self.shape) else inputs[0]
        filling = np.asarray(self.value).astype(self.dtype.numpy)
        return (np.broadcast_to(filling, tuple(int(dim) for dim in shape)),)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """Shape and datatype are the output's."""
        return {"shape": outputs[0].shape, "dtype": outputs[0].dtype}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A filled matrix."""
        yield Sample("matrix", cls(value=2.5, shape=(2, 3)), (np.asarray([2, 3], np.uint32),))
        yield Sample("integers", cls(value=7, shape=(4,), dtype=DType.INT_64), (np.asarray([4]),))


@dataclass(frozen=True, kw_only=True)
class _RandomLike(Op):
    """Random numbers in the shape of the input."""

    is_pure: ClassVar[bool] = False

    dtype: DType = structural(DType.FLOAT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The input's shape."""
        return (inputs[0].with_dtype(self.dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Another draw each time."""
        drawn = self._draw(np.random.default_rng(), inputs[0].shape)
        return (drawn.astype(self.dtype.numpy),)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        raise NotImplementedError

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The datatype is the output's."""
        return {"dtype": outputs[0].dtype}


@register
@dataclass(frozen=True, kw_only=True)
class RandomNormalLike(_RandomLike):
    """Numbers of a normal distribution."""

    htp_precision = HtpPrecision.FLOAT

    mean: float = scalar(DType.FLOAT_32, 0.0)
    scale: float = scalar(DType.FLOAT_32, 1.0)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return random.normal(self.mean, abs(self.scale), shape)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Without spread, so that every draw is the same."""
        yield Sample("no_spread", cls(mean=2.5, scale=0.0), (TensorType((2, 3)),))


@register
@dataclass(frozen=True, kw_only=True)
class RandomUniformLike(_RandomLike):
    """Numbers of a uniform distribution."""

    htp_precision = HtpPrecision.FLOAT

    low: float = scalar(DType.FLOAT_32, 0.0)
    high: float = scalar(DType.FLOAT_32, 1.0)

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return self.low + (self.high - self.low) * random.random(shape)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Without spread, so that every draw is the same."""
        yield Sample("no_spread", cls(low=2.5, high=2.5), (TensorType((2, 3)),))
