"""Pooling, channel last."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import ClassVar

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import Op, Sample, register, scalar, tensor
from edgewright.ir.traits import EncodingRule, HtpPrecision
from edgewright.ir.types import TensorType
from edgewright.ops.windows import Geometry, Pair, Pairs, padded, spatial_sizes, windows


class Rounding(IntEnum):
    """How many windows a pool has where they do not fit exactly."""

    FLOOR = 0
    CEIL = 1


@dataclass(frozen=True, kw_only=True)
class Pool(Op):
    """Any pooling: a sliding window over the spatial axes of [N, spatial..., C]."""

    has_even_ties_on_htp = False

    # Number of spatial axes.
    axes: ClassVar[int] = 2

    filter_size: Pair = tensor(DType.UINT_32)
    stride: Pair = tensor(DType.UINT_32)
    pad_amount: Pairs = tensor(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """One value a window and channel."""
        x = inputs[0]
        if x.rank != self.axes + 2:
            raise ShapeMismatch(
                f"{x} has rank {x.rank}, expected {self.axes + 2}",
                do="reshape it to [batch, spatial..., channel]",
            )
        sizes = spatial_sizes(x, self.filter_size, self.geometry(), is_ceil=self.is_ceil())
        return (x.with_shape((x.shape[0], *sizes, x.shape[-1])),)

    def geometry(self) -> Geometry:
        """Stride and padding; QNN's pools are never dilated."""
        return Geometry(self.stride, self.pad_amount, (1,) * len(self.filter_size))

    def is_ceil(self) -> bool:
        """Whether the number of windows is rounded up."""
        return bool(getattr(self, "rounding_mode", Rounding.FLOOR))

    def views(self, x: Array, outside: float) -> Array:
        """The windows [N, count..., C, taps] with ``outside`` where they leave the data."""
        count = self.infer(TensorType(x.shape, DType.of(x.dtype)))[0].static_shape()[1:-1]
        room = room_behind(x.shape[1:-1], count, self.filter_size, self.geometry())
        seen = windows(padded(x, room, outside), self.filter_size, self.stride, (1,) * self.axes, count)
        ordered = np.moveaxis(seen, -1, self.axes + 1)
        return ordered.reshape(*ordered.shape[: self.axes + 2], prod(self.filter_size))


@dataclass(frozen=True, kw_only=True)
class _Max(Pool):
    encoding_rule = EncodingRule.SAME_AS_INPUT
    is_selection = True

    rounding_mode: Rounding = scalar(DType.UINT_32, Rounding.FLOOR)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Maximum over each window."""
        x = inputs[0]
        lowest = -np.inf if DType.of(x.dtype).is_float else np.iinfo(x.dtype).min
        return (self.views(x, lowest).max(axis=-1),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, padded, rounded up."""
        n, pads = cls.axes, ((0, 0), (0, 0), (0, 0))
        x, two = (TensorType((1, *(7, 7, 5)[:n], 3)),), (2,) * n
        yield Sample("plain", cls(filter_size=two, stride=two, pad_amount=pads[:n]), x)
        uneven = ((1, 1), (0, 1), (1, 0))[:n]
        yield Sample("padded", cls(filter_size=(3, 2, 2)[:n], stride=(2, 1, 1)[:n], pad_amount=uneven), x)
        ceil = Rounding.CEIL
        yield Sample("ceil", cls(filter_size=two, stride=two, pad_amount=pads[:n], rounding_mode=ceil), x)


@register
@dataclass(frozen=True, kw_only=True)
class PoolMax2d(_Max):
    """Largest value of each window. Padding never wins: it counts as minus infinity."""


@register
@dataclass(frozen=True, kw_only=True)
class PoolMax3d(_Max):
    """Largest value of each window over depth, height and width."""

    # It only picks from what was quantized before.
    htp_precision = HtpPrecision.UNLISTED
    axes: ClassVar[int] = 3


