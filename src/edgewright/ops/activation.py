"""Activation functions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.op import Sample, part_of_another, register, scalar
from edgewright.ir.traits import EVERYTHING, EncodingRule, HtpPrecision, HtpWork, Range
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise import Binary, Unary

X = (TensorType((2, 3, 4)),)
_ERF = np.frompyfunc(math.erf, 1, 1)
# Gelu by a hyperbolic tangent: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), which is
# x * sigmoid(GELU_TANH_SLOPE * x + GELU_TANH_CUBE * x^3).
GELU_TANH_SLOPE = 2 * math.sqrt(2 / math.pi)
GELU_TANH_CUBE = 0.044715 * GELU_TANH_SLOPE
# Selu is SELU_SCALE times an Elu (arXiv:1706.02515); these are the numbers in single precision.
SELU_ALPHA, SELU_SCALE = 1.67326319217681884765625, 1.05070102214813232421875


@register
class Relu(Unary):
    """max(x, 0)."""

    htp_work = HtpWork.NONE
    limits = (0.0, math.inf)
    is_clamp = True
    is_arithmetic = True
    is_fused_on_htp = True
    scaled_inputs = (0,)

    @staticmethod
    def meaning(x: Array) -> Array:
        """max(x, 0)."""
        return np.asarray(np.maximum(x, np.zeros((), x.dtype)))


@register
class Relu1(Unary):
    """x between -1 and 1."""

    htp_work = HtpWork.NONE
    limits = (-1.0, 1.0)
    is_clamp = True

    @staticmethod
    def meaning(x: Array) -> Array:
        """Values between -1 and 1."""
        return np.clip(x, -1, 1)


@register
class Relu6(Unary):
    """x between 0 and 6."""

    htp_work = HtpWork.NONE
    limits = (0.0, 6.0)
    is_clamp = True

    @staticmethod
    def meaning(x: Array) -> Array:
        """Values between 0 and 6."""
        return np.clip(x, 0, 6)


@register
@dataclass(frozen=True, kw_only=True)
class ReluMinMax(Unary):
    """x between two bounds; the upper one wins where they cross."""

    htp_work = HtpWork.NONE
    is_clamp = True

    min_value: float = scalar(DType.FLOAT_32)
    max_value: float = scalar(DType.FLOAT_32)

    def apply(self, x: Array) -> Array:
        """Clipped."""
        return np.asarray(np.minimum(np.maximum(x, self.min_value), self.max_value))

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Bounds in order, and crossed."""
        yield Sample("plain", cls(min_value=-0.5, max_value=1.0), X)
        yield Sample("crossed", cls(min_value=1.0, max_value=-0.5), X)

    def value_range(self) -> Range:
        """Between the bounds."""
        return min(self.min_value, self.max_value), self.max_value


@register
@dataclass(frozen=True, kw_only=True)
class Elu(Unary):
    """x where it is positive, else alpha * (exp(x) - 1)."""

    alpha: float = scalar(DType.FLOAT_32, 1.0)

    def apply(self, x: Array) -> Array:
        """The exponential is taken of negative numbers only: it cannot overflow."""
        return np.where(x > 0, x, self.alpha * np.expm1(np.minimum(x, 0)))

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """The default and another slope."""
        yield Sample("plain", cls(), X)
        yield Sample("alpha", cls(alpha=1.7), X)

    def active_range(self, tolerance: float) -> Range:
        """Until the exponential has fallen to the tolerance."""
        return math.log(tolerance), math.inf


@register
class Gelu(Unary):
    """x / 2 * (1 + erf(x / sqrt(2))), the exact form."""

    @staticmethod
    def meaning(x: Array) -> Array:
        """Through the error function in double precision."""
        wide = x.astype(np.float64)
        return np.asarray(wide / 2 * (1 + np.asarray(_ERF(wide / math.sqrt(2)), np.float64)))

    def active_range(self, tolerance: float) -> Range:
        """The tail of the normal distribution falls faster than an exponential."""
        return -((-2 * math.log(tolerance)) ** 0.5), math.inf


