"""Counts what is run in passes of the float graph over the samples, and ends work whose time is up."""

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.quantize.executor import Executor, OutOfTime, Session
from edgewright.quantize.meter import CHEAP, count_work


@dataclass(frozen=True)
class Bounds:
    """How long work may go on: moments of ``time.monotonic()``, and passes in all."""

    deadline: float = math.inf
    passes: float = math.inf
    # When an evaluation ends with the samples that it has by then.
    evaluation_end: float = math.inf


class RunCounter:
    """Runs of graphs, each as a part of a run of the float graph, by the stage that made them.

    Args:
        graph: the float graph.
        samples: how many samples one pass has.
    """

    def __init__(self, graph: Graph, samples: int) -> None:
        self._whole = max(1, count_work(graph, graph.outputs))
        self._samples = max(1, samples)
        self._runs: dict[str, float] = defaultdict(float)
        self._stage = ""
        self._bounds = Bounds()

    @property
    def passes(self) -> dict[str, float]:
        """Passes by stage."""
        return {stage: runs / self._samples for stage, runs in self._runs.items()}

    @property
    def cheap_passes(self) -> float:
        """Passes that are never too much work."""
        return CHEAP / (self._whole * self._samples)

    @property
    def evaluation_end(self) -> float:
        """When an evaluation must do with the samples that it has, of ``time.monotonic()``."""
        return self._bounds.evaluation_end

    @contextmanager
    def measure_stage(self, name: str) -> Iterator[None]:
        """Counts what is run inside the block for a stage."""
        before, self._stage = self._stage, name
        try:
            yield
        finally:
            self._stage = before

    @contextmanager
    def keep_bounds(self, bounds: "Bounds") -> Iterator[None]:
        """Stops what runs inside the block once it is out of bounds."""
        before, self._bounds = self._bounds, bounds
        try:
            yield
        finally:
            self._bounds = before

    @contextmanager
    def finish_in_time(self) -> Iterator[None]:
        """Lets what was found so far be evaluated, on as many samples as there is time for."""
        with self.keep_bounds(Bounds(evaluation_end=self.evaluation_end)):
            yield

    def measure_share(self, graph: Graph, outputs: Sequence[str]) -> float:
        """The work for some values of a graph, as a part of a run of the float graph."""
        return count_work(graph, outputs) / self._whole

    def count_run(self, share: float) -> None:
        """Counts one run, which is about to start."""
        if time.monotonic() > self._bounds.deadline:
            raise OutOfTime("the time was up")
        if self.runs > self._bounds.passes * self._samples:
            raise OutOfTime(f"it took more than {self._bounds.passes:g} passes over the samples")
        self._runs[self._stage] += share

    def add_runs(self, runs: float) -> None:
        """Counts work that no session does, in runs of the float graph."""
        self._runs[self._stage] += runs

    @property
    def runs(self) -> float:
        """All that was counted, in runs of the float graph."""
        return sum(self._runs.values())

    def watch(self, executor: Executor) -> "CountedExecutor":
        """The executor with everything counted that it runs."""
        return CountedExecutor(executor, self)


class CountedExecutor:
    """Makes sessions whose runs are counted."""

    def __init__(self, executor: Executor, counter: RunCounter) -> None:
        self._executor, self._counter = executor, counter

    def prepare(self, graph: Graph, outputs: Sequence[str]) -> Session:
        """A session that returns the given values of the graph."""
        share = self._counter.measure_share(graph, outputs)
        return _CountedSession(self._executor.prepare(graph, outputs), self._counter, share)


class _CountedSession:
    def __init__(self, session: Session, counter: RunCounter, share: float) -> None:
        self._session, self._counter, self._share = session, counter, share

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        self._counter.count_run(self._share)
        return self._session.run(inputs)
