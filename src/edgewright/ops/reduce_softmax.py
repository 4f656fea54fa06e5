"""The softmax family: elements of an axis as shares of one."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Self

import numpy as np

from edgewright.core.errors import ShapeMismatch, UnsupportedFeature
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.op import Op, Port, Sample, register, scalar
from edgewright.ir.traits import EncodingRule, HtpPrecision, HtpWork
from edgewright.ir.types import TensorType
from edgewright.ops.axes import moved_axis
from edgewright.ops.broadcast import broadcast_shapes
from edgewright.ops.elementwise import has_wide_numbers, in_dtype, widened
from edgewright.ops.reduce import reduced_shape

# Of the encodings whose lowest integer is 0.
ZERO_OFFSETS = {DType.UFIXED_POINT_8: 0, DType.SFIXED_POINT_8: 128}
# HTP has exponents of two in these units; where a step is fewer, its library loses the largest inputs.
EXPONENT_UNIT, FEWEST_UNITS = 2.0**-22, 16


def log_shares(x: Array, axis: int) -> Array:
    """Logarithm of the softmax; the largest element is taken off first so that nothing overflows."""
    shifted = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True)))


@register
@dataclass(frozen=True, kw_only=True)
class Softmax(Op):
    """exp(beta * x) of each element, divided by their sum along an axis (the last if none is given)."""

    htp_work = HtpWork.STATISTICS
    limits = (0.0, 1.0)
    is_probability = True
    ignores_masked = True
    encoding_rule = EncodingRule.FIXED

    axis: int | None = scalar(DType.UINT_32, None)
    beta: float = scalar(DType.FLOAT_32, 1.0)

    def find_htp_encoding(self, result: TensorType) -> Encoding | None:
        """With 8 bits the lowest integer stands for 0."""
        offset = ZERO_OFFSETS.get(result.dtype)
        is_taken = offset is None or result.encoding is None or result.encoding.offsets == (offset,)
        return None if is_taken or offset is None else Encoding((1 / 256,), (offset,))

    def is_wrong_on_htp(self, inputs: Sequence[TensorType | None]) -> bool:
        """With 16 bits the largest numbers of a row count for half where steps are small."""
        encoding = inputs[0].encoding if inputs[0] is not None else None
        if encoding is None or not has_wide_numbers(inputs):
            return False
        return encoding.scales[0] * self.beta * math.log2(math.e) < FEWEST_UNITS * EXPONENT_UNIT

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the input."""
        reduced_shape(inputs[0].shape, (self.axis_of(inputs[0].rank),), keep_dims=True)
        return (inputs[0],)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The shares; bfloat16 is rounded after each step, as ONNX defines its own softmax and attention."""
        x = inputs[0] if DType.of(inputs[0].dtype) == DType.BFLOAT_16 else widened(inputs[0])
        scaled = x * np.asarray(self.beta, x.dtype)
        powers = np.exp(scaled - np.max(scaled, axis=self.axis_of(x.ndim), keepdims=True, initial=-np.inf))
        return (in_dtype(powers / np.sum(powers, self.axis_of(x.ndim), keepdims=True), inputs[0].dtype),)

    def axis_of(self, rank: int) -> int:
        """The axis for inputs of this rank."""
        return rank - 1 if self.axis is None else self.axis

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axis moves with the others."""
        return replace(self, axis=moved_axis(self.axis_of(len(order)), order)), [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Another axis, and another beta."""
        x = (TensorType((2, 3, 4)),)
        yield Sample("last", cls(axis=2), x)
        yield Sample("axis", cls(axis=1), x)
        yield Sample("beta", cls(axis=2, beta=0.5), x)


@register
@dataclass(frozen=True, kw_only=True)
class LogSoftmax(Softmax):
    """Logarithm of the softmax."""

    limits = (-math.inf, 0.0)
    ignores_masked = False
    encoding_rule = EncodingRule.FREE

    axis: int = scalar(DType.UINT_32)

    def find_htp_encoding(self, result: TensorType) -> Encoding | None:
        """Any."""
        del result
        return None

    def is_wrong_on_htp(self, inputs: Sequence[TensorType | None]) -> bool:
        """Not that anyone has seen."""
        del inputs
        return False

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Without taking the logarithm of a small number."""
        x = widened(inputs[0])
        return (in_dtype(log_shares(x * self.beta, self.axis), inputs[0].dtype),)


class MaskMode(IntEnum):
    """How a mask says what is left out."""

    UNCOMPRESSED = 0
    COMPRESSED = 1


@register
@dataclass(frozen=True, kw_only=True)
class MaskedSoftmax(Op):
    """Softmax of the last axis after a mask [batch, channel] was added to every row and column."""

    htp_work = HtpWork.STATISTICS

    # Its range is known, as that of a Softmax.
    htp_precision = HtpPrecision.UNLISTED
    inputs = (Port("in[0]", rank=4), Port("in[1]", rank=2))
    limits = (0.0, 1.0)
    is_probability = True
    encoding_rule = EncodingRule.FIXED

    mode: MaskMode = scalar(DType.UINT_32, MaskMode.UNCOMPRESSED)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the data."""
        data, mask = inputs
        if data.rank != 4 or mask.rank != 2:
            raise ShapeMismatch(
                f"data {data} and mask {mask} have ranks {data.rank} and {mask.rank}, expected 4 and 2",
                do="give the data as [batch, height, width, channel] and the mask as [batch, channel]",
            )
        if self.mode == MaskMode.UNCOMPRESSED:
            broadcast_shapes(data.shape, (mask.shape[0], 1, 1, mask.shape[1]))
        return (data,)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The mask is added, then shares are taken."""
        if self.mode != MaskMode.UNCOMPRESSED:
            raise UnsupportedFeature(
                "MaskedSoftmax with a compressed mask has no reference here", do="use mode UNCOMPRESSED"
            )
        data, mask = inputs
        return Softmax(axis=3).compute(data + mask[:, np.newaxis, np.newaxis, :])

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A mask that leaves out the last element."""
        mask = np.asarray([[0, 0, 0, -10000]], np.float32)
        yield Sample("mask", cls(mode=MaskMode.UNCOMPRESSED), (TensorType((1, 2, 3, 4)), mask))
