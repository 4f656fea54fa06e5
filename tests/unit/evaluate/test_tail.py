"""What samples that were not seen may lose: wide where samples differ by orders of magnitude."""

import numpy as np
import pytest

from edgewright.evaluate.input_energies import InputEnergies
from edgewright.evaluate.loss import count_needed_samples, estimate_high, measure_loss
from edgewright.evaluate.metrics import MEASURES
from edgewright.evaluate.metrics.own_function import OwnMeasure
from edgewright.evaluate.tail import Conditions, TailBound, Term

CLOSENESS = MEASURES["closeness"]


def make_sums(losses):
    """Samples of one value each, of which so many points are lost."""
    errors = np.asarray(losses) / 100
    return [(error**2, 1.0, error, 1.0) for error in errors.tolist()]


def measure(losses, **scatter):
    sums = make_sums(losses)
    return measure_loss(
        CLOSENESS, make_sums(np.zeros(len(sums))), sums, np.array([1.0]), Conditions(**scatter)
    )


def draw_losses(deviation, count=40, seed=0):
    return 0.2 * np.exp(np.random.default_rng(seed).normal(0, deviation, count))


def test_samples_that_are_alike_are_known_well_and_others_are_not():
    alike, different = measure(draw_losses(0.15)), measure(draw_losses(1.5))
    assert alike.points < alike.high < 1.2 * alike.points
    assert different.high > 3 * different.points


def test_inputs_that_differ_by_orders_of_magnitude_widen_the_interval():
    losses = draw_losses(0.6)
    assert measure(losses, input_scatter=4.0).high > 1.3 * measure(losses, input_scatter=0.5).high


@pytest.mark.parametrize("deviation", [0.3, 1.0])
def test_the_upper_end_holds_as_often_as_it_says(deviation):
    truth, draws = 100 * np.sqrt(np.exp(2 * deviation**2)) * 0.002, 40
    highs = [measure(draw_losses(deviation, seed=seed)).high for seed in range(draws)]
    assert sum(high < truth for high in highs) <= 0.05 * draws


def test_as_many_samples_as_are_asked_for_prove_the_limit():
    few = draw_losses(0.5, 20)
    loss = measure(few)
    limit = loss.points + 0.6 * (loss.high - loss.points)
    needed = count_needed_samples(loss, limit)
    assert 20 < needed < 200
    times = -(-needed // 20)
    assert measure(np.tile(few, times)).high == pytest.approx(estimate_high(loss, 20 * times), rel=0.1)
    assert measure(np.tile(few, 2 * times)).high <= limit


def test_of_samples_without_any_loss_values_prove_more_than_answers():
    def is_same(output, reference):
        return float((output == reference).all())

    nothing = measure(np.zeros(40))
    assert (nothing.points, nothing.high) == (0, 0)
    answers = [(1.0, 1.0)] * 40
    assert measure_loss(OwnMeasure("same", is_same), answers, answers, np.array([1.0])).high > 5


def test_a_metric_without_terms_is_told_by_what_each_sample_changes():
    random = np.random.default_rng(3)
    before, after = ([(1 - value, 1.0) for value in random.exponential(0.01, 50).tolist()] for _ in range(2))
    (term,) = MEASURES["cosine"].list_terms(before, after, np.array([1.0]))
    expected = [first[0] - second[0] for first, second in zip(before, after, strict=True)]
    np.testing.assert_allclose(term.errors, expected, atol=1e-12)


def test_noise_that_grows_with_the_signal_is_no_heavy_tail():
    signal = np.exp(np.random.default_rng(4).normal(0, 2, 60))
    grown = TailBound(Term(1e-4 * signal, signal, 2.0)).compute()
    assert grown == pytest.approx(1.0, rel=0.05)
    assert TailBound(Term(1e-4 * signal, np.full(60, signal.mean()), 2.0)).compute() > 2


def test_samples_that_8_bits_cut_off_are_allowed_for_where_none_was_judged():
    random = np.random.default_rng(6)
    # One sample in forty has values beyond those that calibrated, and seven times the error of the others.
    noise = 1e-4 * np.exp(random.normal(0, 0.4, 2000)) * np.where(np.arange(2000) % 40 == 0, 50, 1)
    truth = Term(noise, np.ones(2000), 2.0)
    points, held = truth.take_root(truth.mean), {True: 0, False: 0}
    for _ in range(60):
        term = Term(random.choice(noise, 40, replace=False), np.ones(40), 2.0)
        for has_8_bits in held:
            held[has_8_bits] += TailBound(term, Conditions(has_8_bits=has_8_bits)).compute() >= points
    assert (held[True] >= 54, held[False] < 40) == (True, True)


def test_orders_of_magnitude_of_inputs_are_told_and_zeros_are_not_counted():
    loud, even = InputEnergies(), InputEnergies()
    for number in range(40):
        loud.add({"x": np.full(4, 10.0 ** (-number / 10), np.float32), "ids": np.array([number])})
        even.add({"x": np.full(4, float(number > 3), np.float32)})
    assert "'x' differ by 3." in loud.describe_orders()
    assert (even.describe_orders(), even.scatter) == ("", 0.0)


def test_with_several_looks_at_the_same_samples_intervals_are_wider():
    sums, exact = make_sums(draw_losses(0.3)), make_sums(np.zeros(40))
    once, twice = (
        measure_loss(CLOSENESS, exact, sums, np.array([1.0]), Conditions(looks=looks)) for looks in (1, 2)
    )
    assert (twice.points, twice.low < once.low, twice.high > once.high) == (once.points, True, True)
    answers = [(1.0, 1.0)] * 40
    shares = [
        measure_loss(MEASURES["same-answers"], answers, answers, np.array([1.0]), Conditions(looks=n))
        for n in (1, 2)
    ]
    assert shares[1].high > shares[0].high
