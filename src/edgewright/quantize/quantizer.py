"""The whole way: from a float graph, samples and wishes to a fixed-point graph and a report."""

from dataclasses import dataclass

from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply
from edgewright.quantize.assign import assign
from edgewright.quantize.calibrate import check_constants, observe_extremes, observe_histograms
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups, is_real
from edgewright.quantize.overrides import Resolved
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.settings import Settings
from edgewright.quantize.spans import Seen

__all__ = ["Quantized", "observe", "quantize_graph"]


@dataclass(frozen=True)
class Quantized:
    """A graph in fixed point, and what was done."""

    graph: Graph
    report: QuantizationReport


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
    check_constants(graph, [v for v in graph.constants if is_real(graph, v) and graph.consumers(v)])
    groups = Groups(graph, settings, given.pins)
    seen = None
    if samples is not None and executor is not None:
        seen = observe(graph, groups, settings, samples, executor)
    plan = assign(graph, groups, settings, given.pins, seen)
    plan.report.ignored += given.ignored
    return Quantized(apply(graph, plan), plan.report)


def observe(graph: Graph, groups: Groups, settings: Settings, samples: Samples, executor: Executor) -> Seen:
    """The statistics that the scheme of the activations needs: one pass, or two."""
    extremes = observe_extremes(graph, groups.observed(), samples, executor)
    if not settings.act_scheme.needs_histogram:
        return extremes
    return observe_histograms(graph, extremes, samples, executor)
