"""Counts what is run in passes of the float graph over the samples, and ends work whose time is up."""

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.quantize.cost import work_of
from edgewright.quantize.executor import Executor, OutOfTime, Session


@dataclass(frozen=True)
class Bounds:
    """How long work may go on: a moment of ``time.monotonic()``, and passes in all."""

    deadline: float = math.inf
    passes: float = math.inf


class Meter:
    """Runs of graphs, each as a part of a run of the float graph, by the stage that made them.

    Args:
        graph: the float graph.
        samples: how many samples one pass has.
    """

    def __init__(self, graph: Graph, samples: int) -> None:
        self._whole = max(1, _count_work(graph, graph.outputs))
        self._samples = max(1, samples)
        self._runs: dict[str, float] = defaultdict(float)
        self._stage = ""
        self._bounds = Bounds()

    @property
    def passes(self) -> dict[str, float]:
        """Passes by stage."""
        return {stage: runs / self._samples for stage, runs in self._runs.items()}

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

    def measure_share(self, graph: Graph, outputs: Sequence[str]) -> float:
        """The work for some values of a graph, as a part of a run of the float graph."""
        return _count_work(graph, outputs) / self._whole

    def count_run(self, share: float) -> None:
        """Counts one run, which is about to start."""
        if time.monotonic() > self._bounds.deadline:
            raise OutOfTime("the time was up")
        if sum(self._runs.values()) > self._bounds.passes * self._samples:
            raise OutOfTime(f"it took more than {self._bounds.passes:g} passes over the samples")
        self._runs[self._stage] += share

    def watch(self, executor: Executor) -> "MeteredExecutor":
        """The executor with everything counted that it runs."""
        return MeteredExecutor(executor, self)


class MeteredExecutor:
    """Makes sessions whose runs are counted."""

    def __init__(self, executor: Executor, meter: Meter) -> None:
        self._executor, self._meter = executor, meter

    def prepare(self, graph: Graph, outputs: Sequence[str]) -> Session:
        """A session that returns the given values of the graph."""
        share = self._meter.measure_share(graph, outputs)
        return _MeteredSession(self._executor.prepare(graph, outputs), self._meter, share)


class _MeteredSession:
    def __init__(self, session: Session, meter: Meter, share: float) -> None:
        self._session, self._meter, self._share = session, meter, share

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        self._meter.count_run(self._share)
        return self._session.run(inputs)


def _count_work(graph: Graph, outputs: Sequence[str]) -> int:
    """The work of all that the values depend on."""
    needed, work = set(outputs), 0
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            needed.update(node.inputs)
            work += work_of(graph, node)
    return work
