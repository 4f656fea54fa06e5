"""How integers stand for real numbers: scale and offset, for a tensor or for each slice of an axis."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from edgewright.core.numbers import Array, DType

NARROW_BITS = 16


@dataclass(frozen=True)
class Encoding:
    """real = scale * (stored + offset): one pair for the tensor, or one for each slice along ``axis``.

    With ``block_size`` every slice is cut into blocks along ``block_axis``, listed slice by slice. Either
    each block has its own pair, or ``block_scales`` has an integer factor for each block (low-power
    blockwise quantization): then the pairs are the slices', and a block's scale is its slice's times its
    factor.
    """

    scales: tuple[float, ...]
    offsets: tuple[int, ...]
    axis: int | None = None
    bitwidth: int = 8
    block_axis: int | None = None
    block_size: int = 0
    # Bytes, as QNN stores them: a large model has millions.
    block_scales: bytes = b""

    def __post_init__(self) -> None:
        """Scales are single precision, as QNN stores them: a file gives back what was written."""
        with np.errstate(over="ignore"):
            single = np.asarray(self.scales, np.float32)
        # What single precision has no number for is refused by the writers.
        if single.all() and np.isfinite(single).all():
            object.__setattr__(self, "scales", tuple(single.tolist()))
        # Any list of small whole numbers may be given.
        object.__setattr__(self, "block_scales", bytes(self.block_scales))

    def decode(self, stored: Array) -> Array:
        """Real values (float32) of stored integers."""
        if self._pair is not None:
            whole: Array = np.asarray(stored.astype(np.float32))
            whole += self._pair[1]
            whole *= self._pair[0]
            return whole
        scale, offset = self._aligned(stored.shape)
        # Single precision holds 16 bits exactly, and rounds their product with a scale once, as double does.
        wide = np.float32 if self.bitwidth <= NARROW_BITS and self._is_single(scale) else np.float64
        real: Array = stored.astype(wide)
        real += offset.astype(wide)
        real *= scale.astype(wide)
        return real.astype(np.float32, copy=False)

    def encode(self, real: Array, dtype: DType) -> Array:
        """Integers nearest to real values, halves to even (as ONNX does), clamped to the type's range."""
        scale, offset = self._pair or self._aligned(real.shape)
        low, high = self.limits(dtype)
        # float32 division first: the engine rounds there, and float64 would break ties differently
        with np.errstate(over="ignore"):  # a large mask over a small scale: clamped anyway
            # An array for scalars too, where numpy would return a number.
            steps: Array = np.asarray(real.astype(np.float32, copy=False) / scale.astype(np.float32))
        np.rint(steps, out=steps)
        # What single precision cannot count is beyond the limits of 16 bits anyway.
        if self.bitwidth > NARROW_BITS:
            steps = steps.astype(np.float64)
        steps -= offset.astype(steps.dtype)
        # Not `clip`: that takes longer than the rest where a tensor is small.
        np.maximum(steps, low, out=steps)
        np.minimum(steps, high, out=steps)
        stored: Array = steps.astype(dtype.numpy)
        return stored

    def scales_of(self, shape: tuple[int, ...]) -> Array:
        """The scales in a shape that broadcasts with a tensor of ``shape``."""
        return self._aligned(shape)[0]

    def permuted(self, order: Sequence[int]) -> "Encoding":
        """The encoding of the tensor transposed by ``order``."""
        if self.axis is None:
            return self
        place = tuple(order).index
        block_axis = None if self.block_axis is None else place(self.block_axis)
        return replace(self, axis=place(self.axis), block_axis=block_axis)

    def limits(self, dtype: DType) -> tuple[int, int]:
        """Smallest and largest integer that may be stored."""
        if dtype.is_signed:
            return -(1 << (self.bitwidth - 1)), (1 << (self.bitwidth - 1)) - 1
        return 0, (1 << self.bitwidth) - 1

    @cached_property
    def _pair(self) -> tuple[np.float32, np.float32] | None:
        """The only scale and offset of at most 16 bits, where single precision has both."""
        if len(self.scales) != 1 or self.axis is not None or self.bitwidth > NARROW_BITS:
            return None
        with np.errstate(over="ignore"):
            scale, offset = np.float32(self.scales[0]), np.float32(self.offsets[0])
        is_exact = float(scale) == self.scales[0] and float(offset) == self.offsets[0]
        return (scale, offset) if is_exact else None

    @staticmethod
    def _is_single(scale: Array) -> bool:
        return bool(np.array_equal(scale, scale.astype(np.float32)))

    def _aligned(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Scales and offsets in shapes that broadcast with a tensor of ``shape``."""
        if self.block_axis is not None:
            return self._blocks(shape)
        aligned = [1] * len(shape)
        if self.axis is not None:
            aligned[self.axis] = len(self.scales)
        elif len(self.scales) != 1:
            raise ValueError(f"{len(self.scales)} scales need an axis")
        scale = np.asarray(self.scales, np.float64).reshape(aligned)
        return scale, np.asarray(self.offsets, np.float64).reshape(aligned)

    def _blocks(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        assert self.axis is not None
        assert self.block_axis is not None
        slices, size = shape[self.axis], shape[self.block_axis]
        count = -(-size // self.block_size)
        factors = np.frombuffer(self.block_scales or b"\1", np.uint8).astype(np.float64)
        factors = factors.reshape(slices if self.block_scales else 1, -1)
        scales = np.asarray(self.scales, np.float64).reshape(slices, -1) * factors
        offsets = np.asarray(self.offsets, np.float64).reshape(slices, -1)
        spread = self._spread(np.broadcast_to(scales, (slices, count)), len(shape), size)
        if not offsets.any():
            # An array of zeros as large as the tensor would be for nothing.
            return spread, np.zeros([1] * len(shape))
        return spread, self._spread(np.broadcast_to(offsets, (slices, count)), len(shape), size)

    def _spread(self, pairs: Array, rank: int, size: int) -> Array:
        """One number for each slice and element of the block axis, in their places among the axes."""
        assert self.axis is not None
        assert self.block_axis is not None
        spread = np.repeat(pairs, self.block_size, axis=1)[:, :size]
        ordered = spread if self.axis < self.block_axis else spread.T
        aligned = [1] * rank
        aligned[self.axis], aligned[self.block_axis] = pairs.shape[0], size
        return ordered.reshape(aligned)
