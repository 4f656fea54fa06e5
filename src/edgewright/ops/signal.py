"""Signal processing: short-time Fourier transforms, and the matrices and windows they are made of."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, register, scalar
from edgewright.ir.traits import HtpPrecision
from edgewright.ir.types import TensorType


@register
@dataclass(frozen=True, kw_only=True)
class Stft(Op):
    """Fourier transforms of windowed frames: [batch, length(, 1 or 2)] to [batch, frames, bins, 2]."""

    htp_precision = HtpPrecision.FLOAT
    inputs = (Port("in[0]"), Port("in[1]"))

    frame_length: int = scalar(DType.UINT_32)
    frame_step: int = scalar(DType.UINT_32)
    onesided: bool = scalar(DType.BOOL_8, True)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """As many frames as fit; half of the bins where one side is wanted."""
        signal, window = inputs
        if signal.rank not in {2, 3} or (signal.rank == 3 and signal.shape[2] not in {1, 2}):
            raise ShapeMismatch(
                f"the signal is {signal}, expected [batch, length] or [batch, length, 1 or 2]"
            )
        if self.frame_length < 1 or self.frame_step < 1:
            raise ShapeMismatch(
                f"frames of {self.frame_length} in steps of {self.frame_step}, expected 1 or more"
            )
        if window.shape != (self.frame_length,) and window.is_static:
            raise ShapeMismatch(f"the window is {window}, expected {self.frame_length} numbers")
        return (TensorType((signal.shape[0], self._frames(signal), self.bins, 2), signal.dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Frame by frame, by numpy's transform."""
        signal, window = inputs
        values = signal[..., 0] + 1j * signal[..., 1] if signal.ndim == 3 and signal.shape[2] == 2 else signal
        flat = values.reshape(values.shape[:2])
        frames = np.lib.stride_tricks.sliding_window_view(flat, self.frame_length, axis=1)[
            :, :: self.frame_step
        ]
        found = np.fft.fft(frames * window)[..., : self.bins]
        return (np.stack([found.real, found.imag], -1).astype(signal.dtype),)

    @property
    def bins(self) -> int:
        """Frequencies of one frame."""
        return self.frame_length // 2 + 1 if self.onesided else self.frame_length

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """One side, both sides, a complex signal."""
        window = np.hanning(8).astype(np.float32)
        yield Sample("one_side", cls(frame_length=8, frame_step=3), (TensorType((2, 20, 1)), window))
        both = cls(frame_length=8, frame_step=4, onesided=False)
        yield Sample("both_sides", both, (TensorType((1, 20)), window))
        yield Sample("complex", both, (TensorType((1, 21, 2)), window))

    def _frames(self, signal: TensorType) -> Dim:
        length = signal.shape[1]
        if isinstance(length, int) and length < self.frame_length:
            raise ShapeMismatch(f"a signal of {length} holds no frame of {self.frame_length}")
        return (length - self.frame_length) // self.frame_step + 1


def fourier_matrix(rows: int, length: int, bins: int, *, is_complex: bool, is_inverse: bool = False) -> Array:
    """[rows, 1 or 2, bins, 2]: what each sample (its real and imaginary part) adds to each frequency.

    Only the first ``length`` samples count; an inverse is divided by ``length``.
    """
    # The remainder keeps the angle small, and so exact.
    steps = np.outer(np.arange(rows), np.arange(bins)) % length
    angle = 2 * np.pi * steps / length * (1 if is_inverse else -1)
    cos, sin = np.cos(angle), np.sin(angle)
    parts = [np.stack([cos, sin], -1), np.stack([-sin, cos], -1)]
    matrix = np.stack(parts[: 2 if is_complex else 1], 1)
    matrix[length:] = 0
    return matrix / length if is_inverse else matrix


def inverse_real_matrix(rows: int, length: int) -> Array:
    """[rows, 2, length, 1]: the real signal of ``length`` that one side of its spectrum stands for."""
    full = fourier_matrix(rows, length, length, is_complex=True, is_inverse=True)[..., :1]
    weights = np.where(np.arange(rows) > length // 2, 0.0, 2.0)
    weights[0] = 1.0
    if length % 2 == 0 and length // 2 < rows:
        weights[length // 2] = 1.0
    real: Array = full * weights[:, None, None, None]
    return real
