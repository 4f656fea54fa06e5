"""Samples held apart, and the noise that is measured on them."""

import numpy as np
import pytest

from edgewright.quantize.held_apart import JUDGES, split_samples
from edgewright.quantize.noise import Noise


def _numbered(count: int) -> list[dict[str, np.ndarray]]:
    return [{"x": np.array([number])} for number in range(count)]


def _numbers(samples) -> list[int]:
    return [int(sample["x"][0]) for sample in samples]


@pytest.mark.parametrize("count", [2, 3, 4, 10, 100, 1000])
def test_no_sample_both_fits_and_judges_and_none_is_lost(count):
    split = split_samples(_numbered(count))
    fitting, judging = _numbers(split.fitting), _numbers(split.judging)
    assert split.is_apart
    assert sorted(fitting + judging) == list(range(count))
    assert 1 <= len(judging) <= JUDGES
    assert fitting


def test_those_that_judge_are_spread_over_all_samples_and_over_any_period():
    judging = np.array(_numbers(split_samples(_numbered(600)).judging))
    assert np.bincount(judging // 150, minlength=4).min() > JUDGES / 4 * 0.8
    assert np.bincount(judging % 3, minlength=3).min() > 0


def test_samples_without_a_length_are_counted():
    class Stream:
        def __iter__(self):
            return iter(_numbered(9))

    split = split_samples(Stream())
    assert len(split.judging) == 3
    assert len(list(split.fitting)) == len(list(split.fitting)) == 6


def test_a_single_sample_does_both_and_that_is_said():
    split = split_samples(_numbered(1))
    assert _numbers(split.fitting) == _numbers(split.judging) == [0]
    assert split.describe() == "1 sample that ranges were chosen from"
    assert split_samples(_numbered(30)).describe() == "10 samples held apart"


def _noise(powers, outputs: int = 1) -> Noise:
    noise = np.atleast_2d(np.asarray(powers, np.float64))
    return Noise(np.ones_like(noise), noise, outputs)


def test_powers_are_summed_before_they_become_decibels():
    # The mean of the decibels would be 35: it hides the sample that is wrong.
    assert _noise([1e-4, 1e-4, 1e-4, 1e-2]).sqnr_db == pytest.approx(10 * np.log10(4 / 1.03e-2))


def test_a_gain_that_one_sample_makes_is_none():
    before = _noise([*[1e-3] * 19, 1.0])
    gain = _noise([*[1.1e-3] * 19, 1e-3]).measure_gain(before)
    assert gain.decibels > 10
    assert not gain.is_worth()
    assert "a few samples make" in gain.describe()


def test_a_gain_of_nearly_all_samples_is_worth_it_and_a_small_one_is_not():
    before = _noise(np.linspace(1e-3, 2e-3, 30))
    assert _noise(np.linspace(0.8e-3, 1.6e-3, 30)).measure_gain(before).is_worth()
    assert not _noise(np.linspace(0.99e-3, 1.98e-3, 30)).measure_gain(before).is_worth()


def test_one_sample_that_has_most_of_the_noise_does_not_hide_what_the_others_gain():
    before = _noise([*[1e-4] * 19, 1.0])
    assert _noise([*[0.5e-4] * 19, 1.0]).measure_gain(before).is_worth()
    assert not _noise([*[0.5e-4] * 19, 1.1]).measure_gain(before).is_worth()


def test_scores_that_gain_do_not_outweigh_outputs_that_lose():
    before = _noise([[1e-3] * 9, [1e-3] * 9])
    gain = _noise([[1.2e-3] * 9, [1e-5] * 9]).measure_gain(before)
    assert gain.decibels > 5
    assert not gain.is_worth()


def test_the_interval_holds_what_other_samples_show():
    random = np.random.default_rng(4)
    powers = random.gamma(0.7, 1e-3, (200, 30))
    truth = 10 * np.log10(1 / 0.7e-3)
    intervals = [_noise(row).find_interval() for row in powers]
    assert np.mean([low <= truth <= high for low, high in intervals]) > 0.85
