import numpy as np
import pytest

from edgewright.config.net_run import InputFiles
from edgewright.run.execution.feeds import CacheLimits, Feeds, cache_limits


@pytest.fixture
def reads():
    return []


def feeds(reads, limits, count=4):
    def read(index):
        reads.append(index)
        return {"x": np.full(256, index, np.float32)}  # a kilobyte

    return Feeds(read, count, limits)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (CacheLimits(0), [0, 1, 2, 3] * 3),
        (CacheLimits(-1), [0, 1, 2, 3]),
        (CacheLimits(2), [0, 1, 2, 3, 2, 3, 2, 3]),
        (CacheLimits(-1, 0), [0, 1, 2, 3] * 3),
        (CacheLimits(-1, 2048), [0, 1, 2, 3, 2, 3, 2, 3]),
        (CacheLimits(-1, 2047), [0, 1, 2, 3, 1, 2, 3, 1, 2, 3]),
    ],
)
def test_sets_are_kept_up_to_the_limit(reads, limits, expected):
    found = feeds(reads, limits)
    for number in range(12):
        assert found(number)["x"][0] == number % 4
    assert reads == expected


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({}, CacheLimits(0)),
        ({"max_input_cache_tensor_sets": -1}, CacheLimits(-1)),
        ({"max_input_cache_tensor_sets": 3}, CacheLimits(3)),
        ({"max_input_cache_size_mb": 2}, CacheLimits(-1, 2 << 20)),
    ],
)
def test_the_options_say_what_is_kept(options, limits):
    assert cache_limits(InputFiles(input_list=("l",), **options)) == limits
