"""The one way to quantize: from a float graph, a request and samples to a fixed-point graph and a report."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from edgewright.ir.graph import Graph
from edgewright.passes.htp.bound_masks import bound_masks
from edgewright.quantize.apply import apply_plan
from edgewright.quantize.assign import assign_encodings
from edgewright.quantize.calibrate import check_constants, observe_extremes, observe_histograms
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups, is_real
from edgewright.quantize.judge import WORTH_DB, Judge
from edgewright.quantize.overrides import KnownEncodings
from edgewright.quantize.pins import Pin
from edgewright.quantize.recommended import recommend_algorithms
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles
from edgewright.quantize.search import PlannedGraph, search_ranges
from edgewright.quantize.spans import Statistics
from edgewright.quantize.weights.balance import balance_graph
from edgewright.quantize.weights.bias_correction import correct_biases, measure_input_means, with_biases
from edgewright.quantize.weights.cle import equalize
from edgewright.quantize.weights.even_channels import measure_channel_reach
from edgewright.quantize.weights.layerwise import LAYERWISE, fit_weights
from edgewright.quantize.wide_products import widen_products


@dataclass(frozen=True)
class QuantizedGraph:
    """A graph in fixed point, and what was done."""

    graph: Graph
    report: QuantizationReport
    # The float graph as other corrections left it, and whether weights were fitted or biases corrected after.
    source: Graph
    has_corrected_biases: bool = False
    # What was asked for, with nothing left open, and what was settled before any range was chosen.
    request: QuantizationRequest = field(default_factory=QuantizationRequest)
    pins: Mapping[str, Pin] = field(default_factory=dict)


def quantize_graph(
    graph: Graph,
    request: QuantizationRequest,
    samples: Samples | None = None,
    executor: Executor | None = None,
    known: KnownEncodings | None = None,
) -> QuantizedGraph:
    """Quantizes a float graph, which is left as it is.

    Args:
        graph: rewritten and laid out as it shall be.
        request: widths, schemes, corrections and overrides.
        samples: what no encoding is known for is calibrated on them; without any, it stays in floating point
            (float fallback).
        executor: runs the samples.
        known: encodings that the source model brought, and the names of its tensors.
    """
    resolved = (known or KnownEncodings()).resolve(graph, request.overrides)
    pins = resolved.pins
    if request.use_dynamic_16_bit_weights:
        pins |= widen_products(graph, pins)
    _check_graph(graph)
    settled, advice = _name_algorithms(graph, request.settle())
    work, notes = _prepare_graph(_bound_masks(graph), settled, pins, samples, executor)
    if samples is None or executor is None:
        plan = assign_encodings(work, Groups(work, settled, pins), settled, pins, None)
        planned = PlannedGraph(work, work, plan, _list_left_out(settled))
    else:
        choose_ranges = search_ranges if settled.is_searched else _calibrate
        planned = choose_ranges(work, settled, pins, samples, executor)
    report = planned.plan.report
    report.ignored += resolved.ignored
    report.notes += [*advice, *notes, *planned.notes]
    report.notes[:0] = request.list_notes()
    is_corrected = planned.graph is not planned.source
    return QuantizedGraph(
        apply_plan(planned.graph, planned.plan), report, planned.source, is_corrected, settled, resolved.pins
    )


def _bound_masks(graph: Graph) -> Graph:
    """The graph with masks that have steps: nothing comes through the softmax behind them either way."""
    work = graph.copy()
    return work if bound_masks(work) else graph


def _check_graph(graph: Graph) -> None:
    """Refuses weights that are not finite, and NaN in any other constant."""
    read = [value for value in graph.constants if is_real(graph, value) and graph.consumers(value)]
    weights = _list_weights(graph)
    check_constants(graph, [value for value in read if value in weights])
    check_constants(graph, read, is_infinity_allowed=True)


def _list_weights(graph: Graph) -> set[str]:
    """Weights and biases."""
    roles = {node: find_roles(graph, node) for node in graph.nodes}
    return {node.inputs[place] for node, role in roles.items() for place in role.weights | role.biases}


def _name_algorithms(
    graph: Graph, request: QuantizationRequest
) -> tuple[QuantizationRequest, tuple[str, ...]]:
    """The request with what "auto" stands for, and why."""
    if "auto" not in request.algorithms:
        return request, ()
    advice = recommend_algorithms(graph, request)
    named = [name for name in request.algorithms if name != "auto"]
    return replace(request, algorithms=tuple(dict.fromkeys([*named, *advice.algorithms]))), advice.reasons


def _list_left_out(request: QuantizationRequest) -> list[str]:
    """What cannot be done without samples: equalization alone looks at weights only."""
    return [f"{name}: left out, it needs samples" for name in request.algorithms if name != "cle"]


def _calibrate(
    graph: Graph,
    request: QuantizationRequest,
    pins: Mapping[str, Pin],
    samples: Samples,
    executor: Executor,
) -> PlannedGraph:
    """Ranges as the scheme chooses them, after weights and before biases."""
    work, fitted, notes = graph, dict[str, Pin](), list[str]()
    if any(name in request.algorithms for name in LAYERWISE):
        work, fitted, notes = fit_weights(graph, request, pins, samples, Judge(graph, samples, executor))
    settled = {**pins, **fitted}
    groups = Groups(work, request, settled)
    statistics = observe_activations(work, groups, request, samples, executor)
    plan = assign_encodings(work, groups, request, settled, statistics)
    if "bc" in request.algorithms:
        work, changed = correct_biases(work, plan, measure_input_means(work, samples, executor))
        notes.append(f"bc: corrected {len(changed)} biases")
        plan = assign_encodings(work, groups, request, settled, statistics)
    return PlannedGraph(graph, work, plan, notes)


def _prepare_graph(
    graph: Graph,
    request: QuantizationRequest,
    pins: Mapping[str, Pin],
    samples: Samples | None,
    executor: Executor | None,
) -> tuple[Graph, list[str]]:
    """The graph after what is done before anything is measured, and what was done."""
    notes: list[str] = []
    work = graph
    if "cle" in request.algorithms and samples is not None and executor is not None:
        work, notes = _equalize(graph, request, pins, samples, executor)
    elif "cle" in request.algorithms:
        work, equalization = equalize(graph)
        notes = equalization.list_notes()
    if "smooth" in request.algorithms and samples is not None and executor is not None:
        work, balance_notes = balance_graph(work, request, pins, samples, Judge(work, samples, executor))
        notes += balance_notes
    if any(name in request.algorithms for name in ("bc", "adaround")):
        work = with_biases(work)
    return work, notes


def _equalize(
    graph: Graph,
    request: QuantizationRequest,
    pins: Mapping[str, Pin],
    samples: Samples,
    executor: Executor,
) -> tuple[Graph, list[str]]:
    """The equalized graph, unless the samples show that it does harm.

    Weights gain by it, but channels of activations may reach less equally far than before.
    """
    work, equalization = equalize(
        graph, lambda twin, values: measure_channel_reach(twin, values, samples, executor)
    )
    if equalization.chains:
        judge = Judge(graph, samples, executor)
        gain = judge.measure_noise_at_once(graph, request, pins) - judge.measure_noise_at_once(
            work, request, pins
        )
        if gain < WORTH_DB:
            return graph, [f"cle: left out, it gains {gain:.1f} dB on {len(judge.feeds)} samples"]
    return work, equalization.list_notes()


def observe_activations(
    graph: Graph, groups: Groups, request: QuantizationRequest, samples: Samples, executor: Executor
) -> Statistics:
    """The statistics that the scheme of the activations needs: one pass, or two."""
    extremes = observe_extremes(graph, groups.list_observed(), samples, executor)
    if not request.act_scheme.needs_histogram:
        return extremes
    return observe_histograms(graph, extremes, samples, executor)
