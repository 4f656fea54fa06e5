"""How integers stand for real numbers: scale and offset, for a tensor or for each slice of an axis."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgewright.core.numbers import Array, DType

__all__ = ["Encoding"]


@dataclass(frozen=True)
class Encoding:
    """real = scale * (stored + offset): one pair for the tensor, or one for each slice along ``axis``."""

    scales: tuple[float, ...]
    offsets: tuple[int, ...]
    axis: int | None = None
    bitwidth: int = 8

    def decode(self, stored: Array) -> Array:
        """Real values (float32) of stored integers."""
        scale, offset = self._aligned(stored.ndim)
        real: Array = ((stored.astype(np.float64) + offset) * scale).astype(np.float32)
        return real

    def encode(self, real: Array, dtype: DType) -> Array:
        """Integers nearest to real values, halves to even (as ONNX does), clamped to the type's range."""
        scale, offset = self._aligned(real.ndim)
        low, high = self.limits(dtype)
        # float32 division first: that is where the engine rounds, and a double would break ties differently
        steps = np.rint(real.astype(np.float32) / scale.astype(np.float32)).astype(np.float64) - offset
        stored: Array = np.clip(steps, low, high).astype(dtype.numpy)
        return stored

    def permuted(self, order: Sequence[int]) -> "Encoding":
        """The encoding of the tensor transposed by ``order``."""
        return self if self.axis is None else replace(self, axis=tuple(order).index(self.axis))

    def limits(self, dtype: DType) -> tuple[int, int]:
        """Smallest and largest integer that may be stored."""
        if dtype.is_signed:
            return -(1 << (self.bitwidth - 1)), (1 << (self.bitwidth - 1)) - 1
        return 0, (1 << self.bitwidth) - 1

    def _aligned(self, rank: int) -> tuple[Array, Array]:
        shape = [1] * rank
        if self.axis is not None:
            shape[self.axis] = len(self.scales)
        elif len(self.scales) != 1:
            raise ValueError(f"{len(self.scales)} scales need an axis")
        scale = np.asarray(self.scales, np.float64).reshape(shape)
        return scale, np.asarray(self.offsets, np.float64).reshape(shape)
