"""Tries ways to choose ranges and keeps what comes closest to the float model on samples held back.

No scheme is best for every network: outliers decide in one and disturb in the next. Each is judged by what it
does to the outputs, on samples that ranges were not chosen from: data to come does not keep to them either.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgewright.core.events import progress
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply
from edgewright.quantize.assign import Plan, assign
from edgewright.quantize.calibrate import observe_extremes, observe_histograms
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups, is_real
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.pins import Origin, Pin
from edgewright.quantize.roles import roles_of
from edgewright.quantize.rules import UNIT, is_invariant
from edgewright.quantize.schemes import MinMax, Mse, Percentile, Scheme
from edgewright.quantize.settings import Settings
from edgewright.quantize.spans import Seen
from edgewright.quantize.weights.bias_correction import corrected, input_means, with_biases
from edgewright.quantize.weights.even_channels import channel_maxima, evened

__all__ = ["searched"]

SCHEMES: dict[str, Scheme] = {"min-max": MinMax(), "mse": Mse(), "percentile": Percentile()}
# Every so many-th sample judges, so many at most; and stretches of the graph that choose for themselves.
TURN, JUDGES = 4, 16
STRETCHES = 4
# A choice must be better by this much in dB: less is luck.
BETTER_DB = 0.25
# Ranges beyond what was seen: 16 bits have steps to spare for other data than the samples.
HEADROOM = {8: 1.25, 16: 2.0}


@dataclass(frozen=True)
class _Choice:
    """A scheme for each stretch of the graph, one for weights, and whether biases are corrected."""

    ranges: tuple[str, ...]
    weights: str = "min-max"
    is_corrected: bool = False


_Attempt = Callable[[_Choice], list[_Choice]]


def searched(
    graph: Graph, settings: Settings, pins: Mapping[str, Pin], samples: Samples, executor: Executor
) -> tuple[Graph, Plan, list[str]]:
    """The graph to rewrite, the plan that was found best for it, and what was done."""
    work, notes = with_biases(graph), []
    if settings.act_bits == 8 and settings.is_per_channel:
        work, count = evened(work, channel_maxima(work, samples, executor))
        notes += [f"search: evened the channels before {count} depthwise convolutions"] if count else []
    search = _Search(work, settings, pins, samples, executor)
    choice, decibels = search.best()
    graph, plan = search.planned(choice)
    notes.append(f"search: {_described(choice)}; {-decibels:.1f} dB on {search.judges} samples")
    return graph, plan, notes


class _Search:
    def __init__(
        self, graph: Graph, settings: Settings, pins: Mapping[str, Pin], samples: Samples, executor: Executor
    ) -> None:
        self._graph, self._pins, self._executor = graph, pins, executor
        # Ranges are chosen here: what the plan gets covers just what it shall.
        self._settings = replace(settings, act_scheme=MinMax())
        self._groups = Groups(graph, settings, pins)
        self._feeds = list(_Part(samples, is_judging=True))
        self._few, self._all = self._chosen(_Part(samples, is_judging=False))
        self._means = input_means(graph, samples, executor)
        self._judged_values = _judged_values(graph)
        self._float = self._outputs(graph)
        self._weights = self._searched_weights()

    @property
    def judges(self) -> int:
        return len(self._feeds)

    def best(self) -> tuple[_Choice, float]:
        """One thing after the other: schemes, weights, biases, then stretch by stretch."""
        names = list(self._few)
        best = _Choice((names[0],) * STRETCHES)
        lowest = self._judged(best)
        with progress("trying ranges") as step:
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
        plan = assign(self._graph, self._groups, self._settings, pins, seen)
        if not choice.is_corrected:
            return self._graph, plan
        graph, _ = corrected(self._graph, plan, self._means)
        return graph, assign(graph, self._groups, self._settings, pins, seen)

    def _seen(self, choice: _Choice, ranges: "_Ranges") -> Seen:
        """The ranges of the chosen schemes, each in its stretch."""
        values = list(next(iter(ranges.values())))
        size = -(-len(values) // STRETCHES)
        return {v: ranges[choice.ranges[place // size]][v] for place, v in enumerate(values)}

    def _chosen(self, samples: Samples) -> "tuple[_Ranges, _Ranges]":
        """Ranges by scheme: from the samples that do not judge, and from all."""
        values, executor = self._groups.observed(), self._executor
        few = observe_extremes(self._graph, values, samples, executor)
        others = observe_extremes(self._graph, values, self._feeds, executor)
        every = {value: extremes.merged(others[value]) for value, extremes in few.items()}
        bits = self._settings.act_bits
        wide = [{"wide": _widened(seen, HEADROOM[bits])} for seen in (few, every)]
        if bits > 8 or not every:
            return wide[0], wide[1]
        counted = observe_histograms(self._graph, every, samples, executor)
        rest = observe_histograms(self._graph, every, self._feeds, executor)
        parts = {v: replace(histogram, extremes=few[v]) for v, histogram in counted.items()}
        whole = {v: replace(h, counts=h.counts + rest[v].counts) for v, h in counted.items()}
        chosen = [{n: self._by_scheme(seen, s) for n, s in SCHEMES.items()} for seen in (parts, whole)]
        return {**chosen[0], **wide[0]}, {**chosen[1], **wide[1]}

    def _by_scheme(self, seen: Mapping[str, Histogram], scheme: Scheme) -> dict[str, Extremes]:
        grid = self._settings.act_grid(self._settings.act_bits)
        kept = scheme.ranges(Histogram.stacked(list(seen.values())), grid)
        pairs = zip(kept.low.tolist(), kept.high.tolist(), strict=True)
        return {value: Extremes.between(*pair) for value, pair in zip(seen, pairs, strict=True)}

    def _searched_weights(self) -> dict[str, Pin]:
        """Weights whose ranges have the smallest error, searched once."""
        settings = replace(self._settings, weight_scheme=Mse())
        plan = assign(self._graph, self._groups, settings, self._pins, self._seen_first())
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
        """Noise over signal in dB, the mean of all outputs."""
        found = self._outputs(apply(*self.planned(choice, is_final=False)))
        noises = []
        for name, expected in self._float.items():
            signal = sum(float(np.square(a, dtype=np.float64).sum()) for a in expected)
            pairs = zip(expected, found[name], strict=True)
            noise = sum(float(np.square(a.astype(np.float64) - b).sum()) for a, b in pairs)
            if signal > 0:
                noises.append(10 * np.log10(max(noise / signal, 1e-12)))
        return float(np.mean(noises)) if noises else 0.0

    def _outputs(self, graph: Graph) -> dict[str, list[Array]]:
        """What judges look at, as real numbers."""
        names = self._judged_values
        if not names:
            return {}
        session = self._executor.prepare(graph, names)
        found: dict[str, list[Array]] = {name: [] for name in names}
        for feed in self._feeds:
            results = session.run(_stored(graph, feed))
            for name in names:
                encoding = graph.types[name].encoding
                found[name].append(results[name] if encoding is None else encoding.decode(results[name]))
        return found


_Ranges = dict[str, dict[str, Extremes]]


@dataclass(frozen=True)
class _Part:
    """The samples that judge, or the others; with too few of them, all do both."""

    samples: Samples
    is_judging: bool

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        judges = 0
        for number, sample in enumerate(self.samples):
            is_judge = number % TURN == TURN - 1 and judges < JUDGES
            judges += is_judge
            if is_judge == self.is_judging or (self.is_judging and number == 0):
                yield sample


def _judged_values(graph: Graph) -> list[str]:
    """Outputs, and the scores before a softmax or sigmoid that makes one.

    Few samples have probabilities that are neither 0 nor 1, and those few would decide alone.
    """
    found = [name for name in graph.outputs if is_real(graph, name)]
    for name in list(found):
        maker = graph.producer(name)
        while maker is not None and is_invariant(maker.op):
            maker = graph.producer(maker.inputs[0])
        if maker is not None and isinstance(maker.op, UNIT) and maker.inputs[0] not in graph.constants:
            found.append(maker.inputs[0])
    return list(dict.fromkeys(found))


def _widened(seen: Mapping[str, Extremes], factor: float) -> dict[str, Extremes]:
    return {value: Extremes(found.low * factor, found.high * factor) for value, found in seen.items()}


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


def _stored(graph: Graph, feed: Mapping[str, Array]) -> dict[str, Array]:
    """A feed as the graph's inputs are stored."""
    types = {name: graph.types[name] for name in graph.inputs}
    return {
        # What overrides keep in floating point may be narrower than the samples.
        name: feed[name].astype(t.dtype.numpy, copy=False)
        if t.encoding is None
        else t.encoding.encode(feed[name], t.dtype)
        for name, t in types.items()
    }


def _described(choice: _Choice) -> str:
    kinds = list(dict.fromkeys(choice.ranges))
    ranges = kinds[0] if len(kinds) == 1 else f"{', '.join(choice.ranges)} from end to end"
    biases = ", corrected biases" if choice.is_corrected else ""
    return f"ranges {ranges}, weights {choice.weights}{biases}"
