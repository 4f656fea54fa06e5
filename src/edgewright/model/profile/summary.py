"""Summary of a profile log: times of set-up and execution, op by op."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgewright.artifacts.profile_log.reader import read_log
from edgewright.artifacts.profile_log.writer import ProfileEvent, ProfileLog
from edgewright.core.errors import BadInput, EdgewrightError, Where, shown
from edgewright.ir.graph import Graph
from edgewright.lower.names import NameTable
from edgewright.model.saving import load_graph
from edgewright.ops.cost import node_macs

# Messages of executions: one of each per run.
_EXECUTION = frozenset({"EXECUTE", "NODE", "BACKEND"})


@dataclass(frozen=True)
class Measure:
    """One thing that was measured, over all runs; a part belongs to the measure before it."""

    name: str
    unit: str
    source: str
    is_part: bool
    average: float
    least: int
    most: int
    op: str = ""
    macs: int = 0
    kernels: tuple[str, ...] = ()

    @property
    def macs_per_microsecond(self) -> float:
        """How fast it multiplied; 0 if it is not measured in microseconds."""
        return self.macs / self.average if self.average and self.unit == "US" else 0.0


@dataclass(frozen=True)
class ProfileSummary:
    """A log in numbers: the sections of the set-up, and an average execution."""

    file: str
    backend: str
    graph: str
    level: str
    inferences: int
    # Inferences per second, including all file access between the first and the last; 0 if unknown.
    per_second: float
    # INIT, COMPOSE, FINALIZE, DEINIT -> what was measured there
    sections: dict[str, tuple[Measure, ...]]
    execution: tuple[Measure, ...]
    dropped: int = 0

    @property
    def ops(self) -> tuple[Measure, ...]:
        """The single ops of an execution, the slowest first."""
        parts = [item for item in self.execution if item.is_part and item.source == "BACKEND"]
        return tuple(sorted(parts, key=lambda item: -item.average))


def summarise_file(path: Path | str) -> tuple[ProfileLog, ProfileSummary]:
    """The log in a file, and its summary."""
    log = read_log(path)
    return log, summarise(log, str(path))


def summarise(log: ProfileLog, file: str = "") -> ProfileSummary:
    """The summary of a log."""
    sections: dict[str, tuple[Measure, ...]] = {}
    for message in dict.fromkeys(event.message for event in log.events):
        if message not in _EXECUTION:
            sections[message] = _sum_measures(event for event in log.events if event.message == message)
    execution = _sum_measures(e for e in log.events if e.message in _EXECUTION and e.unit != "OBJECT")
    per_second = log.inferences * 1e6 / log.wall if log.wall else 0.0
    return ProfileSummary(
        *(file, log.backend, log.graph, log.level, log.inferences, per_second, sections, execution),
        dropped=log.dropped,
    )


def with_schematic(log: ProfileLog, path: Path | str) -> ProfileLog:
    """The log with op types and MACs of a model, by the names of its nodes."""
    try:
        graph = load_graph(path)
    except EdgewrightError as problem:
        raise BadInput(
            f"--schematic '{shown(path)}' is not a converted model: {problem.what}",
            Where(file=str(path)),
            do="give the _net.json or DLC that was run; schematics of the SDK's optrace are not public",
        ) from problem
    return add_op_types(log, graph)


def add_op_types(log: ProfileLog, graph: Graph) -> ProfileLog:
    """The log with op types and MACs of the graph that was run, where it has none."""
    table = NameTable([node.name for node in graph.nodes])
    known: dict[str, tuple[str, int]] = {}
    for node in graph.nodes:
        known[node.name] = known[table(node.name)] = type(node.op).__name__, node_macs(graph, node)
    return replace(log, events=[_add_op_type(event, known) for event in log.events])


def _add_op_type(event: ProfileEvent, known: dict[str, tuple[str, int]]) -> ProfileEvent:
    name = event.identifier.rpartition(":OpId_")[0]
    if event.level != "SUB-EVENT" or event.op or name not in known:
        return event
    op, macs = known[name]
    return replace(event, op=op, macs=macs)


def _sum_measures(events: Iterable[ProfileEvent]) -> tuple[Measure, ...]:
    """Events of the same thing are one measure; those of one run are added up."""
    groups: dict[tuple[str, ...], list[ProfileEvent]] = {}
    for event in events:
        groups.setdefault((event.source, event.level, event.unit, event.identifier), []).append(event)
    return tuple(_measure(group) for group in groups.values())


def _measure(group: Sequence[ProfileEvent]) -> Measure:
    first = group[0]
    values = [event.time for event in group]
    if first.run >= 0:
        runs: dict[int, int] = {}
        for event in group:
            runs[event.run] = runs.get(event.run, 0) + event.time
        values = list(runs.values())
    return Measure(
        *(first.identifier, first.unit, first.source, first.level != "ROOT"),
        *(sum(values) / len(values), min(values), max(values)),
        *(first.op, first.macs, tuple(dict.fromkeys(e.kernel for e in group if e.kernel))),
    )
