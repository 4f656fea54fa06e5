"""Elementwise ops of one operand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.op import Port, Sample, part_of_another, register, scalar
from edgewright.ir.traits import HtpPrecision
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise import BOOLS, TRUTHS, Unary, check_dtypes, has_wide_numbers

POSITIVE = np.linspace(0.25, 9, 24, dtype=np.float32).reshape(2, 3, 4)
SPECIAL = np.asarray([0, -1, np.inf, -np.inf, np.nan], np.float32)


@dataclass(frozen=True, kw_only=True)
class OfPositive(Unary):
    """A function that is real for positive numbers only."""

    is_arithmetic = True
    is_fragile = True
    may_make_nan = True

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Positive numbers."""
        yield Sample("positive", cls(), (POSITIVE,))


@dataclass(frozen=True, kw_only=True)
class Predicate(Unary):
    """A question about each element."""

    outputs = (Port("out[0]", BOOLS),)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The shape of the input, bool."""
        check_dtypes(self, *inputs)
        return (inputs[0].with_dtype(DType.BOOL_8),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The answers."""
        return (np.asarray(self.apply(inputs[0]), np.bool_),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Infinite and undefined numbers."""
        yield Sample("special", cls(), (SPECIAL,))


@register
class ElementWiseAbs(Unary):
    """Absolute value."""

    is_arithmetic = True
    meaning = np.abs


@register
class ElementWiseAsin(Unary):
    """Inverse sine."""

    htp_precision = HtpPrecision.EIGHT_BITS
    may_make_nan = True
    meaning = np.arcsin

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """The interval where it is real."""
        yield Sample("plain", cls(), (np.linspace(-1, 1, 9, dtype=np.float32),))


@register
class ElementWiseAtan(Unary):
    """Inverse tangent."""

    meaning = np.arctan


@register
class ElementWiseCeil(Unary):
    """Rounded up."""

    meaning = np.ceil


@register
class ElementWiseCos(Unary):
    """Cosine of radians."""

    meaning = np.cos


@register
class ElementWiseExp(Unary):
    """e to the power of x."""

    meaning = np.exp


@register
class ElementWiseFloor(Unary):
    """Rounded down."""

    meaning = np.floor


@register
class ElementWiseLog(OfPositive):
    """Natural logarithm."""

    meaning = np.log

    def is_wrong_on_htp(self, inputs: Sequence[TensorType | None]) -> bool:
        """With 16 bits all results are zeros."""
        return has_wide_numbers(inputs)


@register
class ElementWiseNeg(Unary):
    """-x."""

    is_tabulated_on_htp = False
    slopes = (-1,)
    is_arithmetic = True
    meaning = np.negative


@register
class ElementWiseNot(Predicate):
    """Whether x is false; of fixed-point numbers a real 0 is false."""

    inputs = (Port("in[0]", TRUTHS),)
    outputs = (Port("out[0]", TRUTHS),)
    meaning = np.logical_not

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Truth values stay what they are."""
        return (super().infer(*inputs)[0].with_dtype(inputs[0].dtype),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Truth values."""
        yield Sample("plain", cls(), (TensorType((2, 8), DType.BOOL_8),))


@register
class ElementWiseRound(Unary):
    """Rounded to the nearest integer, halves to the even one."""

    meaning = np.round


@register
class ElementWiseRsqrt(OfPositive):
    """1 / square root of x."""

    @staticmethod
    def meaning(x: Array) -> Array:
        """1 / square root of x."""
        return np.asarray(np.divide(1, np.sqrt(x)))


@register
class ElementWiseSign(Unary):
    """-1, 0 or 1."""

    meaning = np.sign


@register
class ElementWiseSin(Unary):
    """Sine of radians."""

    meaning = np.sin


@register
class ElementWiseSquareRoot(OfPositive):
    """Square root."""

    meaning = np.sqrt


@part_of_another
class Reciprocal(Unary):
    """1 / x. QNN knows it only as an operation of ElementWiseUnary."""

    is_arithmetic = True
    is_fragile = True
    may_make_nan = True

    @staticmethod
    def meaning(x: Array) -> Array:
        """1 / x."""
        return np.asarray(np.divide(1, x))


@register
class IsNan(Predicate):
    """Whether x is not a number."""

    htp_precision = HtpPrecision.FLOAT
    meaning = np.isnan


@register
@dataclass(frozen=True, kw_only=True)
class IsInf(Predicate):
    """Whether x is infinite, of either sign or of one."""

    htp_precision = HtpPrecision.FLOAT

    detect_negative: bool = scalar(DType.BOOL_8, True)
    detect_positive: bool = scalar(DType.BOOL_8, True)

    def apply(self, x: Array) -> Array:
        """The infinities asked for."""
        wanted = np.where(x < 0, self.detect_negative, self.detect_positive)
        return np.asarray(np.isinf(x) & wanted)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Both signs, and each alone."""
        yield from super().samples()
        yield Sample("positive", cls(detect_negative=False), (SPECIAL,))
        yield Sample("negative", cls(detect_positive=False), (SPECIAL,))
