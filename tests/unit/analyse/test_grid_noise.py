"""What a grid costs: as expected, cut values in full; gains of channels are recognized as such."""

import numpy as np
import pytest

from edgewright.analyse.grid_noise import GridNoise, is_scaled
from edgewright.core.numbers import DType
from edgewright.quantize.encodings import Grid

RNG = np.random.default_rng(6)


def measure(values, low, high):
    noise = GridNoise(Grid(8).encode_range(low, high), DType.UFIXED_POINT_8)
    noise.add(np.asarray(values, np.float32))
    return noise.sqnr_db()


@pytest.mark.parametrize("count", [1, 3, 5000])
def test_a_range_that_is_two_decibels_too_wide_costs_two_decibels_whatever_the_values(count):
    values = RNG.uniform(0.1, 0.9, count)
    wide = 10 ** (2 / 20)
    assert measure(values, -1, 1) - measure(values, -wide, wide) == pytest.approx(2.0, abs=1e-3)


def test_what_is_cut_counts_in_full():
    values = np.array([4.0, 1.0, 1.0])
    expected = 10 * np.log10(18 / (4.0 + 2 * (2 / 255) ** 2 / 12))
    assert measure(values, 0, 2) == pytest.approx(expected, abs=1e-3)


def test_zeros_are_exact_and_silence_tells_nothing():
    assert measure(np.zeros(4), -1, 1) is None
    assert measure([1.0, 0.0, 0.0], -1, 1) == measure([1.0], -1, 1)


def test_gains_of_channels_are_recognized_and_cut_weights_are_not_taken_for_them():
    weights = RNG.standard_normal((3, 3, 16, 32)).astype(np.float32)
    rows, columns = (2 ** RNG.uniform(-2, 2, shape) for shape in ((16, 1), (32,)))
    assert is_scaled(weights, (weights * rows * columns).astype(np.float32))
    assert not is_scaled(weights, np.clip(weights, -1, 1))
    assert not is_scaled(weights, weights + 0.1)
    assert not is_scaled(weights[0, 0, 0], weights[0, 0, 0] * 3)
