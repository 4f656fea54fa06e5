"""Codes: nearest, searched, compensated, refined: each is at least as good as the one before."""

import importlib.util

import numpy as np
import pytest

from edgewright.core.errors import BadInput, UnsupportedFeature
from edgewright.llm.rounding import codes as codes_module
from edgewright.llm.rounding import gptq, refine, scales
from edgewright.llm.rounding.codes import LPBQ, Q4_K, Grid
from edgewright.llm.rounding.gptq import Compensation, find_triangle
from edgewright.llm.rounding.scales import quantize_to_nearest, quantize_with_search
from tests.optional import NEEDS_TORCH, NO_TORCH


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


@pytest.mark.parametrize("is_symmetric", [True, False])
@pytest.mark.parametrize(
    "at_once", [pytest.param(0, marks=NEEDS_TORCH), pytest.param(1 << 22, marks=NEEDS_TORCH)]
)
def test_torch_finds_the_scales_that_numpy_finds(weights, is_symmetric, at_once, monkeypatch):
    import torch

    monkeypatch.setattr(scales, "AT_ONCE", at_once)
    weights[3] = 0
    grid = Grid(4, 32, is_symmetric)
    first = quantize_with_search(weights, grid)
    second = quantize_with_search(torch.from_numpy(weights), grid)
    assert np.array_equal(first.scales, np.asarray(second.scales))
    assert np.array_equal(first.codes, np.asarray(second.codes))


@pytest.mark.torch
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason=NO_TORCH)
@pytest.mark.parametrize(
    "grid", [Grid(4), Grid(4, 32, is_symmetric=False), LPBQ], ids=["symmetric", "asymmetric", "lpbq"]
)
def test_torch_chooses_nearly_the_same_codes(weights, moments, grid):
    import torch

    codes = Compensation(moments).quantize(weights, grid, turns=3)
    tensors = (
        Compensation(torch.from_numpy(moments)).quantize(torch.from_numpy(weights), grid, turns=3).fetch()
    )
    assert (codes.codes == tensors.codes).mean() > 0.97
    errors = [measure(weights, part, moments) for part in (codes, tensors)]
    assert errors[1] == pytest.approx(errors[0], rel=0.02)


@pytest.mark.parametrize("is_calibrated", [False, True])
def test_scales_of_lpbq_are_small_multiples_of_one_for_each_row(weights, moments, is_calibrated):
    quantize = Compensation(moments).quantize if is_calibrated else quantize_with_search
    codes = quantize(weights, LPBQ)
    assert codes.nested.units.shape == (48, 1)
    assert (codes.nested.units > 0).all()
    assert set(np.unique(codes.nested.steps)) <= set(range(1, 17))
    assert (codes.nested.steps.max(axis=1) == 16).mean() > 0.5
    np.testing.assert_array_equal(codes.scales, codes.nested.steps * codes.nested.units)
    assert (codes.codes.min(), codes.codes.max()) == (-8, 7)
    # A scale for each block of its own is hardly better, one for the row is worse.
    errors = [measure(weights, part) for part in (quantize_with_search(weights, Grid(4, 64)), codes)]
    row = quantize_with_search(weights, Grid(4, 0))
    if not is_calibrated:
        assert errors[0] <= errors[1] < 1.25 * errors[0]
        assert errors[1] < measure(weights, row)


def test_a_row_has_its_own_scale_in_eight_bits(weights):
    codes = quantize_with_search(weights, Grid(8, 0))
    assert codes.scales.shape == (48, 1)
    assert measure(weights, codes) < 1e-3 * float(np.square(weights).sum())


@pytest.mark.parametrize("grid", [Grid(4, 32, is_symmetric=False), Q4_K])
def test_turns_leave_less_error_on_other_grids_too(grid):
    rng = np.random.default_rng(4)
    weights = rng.standard_t(4, size=(24, 512)).astype(np.float32)
    inputs = (rng.normal(size=(900, 64)) @ rng.normal(size=(64, 512)) + rng.normal(size=(900, 512))).astype(
        np.float32
    )
    compensation = Compensation(inputs.T @ inputs)
    searched, plain, turned = (
        quantize_with_search(weights, grid),
        compensation.quantize(weights, grid),
        compensation.quantize(weights, grid, turns=3),
    )
    errors = [measure(weights, codes, inputs.T @ inputs) for codes in (searched, plain, turned)]
    assert errors[1] < 0.7 * errors[0]
    assert errors[2] < errors[1]


NO_NUMBA = "the package numba is not installed"
GRIDS = [Grid(4), Grid(4, 32, is_symmetric=False), Grid(8), LPBQ, Q4_K]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("turns", [None, 0, 2])
def test_compiled_loops_choose_nearly_the_same_codes_as_numpy(monkeypatch, grid, turns):
    pytest.importorskip("numba", reason=NO_NUMBA)
    weights = np.random.default_rng(5).standard_t(4, size=(70, 256)).astype(np.float32)
    inputs = np.random.default_rng(6).normal(size=(900, 256)) @ np.diag(np.linspace(0.1, 3, 256))
    products = (inputs.T @ inputs).astype(np.float32)
    weights[3], weights[4, :64] = 0, 1e-6

    def quantize():
        if turns is None:
            return quantize_with_search(weights, grid)
        return Compensation(products).quantize(weights, grid, turns)

    compiled = quantize()
    for module in (codes_module, gptq, refine, scales):
        monkeypatch.setattr(module, "load_kernels", lambda: None)
    plain = quantize()
    # Of scales with the same error another may be taken, and columns after it differ then.
    assert (compiled.codes == plain.codes).mean() > 0.97
    errors = [measure(weights, part, None if turns is None else products) for part in (compiled, plain)]
    assert errors[0] == pytest.approx(errors[1], rel=0.02)


def test_compiled_decoding_gives_what_numpy_does(weights, monkeypatch):
    pytest.importorskip("numba", reason=NO_NUMBA)
    for grid in (Grid(4), Grid(4, 32, is_symmetric=False), Grid(8, 0), LPBQ):
        part = quantize_with_search(weights, grid)
        with monkeypatch.context() as patch:
            patch.setattr(codes_module, "load_kernels", lambda: None)
            expected = part.decode()
        np.testing.assert_array_equal(part.decode(), expected)
        spare = np.zeros_like(expected)
        assert part.decode(spare) is spare
        np.testing.assert_array_equal(spare, expected)
        # What is mapped from a file is not written to.
        spare.flags.writeable = False
        assert part.decode(spare) is not spare


def test_half_precision_of_the_loops_is_that_of_numpy():
    pytest.importorskip("numba", reason=NO_NUMBA)
    from edgewright.llm.rounding import kernels

    values = np.float32(10.0) ** np.linspace(-9, 6, 4001, dtype=np.float32)
    values = np.concatenate([values, -values, [0.0, 65504.0, 65519.0, 2.0**-24, 2.0**-14]]).astype(np.float32)
    expected = np.clip(values, -65504, 65504).astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal([kernels.round_half(value) for value in values], expected)


def test_inputs_that_are_all_the_same_are_factored_and_those_that_are_no_numbers_refused():
    inputs = np.repeat(np.random.default_rng(7).normal(size=(400, 1)), 300, 1).astype(np.float32)
    damped = gptq.damp_moments(inputs.T @ inputs)
    lower = find_triangle(damped)
    np.testing.assert_allclose(lower @ lower.T, damped, rtol=1e-4)
    with pytest.raises(BadInput, match="are no numbers that can be computed with"):
        find_triangle(np.full((300, 300), np.nan, np.float32))
