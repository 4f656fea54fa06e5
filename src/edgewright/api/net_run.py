"""Runs a converted model on files, as qnn-net-run does."""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from edgewright.api.backend_profile import INNER_LEVELS, backend_events, check_run_level, node_events
from edgewright.api.contract import dtype_word, shape_of
from edgewright.api.input_list import InputList, read_input_list
from edgewright.api.input_sets import InputSets
from edgewright.api.run_results import InputRecord, ResultFolder, RunRecord
from edgewright.api.run_source import RunSource, run_source
from edgewright.api.tensor_files import Expected
from edgewright.artifacts.profile_log.writer import ProfileEvent, ProfileLog, to_chunks
from edgewright.backends.base import RunOptions, Session
from edgewright.config.net_run import Execution, InputFiles, OutputFiles, Profiling
from edgewright.config.net_run import Model as ModelOptions
from edgewright.core.errors import UsageError, shown
from edgewright.core.events import progress
from edgewright.core.files import write_whole
from edgewright.core.words import did_you_mean
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable

__all__ = ["NetRun", "NetRunOptions", "net_run"]

log = logging.getLogger(__name__)

PROFILE_FILE = "qnn-profiling-data_0.log"
# Executions that are kept one by one in a profile; their sum goes on.
EVENTS_KEPT = 100_000


@dataclass(frozen=True)
class NetRunOptions:
    """The options of qnn-net-run that change what is done."""

    model: ModelOptions
    inputs: InputFiles
    outputs: OutputFiles
    execution: Execution
    profiling: Profiling


@dataclass(frozen=True)
class NetRun:
    """What was run, and how long it took, in microseconds; ``wall`` is all runs with their files."""

    record: RunRecord
    init: int
    execute_total: int
    execute_least: int
    execute_most: int
    wall: int
    profile: str = ""
    notes: tuple[str, ...] = ()
    # The runs of further graphs, where there are several.
    others: tuple["NetRun", ...] = ()


def net_run(options: NetRunOptions) -> NetRun:
    """Runs every graph on every set of its input list; each result folder is written whole."""
    source = run_source(options.model, options.profiling.profiling_level)
    check_run_level(options.profiling.profiling_level, source.backend)
    lists = _lists(options.inputs, source.graphs)
    folder = Path(options.outputs.output_dir)
    runs = []
    for graph, listed in lists:
        # As the SDK's tools do: several graphs have a folder each.
        inner = folder / graph.name if len(source.graphs) > 1 else folder
        outputs = replace(options.outputs, output_dir=str(inner))
        runs.append(_graph_run(replace(options, outputs=outputs), source, graph, listed))
    return replace(runs[0], notes=(*source.notes, *runs[0].notes), others=tuple(runs[1:]))


def _graph_run(options: NetRunOptions, source: RunSource, graph: Graph, list_file: Path) -> NetRun:
    clock = _Clock()
    listed = read_input_list(list_file, graph.inputs, _spellings(graph.inputs))
    sets = InputSets(listed, _expected(graph, options.inputs))
    tensors = _wanted_tensors(graph, options.outputs, listed)
    folder = Path(options.outputs.output_dir)
    results = ResultFolder(folder, graph, tensors, is_native=options.outputs.is_native)
    with clock.measure("INIT", graph.name):
        is_inner = options.profiling.profiling_level in INNER_LEVELS
        session = source.prepare(graph, RunOptions(source.threads, tuple(tensors), is_inner))
    clock.told(session, "FINALIZE")
    record = RunRecord(
        source.path, source.backend, str(folder), _inputs(graph, options.inputs), results.outputs
    )
    clock.ready()
    try:
        for number in _numbers(len(sets), options.execution):
            feed = sets.feed(number % len(sets))
            with clock.measure("EXECUTE", graph.name):
                values = session.run(feed)
            clock.told(session, "EXECUTE")
            if _is_kept(number, options.outputs):
                record.results[results.write(number, values)] = sets.files(number % len(sets))
            record.inferences += 1
        record.is_complete = True
    finally:
        results.describe(record)
    clock.told_in_the_end(session, graph)
    return _finished(options, record, clock, graph)


class _Clock:
    def __init__(self) -> None:
        self._began = time.perf_counter_ns()
        self.events: list[ProfileEvent] = []
        self._ready = 0
        self.executed = 0
        self.least, self.most = 0, 0
        self.dropped = 0

    def measure(self, message: str, identifier: str) -> "_Span":
        return _Span(self, message, identifier)

    def microseconds(self) -> int:
        return (time.perf_counter_ns() - self._began) // 1000

    def ready(self) -> None:
        self._ready = self.microseconds()

    def since_ready(self) -> int:
        return self.microseconds() - self._ready

    def told(self, session: Session, message: str) -> None:
        """Keeps what the backend measured of itself."""
        self._keep(backend_events(session, message, self.microseconds()))

    def told_in_the_end(self, session: Session, graph: Graph) -> None:
        """Keeps the times of single nodes, which some backends know when all is over."""
        runs = [e for e in self.events if e.message == "EXECUTE" and e.source == "NETRUN"]
        self._keep(node_events(session, graph, [run.start for run in runs]))

    def _keep(self, events: list[ProfileEvent]) -> None:
        room = EVENTS_KEPT - len(self.events)
        self.events += events[:room]
        self.dropped += max(len(events) - room, 0)

    def note(self, message: str, identifier: str, start: int, span: int) -> None:
        self._keep([ProfileEvent(message, start, span, identifier)])
        if message == "EXECUTE":
            self.least = span if not self.executed else min(self.least, span)
            self.most = max(self.most, span)
            self.executed += span


