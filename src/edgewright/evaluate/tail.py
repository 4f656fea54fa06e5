"""What samples that were not seen may lose: a mean whose tail is that of a generalized Pareto distribution.

The largest losses say how the losses of others go on beyond them. How heavy that tail is, few samples hardly
show: it is expected to be the heavier the more samples differ from each other, and the samples correct that.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgewright.core.numbers import Array

# The part of the samples, the worst ones, whose losses are the tail; and how many those are at least.
TAIL_PART, FEWEST_IN_TAIL = 0.25, 8
# The index of the tail that is expected, for each unit by which the logarithms of the losses scatter, and how
# far it may be from that. Chosen so that of the limits that were said to be met few are not, on samples of
# many models that were not judged: see docs/builds.md.
INDEX_OF_SCATTER, INDEX_DEVIATION = 0.5, 0.2
# The index of noise is never expected to be less than this; nor than the second one where 8 bits cut off
# values beyond those that calibrated: of some networks one sample in forty loses seven times as much as the
# others, and forty samples may have none of them.
LEAST_INDEX, LEAST_INDEX_OF_8_BITS = 0.5, 1.0
# Inputs that differ by orders of magnitude hide more kinds of samples: for each unit beyond the first by
# which the logarithms of their energies scatter, and at most.
INDEX_OF_INPUTS, MOST_INDEX_OF_INPUTS = 0.2, 0.5
# Draws of what is not known, and how many percent of them may be above the bound.
DRAWS, SEED, ABOVE = 1000, 0, 5.0

_INDICES = np.linspace(-0.5, 2.5, 61)[:, None]
_LOG_SCALES = np.linspace(-3.0, 3.0, 49)[None, :]


@dataclass(frozen=True)
class Term:
    """One of the errors that a loss is the largest of: the root of the sum of errors over that of sizes."""

    errors: Array
    sizes: Array
    # The root that is taken: 2 of noise over signal.
    power: float = 1.0

    @property
    def mean(self) -> float:
        """Errors over sizes, before the root."""
        total, errors = float(self.sizes.sum()), float(self.errors.sum())
        return errors / total if total > 0 else float(errors > 0)

    def take_root(self, mean: float) -> float:
        """A mean in points."""
        return 100 * math.copysign(min(abs(mean), 1.0) ** (1 / self.power), mean)


@dataclass(frozen=True)
class Conditions:
    """What is known of a model and its samples beside its errors."""

    # By how much the logarithms of the inputs' energies scatter.
    input_scatter: float = 0.0
    # How many models the same samples have judged: an upper end holds for all of them together.
    looks: int = 1
    # Whether values have so few bits that larger ones than those that calibrated are cut off.
    has_8_bits: bool = False


# One model that nothing special is known of.
USUAL = Conditions()


class TailBound:
    """What other samples lose by one term at most, with the stated confidence.

    Args:
        term: errors of the samples that there are.
        conditions: what else is known.
    """

    def __init__(self, term: Term, conditions: Conditions = USUAL) -> None:
        self._term, self._below = term, 100 - ABOVE / conditions.looks
        # How far each sample lies from what would leave the mean as it is.
        size = float(term.sizes.mean())
        above = (term.errors - term.mean * term.sizes) / size if size > 0 else np.zeros(len(term.errors))
        ranked = np.sort(above)[::-1]
        count = min(count_tail(len(ranked)), len(ranked) - 1)
        self._threshold, self._rest = float(ranked[count]), ranked[count:]
        self._excess = ranked[:count] - self._threshold
        rise = min(MOST_INDEX_OF_INPUTS, INDEX_OF_INPUTS * max(0.0, conditions.input_scatter - 1))
        # That of noise, which is a square; that of what is no square is half of it.
        least = LEAST_INDEX_OF_8_BITS if conditions.has_8_bits else LEAST_INDEX
        self._index = max((INDEX_OF_SCATTER + rise) * measure_scatter(term), least * term.power / 2)

    @property
    def points(self) -> float:
        """What these samples lose."""
        return self._term.take_root(self._term.mean)

    def compute(self, times: int = 1) -> float:
        """The bound in points if there were so many times as many samples like these."""
        term, count, rest = self._term, len(self._excess), self._rest
        if not count or self._excess.mean() <= 0:
            return self.points
        generator = np.random.default_rng(SEED)
        share = generator.beta(count * times + 0.5, len(rest) * times + 0.5, DRAWS)
        deviation = float(rest.std()) / math.sqrt(len(rest) * times)
        body = rest.mean() + deviation * generator.standard_normal(DRAWS)
        tail = self._threshold + self._draw_excesses(generator, times)
        rise = float(np.percentile((1 - share) * body + share * tail, self._below))
        return term.take_root(term.mean + max(0.0, rise))

    def _draw_excesses(self, generator: np.random.Generator, times: int) -> Array:
        """Means of the tail beyond its threshold, for indices and scales as likely as samples make them."""
        likely, means = self._tables
        likely = times * likely - 0.5 * ((_INDICES - self._index) / INDEX_DEVIATION) ** 2
        weights = np.exp(likely - likely.max()).reshape(-1)
        return generator.choice(means, DRAWS, p=weights / weights.sum())

    @cached_property
    def _tables(self) -> tuple[Array, Array]:
        """For each index and scale how likely the samples are, and the mean of the tail."""
        mean = float(self._excess.mean())
        # Nothing is worse than all of it lost.
        most = max(1.0 - self._threshold, 1e-12)
        means = _compute_mean_excess(_INDICES, mean * np.exp(_LOG_SCALES), most)
        return _compute_log_likelihood(self._excess / mean), means.reshape(-1)


def count_tail(samples: int) -> int:
    """How many of the samples are the tail."""
    return max(FEWEST_IN_TAIL, int(samples * TAIL_PART))


def measure_scatter(term: Term) -> float:
    """By how much the logarithms of the larger errors lie above their median: as they are, or over sizes.

    Sizes that differ make errors differ that are alike, and the other way round: the smaller one counts.
    """
    over_sizes = term.errors / np.where(term.sizes > 0, term.sizes, 1.0)
    return min(_measure_upper_scatter(term.errors), _measure_upper_scatter(over_sizes))


def _measure_upper_scatter(errors: Array) -> float:
    logarithms = np.log(errors[errors > 0])
    if len(logarithms) < 4:
        return 0.0
    above = logarithms - np.median(logarithms)
    return float(np.sqrt(np.mean(above[above > 0] ** 2))) if (above > 0).any() else 0.0


def _compute_log_likelihood(excess: Array) -> Array:
    """Of excesses whose mean is 1, for each index and scale."""
    likely = np.zeros((_INDICES.size, _LOG_SCALES.size))
    scales = np.exp(_LOG_SCALES)
    for value in excess.tolist():
        inner = 1 + _INDICES * value / scales
        with np.errstate(divide="ignore", invalid="ignore"):
            powers = (1 + 1 / _INDICES) * np.log(np.maximum(inner, 1e-300))
        powers = np.where(np.abs(_INDICES) < 1e-9, value / scales, powers)
        likely -= np.where(inner > 0, powers, 1e9) + _LOG_SCALES
    return likely


def _compute_mean_excess(indices: Array, scales: Array, most: float) -> Array:
    """The mean of a generalized Pareto distribution of which nothing is beyond ``most``."""
    inner = np.maximum(1 + indices * most / scales, 1e-300)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        means = scales / (1 - indices) * (1 - inner ** (1 - 1 / indices))
    means = np.where(np.abs(indices) < 1e-9, scales * (1 - np.exp(-most / scales)), means)
    return np.where(np.abs(indices - 1) < 1e-9, scales * np.log(inner), means)
