"""Runs samples that did not calibrate through the float model and through quantized ones."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgewright.analyse.metric import (
    CLOSENESS,
    SAME,
    MetricScore,
    SampleScore,
    compute_sqnr_db,
    score_metric,
    score_sample,
)
from edgewright.analyse.records import Accuracy, Metric
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.data.samples import BuildSamples, SampleSelection
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.ops.cost import node_macs

# Outputs of the float model are kept up to this size, and computed again beyond it.
KEPT_BYTES = 256 << 20
# The figure for no noise at all.
MOST_DB = 120.0
# MACs of one quick evaluation of a precision, and how many samples it has at least.
QUICK_MACS, FEWEST_SAMPLES = 6e10, 50
Run = Callable[[Mapping[str, Array]], Mapping[str, Array]]


@dataclass(frozen=True)
class Evaluation:
    """How accurate one precision is: the metric in percent, points lost of the float model's, and SQNR."""

    score: float
    drop: float
    sqnr_db: float
    samples: int


@dataclass(frozen=True)
class Measurement:
    """The scores of all samples on one backend, by output."""

    backend: str
    outputs: dict[str, list[SampleScore]]
    # Of the samples, in their order.
    numbers: tuple[int, ...]

    @property
    def samples(self) -> int:
        """How many samples were run."""
        return len(self.numbers)

    def keep_first(self, count: int) -> "Measurement":
        """The first samples alone."""
        outputs = {name: items[:count] for name, items in self.outputs.items()}
        return Measurement(self.backend, outputs, self.numbers[:count])


