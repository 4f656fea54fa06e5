"""Runs samples through the float model and through quantized ones, and tells how good each is."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.data.samples import LabelledSamples, SampleSelection
from edgewright.evaluate.doubts import (
    OutputFacts,
    describe_answers,
    describe_broken_results,
    describe_hidden_samples,
    describe_missed_classes,
    is_computed_from_inputs,
    is_finite,
)
from edgewright.evaluate.input_energies import InputEnergies
from edgewright.evaluate.loss import choose_worst, measure_loss, measure_score
from edgewright.evaluate.measurement import (
    MOST_DB,
    Evaluation,
    Measurement,
    SampleScore,
    compute_sqnr_db,
    has_8_bit_values,
)
from edgewright.evaluate.metric_trial import MetricTrial
from edgewright.evaluate.metrics import find_measure
from edgewright.evaluate.metrics.measure import ANY, Answer, Measure
from edgewright.evaluate.metrics.values import subtract_safely
from edgewright.evaluate.output_kinds import (
    find_class_axis,
    find_probability_width,
    has_codes,
)
from edgewright.evaluate.output_parts import OutputParts, ValueRanges, find_parts
from edgewright.evaluate.records import Accuracy, Loss, Metric
from edgewright.evaluate.runners import EvaluatedSample, Run, run_in_turn, stop_at
from edgewright.evaluate.tail import Conditions
from edgewright.evaluate.verdict import describe_low_score, describe_poor_float_model
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.ops.cost import node_macs
from edgewright.quantize.run_counter import RunCounter

# Outputs of the float model are kept up to this size, and computed again beyond it.
KEPT_BYTES = 256 << 20
# MACs of one quick evaluation of a precision, and how many samples it has at least.
QUICK_MACS, FEWEST_SAMPLES = 6e10, 50
# One of so many samples may show that a graph is hopeless; fewer than that many show nothing.
HOPELESS_PART, FEWEST_TO_GIVE_UP = 4, 16
# Samples whose values tell parts of an output apart; they have this part of the float model's time.
SAMPLES_OF_PARTS, TIME_OF_PARTS = 16, 0.5
# What the pace of the float model is measured for, and the runs that do at most.
PACE_SECONDS, PACE_RUNS = 0.05, 20
# Samples that a graph is evaluated on however late it is: fewer do not tell one precision from another.
FEWEST_IN_TIME = 8


@dataclass(frozen=True)
class _FloatResults:
    """The float model's own answers, what outputs and inputs are like, and what metrics tell apart."""

    measured: Measurement
    spans: dict[str, Array]
    ranges: dict[str, ValueRanges]
    facts: dict[str, OutputFacts]
    energies: InputEnergies
    trial: MetricTrial


