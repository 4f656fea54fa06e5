"""Runs samples on one model or on several copies of it, which share them."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue

from edgewright.core.numbers import Array
from edgewright.data.labels import Label

Run = Callable[[Mapping[str, Array]], Mapping[str, Array]]


class RunnerLate(Exception):
    """A runner was ended before it had an answer."""


@dataclass(frozen=True)
class EvaluatedSample:
    """A sample, what the float model gives for it, and its label where that is known."""

    inputs: Mapping[str, Array]
    references: Mapping[str, Array]
    label: Label | None


Outputs = tuple[EvaluatedSample, Mapping[str, Array]]


def run_in_turn(
    runs: Sequence[Run], samples: Iterator[EvaluatedSample], end: float, least: int = 1
) -> Iterator[Outputs]:
    """Samples and their outputs in the order of the samples, each by the first runner that is free.

    After the end, of ``time.monotonic()``, none is begun but the first ones, so many at least. A runner that
    is late ends all.
    """
    in_time = stop_at(samples, end, least)
    if len(runs) == 1:
        return _run_alone(runs[0], in_time)
    return _share_samples(runs, in_time, end, least)


def stop_at(samples: Iterator[EvaluatedSample], end: float, least: int = 1) -> Iterator[EvaluatedSample]:
    """Samples until the end, of ``time.monotonic()``; so many in any case."""
    for place, sample in enumerate(samples):
        if place >= least and time.monotonic() > end:
            return
        yield sample


def _run_alone(run: Run, samples: Iterator[EvaluatedSample]) -> Iterator[Outputs]:
    for sample in samples:
        try:
            outputs = run(sample.inputs)
        except RunnerLate:
            return
        yield sample, outputs


def _share_samples(
    runs: Sequence[Run], samples: Iterator[EvaluatedSample], end: float, least: int
) -> Iterator[Outputs]:
    free = SimpleQueue[Run]()
    for run in runs:
        free.put(run)

    def run_sample(place: int, sample: EvaluatedSample) -> Mapping[str, Array] | None:
        run = free.get()
        try:
            # It may have waited for a runner until its time was up.
            return run(sample.inputs) if place < least or time.monotonic() <= end else None
        except RunnerLate:
            return None
        finally:
            free.put(run)

    def list_answers() -> Iterator[tuple[EvaluatedSample, Future[Mapping[str, Array] | None]]]:
        pending = deque[tuple[EvaluatedSample, Future[Mapping[str, Array] | None]]]()
        for place, sample in enumerate(samples):
            pending.append((sample, pool.submit(run_sample, place, sample)))
            # One more than can run, so that no runner waits for the next sample to be read.
            if len(pending) > len(runs):
                yield pending.popleft()
        yield from pending

    with ThreadPoolExecutor(len(runs)) as pool:
        for sample, answer in list_answers():
            outputs = answer.result()
            if outputs is None:
                return
            yield sample, outputs
