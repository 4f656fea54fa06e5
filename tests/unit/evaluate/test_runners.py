"""Samples that several copies of a model share."""

import math
import threading
import time

import numpy as np
import pytest

from edgewright.evaluate.runners import EvaluatedSample, RunnerLate, run_in_turn
from edgewright.quantize.executor import OutOfTime


def make_samples(count):
    return (EvaluatedSample({"x": np.array([number])}, {}, None) for number in range(count))


def run_slowly(sample):
    # The later a sample comes, the sooner it is ready: order must not depend on that.
    time.sleep(0.02 / (1 + int(sample["x"][0])))
    return {"y": sample["x"] * 2}


@pytest.mark.parametrize("count", [1, 2, 4])
def test_outputs_come_in_the_order_of_the_samples_however_many_share_them(count) -> None:
    results = list(run_in_turn([run_slowly] * count, make_samples(9), math.inf))
    assert [int(sample.inputs["x"][0]) for sample, _ in results] == list(range(9))
    assert [int(outputs["y"][0]) for _, outputs in results] == [2 * number for number in range(9)]


def test_all_runners_work_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=30)

    def run(sample):
        together.wait()
        return sample

    assert len(list(run_in_turn([run, run], make_samples(4), math.inf))) == 4


@pytest.mark.parametrize("count", [1, 2])
def test_once_the_time_is_up_no_sample_is_begun_but_the_first(count) -> None:
    assert len(list(run_in_turn([run_slowly] * count, make_samples(9), time.monotonic() - 1))) == 1


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("error", [ZeroDivisionError, OutOfTime])
def test_an_error_of_a_runner_is_raised(count, error) -> None:
    def fail(sample):
        raise error

    with pytest.raises(error):
        list(run_in_turn([fail] * count, make_samples(3), math.inf))


@pytest.mark.parametrize("count", [1, 2])
def test_a_runner_that_is_late_ends_all_and_keeps_what_came_before(count) -> None:
    def run(sample):
        if sample["x"][0] >= 3:
            raise RunnerLate
        return sample

    samples = [sample for sample, _ in run_in_turn([run] * count, make_samples(9), math.inf)]
    assert [int(sample.inputs["x"][0]) for sample in samples] == [0, 1, 2]
