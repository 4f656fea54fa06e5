"""From ranges to encodings: the guide's worked examples, and laws that hold for every range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from edgewright.core.errors import UsageError
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.quantize.encodings import (
    SMALLEST_RANGE,
    Grid,
    change_grid,
    compute_covered_range,
    encode_blocks,
    encode_copy,
    validate_quantization_range,
)

ENDS = st.floats(-1e6, 1e6, allow_subnormal=False)
GRIDS = st.builds(Grid, st.sampled_from((4, 8, 16)), st.booleans())


def test_the_worked_example_of_the_guide_quantizes():
    grid = Grid(8)
    encoding = grid.encode_range(-1.8, 0.5)
    low, high = compute_covered_range(encoding, grid.dtype)
    assert encoding.scales[0] == pytest.approx(0.009020, abs=5e-7)
    assert encoding.offsets == (-200,)
    assert (low[0], high[0]) == (pytest.approx(-1.803922, abs=5e-7), pytest.approx(0.496078, abs=5e-7))
    stored = encoding.encode(np.array([-1.8, -1.0, 0.0, 0.5], np.float32), grid.dtype)
    assert stored.tolist() == [0, 89, 200, 255]


def test_the_worked_example_of_the_guide_dequantizes():
    real = Grid(8).encode_range(-1.8, 0.5).decode(np.array([0, 89, 200, 255], np.uint8))
    np.testing.assert_allclose(real, [-1.8039, -1.0011, 0.0, 0.4961], atol=1e-4)


@pytest.mark.parametrize(
    ("low", "high", "covered"),
    [(5.0, 10.0, (0.0, 10.0)), (-20.0, -6.0, (-20.0, 0.0)), (-5.1, 5.1, (-5.12, 5.08))],
    ids=["positive", "negative", "both"],
)
def test_zero_is_made_representable_as_the_guide_does(low, high, covered):
    found = compute_covered_range(Grid(8).encode_range(low, high), DType.UFIXED_POINT_8)
    np.testing.assert_allclose(np.concatenate(found), covered, atol=1e-6)


def test_zero_between_two_steps_goes_away_from_zero():
    assert Grid(8).encode_range(-5.1, 5.1).offsets == (-128,)


def test_published_symmetric_scales_come_out():
    assert Grid(8, is_symmetric=True).encode_range(-169, 100).scales[0] == pytest.approx(1.3307086, abs=5e-8)
    assert Grid(8, is_symmetric=True).encode_range(-3, 180).scales[0] == pytest.approx(1.4173229, abs=5e-8)


def test_a_range_of_nothing_is_widened_to_the_smallest():
    low, high = compute_covered_range(Grid(8).encode_range(0.0, 0.0), DType.UFIXED_POINT_8)
    assert high[0] - low[0] == pytest.approx(SMALLEST_RANGE, rel=1e-6)


@given(ENDS, ENDS, GRIDS)
def test_zero_is_exact_and_the_data_is_covered_to_half_a_step(first, second, grid):
    low, high = min(first, second), max(first, second)
    encoding = grid.encode_range(low, high)
    bottom, top = (float(end[0]) for end in compute_covered_range(encoding, grid.dtype))
    scale = encoding.scales[0]
    assert encoding.decode(encoding.encode(np.zeros(1, np.float32), grid.dtype))[0] == 0
    assert bottom <= low + scale * 0.5001
    assert top >= high - scale * 0.5001
    assert top - bottom >= SMALLEST_RANGE * 0.999


@given(arrays(np.float32, 20, elements=st.floats(-100, 100, width=32)), GRIDS)
def test_numbers_in_the_range_come_back_within_half_a_step(data, grid):
    encoding = grid.encode_range(data.min(), data.max())
    scale = encoding.scales[0]
    back = encoding.decode(grid.encode(data, encoding))
    # The ends may be moved by half a step to make zero exact: then they are clipped by that much.
    assert np.abs(back - data).max() <= scale * 0.5001 + 1e-5


@given(arrays(np.float32, (3, 8), elements=st.floats(-100, 100, width=32)))
def test_each_channel_has_the_encoding_it_would_have_alone(data):
    grid = Grid(8, is_symmetric=True)
    together = grid.encode_range(data.min(1), data.max(1), axis=0)
    alone = [grid.encode_range(row.min(), row.max()).scales[0] for row in data]
    assert together.scales == tuple(alone)
    assert together.offsets == (0, 0, 0)


def test_restricted_steps_keep_integers_inside_them():
    grid = Grid(16, is_symmetric=True, steps=(-0x8000, 0x7F7F))
    data = np.array([-3.0, 0.0, 3.0], np.float32)
    encoding = grid.encode_range(data.min(), data.max())
    assert encoding.scales[0] == pytest.approx(3.0 / 0x7F7F)
    assert grid.encode(data * 2, encoding).tolist() == [-0x8000, 0, 0x7F7F]


def test_restricted_steps_of_an_unsigned_type_are_counted_from_its_middle():
    grid = Grid(8, steps=(-0x70, 0x6F))
    encoding = grid.encode_range(0.0, 2.23)
    assert encoding.scales[0] == pytest.approx(0.01)
    assert encoding.offsets == (-16,)
    assert grid.encode(np.array([-1.0, 0.0, 9.0], np.float32), encoding).tolist() == [16, 16, 239]


@pytest.mark.parametrize("bits", [0, 3, 64, -8])
def test_a_width_nobody_has_is_refused(bits):
    with pytest.raises(UsageError, match=f"bit width of {bits} is not possible, expected one of"):
        Grid(bits)


@pytest.mark.parametrize("steps", [(0, 5), (-5, 0), (-129, 127), (5, -5)])
def test_steps_that_do_not_fit_are_refused(steps):
    with pytest.raises(UsageError, match="do not fit 8 bits, expected -128 to 127"):
        Grid(8, steps=steps)


def test_a_range_without_end_is_refused():
    with pytest.raises(UsageError, match="expected finite numbers"):
        Grid(8).encode_range(0.0, float("inf"))


def test_the_same_range_in_another_width_has_finer_steps():
    eight = Grid(8).encode_range(-1.0, 3.0)
    sixteen = change_grid(eight, DType.UFIXED_POINT_8, Grid(16))
    assert sixteen.bitwidth == 16
    np.testing.assert_allclose(
        compute_covered_range(sixteen, DType.UFIXED_POINT_16),
        compute_covered_range(eight, DType.UFIXED_POINT_8),
        rtol=1e-3,
    )


@pytest.mark.parametrize(
    ("shape", "axis", "block_axis"), [((6, 40), 0, 1), ((40, 6), 1, 0), ((3, 3, 40, 6), 3, 2)]
)
def test_blocks_lose_less_than_one_step_a_channel(shape, axis, block_axis):
    weights = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    weights *= (
        np.linspace(0.05, 1, 40).reshape([40 if a == block_axis else 1 for a in range(len(shape))]) ** 2
    )
    blocks = encode_blocks(weights, axis, block_axis, 15)
    grid = Grid(4, is_symmetric=True)
    others = tuple(a for a in range(len(shape)) if a != axis)
    plain = grid.encode_range(weights.min(others), weights.max(others), axis)
    errors = [np.mean((weights - e.decode(e.encode(weights, grid.dtype))) ** 2) for e in (blocks, plain)]
    assert errors[0] < errors[1] * 0.6
    # Blocks are of one size: 15 does not divide 40, 10 does.
    assert (blocks.block_size, len(blocks.block_scales)) == (10, 6 * 4)
    assert 1 <= min(blocks.block_scales) < max(blocks.block_scales) == 16
    assert blocks.encode(weights, grid.dtype).min() >= -8


def test_blocks_move_with_their_axes():
    weights = np.random.default_rng(2).normal(size=(5, 32)).astype(np.float32)
    blocks = encode_blocks(weights, 0, 1, 8)
    stored = blocks.encode(weights, DType.SFIXED_POINT_8)
    np.testing.assert_array_equal(blocks.permuted((1, 0)).decode(stored.T), blocks.decode(stored).T)


def test_a_range_check_tells_good_ranges_from_bad_ones():
    data = np.linspace(-1.8, 0.5, 1000)
    good = validate_quantization_range(data, 0.00902, 200, 8)
    bad = validate_quantization_range(data, 0.005, 200, 8)
    assert good
    assert good.clipped == 0
    assert good.sqnr_db > 40
    assert not bad
    assert bad.clipped > 0.3
    assert validate_quantization_range(data, 0.00902, -200, 8) == good
    assert not validate_quantization_range(data, 0.00902, 200, 8, threshold=1e-9)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_range_check_refuses_a_scale_that_is_none(scale):
    with pytest.raises(UsageError, match="expected a scale above 0"):
        validate_quantization_range(np.ones(3), scale, 0)


def test_a_block_larger_than_a_channel_is_the_whole_channel():
    weights = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    assert encode_blocks(weights, 0, 1, 10**12) == encode_blocks(weights, 0, 1, 6)


def test_a_copy_in_fewer_bits_has_no_finer_steps():
    """Shares of 16 bits are stored in 65,536 parts of one, however small all of them are."""
    shares = Encoding((2.0**-16,), (0,), bitwidth=16)
    narrow = encode_copy(Grid(8), 0.0, 0.001, shares)
    assert narrow.scales[0] == pytest.approx(2.0**-16)
    assert encode_copy(Grid(8), 0.0, 0.9, shares) == Grid(8).encode_range(0.0, 0.9)
    # More bits have finer steps.
    assert encode_copy(Grid(16), 0.0, 0.9, Encoding((1 / 255,), (0,))) == Grid(16).encode_range(0.0, 0.9)
