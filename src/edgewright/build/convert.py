"""The stage "convert": from the model as it was imported to the graph that is quantized."""

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from edgewright.analyse.architecture.check import check_architecture
from edgewright.analyse.architecture.summary import list_findings as list_architecture_findings
from edgewright.analyse.records import Finding
from edgewright.build.candidate_builder import has_quantization_pairs, is_fixed_point
from edgewright.build.candidates import AS_GIVEN, HALF, list_candidates
from edgewright.build.estimates import estimate_weight_sizes
from edgewright.build.ledger import hash_model
from edgewright.build.model_checks import check_htp_support, list_dynamic_findings
from edgewright.build.open_model import OpenedModel
from edgewright.build.plan import BuildPlan, SampleCounts, TriedDrops, predict_candidates
from edgewright.build.rates import Rates, try_model
from edgewright.build.records import Source
from edgewright.build.request import BuildRequest
from edgewright.build.stateful_samples import RecurrentState
from edgewright.build.time_budget import TimeBudget
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from edgewright.data.samples import BuildSamples, LabelledSamples
from edgewright.evaluate.choose_metric import choose_metric, drop_labels
from edgewright.evaluate.evaluator import Evaluator
from edgewright.evaluate.metrics import find_measure
from edgewright.evaluate.records import Metric
from edgewright.evaluate.statistics import compute_paired_interval
from edgewright.frontends.conversion import ConversionRequest, Rewrites, convert_graph
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.model.shared_files import list_model_files
from edgewright.ops.cost import node_macs
from edgewright.ops.recurrent import Recurrent
from edgewright.passes.htp.unroll_recurrent import with_steps
from edgewright.passes.pipeline import FOR_HTP, UNROLL, run_passes
from edgewright.quantize.portable import list_portable_encodings
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.run_counter import Bounds, RunCounter
from edgewright.quantize.tensor_encodings import EncodingSet, list_encodings
from edgewright.run.context.compile import find_provider
from edgewright.targets.soc import FIRST_WITH_HALF, find_htp_soc

log = logging.getLogger(__name__)

# Samples that tell how fast a model runs, and whether 8 bits will do.
TRIED_SAMPLES = 4
# What running it for that may take of the time of the build, and what predicting candidates may.
TRIED_PART = 0.08


@dataclass
class Conversion:
    """A converted graph, and what of it the HTP refuses."""

    graph: Graph
    notes: list[str] = field(default_factory=list)
    problems: list[EdgewrightError] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True)
