"""Runs a converted model on files, as qnn-net-run does."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgewright.artifacts.profile_log.writer import ProfileLog, to_chunks
from edgewright.backends.base import RunOptions, Session
from edgewright.config.net_run import Execution, InputFiles, OutputFiles, Profiling, choose_threads
from edgewright.config.net_run import Model as ModelOptions
from edgewright.config.run_settings import GraphProfiling, QueueLimits
from edgewright.core.errors import UnsupportedFeature, UsageError, shown
from edgewright.core.files import write_whole
from edgewright.core.numbers import Array
from edgewright.data.input_list import read_input_list
from edgewright.data.input_sets import InputSets
from edgewright.ir.graph import Graph
from edgewright.model.profile.events import INNER_LEVELS, check_run_level
from edgewright.run.execution.batches import BatchSession, multiply_batch
from edgewright.run.execution.clock import EVENTS_KEPT, Measuring, RunClock
from edgewright.run.execution.deadline import Deadline
from edgewright.run.execution.feeds import Feeds, cache_limits
from edgewright.run.execution.loop import FinishedRun, count_runs, run_one_by_one, run_queued
from edgewright.run.execution.tensors import (
    check_graph_names,
    check_native_names,
    list_expected_inputs,
    list_result_tensors,
    make_input_records,
    map_spellings,
)
from edgewright.run.remote.address import DeviceAddress, parse_address
from edgewright.run.run_results import ResultFolder, RunRecord, choose_graph_folder
from edgewright.run.runnable import RunSource, run_source
from edgewright.sdk.device_net_run import run_on_device

PROFILE_FILE = "qnn-profiling-data_0.log"


@dataclass(frozen=True)
class NetRunOptions:
    """The options of qnn-net-run that affect the run."""

    model: ModelOptions
    inputs: InputFiles
    outputs: OutputFiles
    execution: Execution
    profiling: Profiling
    # The machine that runs it: the address of a device, or None for this one.
    device: str | None = None


@dataclass(frozen=True)
class NetRun:
    """What was run, and how long it took, in microseconds; ``wall`` covers all runs including their files."""

    record: RunRecord
    init: int
    # The executions that were measured: all, or those that profiling options chose.
    measured: int
    execute_total: int
    execute_least: int
    execute_most: int
    wall: int
    profile: str = ""
    notes: tuple[str, ...] = ()
    # The runs of further graphs, where there are several.
    others: tuple["NetRun", ...] = ()


def run_network(options: NetRunOptions) -> NetRun:
    """Runs every graph on every set of its input list; each result folder is complete or absent."""
    if options.device is not None:
        return _run_network_on_device(options, parse_address(options.device))
    if options.profiling.profiling_option is not None:
        raise UnsupportedFeature(
            "--profiling_option optrace needs a device: the libraries for x86 give no trace of a run",
            do="leave it out; qnn-context-binary-generator --profiling_option optrace writes the schematic",
        )
    level = options.profiling.profiling_level
    execution = options.execution
    source = run_source(
        options.model, level, is_shared=execution.shared_buffer, perf_profile=execution.perf_profile
    )
    check_run_level(level, source.backend)
    _check_names(options, source)
    limits, notes = _queue(options, source)
    folder = Path(options.outputs.output_dir)
    runs = []
    for graph, listed in _match_lists(options.inputs, source.graphs):
        inner = choose_graph_folder(folder, graph, source.graphs)
        outputs = replace(options.outputs, output_dir=str(inner))
        runs.append(_run_graph(_Task(replace(options, outputs=outputs), source, graph, listed, limits)))
        # A context is loaded once, for its first graph.
        source = replace(source, loading=0)
    all_notes = (*source.notes, *notes, *_profile_note(options.execution, source), *runs[0].notes)
    return replace(runs[0], notes=all_notes, others=tuple(runs[1:]))


def _run_network_on_device(options: NetRunOptions, address: DeviceAddress) -> NetRun:
    groups = (options.model, options.inputs, options.outputs, options.execution, options.profiling)
    run = run_on_device(*groups, address)
    times = run.times
    return NetRun(
        *(run.record, times.init, times.measured, times.total, times.least, times.most, times.wall),
        run.profile,
        run.notes,
    )


@dataclass(frozen=True)
class _Task:
    """A graph to run, with all its settings."""

    options: NetRunOptions
    source: RunSource
    graph: Graph
    list_file: Path
    limits: QueueLimits | None

    @property
    def factor(self) -> int:
        return self.options.inputs.batch_multiplier or 1

    def measuring(self) -> Measuring:
        profiling, running = self.options.profiling, self.source.running
        window = dict(running.profiling).get(self.graph.name, GraphProfiling())
        if profiling.graph_profiling_start_delay is not None:
            window = GraphProfiling(
                profiling.graph_profiling_start_delay, profiling.graph_profiling_num_executions
            )
        level, most = profiling.profiling_level, running.most_events or EVENTS_KEPT
        return Measuring(level is not None, most, window, has_traces=level == "backend")

    def prepare_session(self, tensors: Sequence[str]) -> Session:
        threads = self.source.threads or choose_threads(
            self.options.execution.perf_profile, os.cpu_count() or 1
        )
        is_inner = self.options.profiling.profiling_level in INNER_LEVELS
        session = self.source.prepare(self.graph, RunOptions(threads, tuple(tensors), is_inner))
        return session if self.factor == 1 else BatchSession(session, self.factor)


def _run_graph(task: _Task) -> NetRun:
    options, graph = task.options, task.graph
    clock = RunClock(graph.name, task.measuring(), task.source.loading)
    listed = read_input_list(task.list_file, graph.inputs, map_spellings(graph.inputs))
    tensors = list_result_tensors(graph, options.outputs, listed)
    outside = graph if task.factor == 1 else multiply_batch(graph, task.factor, tensors)
    expected = list_expected_inputs(outside, options.inputs)
    sets = InputSets(listed, expected)
    folder = Path(options.outputs.output_dir)
    results = ResultFolder(folder, outside, tensors, options.outputs.forms)
    with clock.setting_up():
        session = task.prepare_session(tensors)
    record = RunRecord(
        task.source.path, task.source.backend, str(folder), make_input_records(expected), results.outputs
    )
    if record.backend.startswith("gpu"):
        record.placement.update(session.placement())
    clock.start_executions(session)
    try:
        for execution in _run_executions(task, session, sets):
            clock.note(execution, session)
            if _is_kept(execution.number, options.outputs):
                record.results[results.write(execution.number, execution.values)] = sets.list_files(
                    execution.number % len(sets)
                )
            record.inferences += 1
        record.is_complete = True
        results.describe(record)
    except Exception:
        # What a failed run wrote would be taken for that of a good one; what ^C leaves is described.
        results.remove()
        raise
    except BaseException:
        results.describe(record)
        raise
    wall = clock.since_ready()
    clock.finish(session, graph)
    return _finish_run(options, record, clock, wall, _note_datatypes(graph, record.backend))


def _run_executions(task: _Task, session: Session, sets: InputSets) -> Iterator[FinishedRun]:
    """The runs; every set once where neither a count nor a time is given."""
    execution = task.options.execution
    limit = execution.num_inferences
    if limit is None and execution.duration is None:
        limit = len(sets)
    feeds = Feeds(sets.read_set, len(sets), cache_limits(task.options.inputs))
    limit_of_one = Deadline(
        execution.timeout, "--timeout", f"an execution of graph '{shown(task.graph.name)}'"
    )

    def run(feed: Mapping[str, Array]) -> dict[str, Array]:
        return limit_of_one.run(lambda: session.run(feed))

    # Going through the deadline costs a little, even without a limit.
    executed = run if execution.timeout else session.run
    numbers = count_runs(limit, execution.duration)
    if task.limits is None:
        return run_one_by_one(numbers, feeds, executed)
    return run_queued(numbers, feeds, executed, task.limits)


def _queue(options: NetRunOptions, source: RunSource) -> tuple[QueueLimits | None, list[str]]:
    """The limits of the queue, if the configuration asks for one and nothing prevents it."""
    limits = source.running.limits
    if limits is None or options.execution.synchronous:
        return None, []
    if not source.is_queueing:
        raise UnsupportedFeature(
            f"the configuration asks for a queue of {limits.depth}, backend {source.backend} takes one "
            "execution at a time",
            do="add --synchronous",
        )
    if options.profiling.profiling_level in INNER_LEVELS:
        return None, [f"executions are not queued: --profiling_level {options.profiling.profiling_level}"]
    return limits, [f"executions are queued: up to {limits.depth} at a time, each waits for its turn"]


def _profile_note(execution: Execution, source: RunSource) -> list[str]:
    if execution.perf_profile == "default" or not source.is_native:
        return []
    return ["--perf_profile has no effect: the emulator has no clocks to set"]


def _check_names(options: NetRunOptions, source: RunSource) -> None:
    check_graph_names(
        "--set_output_tensors", [name for name, _ in options.outputs.set_output_tensors], source.graphs
    )
    check_graph_names("'graph_configs'", [name for name, _ in source.running.profiling], source.graphs)
    check_native_names(options.inputs, source.graphs)


def _finish_run(
    options: NetRunOptions, record: RunRecord, clock: RunClock, wall: int, notes: tuple[str, ...]
) -> NetRun:
    profile = ""
    level = options.profiling.profiling_level
    if level is not None:
        file = Path(options.outputs.output_dir, PROFILE_FILE)
        measured = ProfileLog(
            level, record.backend, clock.graph, clock.events, record.inferences, wall, clock.dropped
        )
        write_whole(file, to_chunks(measured))
        profile = str(file)
    return NetRun(
        record, clock.init, clock.measured, clock.executed, clock.least, clock.most, wall, profile, notes
    )


def _note_datatypes(graph: Graph, backend: str) -> tuple[str, ...]:
    is_fixed = any(tensor_type.dtype.is_fixed_point for tensor_type in graph.types.values())
    if backend != "cpu" or not is_fixed:
        return ()
    # Guide 11836: quantized models are incompatible with the CPU backend.
    return ("the SDK's CPU backend does not run quantized models, this one does",)


def _match_lists(inputs: InputFiles, graphs: Sequence[Graph]) -> list[tuple[Graph, Path]]:
    """The list of each graph to run; __ skips a graph."""
    given = inputs.input_list
    pairs = [(g, Path(name)) for g, name in zip(graphs, given, strict=False) if name != "__"]
    if given and len(given) == len(graphs) and not pairs:
        raise UsageError(
            "--input_list skips all graphs, expected a list for one of them",
            do="name an input list in place of __",
        )
    if len(given) != len(graphs):
        counted = f"{len(graphs)} graph{'s' if len(graphs) > 1 else ''}"
        names = ", ".join(shown(graph.name) for graph in graphs[:10])
        raise UsageError(
            f"{len(given)} input lists were given for a model of {counted}",
            do="give one list" if len(graphs) == 1 else f"give one for each of {names}; __ skips a graph",
        )
    return pairs


def _is_kept(number: int, outputs: OutputFiles) -> bool:
    return outputs.keep_num_outputs is None or number < outputs.keep_num_outputs
