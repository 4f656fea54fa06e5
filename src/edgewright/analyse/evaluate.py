"""Runs samples that no range has seen through the float model and through what was made of it."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgewright.analyse.metric import CLOSENESS, SAME, Judged, Scored, judged, scored, sqnr_db
from edgewright.analyse.records import Accuracy, Metric
from edgewright.core.events import progress
from edgewright.core.numbers import Array
from edgewright.data.samples import BuildSamples, SampleSelection
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.ops.cost import node_macs

__all__ = ["Evaluation", "Evaluator", "Measured"]

# Outputs of the float model are kept up to here, and computed again beyond it.
KEPT_BYTES = 256 << 20
# What stands for no noise at all.
MOST_DB = 120.0
# How much work one look at a precision may be, and how few samples it has at least.
LOOK_MACS, FEWEST = 6e10, 50
Run = Callable[[Mapping[str, Array]], Mapping[str, Array]]


@dataclass(frozen=True)
class Evaluation:
    """What one precision keeps: the metric in percent, points lost of the float model's, and SQNR."""

    score: float
    drop: float
    sqnr_db: float
    samples: int


@dataclass(frozen=True)
class Measured:
    """What was found on one backend: sums of each sample, by output."""

    backend: str
    outputs: dict[str, list[Judged]]
    # Of the samples, in their order.
    numbers: tuple[int, ...]

    @property
    def samples(self) -> int:
        """How many samples were run."""
        return len(self.numbers)

    def first(self, count: int) -> "Measured":
        """The first samples alone."""
        outputs = {name: items[:count] for name, items in self.outputs.items()}
        return Measured(self.backend, outputs, self.numbers[:count])


class Evaluator:
    """Holds the samples, the metric and what the float model makes of them."""

    def __init__(self, graph: Graph, samples: BuildSamples, metric: Metric) -> None:
        self._graph, self._samples, self.metric = graph, samples, metric
        self._float = Model.of(graph)
        self._kept: dict[int, dict[str, Array]] = {}
        self._bytes = 0
        macs = sum(node_macs(graph, node) for node in graph.nodes)
        self._look = max(FEWEST, int(LOOK_MACS / max(macs, 1)))

    def evaluate(self, graph: Graph, backend: str = "htp-sim", count: int | None = None) -> Evaluation:
        """A graph on a backend, on at most so many samples; on a quick look's worth where nothing is said."""
        return self.summed(self.measured(graph, backend, count or self._look))

    def measured(self, graph: Graph, backend: str, count: int | None = None) -> Measured:
        """What a graph gives on a backend."""
        model = Model.of(graph)
        return self.measure(lambda sample: model.run(sample, backend=backend), backend, count)

    def measure(
        self, run: Run, backend: str, count: int | None = None, seconds: float | None = None
    ) -> Measured:
        """What a runner gives on the samples; ends early once the time is up, after one at least."""
        chosen = self._samples.evaluation.select(count or len(self._samples.evaluation))
        found: dict[str, list[Judged]] = {name: [] for name in self._graph.outputs}
        began = time.monotonic()
        with progress(f"evaluating on {backend}", total=len(chosen)) as step:
            for sample, wanted, label in self._walk(chosen):
                made = run(sample)
                for name, items in found.items():
                    items.append(judged(self._graph, name, wanted[name], np.asarray(made[name]), label))
                step()
                if seconds is not None and time.monotonic() - began > seconds:
                    break
        done = max((len(items) for items in found.values()), default=0)
        return Measured(backend, found, chosen.numbers[:done])

    def summed(self, measured: Measured) -> Evaluation:
        """The figures of a whole model: of several outputs the worst counts."""
        scores = [self._scored(name, measured.outputs[name]) for name in self.metric.outputs]
        score = min((item.score for item in scores), default=100.0)
        drop = self._float_score(measured.numbers) - score
        dbs = [min(MOST_DB, sqnr_db(items)) for items in measured.outputs.values()]
        return Evaluation(score, drop, float(np.mean(dbs)) if dbs else MOST_DB, measured.samples)

    def answers(self) -> int:
        """How many answers the metric counts; 0 where it counts none."""
        if self.metric.name == CLOSENESS:
            return 0
        items = [item for name in self.metric.outputs for item in self.reference.outputs[name]]
        return sum(item.rows if self.metric.name == SAME else item.right >= 0 for item in items)

    def accuracy(self, measured: Measured) -> tuple[Accuracy, ...]:
        """One record for each output."""
        return tuple(self._accuracy(measured, name) for name in self._graph.outputs)

    def _accuracy(self, measured: Measured, name: str) -> Accuracy:
        items = measured.outputs[name]
        is_float = measured is self.reference
        figures: tuple[float | None, ...] = (None, None, None)
        if name in self.metric.outputs:
            found = self._scored(name, items)
            figures = (found.score, found.low, found.high)
        differences = (None, None) if is_float else (sqnr_db(items), max(item.largest for item in items))
        return Accuracy(name, measured.backend, len(items), *figures, *differences)

    def _scored(self, name: str, items: list[Judged]) -> Scored:
        return scored(self.metric.name, items, self._first_walk[1][name])

    def _float_score(self, chosen: Sequence[int]) -> float:
        """The float model's own score on the samples that were used."""
        places = {number: place for place, number in enumerate(self._samples.evaluation.numbers)}
        parts = [
            self._scored(name, [self.reference.outputs[name][places[number]] for number in chosen])
            for name in self.metric.outputs
        ]
        return min((item.score for item in parts), default=100.0)

    @property
    def reference(self) -> Measured:
        """The float model itself."""
        return self._first_walk[0]

    @cached_property
    def _first_walk(self) -> tuple[Measured, dict[str, float]]:
        """The float model's own answers, and the range of each output; made when they are first needed."""
        found: dict[str, list[Judged]] = {name: [] for name in self._graph.outputs}
        ends = dict.fromkeys(found, (np.inf, -np.inf))
        with progress("running the float model", total=len(self._samples.evaluation)) as step:
            for _, wanted, label in self._walk(self._samples.evaluation):
                for name, array in wanted.items():
                    ends[name] = _widened(ends[name], array)
                    found[name].append(judged(self._graph, name, array, array, label))
                step()
        spans = {name: max(0.0, high - low) for name, (low, high) in ends.items()}
        return Measured("float", found, self._samples.evaluation.numbers), spans

    def _walk(
        self, chosen: SampleSelection
    ) -> Iterator[tuple[Mapping[str, Array], Mapping[str, Array], int | None]]:
        """Samples, the float model's outputs, and the labels where they are known and asked for."""
        places = {number: place for place, number in enumerate(self._samples.evaluation.numbers)}
        labels = self._samples.labels if self.metric.name != CLOSENESS else None
        for number, sample in zip(chosen.numbers, chosen, strict=True):
            label = None if labels is None else int(labels[places[number]])
            yield sample, self._wanted(number, sample), label

    def _wanted(self, number: int, sample: Mapping[str, Array]) -> Mapping[str, Array]:
        if number in self._kept:
            return self._kept[number]
        outputs = {name: np.asarray(a) for name, a in self._float.run(sample).items()}
        size = sum(array.nbytes for array in outputs.values())
        if self._bytes + size <= KEPT_BYTES:
            self._kept[number] = outputs
            self._bytes += size
        return outputs


def _widened(ends: tuple[float, float], array: Array) -> tuple[float, float]:
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    if not finite.size:
        return ends
    return min(ends[0], float(finite.min())), max(ends[1], float(finite.max()))
