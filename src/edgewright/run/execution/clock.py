"""What is measured of a run: its set-up, its executions, and the backend's own events."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from edgewright.artifacts.profile_log.writer import ProfileEvent
from edgewright.backends.base import Session
from edgewright.config.run_settings import GraphProfiling
from edgewright.ir.graph import Graph
from edgewright.model.profile.events import read_backend_events, read_node_events, trace_events
from edgewright.run.execution.loop import FinishedRun

# The most events kept one by one in a profile; sums include the rest.
EVENTS_KEPT = 100_000
WHOLE = GraphProfiling()


@dataclass(frozen=True)
class Measuring:
    """What is recorded: events or only sums, how many at most, and of which executions."""

    is_logged: bool = False
    most_events: int = EVENTS_KEPT
    window: GraphProfiling = WHOLE
    # Whether the engine's own traces are kept unchanged.
    has_traces: bool = False


class RunClock:
    """Times in microseconds since it was made, or since what was loaded before began to load.

    Args:
        graph: whose times they are.
        measuring: what is recorded.
        loading: how long a context was loaded before, which is part of the set-up.
    """

    def __init__(self, graph: str, measuring: Measuring, loading: int = 0) -> None:
        self.graph, self._measuring = graph, measuring
        self._loading = loading
        self._started = time.perf_counter_ns() - loading * 1000
        self._ready = 0
        # Start times of all executions, measured or not; at most as many as events are kept.
        self._starts: list[int] = []
        self._in_window: set[int] = set()
        self.events: list[ProfileEvent] = []
        self.dropped = 0
        self.init = 0
        self.measured, self.executed, self.least, self.most = 0, 0, 0, 0

    def count_microseconds(self, moment: int | None = None) -> int:
        """A time of ``perf_counter_ns``, or now, since the clock was made."""
        return ((time.perf_counter_ns() if moment is None else moment) - self._started) // 1000

    @contextmanager
    def setting_up(self) -> Iterator[None]:
        """Measures the set-up."""
        start = self.count_microseconds()
        yield
        span = self.count_microseconds() - start
        # What is done between loading and set-up (lists of inputs are read) is part of neither.
        self.record_set_up(start - self._loading, span + self._loading)

    def record_set_up(self, start: int, span: int) -> None:
        """Records a set-up that was measured elsewhere."""
        self.init = span
        self._keep([ProfileEvent("INIT", start, span, self.graph)])

    def start_executions(self, session: Session) -> None:
        """Marks the start of the executions."""
        if self._measuring.is_logged:
            self._keep(read_backend_events(session, "FINALIZE", self.count_microseconds()))
        self._ready = self.count_microseconds()

    def since_ready(self) -> int:
        """The time of all executions, including their files."""
        return self.count_microseconds() - self._ready

    def note(self, execution: FinishedRun, session: Session) -> None:
        """Records one execution if it is among those that are measured."""
        span = (execution.finished - execution.started) // 1000
        start = self.count_microseconds(execution.started)
        is_measured = self._is_measured(start)
        if self._measuring.is_logged:
            self._log(session, start, span, is_measured=is_measured)
        if not is_measured:
            return
        self.least = span if not self.measured else min(self.least, span)
        self.most = max(self.most, span)
        self.executed += span
        self.measured += 1

    def finish(self, session: Session, graph: Graph) -> None:
        """Records the times of single nodes, which some backends know only at the end."""
        if self._measuring.is_logged:
            events = read_node_events(session, graph, self._starts)
            self._keep([event for event in events if event.run in self._in_window])
            if self._measuring.has_traces:
                self._keep(trace_events(session))

    def _log(self, session: Session, start: int, span: int, *, is_measured: bool) -> None:
        events = read_backend_events(session, "EXECUTE", self.count_microseconds())
        if len(self._starts) < self._measuring.most_events:
            if is_measured:
                self._in_window.add(len(self._starts))
            self._starts.append(start)
        if is_measured:
            self._keep([ProfileEvent("EXECUTE", start, span, self.graph), *events])

    def _is_measured(self, start: int) -> bool:
        window = self._measuring.window
        if window.executions is not None and self.measured >= window.executions:
            return False
        return start - self._ready >= window.start_delay * 1e6

    def _keep(self, events: list[ProfileEvent]) -> None:
        if not self._measuring.is_logged:
            return
        room = max(self._measuring.most_events - len(self.events), 0)
        self.events += events[:room]
        self.dropped += max(len(events) - room, 0)
