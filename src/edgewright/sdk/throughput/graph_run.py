"""The executions of one graph by one thread: inputs, times, errors, files."""

from collections.abc import Generator, Iterator
from pathlib import Path

from edgewright.artifacts.profile_log.writer import ProfileLog, to_chunks
from edgewright.backends.base import Session
from edgewright.config.run_settings import QUEUE_DEPTH, QueueLimits
from edgewright.config.throughput_case import CaseThread
from edgewright.core.files import write_whole
from edgewright.ir.graph import Graph
from edgewright.model.profile.events import INNER_LEVELS
from edgewright.run.execution.clock import Measuring, RunClock
from edgewright.run.execution.loop import FinishedRun, run_one_by_one, run_queued
from edgewright.run.run_results import choose_graph_folder
from edgewright.sdk.throughput.inputs import choose_inputs
from edgewright.sdk.throughput.latencies import Latencies
from edgewright.sdk.throughput.outputs import Comparison, Saving
from edgewright.sdk.throughput.prepared import Prepared
from edgewright.sdk.throughput.records import GraphResult

PROFILE_FILE = "qnn-profiling-data_0.log"


class GraphRun:
    """Collects a thread's results for one graph."""

    def __init__(self, thread: CaseThread, prepared: Prepared, index: int) -> None:
        self._thread, self._prepared = thread, prepared
        self._graph: Graph = prepared.graphs[index]
        self._feed = choose_inputs(thread, self._graph, _of(thread.model.inputs, index))
        self._comparison: Comparison | None = None
        if thread.model.post_processor != "NONE" and thread.model.ground_truth:
            truth = _of(thread.model.ground_truth, index)
            self._comparison = Comparison(self._graph, thread.model.post_processor, truth)
        folder = Path(thread.model.output_path or "output", thread.name)
        folder = choose_graph_folder(folder, self._graph, prepared.graphs)
        self._saving = Saving(thread, self._graph, folder) if thread.model.save != "NONE" else None
        self._profile = folder / PROFILE_FILE
        self._latencies = Latencies()
        self._clock: RunClock | None = None

    def run_executions(self, session: Session, numbers: Iterator[int]) -> Generator[FinishedRun, None, None]:
        """Runs the graph for each number."""
        if self._thread.backend.profiling is not None and self._clock is None:
            self._clock = RunClock(self._graph.name, Measuring(is_logged=True))
            self._clock.record_set_up(0, self._prepared.init)
            self._clock.start_executions(session)
        if not self._thread.is_asynchronous or self._thread.backend.profiling in INNER_LEVELS:
            return run_one_by_one(numbers, self._feed, session.run)
        depth = self._thread.context.queue_depth or QUEUE_DEPTH
        return run_queued(numbers, self._feed, session.run, QueueLimits(depth, depth, depth))

    def keep(self, execution: FinishedRun, session: Session) -> None:
        """Records one execution."""
        self._latencies.add(execution.finished - execution.started)
        if self._clock is not None:
            self._clock.note(execution, session)
        if self._comparison is not None:
            self._comparison.add(execution.number, execution.values)
        if self._saving is not None:
            self._saving.add(execution.number, execution.values)

    def make_result(self, session: Session) -> GraphResult:
        """The results; outputs that were held back are written now."""
        if self._saving is not None:
            self._saving.finish()
        return GraphResult(
            self._graph.name,
            self._latencies.count,
            self._latencies.summary(),
            () if self._comparison is None else self._comparison.errors(),
            "" if self._saving is None else str(self._saving.folder),
            0 if self._saving is None else self._saving.saved,
            "" if self._clock is None else self._write_profile(self._clock, session),
        )

    def _write_profile(self, clock: RunClock, session: Session) -> str:
        wall = clock.since_ready()
        clock.finish(session, self._graph)
        level = self._thread.backend.profiling or ""
        log = ProfileLog(
            level,
            self._prepared.source.backend,
            self._graph.name,
            clock.events,
            self._latencies.count,
            wall,
            clock.dropped,
        )
        write_whole(self._profile, to_chunks(log))
        return str(self._profile)


def _of(files: tuple[str, ...], index: int) -> str:
    """The list of the graph at this index; skipped graphs do not count."""
    kept = [name for name in files if name != "__"]
    return kept[index] if index < len(kept) else ""