@dataclass
class _Span:
    clock: _Clock
    message: str
    identifier: str
    start: int = 0

    def __enter__(self) -> None:
        self.start = self.clock.microseconds()

    def __exit__(self, *_: object) -> None:
        self.clock.note(self.message, self.identifier, self.start, self.clock.microseconds() - self.start)


def _finished(options: NetRunOptions, record: RunRecord, clock: _Clock, graph: Graph) -> NetRun:
    wall = clock.since_ready()
    profile = ""
    level = options.profiling.profiling_level
    if level is not None:
        file = Path(options.outputs.output_dir, PROFILE_FILE)
        measured = ProfileLog(
            level, record.backend, graph.name, clock.events, record.inferences, wall, clock.dropped
        )
        write_whole(file, to_chunks(measured))
        profile = str(file)
    init = sum(event.time for event in clock.events if event.message == "INIT")
    notes = _notes(graph, record.backend)
    return NetRun(record, init, clock.executed, clock.least, clock.most, wall, profile, notes)


def _notes(graph: Graph, backend: str) -> tuple[str, ...]:
    is_fixed = any(tensor_type.dtype.is_fixed_point for tensor_type in graph.types.values())
    if backend != "cpu" or not is_fixed:
        return ()
    # Guide 11836: quantized models are incompatible with the CPU backend.
    return ("the SDK's CPU backend takes no quantized models, this one computes what they mean",)


def _lists(inputs: InputFiles, graphs: Sequence[Graph]) -> list[tuple[Graph, Path]]:
    """The list of each graph that is to run; __ stands for a graph that is not."""
    given = inputs.input_list
    pairs = [(g, Path(name)) for g, name in zip(graphs, given, strict=False) if name != "__"]
    if len(given) != len(graphs) or not pairs:
        counted = f"{len(graphs)} graph{'s' if len(graphs) > 1 else ''}"
        names = ", ".join(shown(graph.name) for graph in graphs[:10])
        raise UsageError(
            f"{len(given)} input lists were given for a model of {counted}",
            do="give one list" if len(graphs) == 1 else f"give one for each of {names}; __ skips a graph",
        )
    return pairs


def _spellings(names: Sequence[str]) -> dict[str, str]:
    table = NameTable(names)
    return {table(name): name for name in names}


def _expected(graph: Graph, inputs: InputFiles) -> list[Expected]:
    spellings = _spellings(graph.inputs) | {name: name for name in graph.inputs}
    unknown = [name for name in inputs.native_input_tensor_names or () if name not in spellings]
    if unknown:
        raise UsageError(
            f"--native_input_tensor_names names '{shown(unknown[0])}', which is no input of the model",
            do=did_you_mean(
                unknown[0], graph.inputs, f"use one of: {', '.join(map(shown, graph.inputs[:10]))}"
            ),
        )
    sanitized = {name: form for form, name in _spellings(graph.inputs).items()}
    return [
        Expected(name, graph.types[name], inputs.is_native(name) or inputs.is_native(sanitized[name]))
        for name in graph.inputs
    ]


def _inputs(graph: Graph, inputs: InputFiles) -> tuple[InputRecord, ...]:
    return tuple(
        InputRecord(
            item.name,
            dtype_word(item.tensor_type.dtype),
            shape_of(item.tensor_type),
            item.tensor_type.layout or "",
            item.word,
        )
        for item in _expected(graph, inputs)
    )


def _wanted_tensors(graph: Graph, outputs: OutputFiles, listed: InputList) -> list[str]:
    """The graph's outputs, and what else was asked for."""
    made = [value for node in graph.nodes for value in node.outputs if value]
    if outputs.debug:
        return list(dict.fromkeys((*graph.outputs, *made)))
    spellings = {**_spellings(made), **{name: name for name in made}}
    asked: list[str] = []
    for graph_name, names in outputs.set_output_tensors:
        if graph_name not in {"", graph.name}:
            raise UsageError(
                f"--set_output_tensors names graph '{shown(graph_name)}', the model has '{shown(graph.name)}'"
            )
        asked += names
    unknown = [name for name in asked if name not in spellings]
    if unknown:
        raise UsageError(
            f"--set_output_tensors names the tensor '{shown(unknown[0])}', which no op of the model makes",
            do=did_you_mean(unknown[0], spellings, "--debug writes all tensors"),
        )
    asked += _asked_in_list(graph, spellings, listed)
    return list(dict.fromkeys((*graph.outputs, *(spellings[name] for name in asked))))


def _asked_in_list(graph: Graph, spellings: dict[str, str], listed: InputList) -> list[str]:
    """Tensors and layers that the list's first lines name; other words there are taken for a comment."""
    layers = {node.name: [v for v in node.outputs if v] for node in graph.nodes}
    asked = [name for name in listed.tensors if name in spellings]
    for name in listed.layers:
        asked += layers.get(name, [name] if name in spellings else [])
    passed = [n for n in (*listed.tensors, *listed.layers) if n not in spellings and n not in layers]
    if passed:
        log.info("the input list names %d words that are neither tensors nor layers", len(passed))
    return asked


def _is_kept(number: int, outputs: OutputFiles) -> bool:
    return outputs.keep_num_outputs is None or number < outputs.keep_num_outputs


def _numbers(sets: int, execution: Execution) -> Iterator[int]:
    """The runs, until their number or the time is reached; every set once where neither is said."""
    limit = execution.num_inferences
    if limit is None and execution.duration is None:
        limit = sets
    began = time.monotonic()
    with progress("running", total=limit) as step:
        for number in count() if limit is None else range(limit):
            if execution.duration is not None and time.monotonic() - began >= execution.duration:
                return
            yield number
            step()