@dataclass(frozen=True, kw_only=True)
class _Average(Pool):
    count_pad_for_edges: bool = scalar(DType.BOOL_8, False)
    rounding_mode: Rounding = scalar(DType.UINT_32, Rounding.FLOOR)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Sum over each window by the number of elements that count.

        Padding counts where asked for; what a window rounded up sees behind the padding never does.
        """
        x = inputs[0]
        inside = np.ones((1, *x.shape[1:-1], 1), np.float64)
        if self.count_pad_for_edges:
            counted = padded(inside, self.pad_amount, 1)
            bare = _unpadded(self)
            count = self.infer(TensorType(x.shape))[0].static_shape()[1:-1]
            room = room_behind(counted.shape[1:-1], count, self.filter_size, bare)
            seen = windows(padded(counted, room, 0), self.filter_size, self.stride, (1,) * self.axes, count)
            taps = seen.reshape(1, *count, 1, -1).sum(-1)
        else:
            taps = self.views(inside, 0).sum(-1)
        total = self.views(x, 0).sum(-1, dtype=np.float64)
        return ((total / np.maximum(taps, 1)).astype(x.dtype),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, padding counted or not, rounded up."""
        n, none = cls.axes, ((0, 0), (0, 0), (0, 0))
        x, two = (TensorType((1, *(7, 7, 5)[:n], 3)),), (2,) * n
        yield Sample("plain", cls(filter_size=two, stride=two, pad_amount=none[:n]), x)
        size, stride, uneven = (3, 2, 2)[:n], (2, 1, 1)[:n], ((1, 1), (0, 1), (1, 0))[:n]
        yield Sample("padded", cls(filter_size=size, stride=stride, pad_amount=uneven), x)
        counted = cls(filter_size=size, stride=stride, pad_amount=uneven, count_pad_for_edges=True)
        yield Sample("counted", counted, x)
        up = cls(filter_size=two, stride=two, pad_amount=none[:n], rounding_mode=Rounding.CEIL)
        yield Sample("ceil", up, x)


@register
@dataclass(frozen=True, kw_only=True)
class PoolAvg2d(_Average):
    """Mean of each window."""


@register
@dataclass(frozen=True, kw_only=True)
class PoolAvg3d(_Average):
    """Mean of each window over depth, height and width."""

    axes: ClassVar[int] = 3


@register
@dataclass(frozen=True, kw_only=True)
class L2Pool2d(Pool):
    """Root of the mean of squares of each window; padding does not count."""

    htp_precision = HtpPrecision.FLOAT

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """sqrt(mean(x^2))."""
        x = inputs[0]
        taps = self.views(np.ones((1, *x.shape[1:-1], 1)), 0).sum(-1)
        squares = np.square(self.views(x, 0).astype(np.float64)).sum(-1)
        return (np.sqrt(squares / np.maximum(taps, 1)).astype(x.dtype),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain and padded."""
        x = (TensorType((1, 6, 5, 3)),)
        yield Sample("plain", cls(filter_size=(2, 3), stride=(2, 1), pad_amount=((0, 0), (0, 0))), x)
        yield Sample("padded", cls(filter_size=(3, 3), stride=(2, 2), pad_amount=((1, 1), (0, 1))), x)


def room_behind(size: Pair, count: Pair, window: Pair, geometry: Geometry) -> Pairs:
    """The padding, enlarged behind the data so that windows rounded up stay inside."""
    room = []
    for axis, (before, after) in enumerate(geometry.pads):
        reach = (window[axis] - 1) * geometry.dilation[axis] + 1
        needed = (count[axis] - 1) * geometry.stride[axis] + reach - size[axis] - int(before)
        room.append((before, max(int(after), needed)))
    return tuple(room)


def _unpadded(pool: Pool) -> Geometry:
    return Geometry(pool.stride, ((0, 0),) * pool.axes, (1,) * pool.axes)
