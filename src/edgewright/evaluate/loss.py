"""What is lost against the float model: on the same samples, with the interval of the difference."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.measure import Measure, Sums
from edgewright.evaluate.records import Loss
from edgewright.evaluate.statistics import compute_paired_interval, compute_wilson_interval
from edgewright.evaluate.tail import USUAL, Conditions, TailBound, Term, count_tail

DRAWS, SEED = 1000, 0
# Fewer samples than this show nothing of how samples differ.
FEWEST = 10
# The interval where that is so: all points may be lost, or won.
UNKNOWN = (-100.0, 100.0)
# More than this is not asked for: the limit is too near to what is lost.
MOST_SAMPLES = 1_000_000
# The upper end is foreseen for so many times as many samples; that of a share, further.
TIMES = (1, 2, 4, 8, 16, 32, 64)
SHARE_TIMES = tuple(2**power for power in range(13))


def measure_loss(
    measure: Measure,
    float_sums: Sums,
    sums: Sums,
    span: Array,
    conditions: Conditions = USUAL,
) -> Loss:
    """Points lost between two models on the same samples, sample by sample.

    Args:
        measure: the metric.
        float_sums: what each sample adds to it with the first model.
        sums: the same with the other.
        span: ranges of the float model's values by part.
        conditions: what is known of the second model and the samples.
    """
    count, looks = len(sums), conditions.looks
    score, second = (_score_all(measure, part, span) for part in (float_sums, sums))
    points = score - second
    if measure.is_share:
        low, highs = _find_share_ends(float_sums, sums, looks)
    elif count < FEWEST:
        low, highs = UNKNOWN[0], [UNKNOWN[1]]
    else:
        low, high = _find_drawn_interval(measure, float_sums, sums, span, looks)
        drawn = [points + (high - points) / math.sqrt(times) for times in TIMES]
        terms = measure.list_terms(float_sums, sums, span)
        unseen = _find_tail_ends([TailBound(term, conditions) for term in terms], points)
        rare = [] if measure.is_of_values else _find_rare_ends(terms[0], looks)
        highs = [max(candidates) for candidates in zip(drawn, unseen, *rare, strict=True)]
    highs = [max(high, points) for high in highs]
    times = SHARE_TIMES if measure.is_share else TIMES
    prospects = tuple((count * n, high) for n, high in zip(times[1:], highs[1:], strict=False))
    return Loss("", "", count, points, min(low, points), highs[0], score, prospects)


def measure_score(measure: Measure, sums: Sums, span: Array) -> tuple[float, float, float]:
    """The metric of one model in percent, with its interval of 95 %."""
    score = _score_all(measure, sums, span)
    if measure.is_share:
        total = np.sum(sums, 0)
        low, high = (100 * end for end in compute_wilson_interval(float(total[0]), float(total[1])))
        return score, low, high
    low, high = np.percentile(measure.score_draws(sums, _draw(len(sums)), span), [2.5, 97.5]).tolist()
    return score, low, high


def _score_all(measure: Measure, sums: Sums, span: Array) -> float:
    return float(measure.score_draws(sums, np.ones((1, len(sums))), span)[0])


def _find_share_ends(first: Sums, second: Sums, looks: int) -> tuple[float, list[float]]:
    """Of good answers that became wrong ones, and the other way round: the lower end, the upper ones."""
    before, after = np.array(first), np.array(second)
    known = before[:, 1] > 0
    lost = before[known, 0] - after[known, 0]
    worse, better, count = float(lost[lost > 0].sum()), float(-lost[lost < 0].sum()), int(known.sum())
    intervals = [compute_paired_interval(n * worse, n * better, n * count, looks) for n in SHARE_TIMES]
    return 100 * intervals[0][0], [100 * high for _, high in intervals]


def _find_drawn_interval(
    measure: Measure, first: Sums, second: Sums, span: Array, looks: int
) -> tuple[float, float]:
    """Of samples drawn again and again, both models on the same ones."""
    draws = _draw(len(first))
    lost = measure.score_draws(first, draws, span) - measure.score_draws(second, draws, span)
    low, high = np.percentile(lost, [2.5 / looks, 100 - 2.5 / looks]).tolist()
    return low, high


def _find_tail_ends(bounds: Sequence[TailBound], points: float) -> list[float]:
    """The upper ends that allow for samples worse than these."""
    # Terms are those of the second model alone where the first is not the float model.
    offset = points - max(bound.points for bound in bounds)
    return [offset + max(bound.compute(times) for bound in bounds) for times in TIMES]


def _find_rare_ends(term: Term, looks: int) -> list[list[float]]:
    """The upper ends where samples that lose anything are too few to tell how much others would lose."""
    worse, count = int((term.errors > 0).sum()), len(term.errors)
    if worse >= count_tail(count):
        return []
    largest = 100 * min(1.0, float(term.errors.max())) if worse else 100.0
    better = int((term.errors < 0).sum())
    shares = [compute_paired_interval(n * worse, n * better, n * count, looks)[1] for n in TIMES]
    return [[share * largest for share in shares]]


@lru_cache(maxsize=4)
def _draw(count: int) -> Array:
    """How often each sample is drawn [draw, sample]."""
    drawn = np.random.default_rng(SEED).integers(0, count, (DRAWS, count))
    times = np.apply_along_axis(np.bincount, 1, drawn, minlength=count)
    return times.astype(np.float64)


def estimate_high(loss: Loss, samples: int) -> float:
    """The upper end of the interval that so many samples would give if they went on like these."""
    if loss.samples <= 0 or samples <= loss.samples or not loss.prospects:
        reach = (loss.high - loss.points) * math.sqrt(loss.samples / max(1, samples))
        return loss.points + reach
    numbers, highs = zip((loss.samples, loss.high), *loss.prospects, strict=True)
    return float(np.interp(math.log(samples), np.log(numbers), highs))


def count_needed_samples(loss: Loss, limit: float) -> int | None:
    """How many samples would prove the limit if they went on like these; None where none would."""
    if loss.points >= limit:
        return None
    if loss.samples < FEWEST and not loss.prospects:
        return FEWEST
    if not loss.prospects:
        reach = (loss.high - loss.points) / (limit - loss.points)
        needed = math.ceil(loss.samples * reach**2)
        return needed if needed <= MOST_SAMPLES else None
    before = (loss.samples, loss.high)
    for number, high in loss.prospects:
        if high <= limit:
            part = (before[1] - limit) / (before[1] - high) if before[1] > high else 0.0
            ratio = (number / before[0]) ** min(1.0, max(0.0, part))
            return min(number, math.ceil(before[0] * float(ratio)))
        before = (number, high)
    return None


def choose_worst(losses: Sequence[Loss]) -> Loss:
    """The output that loses most counts, and of equals the one that is known least well."""
    worst = max(losses, key=lambda loss: (loss.points, loss.high))
    pairs = zip(*(loss.prospects for loss in losses), strict=False)
    prospects = tuple((each[0][0], max(high for _, high in each)) for each in pairs)
    return replace(worst, high=max(loss.high for loss in losses), prospects=prospects)
