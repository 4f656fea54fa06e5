import numpy as np
import pytest

from edgewright.sdk.throughput.latencies import Latencies, Latency


def counted(times):
    found = Latencies()
    for time in times:
        found.add(int(time))
    return found.summary()


def test_without_executions_all_is_zero():
    assert counted([]) == Latency()


@pytest.mark.parametrize("seed", range(3))
def test_percentiles_are_those_of_the_times_to_half_a_percent(seed):
    times = np.random.default_rng(seed).lognormal(12, 1.5, 4999).astype(int)
    found = counted(times)
    assert (found.least, found.most) == (times.min() / 1e3, times.max() / 1e3)
    assert found.mean == pytest.approx(times.mean() / 1e3)
    for share, value in (
        (50, found.p50),
        (90, found.p90),
        (95, found.p95),
        (99, found.p99),
        (99.9, found.p999),
    ):
        wanted = np.percentile(times, share, method="inverted_cdf") / 1e3
        assert value == pytest.approx(wanted, rel=0.006)


def test_percentiles_of_equal_times_are_that_time():
    found = counted([1_000_003] * 10)
    assert {found.least, found.p50, found.p99, found.most} == {1000.003}


@pytest.mark.parametrize("time", [0, 1, 2**44, 2**60])
def test_very_short_and_very_long_times_are_counted(time):
    assert counted([time]).p50 == time / 1e3


def test_memory_does_not_grow_with_the_number_of_times():
    found = Latencies()
    size = len(found._counts)
    for time in range(100_000):
        found.add(time)
    assert (len(found._counts), found.count) == (size, 100_000)