class Evaluator:
    """Evaluates graphs on samples against the float model, by one metric.

    Args:
        graph: the float model.
        samples: samples, with what is known of their right answers.
        metric: the metric of each output.
        counter: counts runs; one of its own where none is given.
        limit: points that may be lost; 0 where nobody asked.
    """

    def __init__(
        self,
        graph: Graph,
        samples: LabelledSamples,
        metric: Metric,
        counter: RunCounter | None = None,
        limit: float = 0.0,
    ) -> None:
        self._graph, self._samples, self.metric, self._limit = graph, samples, metric, limit
        self._counter = counter or RunCounter(graph, len(samples.selection))
        self._measures = {name: find_measure(metric.find_name(name)) for name in metric.outputs}
        self._axes = {name: find_class_axis(graph, name) for name in graph.outputs}
        self._codes = frozenset(name for name in graph.outputs if has_codes(graph, name))
        self._float = Model.of(graph)
        # Those that there was time for, and when the float model must end.
        self._selection, self._end = samples.selection, math.inf
        self._kept: dict[int, dict[str, Array]] = {}
        self._bytes = 0
        macs = sum(node_macs(graph, node) for node in graph.nodes)
        self._quick_samples = max(FEWEST_SAMPLES, int(QUICK_MACS / max(macs, 1)))

    def evaluate(
        self, graph: Graph, backend: str = "htp-sim", count: int | None = None, limit: float | None = None
    ) -> Evaluation:
        """A graph on a backend, on at most so many samples; a quick evaluation where no number is given.

        With a limit, a graph that a part of the samples shows to lose more is not run on the others. Where
        the time is up, it must do with fewer.
        """
        run, has_8_bits = self._make_runner(graph, backend), has_8_bit_values(graph)
        # The float model first: it may leave samples out.
        self.run_float_model(self._find_rest())
        seconds = self._find_rest()
        chosen = self._selection.select(count or self._quick_samples)
        first = chosen.shuffle().take(len(chosen) // HOPELESS_PART)
        if limit is None or len(first) < FEWEST_TO_GIVE_UP:
            measured = self.measure_runner(run, backend, chosen, seconds, FEWEST_IN_TIME)
            return self.summarise(replace(measured, has_8_bits=has_8_bits))
        begun = self.measure_runner(run, backend, first, seconds, FEWEST_IN_TIME)
        begun = replace(begun, has_8_bits=has_8_bits)
        if self.measure_loss(begun).low > limit:
            return self.summarise(begun)
        rest = self.measure_runner(run, backend, chosen.leave_out(begun.numbers), self._find_rest())
        known = {*begun.numbers, *rest.numbers}
        return self.summarise(begun.join(rest, [number for number in chosen.numbers if number in known]))

    def measure_graph(self, graph: Graph, backend: str, seconds: float = math.inf) -> Measurement:
        """What a graph gives on a backend."""
        measured = self.measure_runner(self._make_runner(graph, backend), backend, seconds=seconds)
        return replace(measured, has_8_bits=has_8_bit_values(graph))

    def _make_runner(self, graph: Graph, backend: str) -> Run:
        model, share = Model.of(graph), self._counter.measure_share(graph, graph.outputs)

        def run(sample: Mapping[str, Array]) -> Mapping[str, Array]:
            self._counter.count_run(share)
            return model.run(sample, backend=backend)

        return run

    def measure_runner(
        self,
        run: Run,
        backend: str,
        chosen: SampleSelection | None = None,
        seconds: float = math.inf,
        least: int = 1,
    ) -> Measurement:
        """What a runner gives on the samples, or some of them; see ``measure_runners``."""
        return self.measure_runners([run], backend, chosen, seconds, least)

    def measure_runners(
        self,
        runs: Sequence[Run],
        backend: str,
        chosen: SampleSelection | None = None,
        seconds: float = math.inf,
        least: int = 1,
    ) -> Measurement:
        """What runners of the same model give, which share the samples among them.

        With a limit of seconds, samples come in an order whose beginning is spread over all of them, and it
        ends once the time is up, after ``least`` samples. Whichever runner has a sample, figures are in the
        order of the samples.
        """
        # The float model's answers come first, and are not in that time.
        known = frozenset(self.reference.numbers)
        chosen = self._selection if chosen is None else chosen
        chosen = chosen.leave_out([number for number in chosen.numbers if number not in known])
        order = chosen if math.isinf(seconds) else chosen.shuffle()
        end = time.monotonic() + seconds
        rows: list[dict[str, SampleScore]] = []
        with announce_progress(f"evaluating on {backend}", total=len(chosen)) as step:
            for sample, outputs in run_in_turn(runs, self._iterate_samples(order), end, least):
                rows.append(self._score_outputs(sample, outputs))
                step()
        return self._put_in_order(backend, rows, order, chosen)

    def _put_in_order(
        self,
        backend: str,
        rows: Sequence[Mapping[str, SampleScore]],
        order: SampleSelection,
        chosen: SampleSelection,
    ) -> Measurement:
        """The scores of those samples that were run, which came in another order."""
        scores = {name: [row[name] for row in rows] for name in self._graph.outputs}
        measured = Measurement(backend, scores, order.numbers[: len(rows)])
        known = frozenset(measured.numbers)
        return measured.select([number for number in chosen.numbers if number in known])

    def _find_rest(self) -> float:
        """The seconds that an evaluation has."""
        return max(0.0, self._counter.evaluation_end - time.monotonic())

    @property
    def planned(self) -> int:
        """How many samples it was given, whether or not there was time for them."""
        return len(self._samples.selection)

    def select_samples(self, numbers: Sequence[int]) -> SampleSelection:
        """Some of the samples, by their numbers."""
        return SampleSelection(self._selection.samples, numbers)

    def run_float_model(self, seconds: float) -> Measurement:
        """Runs the float model now, on as many samples as it has time for, a few at least.

        The other samples are left out of all that follows; nothing happens where it has run before.
        """
        self._end = time.monotonic() + seconds
        return self.reference

    def time_float_model(self) -> float:
        """The seconds of one run at the pace of now."""
        (sample,) = self._selection.select(1)
        start, runs = time.monotonic(), 0
        while not runs or (runs < PACE_RUNS and time.monotonic() - start < PACE_SECONDS):
            self._counter.count_run(1.0)
            self._float.run(sample)
            runs += 1
        return (time.monotonic() - start) / runs

    def _score_outputs(self, sample: EvaluatedSample, outputs: Mapping[str, Array]) -> dict[str, SampleScore]:
        """All outputs of a sample."""
        return {name: self._score(name, answer) for name, answer in self._list_answers(sample, outputs)}

    def _list_answers(
        self, sample: EvaluatedSample, outputs: Mapping[str, Array]
    ) -> Iterator[tuple[str, Answer]]:
        """Each output of a sample, with all that is known of it."""
        results = {name: np.asarray(array) for name, array in outputs.items()}
        for name in self._graph.outputs:
            measure = self._measures.get(name)
            label = sample.label if measure is not None and self._can_take_label(measure) else None
            yield (
                name,
                Answer(
                    *(sample.references[name], results[name], label, self._axes[name], self._parts[name]),
                    *(sample.inputs, sample.references, results, name in self._codes),
                ),
            )

    def summarise(self, measured: Measurement) -> Evaluation:
        """The figures of a whole model: of several outputs the worst counts."""
        loss = self.measure_loss(measured)
        dbs = [min(MOST_DB, compute_sqnr_db(items)) for items in measured.outputs.values()]
        mean = float(np.mean(dbs)) if dbs else MOST_DB
        score = loss.float_score - loss.points
        return Evaluation(score, loss.points, mean, measured.samples, loss)

    def measure_loss(self, measured: Measurement, than: Measurement | None = None, looks: int = 1) -> Loss:
        """What the worst output loses against the float model, or ``than``, on the same samples.

        ``looks``: how many models these samples have judged, this one included.
        """
        first = (than or self.reference).select(measured.numbers)
        conditions = Conditions(self._float_results.energies.scatter, looks, measured.has_8_bits)
        losses = [
            replace(
                measure_loss(
                    self._measures[name],
                    [item.sums for item in first.outputs[name]],
                    [item.sums for item in measured.outputs[name]],
                    self._spans[name],
                    conditions,
                ),
                output=name,
                backend=measured.backend,
            )
            for name in self.metric.outputs
        ]
        return choose_worst(losses) if losses else Loss("", measured.backend, 0, 0.0, 0.0, 0.0, 100.0)

    def describe_unseen_kinds(self) -> str:
        """Why kinds of samples may be missing where values are judged; empty where nothing says so."""
        if all(measure.is_share for measure in self._measures.values()):
            return ""
        return self._float_results.energies.describe_orders()

    def list_doubts(self, measured: Measurement) -> tuple[str, ...]:
        """Why what is lost proves nothing, whatever it is."""
        doubts: list[str] = []
        for name, items in measured.outputs.items():
            if name in self.metric.outputs:
                doubts += self._list_doubts_of_output(name, measured)
            doubts += describe_broken_results(name, measured.backend, [item.is_finite for item in items])
        return tuple(doubts)

    def _list_doubts_of_output(self, name: str, measured: Measurement) -> list[str]:
        first, items = self.reference.select(measured.numbers).outputs[name], measured.outputs[name]
        measure, known = self._measures[name], self._parts[name].widths
        doubts = [
            *self._facts[name].describe(
                name,
                self._float_results.ranges[name].widths,
                known,
                is_computed=is_computed_from_inputs(self._graph, name),
                are_values_judged=measure.is_of_values,
            )
        ]
        poor = measure.describe_float_model([item.sums for item in first])
        doubts += [poor] if poor else []
        before = [item.classes for item in first]
        doubts += describe_missed_classes(name, before)
        doubts += describe_answers(name, before, [item.classes for item in items])
        if measure.is_of_values and not known.all():
            doubts += describe_hidden_samples(name, [item.power for item in items])
        if is_computed_from_inputs(self._graph, name) and (measure.is_unknown or not doubts):
            doubts += self._float_results.trial.describe(name, self._spans[name], self._limit)
        return doubts

    def list_poor_scores(self) -> tuple[str, ...]:
        """Why the float model itself is not what it should be, before anything was quantized."""
        texts: list[str] = []
        for item in self.list_accuracy(self.reference):
            measure = self._measures.get(item.output)
            if measure is None or item.score is None:
                continue
            has_labels = self._can_take_label(measure)
            if measure.is_share and has_labels:
                classes = math.prod(self._graph.types[item.output].static_shape())
                # A single value answers one class of at least two.
                known = (item.score, item.samples, max(classes, 2), measure.tolerated)
                texts.append(describe_poor_float_model(*known))
            else:
                lowest = measure.lowest_usual
                texts.append(describe_low_score(measure.name, item, lowest, has_labels=has_labels))
        return tuple(text for text in texts if text)

    def list_accuracy(self, measured: Measurement) -> tuple[Accuracy, ...]:
        """One record for each output."""
        return tuple(self._make_accuracy(measured, name) for name in self._graph.outputs)

    def _make_accuracy(self, measured: Measurement, name: str) -> Accuracy:
        items = measured.outputs[name]
        is_float = measured.backend == self.reference.backend
        figures: tuple[float | None, ...] = (None, None, None)
        if name in self.metric.outputs:
            sums = [item.sums for item in items]
            figures = measure_score(self._measures[name], sums, self._spans[name])
        differences = (
            (None, None) if is_float else (compute_sqnr_db(items), max(item.largest for item in items))
        )
        return Accuracy(name, measured.backend, len(items), *figures, *differences)

    def _score(self, name: str, answer: Answer) -> SampleScore:
        """One output of a sample."""
        measure = self._measures.get(name)
        first, gap = subtract_safely(answer.reference, answer.result)
        power = float(np.vdot(gap, gap)), float(np.vdot(first, first))
        largest = float(np.abs(gap).max(initial=0.0))
        is_whole = is_finite(answer.result) or not is_finite(answer.reference)
        if measure is None:
            return SampleScore(power, largest, is_finite=is_whole)
        return SampleScore(power, largest, measure.add_up(answer), measure.count_good(answer), is_whole)

    def _can_take_label(self, measure: Measure) -> bool:
        """Labels that were found beside the samples may be of another kind than the metric takes."""
        labels = self._samples.labels
        return labels is not None and measure.label_kind in {ANY, labels.kind}

    @property
    def reference(self) -> Measurement:
        """The float model itself."""
        return self._float_results.measured

    @property
    def _spans(self) -> dict[str, Array]:
        return self._float_results.spans

    @property
    def _facts(self) -> dict[str, OutputFacts]:
        return self._float_results.facts

    @cached_property
    def _parts(self) -> dict[str, OutputParts]:
        """Values of each output that are judged by ranges of their own."""
        order = self._selection.shuffle().take(SAMPLES_OF_PARTS)
        now = time.monotonic()
        few = list(stop_at(self._iterate_samples(order), now + TIME_OF_PARTS * (self._end - now)))
        return {
            name: find_parts(self._graph, name, [sample.references[name] for sample in few])
            for name in self._graph.outputs
        }

    @cached_property
    def _float_results(self) -> "_FloatResults":
        """The float model's own answers and what they are like; made when first needed."""
        selection = self._selection
        # Neighbours in the data may be of one kind, and answers of others are tried on each.
        order = selection.shuffle()
        rows: list[dict[str, SampleScore]] = []
        ranges = {name: ValueRanges(self._parts[name]) for name in self._graph.outputs}
        facts = {
            name: OutputFacts(find_probability_width(self._graph, name), parts)
            for name, parts in self._parts.items()
        }
        energies, trial = InputEnergies(), MetricTrial(self._measures)
        with announce_progress("running the float model", total=len(selection)) as step:
            for sample in stop_at(self._iterate_samples(order), self._end, FEWEST_IN_TIME):
                energies.add(sample.inputs)
                for name, array in sample.references.items():
                    ranges[name].widen(array)
                    facts[name].add(array)
                for name, answer in self._list_answers(sample, sample.references):
                    trial.add(name, answer)
                rows.append(self._score_outputs(sample, sample.references))
                step()
        spans = {name: np.maximum(each.widths, self._parts[name].widths) for name, each in ranges.items()}
        measured = self._put_in_order("float", rows, order, selection)
        self._selection = SampleSelection(selection.samples, measured.numbers)
        return _FloatResults(measured, spans, ranges, facts, energies, trial)

    def _iterate_samples(self, chosen: SampleSelection) -> Iterator[EvaluatedSample]:
        for number, sample in zip(chosen.numbers, chosen, strict=True):
            references = self._run_float_model(number, sample)
            yield EvaluatedSample(sample, references, self._samples.find_label(number))

    def _run_float_model(self, number: int, sample: Mapping[str, Array]) -> Mapping[str, Array]:
        if number in self._kept:
            return self._kept[number]
        self._counter.count_run(1.0)
        outputs = {name: np.asarray(a) for name, a in self._float.run(sample).items()}
        size = sum(array.nbytes for array in outputs.values())
        if self._bytes + size <= KEPT_BYTES:
            self._kept[number] = outputs
            self._bytes += size
        return outputs
