"""Builds one candidate of precision: quantized, evaluated on held-out samples, with its cost."""

import time
from dataclasses import dataclass, field, replace
from functools import cached_property

from edgewright.artifacts.encodings import EncodingsSource, load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.build.candidates import ALGORITHMS, AS_GIVEN, HALF, MIXED, MIXED_BASE, CandidateResult
from edgewright.build.records import Candidate
from edgewright.config.build import AUTO
from edgewright.config.quantize import PRECISIONS
from edgewright.data.samples import BuildSamples
from edgewright.evaluate.evaluator import Evaluator
from edgewright.evaluate.loss import estimate_high
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.model.narrow import fall_to_half
from edgewright.model.quantize import find_fixed_point, quantize_model
from edgewright.ops.quant import Dequantize
from edgewright.quantize.cost import compute_relative_cost, count_stored_bytes
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.mixed.calibrated import Calibrated
from edgewright.quantize.mixed.cheapest import Goal, Mixed, find_cheapest_widths, measure_effects
from edgewright.quantize.mixed.moves import May
from edgewright.quantize.overrides import KnownEncodings
from edgewright.quantize.quantized_graph import QuantizedGraph
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.recommended import recommend_algorithms
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.rules import FIRST_WITH_WIDE_WEIGHTS
from edgewright.quantize.run_counter import RunCounter
from edgewright.quantize.sensitivity import Sensitivity
from edgewright.targets.soc import FIRST_WITH_HALF

# What mixed widths may lose, as a part of the limit: the emulator may lose more than the simulation.
MIXED_SHARE_OF_LIMIT = 0.9
# Samples that widths are searched with; all of them confirm the result.
SEARCH_SAMPLES = 128


@dataclass(frozen=True)
class _Recipe:
    """How a uniform precision is quantized."""

    request: QuantizationRequest
    text: str
    reasons: tuple[str, ...] = ()


@dataclass
class CandidateBuilder:
    """What every candidate is made of and evaluated with."""

    source: Graph
    tensors: frozenset[str]
    samples: BuildSamples
    evaluator: Evaluator
    # Points of the metric that may be lost.
    limit: float
    # Whether the user gave that limit: then candidates say whether they keep it.
    has_limit: bool = True
    # Encodings that come before those computed.
    overrides: EncodingsSource | None = None
    # Version of the Hexagon processor; None: the newest.
    architecture: int | None = None
    # Counts and stops what is run.
    counter: RunCounter | None = None
    _uniform: dict[str, QuantizedGraph] = field(default_factory=dict)

    @cached_property
    def _counter(self) -> RunCounter:
        return self.counter or RunCounter(self.source, len(self.samples.calibration))

    @property
    def _executor(self) -> Executor:
        return self._counter.watch(CpuExecutor())

    def with_overrides(self, overrides: EncodingsSource) -> "CandidateBuilder":
        """The same with encodings that come before those computed."""
        return replace(self, overrides=overrides, _uniform={})

    def build(self, name: str, base: str = MIXED_BASE) -> tuple[Graph, CandidateResult]:
        """The graph of a candidate, and how good it is; mixed precision begins with the base."""
        if name == AS_GIVEN:
            return self._build_as_given()
        return self._build_mixed(base) if name == MIXED else self._build_uniform(name)

    def _build_as_given(self) -> tuple[Graph, CandidateResult]:
        """A model that was quantized before: its own encodings, and nothing else is decided."""
        start = time.monotonic()
        text = "the encodings that the model came with"
        quantized = take_given_encodings(self.source, self.tensors, self.samples.calibration, self._executor)
        return self._finish(AS_GIVEN, text, quantized, start)

    def _build_uniform(self, name: str) -> tuple[Graph, CandidateResult]:
        start = time.monotonic()
        recipe = self._choose_recipe(name)
        return self._finish(name, recipe.text, self._quantize(name), start, recipe.reasons)

    def _build_mixed(self, name: str) -> tuple[Graph, CandidateResult]:
        """The widths that cost least, beginning with 8 bits."""
        start = time.monotonic()
        base, samples, executor = self._quantize(name), self.samples.calibration, self._executor
        if not any(kind.dtype.is_fixed_point for kind in base.graph.types.values()):
            return self._finish(MIXED, "everything in half precision", base, start)
        calibrated = Calibrated(base.uniform or base, samples, executor)
        effects, cost = measure_effects(calibrated, samples, executor)
        goal = Goal(self.limit, MIXED_SHARE_OF_LIMIT * self.limit)
        best = find_cheapest_widths(
            calibrated, effects, self._measure_drop, goal, self._list_allowed_widths()
        )
        notes = (f"mixed: begins with {name}", *_describe_search(calibrated, best, cost))
        with self._counter.finish_in_time():
            graph, result = self._finish(
                MIXED, _describe_widths(calibrated, best), best.quantized, start, notes
            )
        return graph, replace(result, candidate=replace(result.candidate, is_stopped=best.is_stopped))

    def _list_allowed_widths(self) -> May:
        version = self.architecture
        return May(
            have_fine=version is None or version >= FIRST_WITH_WIDE_WEIGHTS,
            have_half=version is None or version >= FIRST_WITH_HALF,
        )

    def _measure_drop(self, made: QuantizedGraph, is_quick: bool) -> float:
        return self.evaluator.evaluate(made.graph, count=SEARCH_SAMPLES if is_quick else None).drop

    def _quantize(self, name: str) -> QuantizedGraph:
        """A uniform precision; kept, since mixed precision may begin with it."""
        if name not in self._uniform:
            request, samples = self._choose_recipe(name).request, None
            if name != HALF:
                request = replace(request, overrides=load_encodings(self.overrides))
                samples = self.samples.calibration
            known = KnownEncodings(tensors=self.tensors)
            before = self._counter.runs
            made = quantize_graph(self.source, request, samples, self._executor, known)
            # What the algorithms compute themselves is no run of a graph.
            runs = made.report.passes * len(self.samples.calibration)
            self._counter.add_runs(max(0.0, runs - (self._counter.runs - before)))
            self._uniform[name] = fall_to_half(made, self.source)
        return self._uniform[name]

    def _choose_recipe(self, name: str) -> _Recipe:
        precision = name.removesuffix(ALGORITHMS)
        bits = PRECISIONS[precision]
        if bits is None:
            return _Recipe(QuantizationRequest(float_bw=16), "half precision")
        plain = f"weights {bits[0]} bits, activations {bits[1]} bits"
        request = QuantizationRequest(weight_bw=bits[0], act_bw=bits[1])
        if name == precision and precision != "w8a16":
            return _Recipe(request, f"{plain}, ranges as seen")
        request = replace(request, act_quantizer=AUTO)
        if name == precision:
            return _Recipe(request, f"{plain}, ranges searched")
        advice = recommend_algorithms(self.source, request)
        return _Recipe(
            replace(request, algorithms=advice.algorithms),
            ", ".join([plain, "ranges searched", *advice.algorithms]),
            advice.reasons,
        )

    def _finish(
        self, name: str, text: str, made: QuantizedGraph, start: float, notes: tuple[str, ...] = ()
    ) -> tuple[Graph, CandidateResult]:
        """The candidate with its own notes, then the quantizer's."""
        candidate = self._evaluate(name, text, made.graph, start)
        rules = tuple((rule, tuple(places)) for rule, places in made.report.rules.items())
        all_notes = (*notes, *made.report.notes)
        return made.graph, CandidateResult(replace(candidate, notes=all_notes), rules, all_notes)

    def _evaluate(self, name: str, text: str, graph: Graph, start: float) -> Candidate:
        """How accurate a graph is and what it costs; ``start`` is the start time of its quantization."""
        evaluation = self.evaluator.evaluate(graph, limit=self.limit)
        return Candidate(
            name=name,
            text=text,
            backend="htp-sim",
            samples=evaluation.samples,
            score=evaluation.score,
            drop=evaluation.drop,
            sqnr_db=evaluation.sqnr_db,
            weight_bytes=count_stored_bytes(graph),
            cost=compute_relative_cost(graph, self.source),
            is_met=evaluation.drop <= self.limit if self.has_limit else None,
            seconds=time.monotonic() - start,
            drop_high=estimate_high(evaluation.loss, len(self.samples.judging.selection)),
        )


