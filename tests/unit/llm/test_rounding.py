"""Codes: nearest, searched, compensated, refined: each is at least as good as the one before."""

import numpy as np
import pytest

from edgewright.core.errors import UnsupportedFeature
from edgewright.llm.rounding.codes import Grid
from edgewright.llm.rounding.gptq import Compensation
from edgewright.llm.rounding.scales import quantize_to_nearest, quantize_with_search


@pytest.fixture
def weights():
    return np.random.default_rng(0).standard_t(4, size=(48, 128)).astype(np.float32)


@pytest.fixture
def moments():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(400, 32)) @ rng.normal(size=(32, 128)) + rng.normal(size=(400, 128))
    inputs[:, 5] = 0
    return inputs.T @ inputs


def measure(weights, codes, moments=None):
    gap = weights - codes.decode()
    return float(np.vdot(gap if moments is None else gap @ moments, gap))


@pytest.mark.parametrize("grid", [Grid(4), Grid(4, 0), Grid(4, 64, False), Grid(8), Grid(8, 32, False)])
def test_values_are_within_half_a_step(weights, grid):
    codes = quantize_to_nearest(weights, grid)
    assert grid.lowest <= codes.codes.min() <= codes.codes.max() <= grid.highest
    steps = np.abs(codes.scales).repeat(128 // codes.scales.shape[1], axis=1)
    # At the far end of the symmetric codes there is one code less.
    reach = 1.0 if grid.is_symmetric else 0.51
    assert (np.abs(codes.decode() - weights) <= reach * steps + 1e-3).all()


@pytest.mark.parametrize("is_symmetric", [True, False])
def test_searched_scales_leave_less_error_where_it_matters(weights, is_symmetric):
    grid, matters = Grid(4, 32, is_symmetric), np.linspace(0.1, 5, 128).astype(np.float32)
    errors = [
        float((np.square(weights - codes.decode()) * matters).sum())
        for codes in (quantize_to_nearest(weights, grid), quantize_with_search(weights, grid, matters))
    ]
    assert errors[1] < 0.95 * errors[0]


def test_compensation_and_refinement_leave_less_error_in_the_products(weights, moments):
    compensation = Compensation(moments)
    searched = quantize_with_search(weights, Grid(4))
    compensated = compensation.quantize(weights, Grid(4))
    refined = compensation.quantize(weights, Grid(4), turns=3)
    errors = [measure(weights, codes, moments) for codes in (searched, compensated, refined)]
    assert errors[1] < 0.6 * errors[0]
    assert errors[2] < errors[1]


def test_rows_come_in_pieces_with_the_same_codes(weights, moments):
    compensation = Compensation(moments)
    whole = compensation.quantize(weights, Grid(4, 32, False))
    parts = [compensation.quantize(part, Grid(4, 32, False)) for part in (weights[:20], weights[20:])]
    np.testing.assert_array_equal(whole.codes, np.concatenate([part.codes for part in parts]))


def test_zeros_stay_zeros_and_odd_blocks_are_refused(moments):
    zeros = np.zeros((2, 128), np.float32)
    for codes in (quantize_with_search(zeros, Grid(4)), Compensation(moments).quantize(zeros, Grid(4))):
        assert not codes.decode().any()
    with pytest.raises(UnsupportedFeature, match="blocks of 48"):
        quantize_to_nearest(zeros, Grid(4, 48))
