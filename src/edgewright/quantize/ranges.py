"""Ranges of a graph as one scheme chooses them."""

from collections.abc import Mapping
from typing import Protocol

from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply_plan
from edgewright.quantize.assign import Plan, assign_encodings
from edgewright.quantize.calibrate import observe_extremes, observe_histograms
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups
from edgewright.quantize.judge import Judge
from edgewright.quantize.noise import Noise
from edgewright.quantize.pins import Pin
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.spans import Statistics
from edgewright.quantize.weights.bias_correction import correct_biases, measure_input_means


class Ranges(Protocol):
    """Makes the plan of a graph."""

    def find_best(self) -> Noise:
        """Settles what is open; the noise of the plan for samples held apart."""
        ...

    def make_plan(self, *, is_final: bool) -> tuple[Graph, Plan]:
        """The graph with its biases and the plan; the final one takes all samples into account."""
        ...

    def describe(self) -> str:
        """What was chosen; nothing where there was no choice."""
        ...


class SchemeRanges:
    """Ranges of the scheme that was asked for."""

    def __init__(
        self, graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], judge: Judge
    ) -> None:
        self._graph, self._request, self._pins, self._judge = graph, request, pins, judge
        # Biases that were changed.
        self.corrected = 0

    def find_best(self) -> Noise:
        """The noise for samples held apart: there is nothing open."""
        return self._judge.measure_noise(apply_plan(*self.make_plan(is_final=False)))

    def make_plan(self, *, is_final: bool) -> tuple[Graph, Plan]:
        """The graph with its biases and the plan."""
        samples = self._judge.samples if is_final else self._judge.fitting
        graph, plan = plan_by_scheme(self._graph, self._request, self._pins, samples, self._judge.executor)
        self.corrected = sum(
            array is not graph.constants.get(name) for name, array in self._graph.constants.items()
        )
        return graph, plan

    def describe(self) -> str:
        """Nothing was chosen."""
        return ""


def plan_by_scheme(
    graph: Graph,
    request: QuantizationRequest,
    pins: Mapping[str, Pin],
    samples: Samples,
    executor: Executor,
) -> tuple[Graph, Plan]:
    """The plan that the scheme of a request makes, and the graph with biases corrected where asked for."""
    groups = Groups(graph, request, pins)
    statistics = observe_activations(graph, groups, request, samples, executor)
    plan = assign_encodings(graph, groups, request, pins, statistics)
    if "bc" not in request.algorithms:
        return graph, plan
    corrected, _ = correct_biases(graph, plan, measure_input_means(graph, samples, executor))
    return corrected, assign_encodings(corrected, groups, request, pins, statistics)


def observe_activations(
    graph: Graph, groups: Groups, request: QuantizationRequest, samples: Samples, executor: Executor
) -> Statistics:
    """The statistics that the scheme of the activations needs: one pass, or two."""
    extremes = observe_extremes(graph, groups.list_observed(), samples, executor)
    if not request.act_scheme.needs_histogram:
        return extremes
    return observe_histograms(graph, extremes, samples, executor)
