"""Metrics of values: how close they are to the float model's, whatever they mean."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.measure import Answer, MeanMeasure, Measure

# Noise up to this share of how far values spread is counted by the range alone.
QUIET_NOISE = 0.1
# What is less than this share of the squares is a rounding error.
ROUNDING = 1e-12


def subtract_safely(answer: Answer) -> tuple[Array, Array]:
    """The reference and the difference: not a number against a number is as wrong as can be, not unknown."""
    first = answer.reference.astype(np.float64)
    second = answer.result.astype(np.float64).reshape(first.shape)
    with np.errstate(invalid="ignore"):
        gap = np.where(first == second, 0.0, first - second)
    return first, np.nan_to_num(gap, nan=np.abs(first).max(initial=1.0))


def sum_by_part(values: Array, parts: Array | None) -> Array:
    """The sum of all, or of each part."""
    if parts is None:
        return np.array([float(values.sum())])
    return np.bincount(parts.reshape(-1), values.reshape(-1), int(parts.max()) + 1)


def _choose_worst(errors: Array) -> Array:
    """The figure of the worst part: each is judged by its own range."""
    return np.asarray(np.maximum(0.0, 100 - 100 * errors.max(-1)))


class Closeness(Measure):
    """Root mean square error."""

    name = "closeness"
    text = (
        "100 % less the root mean square error over the range of the float model's values; where noise is "
        "more than a tenth of the signal (20 dB), less the errors that make it up"
    )

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Noise and its square, number of elements, their sum and their squares, for each part."""
        first, gap = subtract_safely(answer)
        known = np.nan_to_num(first, posinf=0.0, neginf=0.0)
        noise = gap * gap
        values = (noise, noise * noise, np.ones_like(known), known, known * known)
        return tuple(float(x) for each in values for x in sum_by_part(each, answer.parts))

    def compute_score(self, sums: Array, span: Array) -> Array:
        """As a share of the range.

        The mean error of a map with few values in a wide nothing is small even where all of them are lost:
        there the errors count by their size, at most by what they are of the signal.
        """
        noise, peaks, count, total, squares = np.split(sums, 5, -1)
        count = np.maximum(count, 1)
        spread = squares - total**2 / count
        # Values that are all alike have no spread but what rounding leaves.
        share = np.sqrt(noise / np.where(spread > ROUNDING * squares, spread, np.inf))
        largest = np.sqrt(peaks / np.where(noise > 0, noise, 1.0))
        width = np.where(span > 0, span, 1.0)
        lost = np.minimum(share - QUIET_NOISE, largest / width)
        return _choose_worst(np.maximum(np.sqrt(noise / count) / width, lost))


class SignalToNoise(Measure):
    """The ratio of noise to signal, of which dB are the logarithm."""

    name = "sqnr"
    text = "100 % less the root of noise over signal: 99 % are 40 dB, 90 % are 20 dB"

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Noise and signal."""
        first, gap = subtract_safely(answer)
        return float(np.vdot(gap, gap)), float(np.vdot(first, first))

    def compute_score(self, sums: Array, span: Array) -> Array:
        """Noise without signal is all that there is."""
        del span
        noise, signal = sums[..., 0], sums[..., 1]
        share = np.sqrt(noise / np.where(signal > 0, signal, 1.0))
        return np.asarray(np.maximum(0.0, 100 - 100 * np.where(signal > 0, share, noise > 0)))


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
        """Errors and number of elements, for each part."""
        _, gap = subtract_safely(answer)
        values = (np.abs(gap), np.ones_like(gap))
        return tuple(float(x) for each in values for x in sum_by_part(each, answer.parts))

    def compute_score(self, sums: Array, span: Array) -> Array:
        """As a share of the range."""
        error, count = np.split(sums, 2, -1)
        return _choose_worst(error / np.maximum(count, 1) / np.where(span > 0, span, 1.0))
