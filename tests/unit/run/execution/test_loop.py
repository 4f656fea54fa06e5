import threading
import time
from itertools import count

import pytest

from edgewright.config.run_settings import QueueLimits
from edgewright.core.errors import BadInput
from edgewright.run.execution.loop import MOST_WORKERS, run_one_by_one, run_queued


class Crowd:
    """Counts how many are inside at a time."""

    def __init__(self, seconds=0.01):
        self._lock, self._inside, self._seconds = threading.Lock(), 0, seconds
        self.most = self.entered = 0

    def visit(self):
        with self._lock:
            self._inside += 1
            self.entered += 1
            self.most = max(self.most, self._inside)
        time.sleep(self._seconds)
        with self._lock:
            self._inside -= 1


def doubled(feed):
    return {"y": feed["x"] * 2}


def test_runs_come_one_by_one():
    done = list(run_one_by_one(range(3), lambda number: {"x": number}, doubled))
    assert [(item.number, item.values) for item in done] == [(0, {"y": 0}), (1, {"y": 2}), (2, {"y": 4})]
    assert all(item.started <= item.finished for item in done)


@pytest.mark.parametrize(
    ("limits", "readers", "runners"),
    [(QueueLimits(8, 2, 3), 2, 3), (QueueLimits(2, 8, 8), 2, 2), (QueueLimits(1, 1, 1), 1, 1)],
)
def test_no_more_goes_on_at_a_time_than_the_limits_allow(limits, readers, runners):
    reading, running = Crowd(), Crowd()

    def feed(number):
        reading.visit()
        return {"x": number}

    def run(inputs):
        running.visit()
        return doubled(inputs)

    done = list(run_queued(range(30), feed, run, limits))
    assert [item.values["y"] for item in done] == [number * 2 for number in range(30)]
    assert reading.most <= readers
    # Several at a time where that is allowed; how many exactly is up to the machine.
    assert min(runners, 2) <= running.most <= runners


def test_a_queue_is_no_deeper_than_it_may_be():
    """Numbers are taken as there is room: the fifth only when the first result was handed out."""
    taken = []

    def wanted():
        for number in range(20):
            taken.append(number)
            yield number

    runs = run_queued(wanted(), lambda number: {"x": number}, doubled, QueueLimits(4, 4, 4))
    next(runs)
    assert taken == [0, 1, 2, 3]
    next(runs)
    assert taken == [0, 1, 2, 3, 4]
    runs.close()


def test_slow_runs_do_not_change_the_order():
    def run(inputs):
        time.sleep(0.05 if inputs["x"] % 2 == 0 else 0)
        return doubled(inputs)

    done = run_queued(range(8), lambda number: {"x": number}, run, QueueLimits(8, 8, 8))
    assert [item.number for item in done] == list(range(8))


@pytest.mark.parametrize("place", ["feed", "run"])
def test_what_fails_ends_the_queue_and_nothing_new_begins(place):
    running = Crowd(0)

    def fail(number):
        if number == 5:
            raise BadInput("the sixth is bad")

    def feed(number):
        fail(number if place == "feed" else -1)
        return {"x": number}

    def run(inputs):
        running.visit()
        fail(inputs["x"] if place == "run" else -1)
        return doubled(inputs)

    with pytest.raises(BadInput, match="the sixth is bad"):
        list(run_queued(count(), feed, run, QueueLimits(3, 1, 1)))
    assert running.entered < 12


def test_a_queue_that_is_left_leaves_no_threads():
    before = threading.active_count()
    runs = run_queued(count(), lambda number: {"x": number}, doubled, QueueLimits(4096, 4096, 4096))
    next(runs)
    assert threading.active_count() <= before + 2 * MOST_WORKERS
    runs.close()
    assert threading.active_count() == before
