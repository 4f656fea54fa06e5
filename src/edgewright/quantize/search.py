"""Tries ways to choose ranges and keeps what comes closest to the float model on samples held back.

No scheme is best for every network: outliers decide in one and disturb in the next. Each is judged by what it
does to the outputs, on samples that ranges were not chosen from: data to come does not keep to them either.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgewright.core.events import announce_progress
from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply
from edgewright.quantize.assign import Plan, assign
from edgewright.quantize.calibrate import observe_extremes, observe_histograms
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups
from edgewright.quantize.judge import Judge, Part
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.pins import Origin, Pin
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import roles_of
from edgewright.quantize.schemes import Mse, Percentile, Scheme
from edgewright.quantize.spans import Seen
from edgewright.quantize.tails import Tails
from edgewright.quantize.weights.bias_correction import corrected, input_means, with_biases
from edgewright.quantize.weights.even_channels import channel_reach, evened, values_before_depthwise
from edgewright.quantize.weights.gates import gated, values_before_gates
from edgewright.quantize.weights.layerwise import fitted_weights

__all__ = ["Found", "searched"]

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
class Found:
    """The graph to rewrite, before and after what goes with the plan was done to it, the plan, and notes."""

    source: Graph
    graph: Graph
    plan: Plan
    notes: list[str]


def searched(
    graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], samples: Samples, executor: Executor
) -> Found:
    """What was found best for the graph."""
    work = with_biases(graph)
    notes: list[str] = []
    judge = Judge(work, samples, executor)
    if request.act_bw == 8 and request.per_channel:
        work, notes = _with_even_channels(work, request, pins, samples, judge)
    rounded, fitted, done = fitted_weights(work, request, pins, samples, judge)
    notes += done
    search = _Search(rounded, request, {**pins, **fitted}, samples, judge)
    choice, decibels = search.best()
    final, plan = search.planned(choice)
    notes.append(f"search: {_described(choice)}; {-decibels:.1f} dB on {len(judge.feeds)} samples")
    # Where no bias was corrected and no weight fitted, both are the same graph.
    return Found(work, final, plan, notes)


def _with_even_channels(
    graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], samples: Samples, judge: Judge
) -> tuple[Graph, list[str]]:
    before, inside = values_before_depthwise(graph, pins), values_before_gates(graph, pins)
    reach = channel_reach(graph, [*before, *inside], samples, judge.executor)
    work, count = evened(graph, {value: reach[value] for value in before})
    notes = [f"search: evened the channels before {count} depthwise convolutions"] if count else []
    if not inside:
        return work, notes
    apart, count = gated(work, {value: reach[value] for value in inside})
    gain = judge.noise_at_once(work, request, pins) - judge.noise_at_once(apart, request, pins)
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
        self._few, self._all = self._chosen(Part(samples, is_judging=False))
        self._means = input_means(graph, samples, judge.executor)
        self._weights = self._searched_weights()

    def best(self) -> tuple[_Choice, float]:
        """One thing after the other: schemes, weights, biases, then stretch by stretch."""
        names = list(self._few)
        best = _Choice((names[0],) * STRETCHES)
        lowest = self._judged(best)
        with announce_progress("trying ranges") as step:
            for attempt in _attempts(names):
                for tried in attempt(best):
                    noise = lowest if tried == best else self._judged(tried)
                    if noise < lowest - BETTER_DB:
                        best, lowest = tried, noise
                    step()
        return best, lowest

    def planned(self, choice: _Choice, *, is_final: bool = True) -> tuple[Graph, Plan]:
        """The graph with its biases and the plan; the final one takes all samples into account."""
        pins = {**self._weights, **self._pins} if choice.weights != "min-max" else self._pins
        seen = self._seen(choice, self._all if is_final else self._few)
        plan = assign(self._graph, self._groups, self._request, pins, seen)
        if not choice.is_corrected:
            return self._graph, plan
        graph, _ = corrected(self._graph, plan, self._means)
        return graph, assign(graph, self._groups, self._request, pins, seen)

    def _seen(self, choice: _Choice, ranges: "_Ranges") -> Seen:
        """The ranges of the chosen schemes, each in its stretch."""
        values = list(next(iter(ranges.values())))
        size = -(-len(values) // STRETCHES)
        return {v: ranges[choice.ranges[place // size]][v] for place, v in enumerate(values)}

    def _chosen(self, samples: Samples) -> "tuple[_Ranges, _Ranges]":
        """Ranges by scheme: from the samples that do not judge, and from all."""
        graph, values, judges, tails = self._graph, self._groups.observed(), self._judge.feeds, Tails()
        executor = self._judge.executor
        few = observe_extremes(graph, values, samples, executor, tails.add)
        others = observe_extremes(graph, values, judges, executor, tails.add)
        every = {value: extremes.merged(others[value]) for value, extremes in few.items()}
        reached = [self._beyond(seen, tails) for seen in (few, every)]
        if self._request.act_bw > 8 or not every:
            pairs = zip(reached, (few, every), strict=True)
            wide, plain = ({"roomy": beyond, "min-max": seen} for beyond, seen in pairs)
            return wide, plain
        counted = observe_histograms(graph, every, samples, executor)
        rest = observe_histograms(graph, every, judges, executor)
        parts = {v: replace(histogram, extremes=few[v]) for v, histogram in counted.items()}
        whole = {v: replace(h, counts=h.counts + rest[v].counts) for v, h in counted.items()}
        return self._by_schemes(parts, reached[0]), self._by_schemes(whole, reached[1])

    def _beyond(self, seen: Mapping[str, Extremes], tails: Tails) -> dict[str, Extremes]:
        """What was seen, and as far beyond as other data is expected to go."""
        found = {}
        for value, extremes in seen.items():
            bits, count = self._groups.bits(value), self._graph.types[value].count
            # A symbolic size is taken for small: that leaves the more room.
            elements = count if isinstance(count, int) else 1
            room = HEADROOM.get(bits, 1.0)
            wide = Extremes(extremes.low * room, extremes.high * room)
            found[value] = tails.beyond(value, extremes, elements, bits).merged(wide)
        return found

    def _by_schemes(self, seen: Mapping[str, Histogram], reached: dict[str, Extremes]) -> "_Ranges":
        """Ranges by scheme; of few elements, none can tell which are rare."""
        kept = {v: reached[v] for v, h in seen.items() if h.counts.sum() < FEWEST or v in self._graph.outputs}
        chosen = {name: {**self._by_scheme(seen, scheme), **kept} for name, scheme in SCHEMES.items()}
        return {"min-max": reached, **chosen}

    def _by_scheme(self, seen: Mapping[str, Histogram], scheme: Scheme) -> dict[str, Extremes]:
        grid = self._request.act_grid(self._request.act_bw)
        kept = scheme.ranges(Histogram.stacked(list(seen.values())), grid)
        pairs = zip(kept.low.tolist(), kept.high.tolist(), strict=True)
        return {value: Extremes.between(*pair) for value, pair in zip(seen, pairs, strict=True)}

    def _searched_weights(self) -> dict[str, Pin]:
        """Weights whose ranges have the smallest error, searched once."""
        request = replace(self._request, param_quantizer="mse")
        plan = assign(self._graph, self._groups, request, self._pins, self._seen_first())
        found: dict[str, Pin] = {}
        for node in self._graph.nodes:
            for place in roles_of(self._graph, node).weights:
                placed, value = plan.reads.get((node.name, place)), node.inputs[place]
                if placed is not None and placed.encoding is not None and self._is_read_once(value):
                    found[value] = Pin(placed.encoding.bitwidth, placed, Origin.WEIGHTS)
        return found

    def _seen_first(self) -> Seen:
        return next(iter(self._all.values()))

    def _is_read_once(self, value: str) -> bool:
        return len(self._graph.consumers(value)) == 1

    def _judged(self, choice: _Choice) -> float:
        return self._judge.noise(apply(*self.planned(choice, is_final=False)))


_Ranges = dict[str, dict[str, Extremes]]


def _attempts(names: Sequence[str]) -> list[_Attempt]:
    whole: list[_Attempt] = [lambda best: [replace(best, ranges=(name,) * STRETCHES) for name in names]]
    weights: list[_Attempt] = [
        lambda best: [replace(best, weights="mse")],
        lambda best: [replace(best, is_corrected=True)],
    ]
    parts = [_in_stretch(place, names) for place in reversed(range(STRETCHES))] if len(names) > 1 else []
    return [*whole, *weights, *parts]


def _in_stretch(place: int, names: Sequence[str]) -> _Attempt:
    def others(best: _Choice) -> list[_Choice]:
        return [
            replace(best, ranges=(*best.ranges[:place], name, *best.ranges[place + 1 :])) for name in names
        ]

    return others


def _described(choice: _Choice) -> str:
    kinds = list(dict.fromkeys(choice.ranges))
    ranges = kinds[0] if len(kinds) == 1 else f"{', '.join(choice.ranges)} from end to end"
    biases = ", corrected biases" if choice.is_corrected else ""
    return f"ranges {ranges}, weights {choice.weights}{biases}"
