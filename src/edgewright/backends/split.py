"""A backend with a fallback: what it lacks runs on the CPU, and the log says what ran where."""

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgewright.backends.base import Backend, NodeTime, RunOptions, Session, TimesNodes
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.qnn.profile import ProfileEvent
from edgewright.core.errors import EdgewrightError, shown
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.lower.names import NameTable
from edgewright.passes.partition.htp_gaps import find_htp_gaps
from edgewright.passes.partition.regions import Region, split_into_regions

log = logging.getLogger(__name__)

CPU = "cpu"
# Each try moves at least one node to the CPU; a graph that is refused this often runs there completely.
MOST_TRIES = 24
_WIDE_FLOATS = frozenset({DType.FLOAT_32, DType.FLOAT_64})


class SplitBackend:
    """A graph on another backend where possible, and on the CPU elsewhere."""

    has_exact_ends = False

    def __init__(self, first: Backend) -> None:
        self._first = first
        self.library_names: Sequence[str] = first.library_names

    @property
    def name(self) -> str:
        """The names of both."""
        return f"{self._first.name} with help of cpu"

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """A session of parts; logs which nodes are on the CPU, and why."""
        reasons = {gap.node: gap.reason for gap in find_htp_gaps(graph)}
        for _ in range(MOST_TRIES):
            parts = _split(graph, reasons, self._first.name, options)
            try:
                return self._session(graph, parts, options, reasons)
            except EdgewrightError as problem:
                refused = _refused(problem, parts, reasons)
                if not refused:
                    raise
                reasons |= refused
        reasons |= {node.name: "parts of the graph were refused too often" for node in graph.nodes}
        return self._session(graph, _split(graph, reasons, self._first.name, options), options, reasons)

    def _session(
        self, graph: Graph, parts: Sequence[Region], options: RunOptions, reasons: Mapping[str, str]
    ) -> Session:
        sessions = []
        for part in parts:
            backend = CpuBackend() if part.place == CPU else self._first
            extra = tuple(value for value in options.extra_outputs if value in part.graph.types)
            made = tuple(value for value in extra if part.graph.producer(value) is not None)
            sessions.append(
                backend.prepare(part.graph, RunOptions(options.threads, made, options.is_profiled))
            )
        found = SplitSession(graph, parts, sessions, options)
        level = logging.WARNING if CPU in found.placement().values() else logging.INFO
        for line in found.report(reasons):
            log.log(level, "%s", line)
        return found


class SplitSession:
    """Parts that run one after another; values between them are stored integers or floats."""

    def __init__(
        self, graph: Graph, parts: Sequence[Region], sessions: Sequence[Session], options: RunOptions
    ) -> None:
        self._outputs = list(dict.fromkeys((*graph.outputs, *options.extra_outputs)))
        self._constants = {name: graph.constants[name] for name in self._outputs if name in graph.constants}
        self._steps = [(part.graph.inputs, session) for part, session in zip(parts, sessions, strict=True)]
        self._placement = {node.name: part.place for part in parts for node in part.graph.nodes}
        self._kinds = {node.name: _kind(node) for node in graph.nodes}
        self._is_profiled = options.is_profiled
        # For each run: when its parts started, in microseconds.
        self._starts: list[list[int]] = []

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Values of the outputs for the inputs."""
        values: dict[str, Array] = {**self._constants, **inputs}
        started = time.perf_counter_ns()
        starts = []
        for names, session in self._steps:
            starts.append((time.perf_counter_ns() - started) // 1000)
            values.update(session.run({name: values[name] for name in names}))
        if self._is_profiled:
            self._starts.append(starts)
        return {name: values[name] for name in self._outputs}

    def node_times(self) -> list[NodeTime]:
        """Times of the nodes in all parts that measure them."""
        found = []
        for place, (_, session) in enumerate(self._steps):
            times = session.node_times() if isinstance(session, TimesNodes) else []
            found += [replace(item, start=item.start + self._starts[item.run][place]) for item in times]
        return found

    def profile(self) -> list[ProfileEvent]:
        """What the genuine library measured in its parts since the last call."""
        found: list[ProfileEvent] = []
        for _, session in self._steps:
            told = getattr(session, "profile", None)
            found += told() if told is not None else []
        return found

    def placement(self) -> Mapping[str, str]:
        """Node name -> the place that it runs in."""
        return self._placement

    def report(self, reasons: Mapping[str, str]) -> list[str]:
        """A short report of what runs where, and why."""
        counts = Counter(self._placement.values())
        whole = ", ".join(f"{count} ops on {place}" for place, count in counts.items())
        lines = [f"{whole}, in {len(self._steps)} parts"]
        on_cpu = Counter(
            (self._kinds[name], reasons[name])
            for name, place in self._placement.items()
            if place == CPU and name in reasons
        )
        return lines + [f"{count} {kind} on cpu: {reason}" for (kind, reason), count in on_cpu.items()]


def _kind(node: Node) -> str:
    return node.op.display_name()


def _is_wide(graph: Graph, node: Node) -> bool:
    values = [value for value in (*node.inputs, *node.outputs) if value and value not in graph.constants]
    return all(graph.types[value].dtype in _WIDE_FLOATS for value in values)


def _split(graph: Graph, reasons: Mapping[str, str], first: str, options: RunOptions) -> list[Region]:
    place = first.partition(" ")[0]
    wanted = [*graph.outputs, *options.extra_outputs]
    return split_into_regions(graph, lambda node: CPU if node.name in reasons else place, wanted)


def _refused(problem: EdgewrightError, parts: Sequence[Region], reasons: Mapping[str, str]) -> dict[str, str]:
    """Nodes that a backend refused, by their names in the graph; all nodes of a float32 part."""
    found: dict[str, str] = {}
    for part in parts:
        nodes = part.graph.nodes
        table = NameTable([node.name for node in nodes])
        names = {form: node.name for node in nodes for form in (node.name, table(node.name))}
        is_wide = all(_is_wide(part.graph, node) for node in nodes)
        for error in getattr(problem, "errors", (problem,)):
            name = names.get((error.where.node if error.where is not None else None) or "")
            if name is not None:
                chosen = names.values() if is_wide else [name]
                found |= dict.fromkeys(chosen, shown(error.what))
    return {name: why for name, why in found.items() if name not in reasons}
