"""Forward convolutions, channel last."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, element_count
from edgewright.ir.op import Op, Port, Sample, given, register, scalar, tensor
from edgewright.ir.traits import HtpPrecision, Roles
from edgewright.ir.types import TensorType
from edgewright.ops.windows import Geometry, Pair, Pairs, fixed_dims, padded, spatial_sizes, windows

NO_PADS: Pairs = ((0, 0), (0, 0), (0, 0))


@dataclass(frozen=True, kw_only=True)
class Convolution(Op):
    """Any forward convolution: activation [N, spatial..., C], filters [spatial..., C/group, K], bias [K]."""

    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]", is_required=False))
    is_product = True
    # Number of spatial axes.
    axes: ClassVar[int] = 2

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Spatial sizes from the windows, channels from the filters."""
        x, filters = inputs[0], inputs[1]
        if x.rank != self.axes + 2 or filters.rank != x.rank:
            raise ShapeMismatch(
                f"activation {x} and filters {filters}, expected rank {self.axes + 2} of both",
                do="give one spatial axis for each axis of the filters",
            )
        geometry = self.geometry(x.shape[-1])
        sizes = spatial_sizes(x, fixed_dims(filters.shape[:-2], "filters"), geometry)
        _check_channels(x, filters, geometry.group)
        check_bias(given(inputs, 2), filters.shape[-1])
        return (TensorType((x.shape[0], *sizes, filters.shape[-1]), x.dtype, layout=x.layout),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Sum of products over each window, group by group."""
        x, filters, bias = inputs[0], inputs[1], given(inputs, 2)
        geometry = self.geometry(x.shape[-1])
        size = filters.shape[:-2]
        count = self.infer(*(TensorType(a.shape) for a in inputs[:2]))[0].static_shape()[1:-1]
        views = windows(padded(x, geometry.pads, 0), size, geometry.stride, geometry.dilation, count)
        taps = (list(range(1 + len(size), views.ndim)), list(range(filters.ndim - 1)))
        parts = [
            np.tensordot(v, f, axes=taps)
            for v, f in zip(
                np.split(views, geometry.group, -1), np.split(filters, geometry.group, -1), strict=True
            )
        ]
        result = np.concatenate(parts, -1)
        return ((result if bias is None else result + bias).astype(x.dtype),)

    def geometry(self, channels: Dim) -> Geometry:
        """Stride, padding, dilation and group for an activation of so many channels."""
        raise NotImplementedError

    def weight_roles(self, inputs: Sequence[TensorType | None]) -> Roles:
        """Filters and bias; those of a depthwise convolution have no input channels."""
        rank = self.axes + 2
        block_axis = None if self.is_depthwise else rank - 2
        return Roles(frozenset({1}), frozenset({2}), rank - 1, block_axis, is_convolution=True)

    def macs(self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> int:
        """One per output element and filter tap."""
        assert inputs[1] is not None
        count = element_count((*outputs[0].shape, *inputs[1].shape[:-1]))
        return count if isinstance(count, int) else 0


@register
@dataclass(frozen=True, kw_only=True)
class Conv1d(Convolution):
    """1-D convolution, NWC with WIO filters."""

    # It is made 2-D before it gets to the HTP.
    htp_precision = HtpPrecision.UNLISTED
    axes: ClassVar[int] = 1

    stride: int = scalar(DType.UINT_32)
    pad_amount: tuple[Dim, Dim] = tensor(DType.UINT_32)
    group: int = scalar(DType.UINT_32, 1)
    dilation: int = scalar(DType.UINT_32, 1)

    def geometry(self, channels: Dim) -> Geometry:
        """The scalars as lists of one."""
        return Geometry((self.stride,), (self.pad_amount,), (self.dilation,), self.group)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, with bias and padding, grouped and dilated."""
        x, f = TensorType((2, 9, 4)), TensorType((3, 4, 6))
        yield Sample("plain", cls(stride=1, pad_amount=(0, 0)), (x, f))
        yield Sample("bias", cls(stride=2, pad_amount=(1, 2)), (x, f, TensorType((6,))))
        grouped = cls(stride=1, pad_amount=(0, 0), group=2, dilation=2)
        yield Sample("group", grouped, (x, TensorType((3, 2, 6))))


@dataclass(frozen=True, kw_only=True)
class _Grouped(Convolution):
    """Convolutions whose group is a parameter."""

    stride: Pair = tensor(DType.UINT_32)
    pad_amount: Pairs = tensor(DType.UINT_32)
    group: int = scalar(DType.UINT_32, 1)
    dilation: Pair = tensor(DType.UINT_32, (1, 1))

    def geometry(self, channels: Dim) -> Geometry:
        """Stride, padding, dilation and group."""
        return Geometry(self.stride, self.pad_amount, self.dilation, self.group)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, with bias and padding, grouped and dilated."""
        n = cls.axes
        x, ones, none = TensorType((1, *(7, 6, 5)[:n], 4)), (1,) * n, NO_PADS[:n]
        f, g = TensorType((*(3,) * n, 4, 5)), TensorType((*(2,) * n, 2, 6))
        yield Sample("plain", cls(stride=ones, pad_amount=none), (x, f))
        uneven = cls(stride=(2, 1, 1)[:n], pad_amount=((1, 1), (0, 1), (2, 0))[:n])
        yield Sample("bias", uneven, (x, f, TensorType((5,))))
        dilated = cls(stride=ones, pad_amount=none, group=2, dilation=(2, 1, 3)[:n])
        yield Sample("group", dilated, (x, g))


@register
@dataclass(frozen=True, kw_only=True)
class Conv2d(_Grouped):
    """2-D convolution, NHWC with HWIO filters."""

    takes_4_bit_weights = True


@register
@dataclass(frozen=True, kw_only=True)
class Conv3d(_Grouped):
    """3-D convolution, NDHWC with DHWIO filters."""

    axes: ClassVar[int] = 3

    dilation: Pair = tensor(DType.UINT_32, (1, 1, 1))
    reuse_sparse_indicies: bool = scalar(DType.BOOL_8, False)


@register
@dataclass(frozen=True, kw_only=True)
class DepthWiseConv1d(Convolution):
    """1-D convolution of each channel by itself; filters [W, 1, channels * multiplier]."""

    is_depthwise = True
    # It is made 2-D before it gets to the HTP.
    htp_precision = HtpPrecision.UNLISTED
    axes: ClassVar[int] = 1

    stride: int = scalar(DType.UINT_32)
    pad_amount: tuple[Dim, Dim] = tensor(DType.UINT_32)
    dilation: int = scalar(DType.UINT_32, 1)

    def geometry(self, channels: Dim) -> Geometry:
        """One group for each channel."""
        return Geometry((self.stride,), (self.pad_amount,), (self.dilation,), _fixed(channels))

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, and with everything."""
        x = TensorType((2, 9, 4))
        yield Sample("plain", cls(stride=1, pad_amount=(0, 0)), (x, TensorType((3, 1, 4))))
        full = cls(stride=2, pad_amount=(1, 2), dilation=2)
        yield Sample("bias", full, (x, TensorType((3, 1, 8)), TensorType((8,))))


@register
@dataclass(frozen=True, kw_only=True)
class DepthWiseConv2d(Convolution):
    """2-D convolution of each channel by itself; filters [H, W, 1, channels * multiplier]."""

    is_depthwise = True
    takes_4_bit_weights = True

    stride: Pair = tensor(DType.UINT_32)
    pad_amount: Pairs = tensor(DType.UINT_32)
    dilation: Pair = tensor(DType.UINT_32, (1, 1))

    def geometry(self, channels: Dim) -> Geometry:
        """One group for each channel."""
        return Geometry(self.stride, self.pad_amount, self.dilation, _fixed(channels))

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, and with everything."""
        x = TensorType((1, 7, 6, 3))
        plain = cls(stride=(1, 1), pad_amount=NO_PADS[:2])
        yield Sample("plain", plain, (x, TensorType((3, 3, 1, 3))))
        full = cls(stride=(2, 1), pad_amount=((1, 1), (0, 2)), dilation=(2, 1))
        yield Sample("bias", full, (x, TensorType((3, 3, 1, 6)), TensorType((6,))))


def check_bias(bias: TensorType | None, channels: Dim) -> None:
    """One number for each output channel."""
    if bias is None:
        return
    known = all(isinstance(dim, int) for dim in (*bias.shape, channels))
    if bias.rank != 1 or (known and bias.shape[0] != channels):
        raise ShapeMismatch(
            f"bias {bias} does not fit {channels} output channels", do=f"give a bias of shape [{channels}]"
        )


def _fixed(channels: Dim) -> int:
    return fixed_dims([channels], "channels")[0]


def _check_channels(x: TensorType, filters: TensorType, group: int) -> None:
    is_open = not isinstance(x.shape[-1], int)
    if filters.rank != x.rank or (x.shape[-1] != filters.shape[-2] * group and not is_open):
        fits = False
    else:
        fits = not isinstance(filters.shape[-1], int) or (
            filters.shape[-1] > 0 and filters.shape[-1] % group == 0
        )
    if not fits:
        raise ShapeMismatch(
            f"filters {filters} in {group} group(s) do not fit the activation {x}",
            do="channels of the activation must be group times the filters' input channels",
        )