class ConversionResult:
    """What is known once the model is converted."""

    source: Source
    metric: Metric
    # It came quantized, and is built as it is.
    is_quantized: bool
    tensors: tuple[str, ...]
    states: tuple[RecurrentState, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    # How fast it runs, and how many samples there is time for.
    rates: Rates
    counts: SampleCounts
    expected_seconds: float


def convert_model(request: BuildRequest, opened: OpenedModel) -> Conversion:
    """Rewrites the imported graph, unrolls its recurrent layers and looks for what the HTP refuses."""
    assert opened.graph is not None
    graph = opened.graph.copy()
    if opened.source is not None:
        convert_graph(graph, opened.source, ConversionRequest(request.model))
    conversion = Conversion(graph)
    run_passes(graph, FOR_HTP)
    checks = check_htp_support(request, graph)
    checks.hints += list_dynamic_findings(opened.report)
    count = sum(isinstance(node.op, Recurrent) for node in graph.nodes)
    if count and not checks.problems:
        note = _unroll_layers(request, graph, count)
        conversion.notes.append(note)
        conversion.findings.append(Finding("note", "model", note))
    conversion.problems += checks.problems
    conversion.findings += checks.hints
    if not checks.problems:
        conversion.findings += list_architecture_findings(check_architecture(graph))
    for finding in checks.hints:
        if finding.grade == "warning":
            log.warning("%s", finding.what)
    return conversion


def _unroll_layers(request: BuildRequest, graph: Graph, count: int) -> str:
    """Says how recurrent layers reach the HTP; where it has no half precision, their steps are quantized."""
    layers = "a recurrent layer is" if count == 1 else f"{count} recurrent layers are"
    note = f"{layers} written out step by step: the HTP takes them in no other form"
    if find_htp_soc(request.target).arch >= FIRST_WITH_HALF:
        return f"{note}; they are computed in half precision"
    run_passes(graph, UNROLL)
    return note


def describe_conversion(
    request: BuildRequest,
    opened: OpenedModel,
    conversion: Conversion,
    samples: BuildSamples,
    budget: TimeBudget,
) -> ConversionResult:
    """Facts about the source model, how its accuracy will be measured, and what the build will take."""
    graph = conversion.graph
    source = Source(
        file=request.model.name,
        format=opened.format,
        sha256=hash_model(request.model),
        file_bytes=sum(path.stat().st_size for path in list_model_files(request.model)),
        nodes=len(graph) if opened.report is None else opened.report.nodes,
        parameters=sum(array.size for name, array in graph.constants.items() if graph.consumers(name)),
        macs=sum(node_macs(graph, node) for node in graph.nodes),
        weight_bytes=estimate_weight_sizes(graph)["source"],
    )
    plan = plan_build(request, graph, samples)
    return ConversionResult(
        source,
        plan.metric,
        plan.is_quantized,
        tuple(sorted(opened.tensors)),
        opened.states,
        (*opened.notes, *conversion.notes),
        tuple(conversion.findings),
        plan.rates,
        plan.counts,
        plan.estimate_seconds(request.time_limit, budget.seconds),
    )


def plan_build(request: BuildRequest, graph: Graph, samples: BuildSamples) -> BuildPlan:
    """Tries the model on a few samples, and tells what the build will do and take."""
    metric = choose_metric(graph, samples.labels, request.metric, _run_first_sample(graph, samples))
    is_quantized = is_fixed_point(graph) or has_quantization_pairs(graph)
    chip = find_htp_soc(request.target)
    few = samples.choosing.select(TRIED_SAMPLES)
    is_emulated = find_provider("htp") == "htp-native"
    seconds = TRIED_PART * request.time_limit
    trial = try_model(graph, list(few.selection), chip if is_emulated else None, seconds)
    names = (AS_GIVEN,) if is_quantized else list_candidates(request.precision, chip.arch)
    if trial.quantized is not None and not is_quantized:
        names = _predict_candidates(request, graph, samples, metric, trial.quantized, names)
    search_seconds = TimeBudget(request.time_limit, has_emulator=is_emulated).search_seconds
    counts = SampleCounts.of(samples).reduce_to_fit(trial.rates, search_seconds)
    return BuildPlan(metric, is_quantized, trial.rates, counts, names, trial.refusal, trial.is_half_taken)


def _predict_candidates(
    request: BuildRequest,
    graph: Graph,
    samples: BuildSamples,
    metric: Metric,
    plain: Graph,
    names: tuple[str, ...],
) -> tuple[str, ...]:
    """The candidates that will be built if plain 8 bits and half precision do what they do on few samples."""
    counter = RunCounter(graph, TRIED_SAMPLES)
    chooser = make_chooser(graph, samples.choosing.select(TRIED_SAMPLES), metric, counter)
    end = time.monotonic() + TRIED_PART * request.time_limit
    with counter.keep_bounds(Bounds(evaluation_end=end)):
        return _predict_by_drops(request, graph, samples, chooser, plain, names)


def _predict_by_drops(
    request: BuildRequest,
    graph: Graph,
    samples: BuildSamples,
    chooser: Evaluator,
    plain: Graph,
    names: tuple[str, ...],
) -> tuple[str, ...]:
    metric, drop = chooser.metric, chooser.evaluate(plain).drop
    if drop <= request.limit and not any(kind.dtype.is_fixed_point for kind in plain.types.values()):
        # All of it is in half precision: there are no widths to mix.
        return names[:1]
    half: float | None = None
    if drop > request.limit and HALF in names:
        made = quantize_graph(graph, QuantizationRequest(float_bw=16)).graph
        with suppress(EdgewrightError):
            half = chooser.evaluate(with_steps(made, made.outputs)).drop
    least = find_least_provable(metric, len(samples.judging.selection))
    return predict_candidates(names, TriedDrops(drop, half, least), request.limit)


def find_least_provable(metric: Metric, count: int) -> float:
    """What so many samples cannot tell from nothing: of answers that are all the same they prove no more."""
    is_share = all(find_measure(metric.find_name(name)).is_share for name in metric.outputs)
    return 100 * compute_paired_interval(0, 0, count)[1] if is_share else 0.0


def make_chooser(
    graph: Graph, samples: LabelledSamples, metric: Metric, counter: RunCounter | None = None
) -> Evaluator:
    """Evaluates on samples that choose; without labels, by the float model's answers."""
    return Evaluator(graph, samples, metric if samples.labels else drop_labels(metric), counter)


def export_encodings(opened: OpenedModel, source: Graph, quantized: Graph) -> EncodingSet:
    """Encodings of a quantized graph that every converter takes for the same source model."""
    if opened.graph is None or opened.source is None:
        return list_encodings(quantized)
    plain = Rewrites(is_simplified=False).apply(opened.graph.copy())
    return list_portable_encodings(quantized, source, plain, opened.tensors)


def _run_first_sample(graph: Graph, samples: BuildSamples) -> Mapping[str, Array]:
    """What the float model gives for one sample."""
    (sample,) = samples.judging.selection.select(1)
    return Model.of(graph).run(sample)
