"""The fit, held to networks that it has not seen: errors, intervals, and the file that is shipped."""

import json
from importlib.resources import files

import numpy as np
import pytest

from edgewright.estimate.fit import PRECISIONS, LatencyFit, load_dataset
from edgewright.estimate.public_data import list_chips, read_measurements, read_networks, read_times
from edgewright.estimate.refit import fit_parameters
from edgewright.estimate.validation import (
    KINDS,
    find_bounds,
    find_family,
    leave_families_out,
    measure_coverage,
    measure_errors,
    predict_by_macs,
    predict_left_out,
)

# Errors of the first model that was tried on the same data: median and 90th percentile.
FIRST_MODEL = {"float": (0.18, 0.58), "w8a8": (0.21, 0.87), "w8a16": (0.32, 1.24)}


@pytest.fixture(scope="module")
def left_out():
    return leave_families_out()


@pytest.fixture(scope="module")
def by_macs():
    return predict_left_out(predict_by_macs)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_left_out_networks_are_estimated_no_worse_than_by_the_first_model(left_out, precision):
    errors = measure_errors(left_out, precision)
    median, p90 = FIRST_MODEL[precision]
    assert round(errors.median, 2) <= median
    assert errors.p90 <= p90


@pytest.mark.parametrize("precision", ["float", "w8a8"])
def test_errors_are_less_than_half_of_those_of_macs_alone(left_out, by_macs, precision):
    errors, simple = (measure_errors(each, precision) for each in (left_out, by_macs))
    assert 2 * errors.median < simple.median
    assert 2 * errors.p90 < simple.p90


@pytest.mark.parametrize("precision", PRECISIONS)
def test_plain_convolutional_networks_have_a_median_error_under_15_percent(left_out, precision):
    assert measure_errors(left_out, precision, KINDS[0]).median < 0.15


@pytest.mark.parametrize("precision", PRECISIONS)
def test_intervals_hold_the_share_that_they_state(left_out, precision):
    coverage = measure_coverage(left_out, precision)
    low, high = coverage.band
    assert low <= coverage.share <= high


def test_the_shipped_parameters_are_those_of_the_fit(left_out):
    shipped = json.loads((files("edgewright.estimate") / "_data" / "parameters.json").read_text("utf-8"))
    fitted = json.loads(json.dumps(fit_parameters(left_out)))
    for key in ("microseconds", "bounds"):
        flat = [np.array(list(_flatten(each[key]))) for each in (shipped, fitted)]
        np.testing.assert_allclose(*flat, rtol=0.01, err_msg="run make fit-latency")
    assert shipped["source"] == fitted["source"]


def test_relatives_are_left_out_together():
    assert find_family("resnet50") == find_family("wideresnet50") == "resnet"
    assert find_family("yolov8_det") == find_family("fastsam_s")
    assert find_family("resnet_3d") != find_family("resnet50")


def test_an_interval_holds_most_of_exchangeable_networks():
    rng = np.random.default_rng(7)
    inside = []
    for _ in range(400):
        draws = rng.normal(size=(31, 1))
        bounds = find_bounds(draws[:30])
        assert bounds is not None
        inside.append(bounds[0] <= draws[30, 0] <= bounds[1])
    assert 0.76 < np.mean(inside) < 0.9


def test_too_few_networks_have_no_interval():
    assert find_bounds(np.zeros((5, 3))) is None


def test_a_network_on_many_chips_has_one_vote():
    # One network on fifteen chips, far away, and nineteen on one chip each.
    residuals = np.full((20, 15), np.nan)
    residuals[0] = 5.0
    residuals[1:, 0] = np.linspace(-1, 1, 19)
    bounds = find_bounds(residuals)
    assert bounds is not None
    assert bounds[1] == 1.0


def test_the_fit_finds_constants_that_made_the_times():
    data = load_dataset()
    model = LatencyFit(data.chips)
    truth = model.start + np.random.default_rng(3).normal(0, 0.2, len(model.start)) * model.spread
    times = model.predict(truth, data)
    made = type(data)(data.names, data.precisions, data.amounts, times, data.chips)
    errors = np.abs(model.predict(model.fit(made), made) - times)
    assert np.median(errors) < 0.03


def test_the_data_is_what_its_notice_says():
    notice = (files("edgewright.estimate") / "_data" / "NOTICE.txt").read_text("utf-8")
    assert "BSD 3-Clause" in notice
    assert "0.65.0" in notice
    assert len(read_networks()) == 74
    assert {row.soc_model for row in read_measurements()} <= set(list_chips())
    assert all(row.microseconds > 0 for row in read_times().values())


def _flatten(value):
    if isinstance(value, dict):
        for each in value.values():
            yield from _flatten(each)
    elif isinstance(value, list):
        yield from value
    else:
        yield value
