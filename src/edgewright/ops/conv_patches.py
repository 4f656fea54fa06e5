"""Windows as data: unfolding images into patches, folding patches back, correlating rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import Any

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, ceil_div, element_count, maximum
from edgewright.ir.op import Op, Port, Sample, register, scalar, structural, tensor
from edgewright.ir.traits import EncodingRule, HtpPrecision
from edgewright.ir.types import TensorType
from edgewright.ops.shape_patterns import match_shapes
from edgewright.ops.windows import Geometry, Pair, Pairs, padded, spatial_sizes, windows


class PatchPadding(IntEnum):
    """Whether windows may leave the image."""

    VALID = 0
    SAME = 1


@dataclass(frozen=True, kw_only=True)
class _Unfolding(Op):
    kernel_size: Pair = tensor(DType.UINT_32)
    stride: Pair = tensor(DType.UINT_32)
    pad_amount: Pairs = tensor(DType.UINT_32)
    dilation: Pair = tensor(DType.UINT_32, (1, 1))

    def geometry(self) -> Geometry:
        """Stride, padding and dilation."""
        return Geometry(self.stride, self.pad_amount, self.dilation)


@register
@dataclass(frozen=True, kw_only=True)
class Im2Col(_Unfolding):
    """The windows of [N, H, W, C] as columns [N, C * taps, windows]."""

    # It only moves what was quantized before.
    htp_precision = HtpPrecision.UNLISTED
    encoding_rule = EncodingRule.SAME_AS_INPUT

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """A row for each channel and tap, a column for each window."""
        x = inputs[0]
        count = element_count(spatial_sizes(x, self.kernel_size, self.geometry()))
        return (x.with_shape((x.shape[0], x.shape[-1] * element_count(self.kernel_size), count)),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """A view of the windows, reordered."""
        x = inputs[0]
        count = [int(n) for n in spatial_sizes(TensorType(x.shape), self.kernel_size, self.geometry())]
        seen = windows(padded(x, self.pad_amount, 0), self.kernel_size, self.stride, self.dilation, count)
        rows = np.transpose(seen, (0, 5, 3, 4, 1, 2))
        return (rows.reshape(x.shape[0], -1, count[0] * count[1]),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, and with everything."""
        x = (TensorType((2, 6, 5, 3)),)
        yield Sample("plain", cls(kernel_size=(2, 3), stride=(1, 1), pad_amount=((0, 0), (0, 0))), x)
        full = cls(kernel_size=(2, 2), stride=(2, 1), pad_amount=((1, 0), (0, 2)), dilation=(2, 1))
        yield Sample("dilated", full, x)


