"""The one way to quantize: from a float graph, a request and samples to a fixed-point graph and a report."""

from collections.abc import Mapping
from dataclasses import replace

from edgewright.ir.graph import Graph
from edgewright.passes.htp.bound_masks import bound_masks
from edgewright.passes.htp.fuse_gelus import fuse_gelus
from edgewright.quantize.apply import apply_plan
from edgewright.quantize.assign import Plan, assign_encodings
from edgewright.quantize.attempts import PlannedGraph, choose_algorithms
from edgewright.quantize.calibrate import check_constants
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups, is_real
from edgewright.quantize.judge import Judge
from edgewright.quantize.mixed.wide_values import widen_values
from edgewright.quantize.overrides import KnownEncodings
from edgewright.quantize.pins import Pin
from edgewright.quantize.quantized_graph import QuantizedGraph
from edgewright.quantize.ranges import plan_by_scheme
from edgewright.quantize.recommended import recommend_algorithms
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles
from edgewright.quantize.weights.cle import equalize
from edgewright.quantize.wide_products import widen_products


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
    work, changes = _prepare_graph(graph, pins)
    judge = None if samples is None or executor is None else Judge(work, samples, executor)
    planned = _plan_graph(work, settled, pins, judge)
    report = planned.plan.report
    report.ignored += resolved.ignored
    report.notes += [*advice, *planned.notes, *changes]
    report.notes[:0] = request.list_notes()
    made = _make_graph(planned, (planned.graph, planned.plan), settled, resolved.pins)
    if judge is None:
        return made
    if planned.apart is not None:
        made = widen_values(made, _make_graph(planned, planned.apart, settled, resolved.pins), judge)
    made.report.passes = judge.executor.passes
    return made


def _make_graph(
    planned: PlannedGraph,
    final: tuple[Graph, Plan],
    request: QuantizationRequest,
    pins: Mapping[str, Pin],
) -> QuantizedGraph:
    graph, plan = final
    is_corrected = graph is not planned.source
    return QuantizedGraph(apply_plan(graph, plan), plan.report, planned.source, is_corrected, request, pins)


def _prepare_graph(graph: Graph, pins: Mapping[str, Pin]) -> tuple[Graph, list[str]]:
    """The graph with masks and Gelus that have steps, and what is said of it.

    Nothing comes through the softmax behind a mask either way.
    """
    work = graph.copy()
    masks, gelus = bound_masks(work), fuse_gelus(work, pins)
    note = f"gelu: {gelus} written out with tanh or sigmoid became one op each, at most 0.0005 from them"
    return work if masks or gelus else graph, [note] if gelus else []


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


def _plan_graph(
    graph: Graph,
    request: QuantizationRequest,
    pins: Mapping[str, Pin],
    judge: Judge | None,
) -> PlannedGraph:
    """The graph after all algorithms, and its plan."""
    if judge is None:
        return _plan_without_samples(graph, request, pins)
    if request.is_searched or request.algorithms:
        return choose_algorithms(graph, request, pins, judge)
    _, plan = plan_by_scheme(graph, request, pins, judge.samples, judge.executor)
    return PlannedGraph(graph, graph, plan, [])


def _plan_without_samples(
    graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin]
) -> PlannedGraph:
    """Known encodings alone; equalization needs no more than weights."""
    work, notes = graph, list[str]()
    if "cle" in request.algorithms:
        work, equalization = equalize(graph)
        notes = equalization.list_notes()
    plan = assign_encodings(work, Groups(work, request, pins), request, pins, None)
    return PlannedGraph(work, work, plan, [*notes, *_list_left_out(request)])


def _list_left_out(request: QuantizationRequest) -> list[str]:
    """What cannot be done without samples: equalization alone looks at weights only."""
    return [f"{name}: left out, it needs samples" for name in request.algorithms if name != "cle"]
