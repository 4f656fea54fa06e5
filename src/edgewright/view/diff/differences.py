"""What a comparison found, node by node: errors of each run, and how much longer an op takes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.core.errors import BadInput
from edgewright.lower.names import sanitize_name
from edgewright.sdk.debugger.summary import Verification
from edgewright.view.diff.request import DiffRun
from edgewright.view.node_times import NodeTimes
from edgewright.view.records import Diff, Overlay, ViewGraph, ViewModel, ViewNode

# For JSON and colours: an endless error has a number, too.
_ENDLESS = 1e6
ACCURACY, PERFORMANCE = "diff_accuracy", "diff_performance"


@dataclass(frozen=True)
class TensorError:
    """One tensor in one run, which counts from 1."""

    node: ViewNode
    tensor: str
    run: int
    score: float
    error: float
    problem: str = ""


@dataclass(frozen=True)
class OpTimes:
    """One op in both inferences."""

    node: ViewNode
    one: float
    two: float

    @property
    def percent(self) -> float:
        """How much longer it takes in the second one."""
        if not self.one:
            return 0.0 if not self.two else 100.0
        return 100 * (self.two - self.one) / self.one


@dataclass(frozen=True)
class Differences:
    """All differences of a graph, in the order of its nodes."""

    verifier: Verifier
    errors: tuple[TensorError, ...]
    times: tuple[OpTimes, ...]
    unit: str
    accuracy_threshold: float
    perf_threshold: float
    notes: tuple[str, ...] = ()

    @property
    def overlays(self) -> tuple[Overlay, ...]:
        """The largest error of each node, and the change of its time, both as shares."""
        errors: dict[str, float] = {}
        for item in self.errors:
            errors[item.node.name] = max(errors.get(item.node.name, 0.0), item.error)
        times = {item.node.name: abs(item.percent) / 100 for item in self.times}
        accuracy = Overlay(
            ACCURACY, f"Error by {self.verifier.name}", errors, threshold=self.accuracy_threshold
        )
        performance = Overlay(PERFORMANCE, "Change of time", times, threshold=self.perf_threshold)
        return tuple(overlay for overlay in (accuracy, performance) if overlay.values)

    def to_diff(self) -> Diff:
        """As the page shows it beside a node."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for time in self.times:
            text = f"{time.percent:.4g} %: {time.one:.4g} and {time.two:.4g} {self.unit}"
            rows.setdefault(time.node.name, []).append(("execute performance", text))
        for item in self.errors:
            row = (f"{item.tensor} Run {item.run}", item.problem or self._spell_error(item.error))
            rows.setdefault(item.node.name, []).append(row)
        return Diff({name: tuple(listed) for name, listed in rows.items()})

    def list_accuracy_rows(self) -> Iterator[Sequence[object]]:
        """Every tensor of every run."""
        yield ("Node", "Type", "Tensor", "Run", self.verifier.name, "Error", "Different")
        for item in self.errors:
            is_different = item.error > self.accuracy_threshold
            score = item.problem or item.score
            yield (*_name(item.node), item.tensor, item.run, score, item.error, int(is_different))

    def list_performance_rows(self) -> Iterator[Sequence[object]]:
        """Every op that was timed in both inferences."""
        yield ("Node", "Type", f"One ({self.unit})", f"Two ({self.unit})", "Percent", "Different")
        for item in self.times:
            is_different = abs(item.percent) / 100 > self.perf_threshold
            yield (*_name(item.node), item.one, item.two, item.percent, int(is_different))

    def _spell_error(self, error: float) -> str:
        is_share = self.verifier.perfect in {1.0, math.inf}
        return f"{100 * error:.4g} % Error" if is_share else f"Error {error:.4g}"


def collect_differences(
    model: ViewModel, verifications: Sequence[Verification], times: Sequence[NodeTimes], run: DiffRun
) -> Differences:
    """The tables of a comparison by the nodes of the first graph."""
    graph = model.graphs[0]
    verifier = run.read_verifier().verifier
    errors = tuple(_list_errors(graph, verifications, verifier))
    if not errors:
        raise BadInput(
            "no tensor that was compared is made by a node of the model",
            do="name the model whose outputs are compared",
        )
    measured, notes = _pair_times(graph, times)
    unit = times[0].unit if times else ""
    thresholds = (run.accuracy_threshold, run.perf_threshold)
    return Differences(verifier, errors, measured, unit, *thresholds, notes)


def measure_error(verifier: Verifier, score: float) -> float:
    """How far a score is from the best one; for decibels the share of noise (40 dB is 0.01)."""
    if math.isnan(score):
        return _ENDLESS
    if math.isinf(verifier.perfect):
        return 0.0 if score == math.inf else min(10 ** (-max(score, -120.0) / 20), _ENDLESS)
    return min(abs(verifier.perfect - score), _ENDLESS)


def _list_errors(
    graph: ViewGraph, verifications: Sequence[Verification], verifier: Verifier
) -> Iterator[TensorError]:
    makers = {sanitize_name(name): node for node in graph.nodes for name in node.outputs}
    for node in graph.nodes:
        for name in node.outputs:
            source = graph.tensors[name].source if name in graph.tensors else ""
            if source:
                makers.setdefault(sanitize_name(source), node)
    places = {node.name: place for place, node in enumerate(graph.nodes)}
    errors: list[TensorError] = []
    for number, verification in enumerate(verifications, 1):
        for verdict in verification.tensors:
            maker = makers.get(sanitize_name(verdict.name)) or makers.get(sanitize_name(verdict.golden))
            if maker is None:
                continue
            score = verdict.scores.get(verifier.column, math.nan)
            error = measure_error(verifier, score)
            errors.append(TensorError(maker, verdict.name, number, score, error, verdict.problem))
    yield from sorted(errors, key=lambda item: (places[item.node.name], item.tensor, item.run))


def _pair_times(graph: ViewGraph, times: Sequence[NodeTimes]) -> tuple[tuple[OpTimes, ...], tuple[str, ...]]:
    if len(times) != 2 or not all(item.values for item in times):
        return (), ()
    one, two = times
    if one.unit != two.unit:
        return (), (f"times are not compared: one inference has {one.unit}, the other {two.unit}",)
    pairs = [(node, one.find(node.name), two.find(node.name)) for node in graph.nodes]
    return tuple(OpTimes(n, a, b) for n, a, b in pairs if a is not None and b is not None), ()


def _name(node: ViewNode) -> tuple[str, str]:
    return node.source or node.name, node.type
