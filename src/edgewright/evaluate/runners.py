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


@dataclass(frozen=True)
class EvaluatedSample:
    """A sample, what the float model gives for it, and its label where that is known."""

    inputs: Mapping[str, Array]
    references: Mapping[str, Array]
    label: Label | None


Outputs = tuple[EvaluatedSample, Mapping[str, Array]]


def run_in_turn(runs: Sequence[Run], samples: Iterator[EvaluatedSample], end: float) -> Iterator[Outputs]:
    """Samples and their outputs in the order of the samples, each by the first runner that is free.

    After the end, of ``time.monotonic()``, none is begun but the first.
    """
    in_time = _stop_at(samples, end)
    if len(runs) == 1:
        return ((sample, runs[0](sample.inputs)) for sample in in_time)
    return _share_samples(runs, in_time)


def _stop_at(samples: Iterator[EvaluatedSample], end: float) -> Iterator[EvaluatedSample]:
    for place, sample in enumerate(samples):
        if place and time.monotonic() > end:
            return
        yield sample


def _share_samples(runs: Sequence[Run], samples: Iterator[EvaluatedSample]) -> Iterator[Outputs]:
    free = SimpleQueue[Run]()
    for run in runs:
        free.put(run)

    def run_sample(sample: EvaluatedSample) -> Mapping[str, Array]:
        run = free.get()
        try:
            return run(sample.inputs)
        finally:
            free.put(run)

    pending: deque[tuple[EvaluatedSample, Future[Mapping[str, Array]]]] = deque()
    with ThreadPoolExecutor(len(runs)) as pool:
        for sample in samples:
            pending.append((sample, pool.submit(run_sample, sample)))
            # One more than can run, so that no runner waits for the next sample to be read.
            if len(pending) > len(runs):
                first, answer = pending.popleft()
                yield first, answer.result()
        yield from ((sample, answer.result()) for sample, answer in pending)
