"""Metrics of values: how close they are to the float model's, whatever they mean."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.measure import Answer, MeanMeasure, Measure


def subtract_safely(answer: Answer) -> tuple[Array, Array]:
    """The reference and the difference: not a number against a number is as wrong as can be, not unknown."""
    first = answer.reference.astype(np.float64)
    second = answer.result.astype(np.float64).reshape(first.shape)
    with np.errstate(invalid="ignore"):
        gap = np.where(first == second, 0.0, first - second)
    return first, np.nan_to_num(gap, nan=np.abs(first).max(initial=1.0))


class SignalToNoise(Measure):
    """The ratio of noise to signal, of which dB are the logarithm."""

    name = "sqnr"
    text = "100 % less the root of noise over signal: 99 % are 40 dB, 90 % are 20 dB"

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Noise and signal."""
        first, gap = subtract_safely(answer)
        return float(np.vdot(gap, gap)), float(np.vdot(first, first))

    def compute_score(self, sums: Array, span: float) -> Array:
        """Noise without signal is all that there is."""
        del span
        noise, signal = sums[..., 0], sums[..., 1]
        share = np.sqrt(noise / np.where(signal > 0, signal, 1.0))
        return np.asarray(np.maximum(0.0, 100 - 100 * np.where(signal > 0, share, noise > 0)))


class Closeness(SignalToNoise):
    """Noise over signal, and the largest error of a sample, which many small ones hide: the worse counts."""

    name = "closeness"
    text = (
        "100 % less the larger of two errors: the root of noise over signal (99 % are 40 dB, 90 % are 20 dB) "
        "and a sample's largest error over the range of the float model's values"
    )

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Noise and signal, the largest error, and how many of those."""
        _, gap = subtract_safely(answer)
        return *super().add_up(answer), float(np.abs(gap).max(initial=0.0)), 1.0

    def compute_score(self, sums: Array, span: float) -> Array:
        """The worse of the two."""
        largest = sums[..., 2] / np.maximum(sums[..., 3], 1) / (span or 1.0)
        return np.minimum(super().compute_score(sums, span), np.maximum(0.0, 100 - 100 * largest))


class Cosine(MeanMeasure):
    """The angle between the float model's vector and the other: what embeddings are compared by."""

    name = "cosine"
    text = "mean cosine of the float model's output and the other, over samples, in percent"

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Two vectors of zeros point the same way."""
        first, gap = subtract_safely(answer)
        second = first - gap
        if not np.isfinite(answer.result).all():
            return 0.0, 1.0
        lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
        return float(np.vdot(first, second)) / lengths if lengths else float(not gap.any()), 1.0


class MeanAbsoluteError(Measure):
    """Mean absolute error."""

    name = "mean-absolute-error"
    text = "100 % less the mean absolute error over the range of the float model's values"

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Errors and number of elements."""
        _, gap = subtract_safely(answer)
        return float(np.abs(gap).sum()), float(gap.size)

    def compute_score(self, sums: Array, span: float) -> Array:
        """As a share of the range."""
        error = sums[..., 0] / np.maximum(sums[..., 1], 1)
        return np.asarray(np.maximum(0.0, 100 - 100 * error / (span or 1.0)))
