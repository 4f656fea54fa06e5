"""Tries ways to choose ranges and keeps what comes closest to the float model on samples held back.

No scheme is best for every network: outliers decide in one and disturb in the next. Each is judged by what it
does to the outputs, on samples that ranges were not chosen from: data to come does not keep to them either.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgewright.core.events import announce_progress
from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply_plan
from edgewright.quantize.assign import Plan, assign_encodings
from edgewright.quantize.calibrate import observe_extremes, observe_histograms
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups
from edgewright.quantize.judge import Judge, Part
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.pins import Origin, Pin
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles
from edgewright.quantize.schemes import Mse, Percentile, Scheme
from edgewright.quantize.spans import Statistics
from edgewright.quantize.tails import Tails
from edgewright.quantize.weights.bias_correction import correct_biases, measure_input_means, with_biases
from edgewright.quantize.weights.even_channels import (
    even_channels,
    list_values_before_depthwise,
    measure_channel_reach,
)
from edgewright.quantize.weights.gates import list_values_before_gates, split_gates
from edgewright.quantize.weights.layerwise import fit_weights

SCHEMES: dict[str, Scheme] = {"mse": Mse(), "percentile": Percentile()}
# Stretches of the graph that choose for themselves.
STRETCHES = 4
# A choice must be better by this much in dB: less is luck.
BETTER_DB = 0.25
# Elements that must have been seen before any of them counts as rare enough to be cut off.
FEWEST = 1 << 15
# 16 bits have steps to spare for other data than the samples.
HEADROOM = {16: 2.0}
# What ops that are added must gain.
WORTH_OPS_DB = 1.0


@dataclass(frozen=True)
class _Choice:
    """A scheme for each stretch of the graph, one for weights, and whether biases are corrected."""

    ranges: tuple[str, ...]
    weights: str = "min-max"
    is_corrected: bool = False


_Attempt = Callable[[_Choice], list[_Choice]]


@dataclass(frozen=True)
class PlannedGraph:
    """The graph to rewrite, before and after what goes with the plan was done to it, the plan, and notes."""

    source: Graph
    graph: Graph
    plan: Plan
    notes: list[str]


def search_ranges(
    graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], samples: Samples, executor: Executor
) -> PlannedGraph:
    """What was found best for the graph."""
    work = with_biases(graph)
    notes: list[str] = []
    judge = Judge(work, samples, executor)
    if request.act_bw == 8 and request.per_channel:
        work, notes = _with_even_channels(work, request, pins, samples, judge)
    rounded, fitted, fit_notes = fit_weights(work, request, pins, samples, judge)
    notes += fit_notes
    search = _Search(rounded, request, {**pins, **fitted}, samples, judge)
    choice, decibels = search.find_best()
    final, plan = search.make_plan(choice)
    notes.append(f"search: {_describe_choice(choice)}; {-decibels:.1f} dB on {len(judge.feeds)} samples")
    # Where no bias was corrected and no weight fitted, both are the same graph.
    return PlannedGraph(work, final, plan, notes)


def _with_even_channels(
    graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], samples: Samples, judge: Judge
) -> tuple[Graph, list[str]]:
    before, inside = list_values_before_depthwise(graph, pins), list_values_before_gates(graph, pins)
    reach = measure_channel_reach(graph, [*before, *inside], samples, judge.executor)
    work, count = even_channels(graph, {value: reach[value] for value in before})
    notes = [f"search: evened the channels before {count} depthwise convolutions"] if count else []
    if not inside:
        return work, notes
    apart, count = split_gates(work, {value: reach[value] for value in inside})
    gain = judge.measure_noise_at_once(work, request, pins) - judge.measure_noise_at_once(
        apart, request, pins
    )
    if gain < WORTH_OPS_DB:
        return work, notes
    return apart, [
        *notes,
        f"search: took {count} HardSwish apart to even their channels, {gain:.1f} dB better",
    ]


class _Search:
    def __init__(
        self,
        graph: Graph,
        request: QuantizationRequest,
        pins: Mapping[str, Pin],
        samples: Samples,
        judge: Judge,
    ) -> None:
        self._graph, self._pins, self._judge = graph, pins, judge
        # Ranges are chosen here: what the plan gets covers just what it shall.
        self._request = replace(request, act_quantizer="tf")
        self._groups = Groups(graph, request, pins)
        self._few, self._all = self._choose_ranges(Part(samples, is_judging=False))
        self._means = measure_input_means(graph, samples, judge.executor)
        self._weights = self._search_weights()

    def find_best(self) -> tuple[_Choice, float]:
        """One thing after the other: schemes, weights, biases, then stretch by stretch."""
        names = list(self._few)
        best = _Choice((names[0],) * STRETCHES)
        lowest = self._measure_noise(best)
        with announce_progress("trying ranges") as step:
            for attempt in _list_attempts(names):
                for tried in attempt(best):
                    noise = lowest if tried == best else self._measure_noise(tried)
                    if noise < lowest - BETTER_DB:
                        best, lowest = tried, noise
                    step()
        return best, lowest

    def make_plan(self, choice: _Choice, *, is_final: bool = True) -> tuple[Graph, Plan]:
        """The graph with its biases and the plan; the final one takes all samples into account."""
        pins = {**self._weights, **self._pins} if choice.weights != "min-max" else self._pins
        ranges = self._select_ranges(choice, self._all if is_final else self._few)
        plan = assign_encodings(self._graph, self._groups, self._request, pins, ranges)
        if not choice.is_corrected:
            return self._graph, plan
        graph, _ = correct_biases(self._graph, plan, self._means)
        return graph, assign_encodings(graph, self._groups, self._request, pins, ranges)

    def _select_ranges(self, choice: _Choice, ranges: "_Ranges") -> Statistics:
        """The ranges of the chosen schemes, each in its stretch."""
        values = list(next(iter(ranges.values())))
        size = -(-len(values) // STRETCHES)
        return {v: ranges[choice.ranges[place // size]][v] for place, v in enumerate(values)}

    def _choose_ranges(self, samples: Samples) -> "tuple[_Ranges, _Ranges]":
        """Ranges by scheme: from the samples that do not judge, and from all."""
        graph, values, judges, tails = self._graph, self._groups.list_observed(), self._judge.feeds, Tails()
        executor = self._judge.executor
        few = observe_extremes(graph, values, samples, executor, tails.add)
        others = observe_extremes(graph, values, judges, executor, tails.add)
        every = {value: extremes.merge(others[value]) for value, extremes in few.items()}
        reached = [self._extend_ranges(extremes, tails) for extremes in (few, every)]
        if self._request.act_bw > 8 or not every:
            pairs = zip(reached, (few, every), strict=True)
            wide, plain = ({"roomy": beyond, "min-max": extremes} for beyond, extremes in pairs)
            return wide, plain
        counted = observe_histograms(graph, every, samples, executor)
        rest = observe_histograms(graph, every, judges, executor)
        parts = {v: replace(histogram, extremes=few[v]) for v, histogram in counted.items()}
        whole = {v: replace(h, counts=h.counts + rest[v].counts) for v, h in counted.items()}
        return self._choose_by_schemes(parts, reached[0]), self._choose_by_schemes(whole, reached[1])

    def _extend_ranges(self, extremes_by_value: Mapping[str, Extremes], tails: Tails) -> dict[str, Extremes]:
        """What was seen, and as far beyond as other data is expected to go."""
        extended = {}
        for value, extremes in extremes_by_value.items():
            bits, count = self._groups.find_bits(value), self._graph.types[value].count
            # A symbolic size is taken for small: that leaves the more room.
            elements = count if isinstance(count, int) else 1
            room = HEADROOM.get(bits, 1.0)
            wide = Extremes(extremes.low * room, extremes.high * room)
            extended[value] = tails.extend_range(value, extremes, elements, bits).merge(wide)
        return extended

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

    def _search_weights(self) -> dict[str, Pin]:
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
        return next(iter(self._all.values()))

    def _is_read_once(self, value: str) -> bool:
        return len(self._graph.consumers(value)) == 1

    def _measure_noise(self, choice: _Choice) -> float:
        return self._judge.measure_noise(apply_plan(*self.make_plan(choice, is_final=False)))


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
    def list_choices(best: _Choice) -> list[_Choice]:
        return [
            replace(best, ranges=(*best.ranges[:place], name, *best.ranges[place + 1 :])) for name in names
        ]

    return list_choices


def _describe_choice(choice: _Choice) -> str:
    kinds = list(dict.fromkeys(choice.ranges))
    ranges = kinds[0] if len(kinds) == 1 else f"{', '.join(choice.ranges)} from end to end"
    biases = ", corrected biases" if choice.is_corrected else ""
    return f"ranges {ranges}, weights {choice.weights}{biases}"
