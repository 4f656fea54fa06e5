"""Runs one after the other, or several in a queue; results come in the order of their numbers."""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

from edgewright.config.run_settings import QueueLimits
from edgewright.core.events import progress
from edgewright.core.numbers import Array

__all__ = ["Done", "numbers", "one_by_one", "queued"]

Feed = Mapping[str, Array]
Values = dict[str, Array]
# More threads than this do not make anything faster; a longer queue waits.
MOST_WORKERS = 64


class Done(NamedTuple):
    """One execution: its number, its outputs, and when it began and ended (``perf_counter_ns``)."""

    number: int
    values: Values
    began: int
    ended: int


def numbers(limit: int | None, seconds: float | None) -> Iterator[int]:
    """0, 1, 2 and so on until their number or the time is reached."""
    end = None if seconds is None else time.monotonic() + seconds
    with progress("running", total=limit) as step:
        for number in count() if limit is None else range(limit):
            if end is not None and time.monotonic() >= end:
                return
            yield number
            step()


def one_by_one(
    wanted: Iterable[int], feed: Callable[[int], Feed], run: Callable[[Feed], Values]
) -> Generator[Done, None, None]:
    """Reads, runs and hands out before the next."""
    clock = time.perf_counter_ns
    for number in wanted:
        values = feed(number)
        began = clock()
        found = run(values)
        yield Done(number, found, began, clock())


def queued(
    wanted: Iterable[int], feed: Callable[[int], Feed], run: Callable[[Feed], Values], limits: QueueLimits
) -> Generator[Done, None, None]:
    """Reads ahead and runs several at a time, at most as many as the limits allow."""
    waiting: deque[Future[Done]] = deque()
    with _pool(limits.creation_tasks, "inputs") as readers, _pool(limits.enqueue_tasks, "execute") as runners:
        for number in wanted:
            waiting.append(runners.submit(_run, number, readers.submit(feed, number), run))
            if len(waiting) >= limits.depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _run(number: int, inputs: "Future[Feed]", run: Callable[[Feed], Values]) -> Done:
    values = inputs.result()
    began = time.perf_counter_ns()
    found = run(values)
    return Done(number, found, began, time.perf_counter_ns())


@contextmanager
def _pool(workers: int, name: str) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(min(workers, MOST_WORKERS), thread_name_prefix=name)
    try:
        yield pool
    finally:
        # After an error or ^C nobody wants what has not begun.
        pool.shutdown(wait=True, cancel_futures=True)
