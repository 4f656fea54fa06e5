"""Pooling, channel last."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.op import EncodingRule, Op, Sample, register, scalar, tensor
from edgewright.ir.types import TensorType
from edgewright.ops.windows import Pair, Pairs, output_size, padded, windows

__all__ = ["PoolMax2d", "Rounding"]


class Rounding(IntEnum):
    """How many windows a pool has where they do not fit exactly."""

    FLOOR = 0
    CEIL = 1


@register
@dataclass(frozen=True, kw_only=True)
class PoolMax2d(Op):
    """Largest value of each window. Padding never wins: it counts as minus infinity."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    filter_size: Pair = tensor(DType.UINT_32)
    stride: Pair = tensor(DType.UINT_32)
    pad_amount: Pairs = tensor(DType.UINT_32, ((0, 0), (0, 0)))
    rounding_mode: Rounding = scalar(DType.UINT_32, Rounding.FLOOR)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """One value a window and channel."""
        n, *spatial, c = inputs[0].shape
        sizes = [
            output_size(
                size,
                self.filter_size[i],
                self.stride[i],
                self.pad_amount[i],
                is_ceil=bool(self.rounding_mode),
            )
            for i, size in enumerate(spatial)
        ]
        return (inputs[0].with_shape((n, *sizes, c)),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Maximum over each window; windows past the end see padding only there."""
        x = inputs[0]
        count = self.infer(TensorType(x.shape, DType.of(x.dtype)))[0].static_shape()[1:-1]
        lowest = -np.inf if np.issubdtype(x.dtype, np.floating) else np.iinfo(x.dtype).min
        room = [
            (before, max(after, (n - 1) * s + f - size - before))
            for (before, after), n, s, f, size in zip(
                self.pad_amount, count, self.stride, self.filter_size, x.shape[1:-1], strict=True
            )
        ]
        views = windows(padded(x, room, lowest), self.filter_size, self.stride, (1, 1), count)
        return (views.max(axis=(3, 4)),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain and rounded up."""
        x = (TensorType((1, 7, 7, 3)),)
        yield Sample("plain", cls(filter_size=(2, 2), stride=(2, 2)), x)
        yield Sample("ceil", cls(filter_size=(2, 2), stride=(2, 2), rounding_mode=Rounding.CEIL), x)
