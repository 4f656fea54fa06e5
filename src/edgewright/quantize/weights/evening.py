"""Even channels before depthwise convolutions, where samples held apart do not lose by it."""

from collections.abc import Mapping

from edgewright.ir.graph import Graph
from edgewright.quantize.judge import Judge
from edgewright.quantize.noise import Gain, Noise
from edgewright.quantize.pins import Pin
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.weights.even_channels import (
    even_channels,
    list_values_before_depthwise,
    measure_channel_reach,
)
from edgewright.quantize.weights.gates import list_values_before_gates, split_gates

# What ops that are added must gain.
WORTH_OPS_DB = 1.0


class Evening:
    """Decides at its first graph what is done, and does the same to others: those differ in weights only."""

    def __init__(self, request: QuantizationRequest, pins: Mapping[str, Pin], judge: Judge) -> None:
        self._request, self._pins, self._judge = request, pins, judge
        self._is_possible = request.act_bw == 8 and request.per_channel
        self._is_even: bool | None = None
        self._gates: Gain | None = None

    def apply(self, graph: Graph) -> tuple[Graph, list[str]]:
        """The graph with even channels, and what was done."""
        if not self._is_possible:
            return graph, []
        before, inside = (
            list_values_before_depthwise(graph, self._pins),
            list_values_before_gates(graph, self._pins),
        )
        reach = measure_channel_reach(graph, [*before, *inside], self._judge.rough, self._judge.executor)
        even, count = even_channels(graph, {value: reach[value] for value in before})
        work, notes = graph, list[str]()
        if count and self._has_even(graph, even):
            work = even
            notes.append(f"search: evened the channels before {count} depthwise convolutions")
        if not inside:
            return work, notes
        apart, count = split_gates(work, {value: reach[value] for value in inside})
        gain = self._measure_gates(work, apart)
        if not gain.is_worth(WORTH_OPS_DB):
            return work, notes
        text = f"search: took {count} HardSwish apart to even their channels, {gain.describe()} better"
        return apart, [*notes, text]

    def _has_even(self, graph: Graph, even: Graph) -> bool:
        if self._is_even is None:
            gain = self._measure_noise(even).measure_gain(self._measure_noise(graph))
            self._is_even = gain.decibels >= 0
        return self._is_even

    def _measure_gates(self, graph: Graph, apart: Graph) -> Gain:
        if self._gates is None:
            self._gates = self._measure_noise(apart).measure_gain(self._measure_noise(graph))
        return self._gates

    def _measure_noise(self, graph: Graph) -> Noise:
        return self._judge.measure_plain_noise(graph, self._request, self._pins)
