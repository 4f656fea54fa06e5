"""The whole way: from a float graph, samples and wishes to a fixed-point graph and a report."""

from collections.abc import Mapping
from dataclasses import dataclass

from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply
from edgewright.quantize.assign import assign
from edgewright.quantize.calibrate import check_constants, observe_extremes, observe_histograms
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups, is_real
from edgewright.quantize.judge import Judge
from edgewright.quantize.overrides import Resolved
from edgewright.quantize.pins import Pin
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.roles import roles_of
from edgewright.quantize.search import searched
from edgewright.quantize.settings import Settings
from edgewright.quantize.spans import Seen
from edgewright.quantize.weights.bias_correction import corrected, input_means, with_biases
from edgewright.quantize.weights.cle import Equalization, equalize
from edgewright.quantize.weights.even_channels import channel_reach

__all__ = ["Quantized", "observe", "quantize_graph"]

# What equalization must gain on the samples: less is luck, and other data may lose by it.
WORTH_DB = 0.25


@dataclass(frozen=True)
class Quantized:
    """A graph in fixed point, and what was done."""

    graph: Graph
    report: QuantizationReport
    # The float graph as other corrections left it, and whether biases were corrected after them.
    source: Graph
    has_corrected_biases: bool = False


def quantize_graph(
    graph: Graph,
    settings: Settings,
    samples: Samples | None = None,
    executor: Executor | None = None,
    overrides: Resolved | None = None,
) -> Quantized:
    """Quantizes a graph; the given one is left as it is.

    With samples, whatever ``overrides`` do not say is calibrated on them by the executor. Without, it stays
    in floating point (float fallback).
    """
    given = overrides or Resolved()
    read = [value for value in graph.constants if is_real(graph, value) and graph.consumers(value)]
    weights = _weights(graph)
    check_constants(graph, [value for value in read if value in weights])
    check_constants(graph, read, is_infinity_allowed=True)
    work, notes = _prepared(graph, settings, given.pins, samples, executor)
    if settings.is_searched and samples is not None and executor is not None:
        found = searched(work, settings, given.pins, samples, executor)
        report = found.plan.report
        report.ignored += given.ignored
        report.notes += [*notes, *found.notes]
        is_corrected = found.graph is not found.source
        return Quantized(apply(found.graph, found.plan), report, found.source, is_corrected)
    groups = Groups(work, settings, given.pins)
    seen = None
    if samples is not None and executor is not None:
        seen = observe(work, groups, settings, samples, executor)
    plan = assign(work, groups, settings, given.pins, seen)
    source = work
    if "bc" in settings.algorithms and samples is not None and executor is not None:
        work, changed = corrected(work, plan, input_means(work, samples, executor))
        notes.append(f"bc: corrected {len(changed)} biases")
        plan = assign(work, groups, settings, given.pins, seen)
    plan.report.ignored += given.ignored
    plan.report.notes += notes
    return Quantized(apply(work, plan), plan.report, source, work is not source)


def _weights(graph: Graph) -> set[str]:
    """Weights and biases."""
    roles = {node: roles_of(graph, node) for node in graph.nodes}
    return {node.inputs[place] for node, found in roles.items() for place in found.weights | found.biases}


def _prepared(
    graph: Graph,
    settings: Settings,
    pins: Mapping[str, Pin],
    samples: Samples | None,
    executor: Executor | None,
) -> tuple[Graph, list[str]]:
    """The graph after what is done before anything is measured, and what was done."""
    notes: list[str] = []
    work = graph
    if "cle" in settings.algorithms and samples is not None and executor is not None:
        work, notes = _equalized(graph, settings, pins, samples, executor)
    elif "cle" in settings.algorithms:
        work, done = equalize(graph)
        notes = _said(done)
    if "bc" in settings.algorithms:
        work = with_biases(work)
    return work, notes


def _equalized(
    graph: Graph, settings: Settings, pins: Mapping[str, Pin], samples: Samples, executor: Executor
) -> tuple[Graph, list[str]]:
    """The equalized graph, unless the samples show that it does harm.

    Weights gain by it, but channels of activations may reach less equally far than before.
    """
    work, done = equalize(graph, lambda twin, values: channel_reach(twin, values, samples, executor))
    if done.chains:
        judge = Judge(graph, samples, executor)
        gain = judge.noise_at_once(graph, settings, pins) - judge.noise_at_once(work, settings, pins)
        if gain < WORTH_DB:
            return graph, [f"cle: left out, it gains {gain:.1f} dB on {len(judge.feeds)} samples"]
    return work, _said(done)


def _said(done: Equalization) -> list[str]:
    return [f"cle: {line}" for line in done.lines()]


def observe(graph: Graph, groups: Groups, settings: Settings, samples: Samples, executor: Executor) -> Seen:
    """The statistics that the scheme of the activations needs: one pass, or two."""
    extremes = observe_extremes(graph, groups.observed(), samples, executor)
    if not settings.act_scheme.needs_histogram:
        return extremes
    return observe_histograms(graph, extremes, samples, executor)
