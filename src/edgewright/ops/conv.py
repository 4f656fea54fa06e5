"""Convolutions, channel last."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, element_count
from edgewright.ir.op import Op, Port, Sample, given, register, scalar, tensor
from edgewright.ir.types import TensorType
from edgewright.ops.windows import Pair, Pairs, output_size, padded, windows

__all__ = ["Conv2d", "Convolution"]


@dataclass(frozen=True, kw_only=True)
class Convolution(Op):
    """Any forward convolution: activation [N, spatial..., C], filters [spatial..., C/group, K], bias [K]."""

    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]", is_required=False))

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Spatial sizes from the windows, channels from the filters."""
        x, filters = inputs[0], inputs[1]
        self._check_channels(x, filters)
        sizes = [self._size(x, filters, axis) for axis in range(x.rank - 2)]
        return (TensorType((x.shape[0], *sizes, filters.shape[-1]), x.dtype, layout=x.layout),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Sum of products over each window, group by group."""
        x, filters, bias = inputs[0], inputs[1], given(inputs, 2)
        stride, pads, dilation, group = self.geometry()
        size = filters.shape[:-2]
        count = self.infer(*(TensorType(a.shape) for a in inputs[:2]))[0].static_shape()[1:-1]
        views = windows(padded(x, pads, 0), size, stride, dilation, count)
        taps = (list(range(1 + len(size), views.ndim)), list(range(filters.ndim - 1)))
        parts = [
            np.tensordot(v, f, axes=taps)
            for v, f in zip(np.split(views, group, -1), np.split(filters, group, -1), strict=True)
        ]
        result = np.concatenate(parts, -1)
        return ((result if bias is None else result + bias).astype(x.dtype),)

    def geometry(self) -> tuple[Pair, Pairs, Pair, int]:
        """Stride, padding, dilation and group."""
        raise NotImplementedError

    def macs(self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> int:
        """One per output element and filter tap."""
        assert inputs[1] is not None
        count = element_count((*outputs[0].shape, *inputs[1].shape[:-1]))
        return count if isinstance(count, int) else 0

    def _size(self, x: TensorType, filters: TensorType, axis: int) -> Dim:
        stride, pads, dilation, _ = self.geometry()
        window = (int(filters.shape[axis]) - 1) * dilation[axis] + 1
        return output_size(x.shape[axis + 1], window, stride[axis], pads[axis])

    def _check_channels(self, x: TensorType, filters: TensorType) -> None:
        group = self.geometry()[3]
        if (
            filters.rank != x.rank
            or x.shape[-1] != filters.shape[-2] * group
            or int(filters.shape[-1]) % group
        ):
            raise ShapeMismatch(
                f"filters {filters} in {group} group(s) do not fit the activation {x}",
                do="channels of the activation must be group times the filters' input channels",
            )


@register
@dataclass(frozen=True, kw_only=True)
class Conv2d(Convolution):
    """2-D convolution, NHWC with HWIO filters."""

    stride: Pair = tensor(DType.UINT_32)
    pad_amount: Pairs = tensor(DType.UINT_32)
    group: int = scalar(DType.UINT_32, 1)
    dilation: Pair = tensor(DType.UINT_32, (1, 1))

    def geometry(self) -> tuple[Pair, Pairs, Pair, int]:
        """Stride, padding, dilation and group."""
        return self.stride, self.pad_amount, self.dilation, self.group

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, with bias and padding, grouped and dilated."""
        x, f = TensorType((1, 7, 6, 4)), TensorType((3, 3, 4, 5))
        none = ((0, 0), (0, 0))
        yield Sample("plain", cls(stride=(1, 1), pad_amount=none), (x, f))
        yield Sample("bias", cls(stride=(2, 1), pad_amount=((1, 1), (0, 1))), (x, f, TensorType((5,))))
        grouped = cls(stride=(1, 1), pad_amount=none, group=2, dilation=(2, 1))
        yield Sample("group", grouped, (x, TensorType((3, 3, 2, 6))))
