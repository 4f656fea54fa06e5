"""Schemes: what each one keeps and gives up, and that those that search really do."""

import numpy as np
import pytest

from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.quantize.encodings import Grid, compute_covered_range
from edgewright.quantize.observers import Extremes, Histogram, HistogramObserver
from edgewright.quantize.schemes import SCHEMES, find_scheme

RANDOM = np.random.default_rng(7)
DATA = {
    "normal": RANDOM.normal(size=50_000),
    "relu": np.maximum(RANDOM.normal(size=50_000), 0),
    "long tail": np.concatenate([RANDOM.normal(size=50_000), [12, 30, -9]]),
    "laplace": RANDOM.laplace(size=50_000),
    "negative": -np.abs(RANDOM.normal(size=50_000)) - 1,
}
SEARCHING = ("sqnr", "mse", "percentile", "entropy")


def chosen(name: str, data: Array, grid: Grid) -> tuple[float, float]:
    found = find_scheme(name).choose_ranges(Histogram.of(data.astype(np.float32), bins=2048), grid)
    return float(found.low[0]), float(found.high[0])


def error(data: Array, name: str, grid: Grid) -> float:
    encoding = grid.encode_range(*chosen(name, data, grid))
    back = encoding.decode(encoding.encode(data.astype(np.float32), grid.dtype))
    return float(np.mean((back - data) ** 2))


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("is_symmetric", [False, True], ids=["asymmetric", "symmetric"])
def test_the_smallest_error_is_found_by_the_scheme_that_minimises_it(kind, is_symmetric):
    grid, data = Grid(8, is_symmetric), DATA[kind]
    errors = {name: error(data, name, grid) for name in ("tf", *SEARCHING)}
    assert errors["mse"] <= min(errors.values()) * 1.01
    assert errors["sqnr"] <= errors["tf"] * 1.001


@pytest.mark.parametrize("name", SEARCHING)
@pytest.mark.parametrize("is_symmetric", [False, True], ids=["asymmetric", "symmetric"])
def test_a_long_tail_is_cut_by_every_scheme_that_searches(name, is_symmetric):
    low, high = chosen(name, DATA["long tail"], Grid(8, is_symmetric))
    assert max(-low, high) < 30
    assert high > 3


@pytest.mark.parametrize("name", SCHEMES)
def test_no_scheme_goes_beyond_what_was_seen_but_to_cover_it(name):
    for data in DATA.values():
        low, high = chosen(name, data, Grid(8))
        step = (data.max() - min(data.min(), 0)) / 255
        assert min(data.min(), 0) - step <= low
        assert high <= max(data.max(), 0) + step


def test_the_true_range_covers_all():
    assert chosen("tf", DATA["long tail"], Grid(8)) == (-9.0, 30.0)


def test_half_zeros_do_not_blind_the_entropy():
    assert 3 < chosen("entropy", DATA["relu"], Grid(8))[1] < DATA["relu"].max()


def test_an_adjusted_range_covers_both_ends_exactly():
    grid = Grid(8)
    for low, high in ((-1.8, 0.5), (-5.1, 5.1), (-0.3, 7.7), (0.0, 2.0), (-2.0, 0.0)):
        adjusted = find_scheme("adjusted").choose_ranges(Extremes.from_bounds(low, high), grid)
        encoding = grid.encode_range(adjusted.low, adjusted.high)
        bottom, top = (float(end[0]) for end in compute_covered_range(encoding, grid.dtype))
        assert bottom <= low * (1 - 1e-6)
        assert top >= high * (1 - 1e-6)
        assert encoding.scales[0] <= grid.encode_range(low, high).scales[0] * 1.01


def test_sixteen_bits_take_the_full_range_by_entropy():
    assert chosen("entropy", DATA["laplace"], Grid(16)) == chosen("tf", DATA["laplace"], Grid(16))


@pytest.mark.parametrize("name", ["mse", "sqnr"])
def test_sixteen_bits_are_searched_without_falling_for_the_bins(name):
    assert error(DATA["laplace"], name, Grid(16)) <= error(DATA["laplace"], "tf", Grid(16)) * 1.001


def test_the_percentile_leaves_out_its_part_at_each_end():
    data = np.linspace(-1, 1, 100_001)
    found = find_scheme("percentile", 95).choose_ranges(
        Histogram.of(data.astype(np.float32), bins=2048), Grid(8)
    )
    assert found.low[0] == pytest.approx(-0.9, abs=2e-3)
    assert found.high[0] == pytest.approx(0.9, abs=2e-3)


def test_the_hundredth_percentile_leaves_out_nothing():
    found = find_scheme("percentile", 100).choose_ranges(Histogram.of(DATA["long tail"]), Grid(8))
    assert (found.low[0], found.high[0]) == (-9, 30)


@pytest.mark.parametrize("value", [89.9, 100.1, float("nan")])
def test_a_percentile_outside_its_bounds_is_refused(value):
    with pytest.raises(UsageError, match="expected 90 to 100"):
        find_scheme("percentile", value)


def test_a_scheme_nobody_knows_is_refused():
    with pytest.raises(UsageError, match="there is no scheme 'best'"):
        find_scheme("best")


@pytest.mark.parametrize("name", SCHEMES)
def test_rows_are_chosen_as_if_each_were_alone(name):
    rows = np.stack([DATA[kind][:4000] for kind in DATA]).astype(np.float32)
    grid = Grid(8, is_symmetric=True)
    together = find_scheme(name).choose_ranges(Histogram.of(rows, axis=0), grid)
    for index, row in enumerate(rows):
        alone = find_scheme(name).choose_ranges(Histogram.of(row), grid)
        np.testing.assert_allclose(together.low[index], alone.low[0], rtol=1e-5)
        np.testing.assert_allclose(together.high[index], alone.high[0], rtol=1e-5)


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("data", [np.zeros(5), np.full(9, 3.0), np.array([-2.0]), np.zeros(0)])
def test_data_without_spread_has_a_range(name, data):
    for grid in (Grid(8), Grid(8, is_symmetric=True), Grid(4)):
        low, high = chosen(name, data, grid)
        encoding = grid.encode_range(low, high)
        np.testing.assert_allclose(
            encoding.decode(encoding.encode(data.astype(np.float32), grid.dtype)), data
        )


def test_a_streamed_histogram_is_that_of_all_data_together():
    data = DATA["normal"].astype(np.float32)
    observer = HistogramObserver(Extremes.of(data), bins=2048)
    for part in np.array_split(data, 7):
        observer.add(part)
    np.testing.assert_array_equal(observer.histogram().counts, Histogram.of(data, bins=2048).counts)


def test_a_large_tensor_is_sampled_over_all_its_channels():
    channels = np.arange(1, 1 + 144, dtype=np.float32)
    data = np.broadcast_to(channels, (56, 56, 144))
    observer = HistogramObserver(Extremes.from_bounds(0, 144), bins=145)
    observer.add(data)
    counts = observer.histogram().counts[0]
    assert counts.sum() < data.size / 2
    assert counts[1:].min() > counts[1:].max() * 0.98


def test_fewer_bins_hold_the_same_mass_in_the_same_places():
    fine = Histogram.of(DATA["laplace"].astype(np.float32), bins=2048)
    coarse = fine.merge_bins(100)
    assert coarse.counts.shape == (1, 100)
    assert coarse.counts.sum() == fine.counts.sum()
    mean = [float((h.centres * h.frequencies).sum()) for h in (fine, coarse)]
    assert mean[0] == pytest.approx(mean[1], abs=0.02)
    assert 0.0 in coarse.centres
