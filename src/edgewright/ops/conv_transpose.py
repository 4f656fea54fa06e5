"""Transposed convolutions, channel last."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, element_count
from edgewright.ir.op import Op, Port, Sample, given, register, scalar, tensor
from edgewright.ir.traits import HtpPrecision, Roles
from edgewright.ir.types import TensorType
from edgewright.ops.conv import NO_PADS, check_bias
from edgewright.ops.windows import Geometry, Pair, Pairs, check_count, check_geometry, fixed_dims


@dataclass(frozen=True, kw_only=True)
class TransposedConvolution(Op):
    """Activation [N, spatial..., C], filters [spatial..., C, K/group], bias [K]: inputs spread windows."""

    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]", is_required=False))
    is_product = True
    # Number of spatial axes.
    axes: ClassVar[int] = 2

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Size is stride * (size - 1) + window - padding + output padding."""
        x, filters = inputs[0], inputs[1]
        geometry, extra = self.geometry()
        self._check(x, filters)
        check_geometry(x, fixed_dims(filters.shape[:-2], "filters"), geometry)
        sizes = [self._size(x, filters, axis) for axis in range(self.axes)]
        check_count(sizes)
        channels = filters.shape[-1] * geometry.group
        check_bias(given(inputs, 2), channels)
        if len(extra) != self.axes or any(amount < 0 for amount in extra):
            raise ShapeMismatch(
                f"output padding {list(extra)} does not fit {self.axes} axes",
                do="give one number of at least 0 for each axis",
            )
        return (TensorType((x.shape[0], *sizes, channels), x.dtype, layout=x.layout),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Adds every input times the filters where its window falls, then cuts the padding off."""
        x, filters, bias = inputs[0], inputs[1], given(inputs, 2)
        geometry, _ = self.geometry()
        shape = self.infer(*(TensorType(a.shape) for a in inputs[:2]))[0].static_shape()
        parts = [
            self._spread(v, f, shape[1:-1])
            for v, f in zip(
                np.split(x, geometry.group, -1), np.split(filters, geometry.group, -2), strict=True
            )
        ]
        result = np.concatenate(parts, -1)
        return ((result if bias is None else result + bias).astype(x.dtype),)

    def geometry(self) -> tuple[Geometry, Pair]:
        """Stride, padding, dilation and group; output padding."""
        raise NotImplementedError

    def weight_roles(self, inputs: Sequence[TensorType | None]) -> Roles:
        """Filters and bias; those of groups lie above each other, and have one encoding."""
        rank = self.axes + 2
        if self.geometry()[0].group != 1:
            return Roles(frozenset({1}), frozenset({2}), is_convolution=True)
        return Roles(frozenset({1}), frozenset({2}), rank - 1, rank - 2, is_convolution=True)

    def macs(self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> int:
        """One per input element, filter tap and output channel of its group."""
        assert inputs[0] is not None
        assert inputs[1] is not None
        count = element_count((*inputs[0].shape, *inputs[1].shape[:-2], inputs[1].shape[-1]))
        return count if isinstance(count, int) else 0

    def _size(self, x: TensorType, filters: TensorType, axis: int) -> Dim:
        geometry, extra = self.geometry()
        window = (int(filters.shape[axis]) - 1) * geometry.dilation[axis] + 1
        before, after = geometry.pads[axis]
        size = (x.shape[axis + 1] - 1) * geometry.stride[axis] + window - before - after + extra[axis]
        if isinstance(size, int) and size < 1:
            raise ShapeMismatch(
                f"padding ({before}, {after}) leaves axis {axis} no element (size {size})",
                do="lower the padding",
            )
        return size

    def _check(self, x: TensorType, filters: TensorType) -> None:
        group = self.geometry()[0].group
        fits = x.rank == filters.rank == self.axes + 2 and group > 0
        channels = (x.shape[-1], filters.shape[-2]) if fits else (0, 0)
        if fits and all(isinstance(dim, int) for dim in channels):
            fits = channels[0] == channels[1] and int(channels[0]) % group == 0
        if not fits:
            raise ShapeMismatch(
                f"filters {filters} in {group} group(s) do not fit the activation {x}",
                do="the filters' input channels must be the activation's, a multiple of group",
            )

    def _spread(self, x: Array, filters: Array, size: Sequence[int]) -> Array:
        geometry, _ = self.geometry()
        stride, dilation = geometry.stride, geometry.dilation
        pads = [(int(before), int(after)) for before, after in geometry.pads]
        room = [n + before + after for n, (before, after) in zip(size, pads, strict=True)]
        result = np.zeros((x.shape[0], *room, filters.shape[-1]), np.result_type(x, filters))
        for tap in product(*(range(n) for n in filters.shape[:-2])):
            at = tuple(
                slice(t * d, t * d + max((n - 1) * s + 1, 0), s)
                for t, d, s, n in zip(tap, dilation, stride, x.shape[1:-1], strict=True)
            )
            result[(slice(None), *at)] += x @ filters[tap]
        inside = tuple(slice(before, before + n) for n, (before, _) in zip(size, pads, strict=True))
        return result[(slice(None), *inside)]


@register
@dataclass(frozen=True, kw_only=True)
class TransposeConv1d(TransposedConvolution):
    """1-D transposed convolution, NWC with filters [W, C, K/group]."""

    # It is made 2-D before it gets to the HTP.
    htp_precision = HtpPrecision.UNLISTED
    axes: ClassVar[int] = 1

    stride: int = scalar(DType.UINT_32)
    pad_amount: tuple[int, int] = tensor(DType.UINT_32)
    group: int = scalar(DType.UINT_32, 1)
    output_padding: int = scalar(DType.UINT_32, 0)

    def geometry(self) -> tuple[Geometry, Pair]:
        """The scalars as lists of one."""
        return Geometry((self.stride,), (self.pad_amount,), (1,), self.group), (self.output_padding,)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, and with everything."""
        x = TensorType((2, 5, 4))
        yield Sample("plain", cls(stride=1, pad_amount=(0, 0)), (x, TensorType((3, 4, 5))))
        full = cls(stride=3, pad_amount=(1, 0), group=2, output_padding=1)
        yield Sample("group", full, (x, TensorType((3, 4, 3)), TensorType((6,))))


@register
@dataclass(frozen=True, kw_only=True)
class TransposeConv2d(TransposedConvolution):
    """2-D transposed convolution, NHWC with filters [H, W, C, K/group]."""

    takes_4_bit_weights = True

    stride: Pair = tensor(DType.UINT_32)
    pad_amount: Pairs = tensor(DType.UINT_32)
    group: int = scalar(DType.UINT_32, 1)
    output_padding: Pair = tensor(DType.UINT_32, (0, 0))

    def geometry(self) -> tuple[Geometry, Pair]:
        """Undilated: QNN has no dilation in two dimensions."""
        return Geometry(self.stride, self.pad_amount, (1, 1), self.group), self.output_padding

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, with bias and output padding, grouped."""
        x, f = TensorType((1, 4, 3, 4)), TensorType((3, 2, 4, 5))
        yield Sample("plain", cls(stride=(1, 1), pad_amount=NO_PADS[:2]), (x, f))
        uneven = cls(stride=(2, 3), pad_amount=((1, 0), (0, 1)), output_padding=(1, 0))
        yield Sample("bias", uneven, (x, f, TensorType((5,))))
        grouped = cls(stride=(2, 2), pad_amount=NO_PADS[:2], group=2)
        yield Sample("group", grouped, (x, TensorType((2, 2, 4, 3))))


@register
@dataclass(frozen=True, kw_only=True)
class TransposeConv3d(TransposedConvolution):
    """3-D transposed convolution, NDHWC with filters [D, H, W, C, K/group]."""

    axes: ClassVar[int] = 3

    stride: Pair = tensor(DType.UINT_32)
    pad_amount: Pairs = tensor(DType.UINT_32)
    dilation: Pair = tensor(DType.UINT_32, (1, 1, 1))
    group: int = scalar(DType.UINT_32, 1)
    output_padding: Pair = tensor(DType.UINT_32, (0, 0, 0))

    def geometry(self) -> tuple[Geometry, Pair]:
        """Stride, padding, dilation and group; output padding."""
        return Geometry(self.stride, self.pad_amount, self.dilation, self.group), self.output_padding

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, and with everything."""
        x = TensorType((1, 2, 4, 3, 4))
        yield Sample("plain", cls(stride=(1, 1, 1), pad_amount=NO_PADS), (x, TensorType((2, 3, 2, 4, 3))))
        full = cls(
            stride=(1, 2, 1),
            pad_amount=((0, 0), (1, 0), (0, 1)),
            dilation=(1, 1, 2),
            group=2,
            output_padding=(0, 1, 0),
        )
        yield Sample("group", full, (x, TensorType((2, 2, 2, 4, 3)), TensorType((6,))))
