"""What is lost against the float model: on the same samples, with the interval of the difference."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.measure import Measure
from edgewright.evaluate.records import Loss
from edgewright.evaluate.statistics import compute_paired_interval, compute_wilson_interval

DRAWS, SEED = 1000, 0
# Fewer samples than this show nothing of how samples differ.
FEWEST = 5
# More than this is not asked for: the limit is too near to what is lost.
MOST_SAMPLES = 1_000_000
Sums = Sequence[tuple[float, ...]]


def measure_loss(measure: Measure, float_sums: Sums, sums: Sums, span: float) -> Loss:
    """Points lost between two models on the same samples, sample by sample."""
    first, second = np.array(float_sums, np.float64), np.array(sums, np.float64)
    score = float(measure.compute_score(first.sum(0), span))
    points = score - float(measure.compute_score(second.sum(0), span))
    interval = _find_share_interval if measure.is_share else _find_drawn_interval
    low, high = interval(measure, first, second, span)
    if len(first) < FEWEST and not measure.is_share:
        low, high = -100.0, 100.0
    return Loss("", "", len(first), points, min(low, points), max(high, points), score)


def measure_score(measure: Measure, sums: Sums, span: float) -> tuple[float, float, float]:
    """The metric of one model in percent, with its interval of 95 %."""
    parts = np.array(sums, np.float64)
    total = parts.sum(0)
    score = float(measure.compute_score(total, span))
    if measure.is_share:
        low, high = (100 * end for end in compute_wilson_interval(float(total[0]), float(total[1])))
        return score, low, high
    drawn = measure.compute_score(parts[_draw(len(parts))].sum(1), span)
    low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
    return score, low, high


def _find_share_interval(measure: Measure, first: Array, second: Array, span: float) -> tuple[float, float]:
    """Of good answers that became wrong ones, and the other way round."""
    del measure, span
    known = first[:, 1] > 0
    lost = first[known, 0] - second[known, 0]
    low, high = compute_paired_interval(
        float(lost[lost > 0].sum()), float(-lost[lost < 0].sum()), int(known.sum())
    )
    return 100 * low, 100 * high


def _find_drawn_interval(measure: Measure, first: Array, second: Array, span: float) -> tuple[float, float]:
    """Of samples drawn again and again, both models on the same ones."""
    draws = _draw(len(first))
    scores = (measure.compute_score(part[draws].sum(1), span) for part in (first, second))
    lost = next(scores) - next(scores)
    low, high = np.percentile(lost, [2.5, 97.5]).tolist()
    return low, high


def _draw(count: int) -> Array:
    return np.random.default_rng(SEED).integers(0, count, (DRAWS, count))


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
