"""Tries ways to choose ranges and keeps what comes closest to the float model on samples held apart.

No scheme is best for every network: outliers decide in one and disturb in the next. Each is judged by what it
does to the outputs, on samples that ranges were not chosen from: data to come does not keep to them either.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply_plan
from edgewright.quantize.assign import Plan, assign_encodings
from edgewright.quantize.calibrate import observe_extremes, observe_histograms
from edgewright.quantize.groups import Groups
from edgewright.quantize.judge import Judge
from edgewright.quantize.noise import Noise
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.pins import Origin, Pin
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles
from edgewright.quantize.schemes import Mse, Percentile, Scheme
from edgewright.quantize.spans import Statistics
from edgewright.quantize.tails import Tails, extend_ranges
from edgewright.quantize.weights.bias_correction import correct_biases, measure_input_means

SCHEMES: dict[str, Scheme] = {"mse": Mse(), "percentile": Percentile()}
# Stretches of the graph that choose for themselves.
STRETCHES = 4
# Elements that must have been seen before any of them counts as rare enough to be cut off.
FEWEST = 1 << 15


@dataclass(frozen=True)
class Choice:
    """A scheme for each stretch of the graph, one for weights, and whether biases are corrected."""

    ranges: tuple[str, ...]
    weights: str = "min-max"
    is_corrected: bool = False


_Attempt = Callable[[Choice], list[Choice]]


class RangeSearch:
    """Ranges of a graph by several schemes, of which one is chosen for each stretch of it.

    Args:
        graph: the float graph, as algorithms left it.
        request: how it is quantized.
        pins: what is settled already.
        judge: its samples held apart choose.
    """

    def __init__(
        self, graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], judge: Judge
    ) -> None:
        self._graph, self._pins, self._judge = graph, pins, judge
        # Ranges are chosen here: what the plan gets covers just what it shall.
        self._request = replace(request, act_quantizer="tf")
        self._groups = Groups(graph, request, pins)
        self._few, self._all = self._choose_ranges()
        self.choice = Choice((next(iter(self._few)),) * STRETCHES)

    def find_best(self) -> Noise:
        """Tries one thing after the other: schemes, weights, biases, then stretch by stretch."""
        names = list(self._few)
        least = self.measure_noise(self.choice)
        with announce_progress("trying ranges") as step:
            for attempt in _list_attempts(names):
                for tried in attempt(self.choice):
                    if tried != self.choice:
                        noise = self.measure_noise(tried)
                        if noise.measure_gain(least).is_worth():
                            self.choice, least = tried, noise
                    step()
        return least

    def measure_noise(self, choice: Choice) -> Noise:
        """The noise of a choice, for samples that ranges were not chosen from."""
        return self._judge.measure_noise(apply_plan(*self._plan(choice, self._few)))

    def make_plan(self, *, is_final: bool) -> tuple[Graph, Plan]:
        """The graph with its biases and the plan; the final one takes all samples into account."""
        return self._plan(self.choice, self._all if is_final else self._few)

    def describe(self) -> str:
        """What was chosen."""
        return f"search: {_describe_choice(self.choice)}"

    def _plan(self, choice: Choice, ranges_by_scheme: "_Ranges") -> tuple[Graph, Plan]:
        pins = {**self._weights, **self._pins} if choice.weights != "min-max" else self._pins
        ranges = self._select_ranges(choice, ranges_by_scheme)
        plan = assign_encodings(self._graph, self._groups, self._request, pins, ranges)
        if not choice.is_corrected:
            return self._graph, plan
        graph, _ = correct_biases(self._graph, plan, self._means)
        return graph, assign_encodings(graph, self._groups, self._request, pins, ranges)

    def _select_ranges(self, choice: Choice, ranges: "_Ranges") -> Statistics:
        """The ranges of the chosen schemes, each in its stretch."""
        values = list(next(iter(ranges.values())))
        size = -(-len(values) // STRETCHES)
        return {v: ranges[choice.ranges[place // size]][v] for place, v in enumerate(values)}

    def _choose_ranges(self) -> "tuple[_Ranges, _Ranges]":
        """Ranges by scheme: from the samples that do not judge, and from all."""
        graph, values, tails = self._graph, self._groups.list_observed(), Tails()
        samples, judges, executor = self._judge.fitting, self._judge.feeds, self._judge.executor
        few = observe_extremes(graph, values, samples, executor, tails.add)
        reached = [extend_ranges(graph, self._groups, few, tails)]
        others = observe_extremes(graph, values, judges, executor, tails.add)
        every = {value: extremes.merge(others[value]) for value, extremes in few.items()}
        reached.append(extend_ranges(graph, self._groups, every, tails))
        if self._request.act_bw > 8 or not every:
            pairs = zip(reached, (few, every), strict=True)
            wide, plain = ({"roomy": beyond, "min-max": extremes} for beyond, extremes in pairs)
            return wide, plain
        counted = observe_histograms(graph, every, samples, executor)
        rest = observe_histograms(graph, every, judges, executor)
        parts = {v: replace(histogram, extremes=few[v]) for v, histogram in counted.items()}
        whole = {v: replace(h, counts=h.counts + rest[v].counts) for v, h in counted.items()}
        return self._choose_by_schemes(parts, reached[0]), self._choose_by_schemes(whole, reached[1])

    def _choose_by_schemes(
        self, histograms: Mapping[str, Histogram], reached: dict[str, Extremes]
    ) -> "_Ranges":
        """Ranges by scheme; of few elements, none can tell which are rare."""
        kept = {
            v: reached[v]
            for v, h in histograms.items()
            if h.counts.sum() < FEWEST or v in self._graph.outputs
        }
        chosen = {
            name: {**self._choose_by_scheme(histograms, scheme), **kept} for name, scheme in SCHEMES.items()
        }
        return {"min-max": reached, **chosen}

    def _choose_by_scheme(self, histograms: Mapping[str, Histogram], scheme: Scheme) -> dict[str, Extremes]:
        grid = self._request.make_act_grid(self._request.act_bw)
        kept = scheme.choose_ranges(Histogram.stack(list(histograms.values())), grid)
        pairs = zip(kept.low.tolist(), kept.high.tolist(), strict=True)
        return {value: Extremes.from_bounds(*pair) for value, pair in zip(histograms, pairs, strict=True)}

    @cached_property
    def _means(self) -> dict[str, Array]:
        return measure_input_means(self._graph, self._judge.fitting, self._judge.executor)

    @cached_property
    def _weights(self) -> dict[str, Pin]:
        """Weights whose ranges have the smallest error, searched once."""
        request = replace(self._request, param_quantizer="mse")
        plan = assign_encodings(self._graph, self._groups, request, self._pins, self._seen_first())
        pins: dict[str, Pin] = {}
        for node in self._graph.nodes:
            for place in find_roles(self._graph, node).weights:
                placed, value = plan.reads.get((node.name, place)), node.inputs[place]
                if placed is not None and placed.encoding is not None and self._is_read_once(value):
                    pins[value] = Pin(placed.encoding.bitwidth, placed, Origin.WEIGHTS)
        return pins

    def _seen_first(self) -> Statistics:
        return next(iter(self._few.values()))

    def _is_read_once(self, value: str) -> bool:
        return len(self._graph.consumers(value)) == 1


_Ranges = dict[str, dict[str, Extremes]]


def _list_attempts(names: Sequence[str]) -> list[_Attempt]:
    whole: list[_Attempt] = [lambda best: [replace(best, ranges=(name,) * STRETCHES) for name in names]]
    weights: list[_Attempt] = [
        lambda best: [replace(best, weights="mse")],
        lambda best: [replace(best, is_corrected=True)],
    ]
    parts = [_vary_stretch(place, names) for place in reversed(range(STRETCHES))] if len(names) > 1 else []
    return [*whole, *weights, *parts]


def _vary_stretch(place: int, names: Sequence[str]) -> _Attempt:
    def list_choices(best: Choice) -> list[Choice]:
        return [
            replace(best, ranges=(*best.ranges[:place], name, *best.ranges[place + 1 :])) for name in names
        ]

    return list_choices


def _describe_choice(choice: Choice) -> str:
    kinds = list(dict.fromkeys(choice.ranges))
    ranges = kinds[0] if len(kinds) == 1 else f"{', '.join(choice.ranges)} from end to end"
    biases = ", corrected biases" if choice.is_corrected else ""
    return f"ranges {ranges}, weights {choice.weights}{biases}"
