"""Runs one after the other, or several in a queue; results are in the order of their numbers."""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

from edgewright.config.run_settings import QueueLimits
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array

Feed = Mapping[str, Array]
Values = dict[str, Array]
# More threads than this are not faster; a longer queue waits.
MOST_WORKERS = 64


class FinishedRun(NamedTuple):
    """One execution: its number, its outputs, and when it started and finished (``perf_counter_ns``)."""

    number: int
    values: Values
    started: int
    finished: int


def count_runs(limit: int | None, seconds: float | None) -> Iterator[int]:
    """0, 1, 2 and so on until the count or the time is reached."""
    end = None if seconds is None else time.monotonic() + seconds
    with announce_progress("running", total=limit) as step:
        for number in count() if limit is None else range(limit):
            if end is not None and time.monotonic() >= end:
                return
            yield number
            step()


def run_one_by_one(
    numbers: Iterable[int], feed: Callable[[int], Feed], run: Callable[[Feed], Values]
) -> Generator[FinishedRun, None, None]:
    """Reads, runs and yields each before the next."""
    clock = time.perf_counter_ns
    for number in numbers:
        values = feed(number)
        started = clock()
        outputs = run(values)
        yield FinishedRun(number, outputs, started, clock())


def run_queued(
    numbers: Iterable[int], feed: Callable[[int], Feed], run: Callable[[Feed], Values], limits: QueueLimits
) -> Generator[FinishedRun, None, None]:
    """Reads ahead and runs several at a time, at most as many as the limits allow."""
    waiting: deque[Future[FinishedRun]] = deque()
    with (
        _open_pool(limits.creation_tasks, "inputs") as readers,
        _open_pool(limits.enqueue_tasks, "execute") as runners,
    ):
        for number in numbers:
            waiting.append(runners.submit(_run, number, readers.submit(feed, number), run))
            if len(waiting) >= limits.depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _run(number: int, inputs: "Future[Feed]", run: Callable[[Feed], Values]) -> FinishedRun:
    values = inputs.result()
    started = time.perf_counter_ns()
    outputs = run(values)
    return FinishedRun(number, outputs, started, time.perf_counter_ns())


@contextmanager
def _open_pool(workers: int, name: str) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(min(workers, MOST_WORKERS), thread_name_prefix=name)
    try:
        yield pool
    finally:
        # After an error or ^C, runs that have not started are cancelled.
        pool.shutdown(wait=True, cancel_futures=True)