def take_given_encodings(
    source: Graph, tensors: frozenset[str], samples: Samples, executor: Executor
) -> QuantizedGraph:
    """A model that came quantized, with its own encodings; samples give those that it lacks."""
    if is_fixed_point(source):
        return QuantizedGraph(source, QuantizationReport(), source)
    made = quantize_model(Model.of(source, tensors), QuantizationRequest(), samples, executor)
    return QuantizedGraph(made.fixed_graph(), made.report, source)


def is_fixed_point(graph: Graph) -> bool:
    """Whether the graph is in fixed point already."""
    return find_fixed_point(graph) is not None


def has_quantization_pairs(graph: Graph) -> bool:
    """Whether the model was trained with quantization: it holds pairs of encoding and decoding."""
    return any(isinstance(node.op, Dequantize) for node in graph.nodes)


def _describe_widths(calibrated: Calibrated, best: Mixed) -> str:
    """How many layers have which widths."""
    widths, groups, weights = best.widths, len(calibrated.parts.groups), len(calibrated.parts.weights)
    parts = [
        f"{count} of {total} {kind}"
        for count, total, kind in (
            (len(widths.wide), groups, "values in 16 bits"),
            (len(widths.half), groups, "values in half precision"),
            (len(widths.small), weights, "weights in 4 bits"),
            (len(widths.fine), weights, "weights in 16 bits"),
        )
        if count
    ]
    return f"{', '.join(parts)}, the rest in 8" if parts else "everything in 8 bits"


def _describe_search(calibrated: Calibrated, best: Mixed, cost: Sensitivity) -> list[str]:
    parts = len(calibrated.parts.groups) + len(calibrated.parts.weights)
    measured = f"{cost.runs} runs, {cost.passes:.1f} passes over {cost.samples} samples"
    return [
        f"mixed: sensitivity of {parts} parts from {measured}",
        f"mixed: {best.taken} of {best.steps} steps to more bits, found with {best.tries} tries",
        *(["mixed: the time was up, these widths are the best until then"] if best.is_stopped else []),
    ]
