"""Verdicts: green only where the samples prove it."""

from dataclasses import replace

import numpy as np
import pytest

from edgewright.evaluate.loss import choose_worst, count_needed_samples, measure_loss
from edgewright.evaluate.metrics import MEASURES
from edgewright.evaluate.records import Loss
from edgewright.evaluate.statistics import compute_paired_interval
from edgewright.evaluate.verdict import (
    MET,
    MISSED,
    NO_LIMIT,
    NOT_PROVEN,
    describe_disagreement,
    describe_poor_float_model,
    judge_loss,
)

SHARE, CLOSENESS = MEASURES["same-answers"], MEASURES["closeness"]


def shares(good):
    return [(float(item), 1.0) for item in good]


def loss(points, low, high, samples=100):
    return Loss("y", "htp-native", samples, points, low, high, 90.0)


@pytest.mark.parametrize(
    ("measured", "limit", "word"),
    [
        (loss(0.2, -0.1, 0.9), 1.0, MET),
        (loss(0.2, -0.1, 1.0), 1.0, MET),
        (loss(0.2, -0.1, 1.1), 1.0, NOT_PROVEN),
        (loss(1.0, 0.5, 1.4), 1.0, NOT_PROVEN),
        (loss(1.1, 0.5, 1.4), 1.0, MISSED),
        (loss(9.0, 8.0, 9.9), None, NO_LIMIT),
    ],
)
def test_a_limit_is_met_only_where_the_interval_ends_below_it(measured, limit, word):
    verdict = judge_loss(measured, limit)
    assert verdict.word == word
    assert verdict.is_met == (None if limit is None else word == MET)
    assert bool(verdict.reasons) == (word in {NOT_PROVEN, MISSED})


def test_a_loss_of_no_samples_is_never_green():
    verdict = judge_loss(loss(0.0, 0.0, 0.0, samples=0), 1.0)
    assert (verdict.word, verdict.reasons) == (NOT_PROVEN, ("no sample was measured",))


def test_an_emulator_that_disagrees_with_the_simulation_is_never_green():
    apart = Loss("y", "htp-native", 200, 4.0, 1.5, 6.5, 99.0)
    verdict = judge_loss(loss(0.0, -0.5, 0.5), 1.0, apart)
    assert verdict.word == NOT_PROVEN
    assert "emulator loses 4.00 points more" in verdict.reasons[0]
    # That it loses less shows as well that one of the two is not the model.
    less = Loss("y", "htp-native", 200, -4.0, -6.5, -1.5, 99.0)
    verdict = judge_loss(loss(0.0, -0.5, 0.5), 1.0, less)
    assert verdict.word == NOT_PROVEN
    assert "emulator loses 4.00 points less (1.50 to 6.50)" in verdict.reasons[0]
    # Chance, or too little to matter, is no disagreement.
    for harmless in (
        Loss("y", "htp-native", 200, 4.0, -0.1, 8, 99),
        Loss("y", "htp-native", 9, 0.1, 0.05, 0.2, 99),
    ):
        assert judge_loss(loss(0.0, -0.5, 0.5), 1.0, harmless).word == MET


def test_few_samples_that_differ_by_more_than_the_limit_show_that_both_disagree():
    apart = Loss("y", "htp-native", 4, 34.0, -100.0, 100.0, 99.0)
    assert judge_loss(loss(36.0, 30.0, 40.0, samples=4), 5.0, apart).reasons[1] == (
        "simulation and emulator disagree: on the same 4 samples the emulator loses 34.00 points more "
        "(too few to say how much on others); figures of the simulation do not hold for this model"
    )
    (reason,) = describe_disagreement(replace(apart, points=-34.0), 5.0)
    assert "34.00 points less (too few" in reason
    assert describe_disagreement(replace(apart, points=4.9), 5.0) == ()
    # A share of few samples has an interval, which decides.
    assert describe_disagreement(replace(apart, points=25.0, low=-30.0, high=60.0), 5.0) == ()


