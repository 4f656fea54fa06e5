"""Tries ways to choose ranges and keeps what comes closest to the float model on samples held apart.

No scheme is best for every network: outliers decide in one and disturb in the next. Each is judged by what it
does to the outputs, on samples that ranges were not chosen from: data to come does not keep to them either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from edgewright.core.events import announce_progress
from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply_plan
from edgewright.quantize.assign import Plan, assign_encodings
from edgewright.quantize.groups import Groups
from edgewright.quantize.judge import Judge
from edgewright.quantize.noise import WORTH_DB, Noise
from edgewright.quantize.observed import ROOMY, Observed, RangesByScheme
from edgewright.quantize.pins import Origin, Pin
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles
from edgewright.quantize.spans import Statistics
from edgewright.quantize.weights.bias_correction import correct_biases

# Stretches of the graph that choose for themselves.
STRETCHES = 4
# What must be gained where ranges give up their room for data to come: what that costs, no sample shows.
ROOM_DB = 3.0


@dataclass(frozen=True)
class Choice:
    """A scheme for each stretch of the graph, one for weights, and whether biases are corrected."""

    ranges: tuple[str, ...]
    weights: str = "min-max"
    is_corrected: bool = False


class RangeSearch:
    """Ranges of a graph by several schemes, of which one is chosen for each stretch of it.

    Args:
        graph: the float graph, as algorithms left it.
        request: how it is quantized.
        pins: what is settled already.
        judge: its samples held apart choose.
        observed: what is known of the ranges: of this graph, or of one that differs in weights only.
    """

    def __init__(
        self,
        graph: Graph,
        request: QuantizationRequest,
        pins: Mapping[str, Pin],
        judge: Judge,
        observed: Observed | None = None,
    ) -> None:
        self._graph, self._pins, self._judge = graph, pins, judge
        # Ranges are chosen here: what the plan gets covers just what it shall.
        self._request = replace(request, act_quantizer="tf")
        self._groups = Groups(graph, request, pins)
        self.observed = observed or Observed(graph, self._request, self._groups, judge)
        self.choice = Choice((next(iter(self.observed.few)),) * STRETCHES)
        # What each scheme came to when it was chosen for all stretches.
        self.whole: dict[str, Noise] = {}

    def find_best(self) -> Noise:
        """Tries one thing after the other: schemes, weights, biases, then stretch by stretch."""
        return self.refine(self.find_whole())

    def find_whole(self) -> Noise:
        """Tries schemes for the whole graph, ranges of weights, corrected biases."""
        least = self.measure_noise(self.choice)
        self.whole[self.choice.ranges[0]] = least
        for name in self.observed.few:
            tried = replace(self.choice, ranges=(name,) * STRETCHES)
            if name not in self.whole:
                self.whole[name] = self.measure_noise(tried)
                least = self._take(tried, self.whole[name], least)
        least = self._try(replace(self.choice, weights="mse"), least)
        return self._try(replace(self.choice, is_corrected=True), least)

    def refine(self, least: Noise) -> Noise:
        """Tries the second best scheme in one stretch after the other, from the end."""
        others = [name for name in self.whole if name != self.choice.ranges[0]]
        if not others:
            return least
        second = max(others, key=lambda name: self.whole[name].sqnr_db)
        with announce_progress("trying ranges", total=STRETCHES) as step:
            for place in reversed(range(STRETCHES)):
                ranges = (*self.choice.ranges[:place], second, *self.choice.ranges[place + 1 :])
                least = self._try(replace(self.choice, ranges=ranges), least)
                step()
        return least

    def begin_with(self, other: "RangeSearch") -> Noise:
        """Takes over what another search chose; the noise that it makes here."""
        self.choice, self.whole = other.choice, other.whole
        return self.measure_noise(self.choice)

    def _try(self, tried: Choice, least: Noise) -> Noise:
        return least if tried == self.choice else self._take(tried, self.measure_noise(tried), least)

    def _take(self, tried: Choice, noise: Noise, least: Noise) -> Noise:
        """Keeps what gains; the noise of what is kept."""
        gain, worth = noise.measure_gain(least), ROOM_DB if self._is_tighter(tried) else WORTH_DB
        if not gain.is_worth(worth):
            return least
        self.choice = tried
        return noise

    def _is_tighter(self, tried: Choice) -> bool:
        """Whether a stretch loses its room for values beyond those that were seen."""
        pairs = zip(self.choice.ranges, tried.ranges, strict=True)
        return any(before == ROOMY != after for before, after in pairs)

    def measure_noise(self, choice: Choice) -> Noise:
        """The noise of a choice, for samples that ranges were not chosen from."""
        return self._judge.measure_noise(apply_plan(*self._plan(choice, self.observed.few)))

    def make_plan(self, *, is_final: bool) -> tuple[Graph, Plan]:
        """The graph with its biases and the plan; the final one takes all samples into account."""
        return self._plan(self.choice, self.observed.every if is_final else self.observed.few)

    def describe(self) -> str:
        """What was chosen."""
        return f"search: {_describe_choice(self.choice)}"

    def _plan(self, choice: Choice, ranges_by_scheme: RangesByScheme) -> tuple[Graph, Plan]:
        pins = {**self._weights, **self._pins} if choice.weights != "min-max" else self._pins
        ranges = self._select_ranges(choice, ranges_by_scheme)
        plan = assign_encodings(self._graph, self._groups, self._request, pins, ranges)
        if not choice.is_corrected:
            return self._graph, plan
        graph, _ = correct_biases(self._graph, plan, self.observed.means)
        return graph, assign_encodings(graph, self._groups, self._request, pins, ranges)

    def _select_ranges(self, choice: Choice, ranges: RangesByScheme) -> Statistics:
        """The ranges of the chosen schemes, each in its stretch."""
        values = list(next(iter(ranges.values())))
        size = -(-len(values) // STRETCHES)
        return {v: ranges[choice.ranges[place // size]][v] for place, v in enumerate(values)}

    @cached_property
    def _weights(self) -> dict[str, Pin]:
        """Weights whose ranges have the smallest error, searched once."""
        request = replace(self._request, param_quantizer="mse")
        plan = assign_encodings(self._graph, self._groups, request, self._pins, self.observed.get_plain())
        pins: dict[str, Pin] = {}
        for node in self._graph.nodes:
            for place in find_roles(self._graph, node).weights:
                placed, value = plan.reads.get((node.name, place)), node.inputs[place]
                if placed is not None and placed.encoding is not None and self._is_read_once(value):
                    pins[value] = Pin(placed.encoding.bitwidth, placed, Origin.WEIGHTS)
        return pins

    def _is_read_once(self, value: str) -> bool:
        return len(self._graph.consumers(value)) == 1


def _describe_choice(choice: Choice) -> str:
    kinds = list(dict.fromkeys(choice.ranges))
    ranges = kinds[0] if len(kinds) == 1 else f"{', '.join(choice.ranges)} from end to end"
    biases = ", corrected biases" if choice.is_corrected else ""
    return f"ranges {ranges}, weights {choice.weights}{biases}"
