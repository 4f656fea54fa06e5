import time

import pytest

from edgewright.core.errors import BackendCrash, BadInput
from edgewright.run.execution.deadline import Deadline


def bad():
    raise BadInput("the work itself fails")


@pytest.mark.parametrize("limit", [None, 0, 10_000_000])
def test_work_within_its_time_gives_its_result(limit):
    assert Deadline(limit, "--timeout", "the work").run(lambda: 7) == 7


@pytest.mark.parametrize("limit", [None, 10_000_000])
def test_an_error_of_the_work_is_raised_as_it_is(limit):
    with pytest.raises(BadInput, match="the work itself fails"):
        Deadline(limit, "--timeout", "the work").run(bad)


def test_work_that_takes_longer_is_given_up_at_once():
    began = time.monotonic()
    with pytest.raises(BackendCrash) as caught:
        Deadline(50_000, "--timeout", "the work").run(lambda: time.sleep(5))
    assert time.monotonic() - began < 3
    assert caught.value.what == "the work took more than 50000 microseconds and was abandoned"
    assert caught.value.do == "raise --timeout, or leave it out"
