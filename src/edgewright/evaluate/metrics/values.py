"""Metrics of values: how close they are to the float model's, whatever they mean."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.measure import Answer, MeanMeasure, Measure, Sums
from edgewright.evaluate.tail import Term


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


def _find_largest(values: Array, parts: Array | None, count: int) -> Array:
    """The largest value of each part."""
    largest = np.zeros(count)
    if parts is None:
        largest[0] = values.max(initial=0.0)
    else:
        np.maximum.at(largest, parts.reshape(-1), values.reshape(-1))
    return largest


def _divide_noise(noise: Array, signal: Array) -> Array:
    """The root of noise over signal; all of it where there is no signal."""
    share = np.sqrt(noise / np.where(signal > 0, signal, 1.0))
    return np.where(signal > 0, share, noise > 0)


def _choose_worst(errors: Array) -> Array:
    """The figure of the worst part: each is judged by its own range."""
    return np.asarray(np.maximum(0.0, 100 - 100 * errors.max(-1)))


class SignalToNoise(Measure):
    """The ratio of noise to signal, of which dB are the logarithm."""

    name = "sqnr"
    text = "100 % less the root of noise over signal: 99 % are 40 dB, 90 % are 20 dB"
    is_of_values = True

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Noise and signal."""
        first, gap = subtract_safely(answer)
        return float(np.vdot(gap, gap)), float(np.vdot(first, first))

    def compute_score(self, sums: Array, span: Array) -> Array:
        """Noise without signal is all that there is."""
        del span
        return np.asarray(np.maximum(0.0, 100 - 100 * _divide_noise(sums[..., 0], sums[..., 1])))

    def list_terms(self, first: Sums, second: Sums, span: Array) -> list[Term]:
        """The noise over the signal."""
        del first, span
        noise, signal = np.array(second, np.float64).T
        return [Term(noise, signal, 2.0)]


class Closeness(Measure):
    """Noise over signal, and the largest error of a sample, which many small ones hide: the worse counts."""

    name = "closeness"
    text = (
        "100 % less the larger of two errors: the root of noise over signal (99 % are 40 dB, 90 % are 20 dB) "
        "and a sample's largest error over the range of the float model's values"
    )
    is_of_values = True

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Noise and signal, the largest error, and how many of those, for each part."""
        first, gap = subtract_safely(answer)
        noise, signal = (sum_by_part(each * each, answer.parts) for each in (gap, first))
        largest = _find_largest(np.abs(gap), answer.parts, len(noise))
        return tuple(float(x) for each in (noise, signal, largest, np.ones(len(noise))) for x in each)

    def compute_score(self, sums: Array, span: Array) -> Array:
        """The worse of the two, of the worst part."""
        noise, signal, largest, count = np.split(sums, 4, -1)
        farthest = largest / np.maximum(count, 1) / np.where(span > 0, span, 1.0)
        return _choose_worst(np.maximum(_divide_noise(noise, signal), farthest))

    def list_terms(self, first: Sums, second: Sums, span: Array) -> list[Term]:
        """Both errors of each part."""
        del first
        noise, signal, largest, count = np.split(np.array(second, np.float64), 4, -1)
        farthest = largest / np.where(span > 0, span, 1.0)
        noises = [Term(*columns, 2.0) for columns in zip(noise.T, signal.T, strict=True)]
        return [*noises, *(Term(*columns) for columns in zip(farthest.T, count.T, strict=True))]


class Cosine(MeanMeasure):
    """The angle between the float model's vector and the other: what embeddings are compared by."""

    name = "cosine"
    text = "mean cosine of the float model's output and the other, over samples, in percent"
    is_of_values = True

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
    is_of_values = True

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Errors and number of elements, for each part."""
        _, gap = subtract_safely(answer)
        values = (np.abs(gap), np.ones_like(gap))
        return tuple(float(x) for each in values for x in sum_by_part(each, answer.parts))

    def compute_score(self, sums: Array, span: Array) -> Array:
        """As a share of the range."""
        error, count = np.split(sums, 2, -1)
        return _choose_worst(error / np.maximum(count, 1) / np.where(span > 0, span, 1.0))

    def list_terms(self, first: Sums, second: Sums, span: Array) -> list[Term]:
        """The error of each part."""
        del first
        error, count = np.split(np.array(second, np.float64), 2, -1)
        shares = error / np.where(span > 0, span, 1.0)
        return [Term(*columns) for columns in zip(shares.T, count.T, strict=True)]