class Evaluator:
    """Evaluates graphs on samples against the float model, by one metric."""

    def __init__(self, graph: Graph, samples: BuildSamples, metric: Metric) -> None:
        self._graph, self._samples, self.metric = graph, samples, metric
        self._float = Model.of(graph)
        self._kept: dict[int, dict[str, Array]] = {}
        self._bytes = 0
        macs = sum(node_macs(graph, node) for node in graph.nodes)
        self._quick_samples = max(FEWEST_SAMPLES, int(QUICK_MACS / max(macs, 1)))

    def evaluate(self, graph: Graph, backend: str = "htp-sim", count: int | None = None) -> Evaluation:
        """A graph on a backend, on at most so many samples; a quick evaluation where no number is given."""
        return self.summarise(self.measure_graph(graph, backend, count or self._quick_samples))

    def measure_graph(self, graph: Graph, backend: str, count: int | None = None) -> Measurement:
        """What a graph gives on a backend."""
        model = Model.of(graph)
        return self.measure_runner(lambda sample: model.run(sample, backend=backend), backend, count)

    def measure_runner(
        self, run: Run, backend: str, count: int | None = None, seconds: float | None = None
    ) -> Measurement:
        """What a runner gives on the samples; ends early once the time is up, after one at least."""
        chosen = self._samples.evaluation.select(count or len(self._samples.evaluation))
        scores: dict[str, list[SampleScore]] = {name: [] for name in self._graph.outputs}
        start = time.monotonic()
        with announce_progress(f"evaluating on {backend}", total=len(chosen)) as step:
            for sample, references, label in self._iterate_samples(chosen):
                outputs = run(sample)
                for name, items in scores.items():
                    items.append(
                        score_sample(self._graph, name, references[name], np.asarray(outputs[name]), label)
                    )
                step()
                if seconds is not None and time.monotonic() - start > seconds:
                    break
        count_run = max((len(items) for items in scores.values()), default=0)
        return Measurement(backend, scores, chosen.numbers[:count_run])

    def summarise(self, measured: Measurement) -> Evaluation:
        """The figures of a whole model: of several outputs the worst counts."""
        scores = [self._score_output(name, measured.outputs[name]) for name in self.metric.outputs]
        score = min((item.score for item in scores), default=100.0)
        drop = self._score_float_model(measured.numbers) - score
        dbs = [min(MOST_DB, compute_sqnr_db(items)) for items in measured.outputs.values()]
        return Evaluation(score, drop, float(np.mean(dbs)) if dbs else MOST_DB, measured.samples)

    def count_answers(self) -> int:
        """How many answers the metric counts; 0 where it counts none."""
        if self.metric.name == CLOSENESS:
            return 0
        items = [item for name in self.metric.outputs for item in self.reference.outputs[name]]
        return sum(item.rows if self.metric.name == SAME else item.right >= 0 for item in items)

    def list_accuracy(self, measured: Measurement) -> tuple[Accuracy, ...]:
        """One record for each output."""
        return tuple(self._make_accuracy(measured, name) for name in self._graph.outputs)

    def _make_accuracy(self, measured: Measurement, name: str) -> Accuracy:
        items = measured.outputs[name]
        is_float = measured is self.reference
        figures: tuple[float | None, ...] = (None, None, None)
        if name in self.metric.outputs:
            score = self._score_output(name, items)
            figures = (score.score, score.low, score.high)
        differences = (
            (None, None) if is_float else (compute_sqnr_db(items), max(item.largest for item in items))
        )
        return Accuracy(name, measured.backend, len(items), *figures, *differences)

    def _score_output(self, name: str, items: list[SampleScore]) -> MetricScore:
        return score_metric(self.metric.name, items, self._float_results[1][name])

    def _score_float_model(self, chosen: Sequence[int]) -> float:
        """The float model's own score on the samples that were used."""
        places = {number: place for place, number in enumerate(self._samples.evaluation.numbers)}
        parts = [
            self._score_output(name, [self.reference.outputs[name][places[number]] for number in chosen])
            for name in self.metric.outputs
        ]
        return min((item.score for item in parts), default=100.0)

    @property
    def reference(self) -> Measurement:
        """The float model itself."""
        return self._float_results[0]

    @cached_property
    def _float_results(self) -> tuple[Measurement, dict[str, float]]:
        """The float model's own answers, and the range of each output; made when they are first needed."""
        scores: dict[str, list[SampleScore]] = {name: [] for name in self._graph.outputs}
        ranges = dict.fromkeys(scores, (np.inf, -np.inf))
        with announce_progress("running the float model", total=len(self._samples.evaluation)) as step:
            for _, references, label in self._iterate_samples(self._samples.evaluation):
                for name, array in references.items():
                    ranges[name] = _widen_range(ranges[name], array)
                    scores[name].append(score_sample(self._graph, name, array, array, label))
                step()
        spans = {name: max(0.0, high - low) for name, (low, high) in ranges.items()}
        return Measurement("float", scores, self._samples.evaluation.numbers), spans

    def _iterate_samples(
        self, chosen: SampleSelection
    ) -> Iterator[tuple[Mapping[str, Array], Mapping[str, Array], int | None]]:
        """Samples, the float model's outputs, and the labels where they are known and asked for."""
        places = {number: place for place, number in enumerate(self._samples.evaluation.numbers)}
        labels = self._samples.labels if self.metric.name != CLOSENESS else None
        for number, sample in zip(chosen.numbers, chosen, strict=True):
            label = None if labels is None else int(labels[places[number]])
            yield sample, self._run_float_model(number, sample), label

    def _run_float_model(self, number: int, sample: Mapping[str, Array]) -> Mapping[str, Array]:
        if number in self._kept:
            return self._kept[number]
        outputs = {name: np.asarray(a) for name, a in self._float.run(sample).items()}
        size = sum(array.nbytes for array in outputs.values())
        if self._bytes + size <= KEPT_BYTES:
            self._kept[number] = outputs
            self._bytes += size
        return outputs


def _widen_range(value_range: tuple[float, float], array: Array) -> tuple[float, float]:
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    if not finite.size:
        return value_range
    return min(value_range[0], float(finite.min())), max(value_range[1], float(finite.max()))
