"""The whole way: from a float graph, samples and wishes to a fixed-point graph and a report."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply
from edgewright.quantize.assign import assign
from edgewright.quantize.calibrate import check_constants, observe_extremes, observe_histograms
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups, is_real
from edgewright.quantize.judge import WORTH_DB, Judge
from edgewright.quantize.overrides import Resolved
from edgewright.quantize.pins import Pin
from edgewright.quantize.recommended import recommended
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.roles import roles_of
from edgewright.quantize.search import Found, searched
from edgewright.quantize.settings import Settings
from edgewright.quantize.spans import Seen
from edgewright.quantize.weights.balance import balanced
from edgewright.quantize.weights.bias_correction import corrected, input_means, with_biases
from edgewright.quantize.weights.cle import Equalization, equalize
from edgewright.quantize.weights.even_channels import channel_reach
from edgewright.quantize.weights.layerwise import LAYERWISE, fitted_weights

__all__ = ["Quantized", "observe", "quantize_graph"]


@dataclass(frozen=True)
class Quantized:
    """A graph in fixed point, and what was done."""

    graph: Graph
    report: QuantizationReport
    # The float graph as other corrections left it, and whether weights were fitted or biases corrected after.
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
    settings, advice = _advised(graph, settings)
    work, notes = _prepared(graph, settings, given.pins, samples, executor)
    if samples is None or executor is None:
        plan = assign(work, Groups(work, settings, given.pins), settings, given.pins, None)
        found = Found(work, work, plan, _without_samples(settings))
    else:
        way = searched if settings.is_searched else _calibrated
        found = way(work, settings, given.pins, samples, executor)
    report = found.plan.report
    report.ignored += given.ignored
    report.notes += [*advice, *notes, *found.notes]
    return Quantized(apply(found.graph, found.plan), report, found.source, found.graph is not found.source)


def _advised(graph: Graph, settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Settings that name what "auto" stands for, and why."""
    if "auto" not in settings.algorithms:
        return settings, ()
    advice = recommended(graph, settings)
    named = [name for name in settings.algorithms if name != "auto"]
    return replace(settings, algorithms=tuple(dict.fromkeys([*named, *advice.algorithms]))), advice.reasons


def _without_samples(settings: Settings) -> list[str]:
    """What cannot be done: equalization alone looks at weights only."""
    return [f"{name}: left out, it needs samples" for name in settings.algorithms if name != "cle"]


def _calibrated(
    graph: Graph, settings: Settings, pins: Mapping[str, Pin], samples: Samples, executor: Executor
) -> Found:
    """Ranges as the scheme chooses them, after weights and before biases."""
    work, fitted, notes = graph, dict[str, Pin](), list[str]()
    if any(name in settings.algorithms for name in LAYERWISE):
        work, fitted, notes = fitted_weights(graph, settings, pins, samples, Judge(graph, samples, executor))
    known = {**pins, **fitted}
    groups = Groups(work, settings, known)
    seen = observe(work, groups, settings, samples, executor)
    plan = assign(work, groups, settings, known, seen)
    if "bc" in settings.algorithms:
        work, changed = corrected(work, plan, input_means(work, samples, executor))
        notes.append(f"bc: corrected {len(changed)} biases")
        plan = assign(work, groups, settings, known, seen)
    return Found(graph, work, plan, notes)


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
    if "smooth" in settings.algorithms and samples is not None and executor is not None:
        work, said = balanced(work, settings, pins, samples, Judge(work, samples, executor))
        notes += said
    if any(name in settings.algorithms for name in ("bc", "adaround")):
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
