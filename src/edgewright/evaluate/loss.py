"""What is lost against the float model: on the same samples, with the interval of the difference."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.measure import Measure, Sums
from edgewright.evaluate.records import Loss
from edgewright.evaluate.statistics import compute_paired_interval, compute_wilson_interval

DRAWS, SEED = 1000, 0
# Fewer samples than this show nothing of how samples differ.
FEWEST = 5
# More than this is not asked for: the limit is too near to what is lost.
MOST_SAMPLES = 1_000_000


def measure_loss(measure: Measure, float_sums: Sums, sums: Sums, span: Array) -> Loss:
    """Points lost between two models on the same samples, sample by sample."""
    count = len(sums)
    score, second = (_score_all(measure, part, span) for part in (float_sums, sums))
    points = score - second
    interval = _find_share_interval if measure.is_share else _find_drawn_interval
    low, high = interval(measure, float_sums, sums, span)
    if count < FEWEST and not measure.is_share:
        low, high = -100.0, 100.0
    return Loss("", "", count, points, min(low, points), max(high, points), score)


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


def _find_share_interval(measure: Measure, first: Sums, second: Sums, span: Array) -> tuple[float, float]:
    """Of good answers that became wrong ones, and the other way round."""
    del measure, span
    before, after = np.array(first), np.array(second)
    known = before[:, 1] > 0
    lost = before[known, 0] - after[known, 0]
    low, high = compute_paired_interval(
        float(lost[lost > 0].sum()), float(-lost[lost < 0].sum()), int(known.sum())
    )
    return 100 * low, 100 * high


def _find_drawn_interval(measure: Measure, first: Sums, second: Sums, span: Array) -> tuple[float, float]:
    """Of samples drawn again and again, both models on the same ones."""
    draws = _draw(len(first))
    lost = measure.score_draws(first, draws, span) - measure.score_draws(second, draws, span)
    low, high = np.percentile(lost, [2.5, 97.5]).tolist()
    return low, high


def _draw(count: int) -> Array:
    """How often each sample is drawn [draw, sample]."""
    drawn = np.random.default_rng(SEED).integers(0, count, (DRAWS, count))
    times = np.apply_along_axis(np.bincount, 1, drawn, minlength=count)
    return times.astype(np.float64)


def count_needed_samples(loss: Loss, limit: float) -> int | None:
    """How many samples would prove the limit if they went on like these; None where none would."""
    if loss.points >= limit or not loss.samples:
        return None
    reach = (loss.high - loss.points) / (limit - loss.points)
    needed = math.ceil(loss.samples * reach**2)
    return needed if needed <= MOST_SAMPLES else None


def choose_worst(losses: Sequence[Loss]) -> Loss:
    """The output that loses most counts, and of equals the one that is known least well."""
    worst = max(losses, key=lambda loss: (loss.points, loss.high))
    return replace(worst, high=max(loss.high for loss in losses))
