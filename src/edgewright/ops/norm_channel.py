"""Normalisations of channel-last images: per instance, per group of channels, per neighbourhood."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import FLOATS, Op, Port, Sample, register, scalar
from edgewright.ir.traits import HtpPrecision, HtpWork
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise import widened
from edgewright.ops.norm import Norm, keeps_channels_last

# A radius beyond any real window: it only costs memory in the reference.
LARGEST_RADIUS = 1 << 20


class NormMode(IntEnum):
    """What an instance is divided by."""

    MU_SIGMA = 0
    RMS = 1


class InstanceRegion(IntEnum):
    """Which elements of an instance are normalised together."""

    ACROSS_SPATIAL = 0
    ACROSS_CHANNEL = 1
    ACROSS_ALL = 2


class LrnRegion(IntEnum):
    """Which neighbours count."""

    ACROSS_CHANNEL = 0
    WITHIN_CHANNEL = 1


@dataclass(frozen=True, kw_only=True)
class ChannelNorm(Norm):
    """A normalisation of [batch, spatial..., channel] with one gamma and one beta a channel."""

    def check(self, x: TensorType) -> None:
        """There must be a batch and a channel axis."""
        if x.rank < 2:
            raise ShapeMismatch(f"{x} has no batch and channel axes", do="give a tensor of at least two axes")

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """Spatial axes may change places."""
        if not keeps_channels_last(order):
            return None
        return self, [index == 0 for index in range(len(inputs))]


@register
@dataclass(frozen=True, kw_only=True)
class InstanceNorm(ChannelNorm):
    """Each instance normalised by its own statistics over a region, times gamma, plus beta."""

    inputs = (Port("in[0]", FLOATS), Port("in[1]"), Port("in[2]", is_required=False))

    epsilon: float = scalar(DType.FLOAT_32, 1e-12)
    mode: NormMode = scalar(DType.UINT_32, NormMode.MU_SIGMA)
    normalize_variance: bool = scalar(DType.BOOL_8, True)
    region: InstanceRegion = scalar(DType.UINT_32, InstanceRegion.ACROSS_SPATIAL)

    def normalized(self, x: Array) -> Array:
        """Centred unless in RMS mode; divided unless variance is left alone."""
        axes = self._axes(x.ndim)
        centred = x if self.mode == NormMode.RMS else x - x.mean(axis=axes, keepdims=True)
        if not self.normalize_variance:
            return centred
        square = np.square(centred).mean(axis=axes, keepdims=True)
        result: Array = centred / np.sqrt(square + np.asarray(self.epsilon, x.dtype))
        return result

    def _axes(self, rank: int) -> tuple[int, ...]:
        if self.region == InstanceRegion.ACROSS_CHANNEL:
            return (rank - 1,)
        return tuple(range(1, rank - 1 if self.region == InstanceRegion.ACROSS_SPATIAL else rank))

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Each region and mode, without beta, without division."""
        x, weight = TensorType((2, 3, 4, 5)), TensorType((5,))
        yield Sample("plain", cls(epsilon=1e-5), (x, weight, weight))
        yield Sample("no_beta", cls(epsilon=1e-5), (x, weight))
        yield Sample("centred", cls(normalize_variance=False), (x, weight, weight))
        for region in (InstanceRegion.ACROSS_CHANNEL, InstanceRegion.ACROSS_ALL):
            yield Sample(region.name.lower(), cls(region=region), (x, weight, weight))
            rms = cls(mode=NormMode.RMS, region=region, epsilon=1e-6)
            yield Sample(f"rms_{region.name.lower()}", rms, (x, weight))


@register
@dataclass(frozen=True, kw_only=True)
class GroupNorm(ChannelNorm):
    """Groups of channels normalised over space and group, times gamma, plus beta."""

    epsilon: float = scalar(DType.FLOAT_32)
    group: int = scalar(DType.UINT_32)

    def check(self, x: TensorType) -> None:
        """The channels fall into whole groups."""
        super().check(x)
        channels = x.shape[-1]
        if self.group < 1 or (isinstance(channels, int) and channels % self.group):
            raise ShapeMismatch(
                f"{channels} channels do not fall into {self.group} groups",
                do="use a divisor of the channels",
            )

    def normalized(self, x: Array) -> Array:
        """Of mean 0 and variance 1 in each group."""
        split = x.reshape(x.shape[0], prod(x.shape[1:-1]), self.group, x.shape[-1] // self.group)
        centred = split - split.mean(axis=(1, 3), keepdims=True)
        variance = np.square(centred).mean(axis=(1, 3), keepdims=True)
        result: Array = (centred / np.sqrt(variance + np.asarray(self.epsilon, x.dtype))).reshape(x.shape)
        return result

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Images, sequences, without weights."""
        x, weight = TensorType((2, 3, 4, 6)), TensorType((6,))
        yield Sample("image", cls(epsilon=1e-5, group=2), (x, weight, weight))
        yield Sample("sequence", cls(epsilon=1e-2, group=3), (TensorType((2, 5, 6)), weight))
        yield Sample("plain", cls(epsilon=1e-5, group=6), (x,))


@register
@dataclass(frozen=True, kw_only=True)
class Lrn(Op):
    """x / (bias + alpha * sum of squares of the neighbours within ``radius``) ** beta."""

    htp_work = HtpWork.STATISTICS
    htp_precision = HtpPrecision.EIGHT_BITS
    inputs = (Port("in[0]", FLOATS),)

    alpha: float = scalar(DType.FLOAT_32, 1.0)
    beta: float = scalar(DType.FLOAT_32, 0.5)
    bias: float = scalar(DType.FLOAT_32, 1.0)
    radius: int = scalar(DType.INT_32)
    region: LrnRegion = scalar(DType.UINT_32, LrnRegion.ACROSS_CHANNEL)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the input."""
        x = inputs[0]
        if x.rank < 1 or not 0 <= self.radius <= LARGEST_RADIUS:
            raise ShapeMismatch(
                f"radius {self.radius} of a tensor {x} is outside 0 to {LARGEST_RADIUS}",
                do="use a radius below the number of channels",
            )
        return (TensorType(x.shape, x.dtype, x.layout),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Divided by the power of the neighbourhood's energy."""
        x = widened(inputs[0])
        energy = np.square(x)
        is_across = self.region == LrnRegion.ACROSS_CHANNEL
        for axis in (x.ndim - 1,) if is_across else range(1, x.ndim - 1):
            energy = self._summed(energy, axis)
        return ((x / (self.bias + self.alpha * energy) ** self.beta).astype(inputs[0].dtype),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """Spatial axes may change places."""
        return (self, [True]) if keeps_channels_last(order) else None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Both regions, with every parameter."""
        x = (TensorType((2, 3, 4, 7)),)
        yield Sample("across", cls(radius=2, alpha=0.1, beta=0.75, bias=2.0), x)
        yield Sample("within", cls(radius=1, alpha=0.2, region=LrnRegion.WITHIN_CHANNEL), x)
        yield Sample("none", cls(radius=0), x)

    def _summed(self, energy: Array, axis: int) -> Array:
        """Sums of each element's neighbours along an axis; a radius beyond the axis reaches all of it."""
        radius = min(self.radius, energy.shape[axis])
        room = [(radius, radius) if a == axis else (0, 0) for a in range(energy.ndim)]
        views = sliding_window_view(np.pad(energy, room), 2 * radius + 1, axis)
        result: Array = views.sum(axis=-1)
        return result
