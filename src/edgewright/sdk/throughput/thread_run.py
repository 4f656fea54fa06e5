"""One thread of a throughput test: what it does in each iteration, and its results over all of them."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import count

from edgewright.config.throughput_case import CaseThread
from edgewright.core.errors import EdgewrightError, Where, locate_problem
from edgewright.sdk.throughput.graph_run import GraphRun
from edgewright.sdk.throughput.prepared import Prepared
from edgewright.sdk.throughput.records import ThreadResult


class ThreadRun:
    """Executes the graphs of a model in turn until the thread's count or time is reached."""

    def __init__(self, thread: CaseThread, prepared: Prepared, stop: threading.Event) -> None:
        self.thread = thread
        self.problem: BaseException | None = None
        self._prepared, self._stop = prepared, stop
        self._sessions = prepared.sessions
        self._graphs = [GraphRun(thread, prepared, index) for index in range(len(prepared.graphs))]
        self._seconds = 0.0
        self._done = 0

    def iterate(self) -> None:
        """One iteration; an error is kept for the caller, and stops the other threads."""
        started = time.perf_counter()
        try:
            self._iterate()
        except BaseException as problem:
            where = Where(detail=f"thread '{self.thread.name}'")
            self.problem = locate_problem(problem, where) if isinstance(problem, EdgewrightError) else problem
            self._stop.set()
        self._seconds += time.perf_counter() - started

    def make_result(self) -> ThreadResult:
        """The results so far."""
        pairs = zip(self._graphs, self._sessions, strict=True)
        graphs = tuple(run.make_result(session) for run, session in pairs)
        executions = sum(graph.executions for graph in graphs)
        return ThreadResult(
            self.thread.name,
            self._prepared.source.backend,
            self.thread.context.name,
            self.thread.model.name,
            executions,
            self._seconds,
            executions / self._seconds if self._seconds else 0.0,
            self._prepared.init,
            graphs,
        )

    def _iterate(self) -> None:
        if self.thread.is_initialized_each_time:
            self._sessions = self._prepared.make()
        end = None if self.thread.seconds is None else time.monotonic() + self.thread.seconds
        runs = list(zip(self._graphs, self._sessions, strict=True))
        with ExitStack() as open_runs:
            executions = [
                open_runs.enter_context(closing(run.run_executions(session, self._number_executions(end))))
                for run, session in runs
            ]
            # One execution of each graph, then the next round.
            for results in zip(*executions, strict=False):
                for (run, session), execution in zip(runs, results, strict=True):
                    run.keep(execution, session)
                self._done += 1

    def _number_executions(self, end: float | None) -> Iterator[int]:
        """Numbers of executions until the count or the time is reached or the test stops."""
        first = self._done
        for number in count() if self.thread.count is None else range(self.thread.count):
            if number and self.thread.interval:
                self._stop.wait(self.thread.interval / 1e6)
            if self._stop.is_set() or (end is not None and time.monotonic() >= end):
                return
            yield first + number