@register
@dataclass(frozen=True, kw_only=True)
class Col2Im(_Unfolding):
    """Columns [N, C * taps, windows] added up into [N, H, W, C]; QNN reads H and W off the output tensor."""

    # It only moves and adds what was quantized before.
    htp_precision = HtpPrecision.UNLISTED

    size: tuple[Dim, ...] = structural()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The given size, channels from the rows."""
        x, taps = inputs[0], element_count(self.kernel_size)
        image = TensorType((1, *self.size, 1))
        count = element_count(spatial_sizes(image, self.kernel_size, self.geometry()))
        rows, columns = (x.shape[1], x.shape[2]) if x.rank == 3 else (0, 0)
        known = isinstance(count, int) and isinstance(columns, int)
        if x.rank != 3 or (known and count != columns) or (isinstance(rows, int) and rows % int(taps)):
            raise ShapeMismatch(
                f"columns {x} do not fold into {list(self.size)} by windows of {list(self.kernel_size)}",
                do=f"give a multiple of {taps} rows and {count} columns",
            )
        return (x.with_shape((x.shape[0], *self.size, rows // taps)),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Adds each tap's elements where the windows see them, then cuts the padding off."""
        x = inputs[0]
        height, width = (int(n) for n in self.size)
        (top, bottom), (left, right) = ((int(a), int(b)) for a, b in self.pad_amount)
        count = spatial_sizes(TensorType((1, height, width, 1)), self.kernel_size, self.geometry())
        parts = x.reshape(x.shape[0], -1, *self.kernel_size, *(int(n) for n in count))
        result = np.zeros((*parts.shape[:2], height + top + bottom, width + left + right), x.dtype)
        for tap in product(range(self.kernel_size[0]), range(self.kernel_size[1])):
            at = tuple(
                slice(t * d, t * d + (int(n) - 1) * s + 1, s)
                for t, d, s, n in zip(tap, self.dilation, self.stride, count, strict=True)
            )
            result[(slice(None), slice(None), *at)] += parts[:, :, tap[0], tap[1]]
        return (np.moveaxis(result[:, :, top : top + height, left : left + width], 1, -1),)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The size is the output's."""
        return {"size": outputs[0].shape[1:-1]}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, and with everything."""
        none = ((0, 0), (0, 0))
        plain = cls(kernel_size=(2, 3), stride=(1, 1), pad_amount=none, size=(4, 5))
        yield Sample("plain", plain, (TensorType((2, 12, 9)),))
        full = cls(
            kernel_size=(2, 2), stride=(2, 1), pad_amount=((1, 0), (0, 2)), dilation=(2, 1), size=(6, 5)
        )
        yield Sample("dilated", full, (TensorType((1, 8, 18)),))


@register
@dataclass(frozen=True, kw_only=True)
class ExtractPatches(Op):
    """The windows of [N, H, W, C], each flattened into the channels of one output element."""

    htp_precision = HtpPrecision.EIGHT_BITS
    encoding_rule = EncodingRule.SAME_AS_INPUT

    size: Pair = tensor(DType.UINT_32)
    stride: Pair = tensor(DType.UINT_32)
    rate: Pair = tensor(DType.UINT_32)
    padding: PatchPadding = scalar(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """One element a window."""
        x = inputs[0]
        spatial_sizes(x, (1,) * len(self.size), Geometry(self.stride, ((0, 0),) * len(self.size), self.rate))
        sizes = spatial_sizes(x, self.size, self._geometry(x.shape))
        return (x.with_shape((x.shape[0], *sizes, x.shape[-1] * element_count(self.size))),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """A view of the windows, flattened."""
        x = inputs[0]
        geometry = self._geometry(x.shape)
        count = [int(n) for n in spatial_sizes(TensorType(x.shape), self.size, geometry)]
        seen = windows(padded(x, geometry.pads, 0), self.size, self.stride, self.rate, count)
        return (seen.reshape(x.shape[0], *count, -1),)

    def _geometry(self, shape: Sequence[Dim]) -> Geometry:
        pads = []
        for axis, size in enumerate(self.size):
            reach, length = (size - 1) * self.rate[axis] + 1, shape[axis + 1]
            total: Dim = 0
            if self.padding == PatchPadding.SAME:
                moves = (ceil_div(length, self.stride[axis]) - 1) * self.stride[axis]
                total = maximum(0, moves + reach - length)
            pads.append((total // 2, total - total // 2))
        return Geometry(self.stride, tuple(pads), self.rate)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Both paddings."""
        x = (TensorType((1, 6, 5, 2)),)
        yield Sample("valid", cls(size=(2, 3), stride=(2, 1), rate=(1, 1), padding=PatchPadding.VALID), x)
        yield Sample("same", cls(size=(3, 3), stride=(2, 2), rate=(1, 2), padding=PatchPadding.SAME), x)


@register
@dataclass(frozen=True, kw_only=True)
class Correlation1D(Op):
    """Correlation of each pixel with its neighbours in the same row of the other map, ``shift`` to the right.

    The mean over channels of products, for each displacement from the left to the right: DispNet's (Mayer et
    al. 2016). Outside the map is zero.
    """

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"))

    displacement: int = scalar(DType.UINT_32)
    shift: int = scalar(DType.INT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """A channel for each displacement to either side."""
        x = inputs[0]
        match_shapes(("N height width channels", x), ("N height width channels", inputs[1]))
        return (x.with_shape((*x.shape[:3], 2 * self.displacement + 1)),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """One displacement after the other."""
        x, other = (array.astype(np.float32) for array in inputs)
        reach = self.displacement + abs(self.shift)
        wide = np.pad(other, ((0, 0), (0, 0), (reach, reach), (0, 0)))
        starts = reach + self.shift + np.arange(-self.displacement, self.displacement + 1)
        found = [(x * wide[:, :, start : start + x.shape[2]]).mean(3) for start in starts]
        return (np.stack(found, -1).astype(inputs[0].dtype),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Around each pixel, and around one further to the left."""
        x = TensorType((1, 4, 6, 3))
        yield Sample("plain", cls(displacement=2, shift=0), (x, x))
        yield Sample("shifted", cls(displacement=1, shift=-3), (x, x))
