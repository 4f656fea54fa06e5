"""The stage "convert": from the model as it was imported to the graph that is quantized."""

import logging
from dataclasses import dataclass, field

from edgewright.analyse.architecture.check import check_architecture
from edgewright.analyse.architecture.summary import list_findings as list_architecture_findings
from edgewright.analyse.records import Finding
from edgewright.build.estimates import estimate_weight_sizes
from edgewright.build.ledger import hash_model
from edgewright.build.make_plan import plan_build
from edgewright.build.model_checks import check_htp_support, list_dynamic_findings
from edgewright.build.open_model import OpenedModel
from edgewright.build.plan import SampleCounts
from edgewright.build.rates import Rates
from edgewright.build.records import Source
from edgewright.build.request import BuildRequest
from edgewright.build.stateful_samples import RecurrentState
from edgewright.build.time_budget import TimeBudget
from edgewright.core.errors import EdgewrightError
from edgewright.data.samples import BuildSamples
from edgewright.evaluate.records import Metric
from edgewright.frontends.conversion import ConversionRequest, Rewrites, convert_graph
from edgewright.ir.graph import Graph
from edgewright.model.shared_files import list_model_files
from edgewright.ops.cost import node_macs
from edgewright.ops.recurrent import Recurrent
from edgewright.passes.pipeline import FOR_HTP, UNROLL, run_passes
from edgewright.quantize.portable import list_portable_encodings
from edgewright.quantize.tensor_encodings import EncodingSet, list_encodings
from edgewright.targets.soc import FIRST_WITH_HALF, find_htp_soc

log = logging.getLogger(__name__)


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
    plan = plan_build(request, graph, samples, opened.tensors)
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


def export_encodings(opened: OpenedModel, source: Graph, quantized: Graph) -> EncodingSet:
    """Encodings of a quantized graph that every converter takes for the same source model."""
    if opened.graph is None or opened.source is None:
        return list_encodings(quantized)
    plain = Rewrites(is_simplified=False).apply(opened.graph.copy())
    return list_portable_encodings(quantized, source, plain, opened.tensors)
