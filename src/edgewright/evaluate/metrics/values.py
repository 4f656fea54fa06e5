"""Metrics of values: how close they are to the float model's, whatever they mean."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.measure import Answer, MeanMeasure, Measure, Sums
from edgewright.evaluate.tail import Term

# Probabilities below this part of their range are as good as none: noise is not held against them.
LEAST_PROBABILITY = 0.01


def subtract_safely(reference: Array, result: Array) -> tuple[Array, Array]:
    """The reference and the difference: what is no number is as wrong as can be, not unknown."""
    first = reference.astype(np.float64)
    second = result.astype(np.float64).reshape(first.shape)
    is_number = np.isfinite(first)
    with np.errstate(invalid="ignore"):
        gap = np.where(first == second, 0.0, first - second)
    worst = np.abs(first[is_number]).max(initial=1.0)
    return np.where(is_number, first, 0.0), np.where(np.isfinite(gap), gap, worst)


def _subtract_parts(answer: Answer) -> tuple[Array, Array, Array | None]:
    """The reference, the difference, and the number of the part of each value."""
    parts = answer.parts
    first, gap = subtract_safely(parts.expand(answer.reference), parts.expand(answer.result))
    return first, gap, parts.list_labels(len(first))


def _sum_by_part(values: Array, labels: Array | None, count: int) -> Array:
    """The sum of all, or of each part."""
    return np.array([values.sum()]) if labels is None else np.bincount(labels, values, count)


def _find_largest(values: Array, labels: Array | None, count: int) -> Array:
    """The largest value of each part."""
    largest = np.zeros(count)
    if labels is None:
        largest[0] = values.max(initial=0.0)
    else:
        np.maximum.at(largest, labels, values)
    return largest


def _divide_noise(noise: Array, signal: Array) -> Array:
    """The root of noise over signal; all of it where there is no signal."""
    share = np.sqrt(noise / np.where(signal > 0, signal, 1.0))
    return np.where(signal > 0, share, noise > 0)


def _list_powers(first: Array, gap: Array, labels: Array | None, answer: Answer) -> tuple[float, ...]:
    """Noise, then signal, of each part."""
    count = answer.parts.count
    noise, signal = (_sum_by_part(each * each, labels, count) for each in (gap, first))
    widths = answer.parts.widths
    if widths.any():
        sizes = _sum_by_part(np.ones_like(first), labels, count)
        signal = np.maximum(signal, sizes * (LEAST_PROBABILITY * widths) ** 2)
    return (*map(float, noise), *map(float, signal))


def _choose_worst(errors: Array) -> Array:
    """The figure of the worst part: each is judged by its own range."""
    return np.asarray(np.maximum(0.0, 100 - 100 * errors.max(-1)))


class SignalToNoise(Measure):
    """The ratio of noise to signal, of which dB are the logarithm."""

    name = "sqnr"
    text = "100 % less the root of noise over signal: 99 % are 40 dB, 90 % are 20 dB"
    is_of_values = True

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Noise and signal of each part."""
        first, gap, labels = _subtract_parts(answer)
        return _list_powers(first, gap, labels, answer)

    def compute_score(self, sums: Array, span: Array) -> Array:
        """Of the worst part; noise without signal is all that there is."""
        del span
        noise, signal = np.split(sums, 2, -1)
        return _choose_worst(_divide_noise(noise, signal))

    def list_terms(self, first: Sums, second: Sums, span: Array) -> list[Term]:
        """The noise over the signal of each part."""
        del first, span
        noise, signal = np.split(np.array(second, np.float64), 2, -1)
        return [Term(*columns, 2.0) for columns in zip(noise.T, signal.T, strict=True)]


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
        first, gap, labels = _subtract_parts(answer)
        count = answer.parts.count
        largest = _find_largest(np.abs(gap), labels, count)
        return (*_list_powers(first, gap, labels, answer), *map(float, largest), *([1.0] * count))

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
        first, gap = subtract_safely(answer.reference, answer.result)
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
        _, gap, labels = _subtract_parts(answer)
        values = (np.abs(gap), np.ones_like(gap))
        return tuple(float(x) for each in values for x in _sum_by_part(each, labels, answer.parts.count))

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