@register
class HardSwish(Unary):
    """x * clip(x / 6 + 1/2, 0, 1)."""

    is_fused_on_htp = True
    is_gated_on_htp = True

    @staticmethod
    def meaning(x: Array) -> Array:
        """A clipped line times x."""
        return np.asarray(x * np.clip(x / 6 + 0.5, 0, 1))

    def active_range(self, tolerance: float) -> Range:
        """It is zero below -3."""
        return -3.0, math.inf


@register
class Prelu(Binary):
    """x where it is not negative, else x times a slope that broadcasts."""

    htp_work = HtpWork.NONE
    is_fused_on_htp = True
    reads_whole_sums_on_htp = True

    @staticmethod
    def meaning(x: Array, slope: Array) -> Array:
        """x, or the slope times x."""
        return np.where(x < 0, x * slope, x)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A slope a channel, and one for all."""
        yield Sample("channels", cls(), (TensorType((1, 4, 4, 3)), TensorType((3,))))
        yield Sample("single", cls(), (*X, np.full((1,), 0.1, np.float32)))


@register
class Sigmoid(Unary):
    """1 / (1 + exp(-x))."""

    limits = (0.0, 1.0)
    is_probability = True
    encoding_rule = EncodingRule.FIXED

    @staticmethod
    def meaning(x: Array) -> Array:
        """1 / (1 + exp(-x))."""
        return np.asarray(np.divide(1, 1 + np.exp(-x)))

    def active_range(self, tolerance: float) -> Range:
        """Until the exponential has fallen to the tolerance, on both sides."""
        reach = -math.log(tolerance)
        return -reach, reach


@register
class Tanh(Unary):
    """Hyperbolic tangent."""

    limits = (-1.0, 1.0)
    encoding_rule = EncodingRule.FIXED
    meaning = np.tanh

    def find_htp_encoding(self, result: TensorType) -> Encoding | None:
        """With 16 bits zero is in the middle."""
        middle = (-(1 << 15),)
        is_wide = result.dtype == DType.UFIXED_POINT_16 and result.encoding is not None
        is_taken = not is_wide or result.encoding.offsets == middle  # type: ignore[union-attr]
        return None if is_taken else Encoding((2.0**-15,), middle, bitwidth=16)

    def active_range(self, tolerance: float) -> Range:
        """Until it is as near as that to -1 and 1."""
        reach = math.atanh(1 - 2 * tolerance)
        return -reach, reach


@register
@dataclass(frozen=True, kw_only=True)
class ElementWiseSoftplus(Unary):
    """ln(exp(beta * x) + 1) / beta; x itself where beta * x is above a threshold that is not negative."""

    htp_precision = HtpPrecision.FLOAT

    beta: float = scalar(DType.FLOAT_32, 1.0)
    threshold: float = scalar(DType.FLOAT_32, -1.0)

    def apply(self, x: Array) -> Array:
        """A stable form: the exponential is taken of negative numbers only."""
        scaled = x * self.beta
        smooth = (np.maximum(scaled, 0) + np.log1p(np.exp(-np.abs(scaled)))) / self.beta
        return smooth if self.threshold < 0 else np.where(scaled > self.threshold, x, smooth)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """The default, another beta, and a threshold in the middle."""
        yield Sample("plain", cls(), X)
        yield Sample("beta", cls(beta=2.5), X)
        yield Sample("threshold", cls(threshold=0.5), X)
        yield Sample("high_threshold", cls(threshold=20.0), X)


@part_of_another
@dataclass(frozen=True, kw_only=True)
class HardSigmoid(Unary):
    """clip(alpha * x + beta, 0, 1). QNN knows it only as an operation of ElementWiseNeuron."""

    reads_whole_sums_on_htp = True

    limits = (0.0, 1.0)
    is_probability = True
    encoding_rule = EncodingRule.FIXED

    alpha: float = scalar(DType.FLOAT_32, 0.2)
    beta: float = scalar(DType.FLOAT_32, 0.5)

    def apply(self, x: Array) -> Array:
        """A line, cut at 0 and 1."""
        return np.clip(self.alpha * x + self.beta, 0, 1)

    def active_range(self, tolerance: float) -> Range:
        """The part that is not cut."""
        return (-self.beta / self.alpha, (1 - self.beta) / self.alpha) if self.alpha > 0 else EVERYTHING