def test_what_proves_nothing_is_never_green_however_small_the_loss():
    verdict = judge_loss(loss(0.0, -0.1, 0.1), 1.0, doubts=("random numbers",))
    assert (verdict.word, verdict.reasons, verdict.needed) == (NOT_PROVEN, ("random numbers",), None)
    unclear = judge_loss(loss(0.0, -0.1, 3.0), 1.0, doubts=("random numbers",))
    assert (unclear.word, unclear.reasons[0], unclear.needed) == (NOT_PROVEN, "random numbers", None)
    # No number of such samples is promised to prove anything.
    assert unclear.reasons[1] == "0.00 points are lost on 100 samples, with others up to 3.00"


def test_what_is_far_below_the_limit_is_not_called_near_to_it():
    far, near = (
        judge_loss(replace(loss(points, 0, 3.0), prospects=((200, 2.5), (400, 2.0))), 1.0).reasons[0]
        for points in (0.2, 0.8)
    )
    assert "samples differ so much" in far
    assert "too near to the limit of 1" in near


def test_few_perfect_answers_prove_little_and_many_prove_a_limit():
    few, many = (measure_loss(SHARE, shares([1] * n), shares([1] * n), 1.0) for n in (50, 1000))
    assert (few.points, many.points) == (0, 0)
    assert few.high > 1 > many.high
    needed = count_needed_samples(few, 1.0)
    proof = measure_loss(SHARE, shares([1] * needed), shares([1] * needed), 1.0)
    assert proof.high <= 1


@pytest.mark.parametrize("count", [1, 2, 5])
def test_as_many_samples_as_a_handful_asks_for_are_enough(count):
    verdict = judge_loss(measure_loss(SHARE, shares([1] * count), shares([1] * count), 1.0), 1.0)
    assert f"about {verdict.needed} are needed" in verdict.reasons[0]
    many = shares([1] * verdict.needed)
    assert judge_loss(measure_loss(SHARE, many, many, 1.0), 1.0).word == MET
    assert verdict.needed < 400


def test_what_is_lost_is_counted_sample_by_sample():
    random = np.random.default_rng(0)
    before = random.random(400) < 0.7
    after = before ^ (random.random(400) < 0.02)
    paired = measure_loss(SHARE, shares(before), shares(after), 1.0)
    assert paired.points == pytest.approx(100 * (before.mean() - after.mean()))
    # Apart from each other both have intervals of 9 points: the difference is known far better.
    assert paired.high - paired.low < 4


def test_intervals_hold_the_truth_as_often_as_they_say():
    random, truth, held = np.random.default_rng(1), 0.02, 0
    for _ in range(400):
        lost, won = random.random(300) < 0.03, random.random(300) < 0.01
        low, high = compute_paired_interval(int((lost & ~won).sum()), int((won & ~lost).sum()), 300)
        held += low <= truth <= high
    assert held >= 0.92 * 400


def test_the_worst_output_counts_and_the_widest_doubt():
    worst = choose_worst([loss(0.5, 0, 0.6), loss(0.2, 0, 3.0)])
    assert (worst.points, worst.high) == (0.5, 3.0)


@pytest.mark.parametrize(
    ("score", "classes", "is_poor"),
    [(26.0, 10, True), (85.0, 10, False), (49.0, 1000, False), (55.0, 2, True), (97.0, 2, False)],
)
def test_a_float_model_that_is_mostly_wrong_is_said(score, classes, is_poor):
    assert bool(describe_poor_float_model(score, 200, classes)) == is_poor


def test_very_few_samples_of_values_prove_nothing():
    sums = [(0.0, 4.0, 0.0, 1.0)] * 3
    assert judge_loss(measure_loss(CLOSENESS, sums, sums, 1.0), 1.0).word == NOT_PROVEN


def test_few_right_answers_are_not_called_wrong_ones():
    assert describe_poor_float_model(100.0, 1, 2) == (
        "the float model is right on 100 % of one sample, too few to tell that from chance"
    )
    assert "is right on only 50 % of 40 samples (50.0 % would be chance)" in describe_poor_float_model(
        50.0, 40, 2
    )
    assert describe_poor_float_model(100.0, 40, 2) == ""
