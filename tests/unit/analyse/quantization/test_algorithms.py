"""Each algorithm has the value that can be computed by hand, and its threshold decides."""

import numpy as np
import pytest

from edgewright.analyse.quantization.algorithms import ALGORITHMS, Stored
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding


def store(real, scale=0.1, offset=-100, bits=8):
    real = np.asarray(real, np.float32)
    encoding = Encoding((scale,), (offset,), None, bits)
    codes = encoding.encode(real, DType.UFIXED_POINT_8)
    return Stored(real, codes, encoding.decode(codes), bits)


CUT = store([-20.0, 0.0, 5.0])


@pytest.mark.parametrize(
    ("name", "stored", "text"),
    [
        ("minmax", CUT, "min: 10 max: 0"),
        ("maxdiff", CUT, "10"),
        ("sqnr", CUT, "6.284"),
        ("data_range_analyzer", store([0.0, 25.5]), "unique dec places: 1 data range: 25.5"),
        ("data_distribution_analyzer", store([-10, 0.0, 1e-3, 2e-3, 3e-3]), "above threshold: 0.8"),
        ("stats", store([0.0, 0.0, 0.0, 4.0]), "skew: 1.1547 min: 0 max: 4 median: 0 variance: 3"),
    ],
)
def test_values_are_as_computed_by_hand(name, stored, text):
    assert text in ALGORITHMS[name].judge(stored, None).text


@pytest.mark.parametrize(("name", "low", "high"), [("minmax", 9.9, 10.1), ("maxdiff", 9.9, 10.1)])
def test_a_given_threshold_is_absolute(name, low, high):
    judge = ALGORITHMS[name].judge
    assert (judge(CUT, low).is_passed, judge(CUT, high).is_passed) == (False, True)


def test_noise_must_be_below_and_skew_within_the_threshold():
    assert not ALGORITHMS["sqnr"].judge(CUT, 7).is_passed
    assert ALGORITHMS["sqnr"].judge(CUT, 6).is_passed
    assert not ALGORITHMS["stats"].judge(store([0.0, 0.0, 0.0, 4.0]), 1).is_passed


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_without_a_threshold_the_unit_of_the_data_does_not_matter(scale):
    data = np.random.default_rng(0).uniform(-10, 15, 1000) * scale
    stored = store(data, scale=0.1 * scale)
    assert all(algorithm.judge(stored, None).is_passed for algorithm in ALGORITHMS.values())


def test_constants_of_zeros_pass():
    stored = store(np.zeros(8))
    assert all(algorithm.judge(stored, None).is_passed for algorithm in ALGORITHMS.values())
