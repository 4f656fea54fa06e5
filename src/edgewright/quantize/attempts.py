"""Tries algorithms, alone and together, and drops what does not gain on samples held apart.

Every attempt goes the whole way, from the float graph to fixed point: what an algorithm gains with ranges of
one kind it may lose with others. What wins is then made with all samples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from edgewright.config.algorithms import ALGORITHMS
from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply_plan
from edgewright.quantize.assign import Plan
from edgewright.quantize.judge import Judge
from edgewright.quantize.noise import Noise
from edgewright.quantize.pins import Pin
from edgewright.quantize.ranges import Ranges, SchemeRanges
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.search import Choice, RangeSearch
from edgewright.quantize.weights.balance import balance_graph
from edgewright.quantize.weights.bias_correction import with_biases
from edgewright.quantize.weights.cle import equalize
from edgewright.quantize.weights.even_channels import measure_channel_reach
from edgewright.quantize.weights.evening import Evening
from edgewright.quantize.weights.layerwise import fit_weights

# Attempts at most: all algorithms alone, and some of them together.
MOST_ATTEMPTS = 8


@dataclass(frozen=True)
class PlannedGraph:
    """The graph to rewrite, before and after what goes with the plan was done to it, the plan, and notes."""

    source: Graph
    graph: Graph
    plan: Plan
    notes: list[str]


@dataclass(frozen=True)
class Attempt:
    """What some algorithms came to."""

    algorithms: tuple[str, ...]
    # The graph before weights were fitted and biases corrected.
    source: Graph
    ranges: Ranges
    noise: Noise
    # What was done, by algorithm; what one could not do is said, too.
    notes: list[str] = field(default_factory=list)


def choose_algorithms(
    graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], judge: Judge
) -> PlannedGraph:
    """The graph and plan of the algorithms that gain most, of those that are asked for."""
    trials = _Trials(graph, request, pins, judge)
    # A search corrects biases where that gains.
    asked = [name for name in request.algorithms if name != "bc" or not request.is_searched]
    plain = trials.run(())
    best, left_out = _combine(trials, plain, asked)
    best = trials.settle(best)
    notes = [*best.notes, *left_out]
    if best.algorithms:
        gain = best.noise.measure_gain(plain.noise).describe()
        notes.append(f"algorithms: {', '.join(best.algorithms)} gain {gain} on {judge.text}")
    return _finish(best, judge, notes) if request.is_searched else _finish_scheme(best, judge, notes)


def _combine(trials: "_Trials", plain: Attempt, asked: Sequence[str]) -> tuple[Attempt, list[str]]:
    """The best attempt, and what was left out: each alone, then the others with the best one, in turn."""
    alone = {name: trials.run((name,)) for name in asked}
    refusals = [note for name, each in alone.items() for note in each.notes if _is_refusal(note, name)]
    able = [name for name in asked if not any(_is_refusal(note, name) for note in refusals)]
    gains = {name: alone[name].noise.measure_gain(plain.noise) for name in able}
    best, notes = plain, list[str]()
    for name in sorted(able, key=lambda name: -gains[name].decibels):
        if best.algorithms and trials.count >= MOST_ATTEMPTS:
            notes.append(f"{name}: left out, {MOST_ATTEMPTS} attempts are made at most")
            continue
        attempt = trials.run((*best.algorithms, name)) if best.algorithms else alone[name]
        gain = attempt.noise.measure_gain(best.noise)
        if gain.is_worth():
            best = attempt
            continue
        beside = f" beside {'+'.join(best.algorithms)}" if best.algorithms else ""
        notes.append(f"{name}: left out, it gains {gain.describe()}{beside} on {trials.text}")
    if best is plain and len(able) > 1:
        together = trials.run(able)
        if together.noise.measure_gain(plain.noise).is_worth():
            return together, refusals
    return best, [*refusals, *notes]


def _is_refusal(note: str, name: str) -> bool:
    """Whether an algorithm says that there is nothing for it to do."""
    return note.startswith(f"{name}: left out")


def _finish(best: Attempt, judge: Judge, notes: list[str]) -> PlannedGraph:
    """The plan with all samples, unless those held apart show that it is worse than the one without them."""
    final, plan = best.ranges.make_plan(is_final=True)
    noise = judge.measure_noise(apply_plan(final, plan))
    if best.noise.measure_gain(noise).is_worth():
        final, plan = best.ranges.make_plan(is_final=False)
    # With samples that ranges have seen, the figure is no lower but for steps that became coarser.
    figure = min(best.noise, noise, key=lambda each: each.sqnr_db)
    notes.append(f"{best.ranges.describe()}; {figure.describe()} on {judge.text}")
    return PlannedGraph(best.source, final, plan, notes)


def _finish_scheme(best: Attempt, judge: Judge, notes: list[str]) -> PlannedGraph:
    """The plan of the scheme that was asked for, which covers all samples."""
    final, plan = best.ranges.make_plan(is_final=True)
    notes.append(f"ranges as asked for: {best.noise.describe()} on {judge.text}")
    return PlannedGraph(best.source, final, plan, notes)


class _Trials:
    def __init__(
        self, graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], judge: Judge
    ) -> None:
        self._graph, self._request, self._pins, self._judge = graph, request, pins, judge
        self._evening = Evening(request, pins, judge)
        # What the search chose without any algorithm: the others begin with it.
        self._choice: Choice | None = None
        self.count, self.text = 0, judge.text

    def run(self, names: Sequence[str]) -> Attempt:
        """Goes the whole way with some algorithms."""
        self.count += 1
        algorithms = tuple(name for name in ALGORITHMS if name in names)
        request = replace(self._request, algorithms=algorithms)
        work, notes = self._rewrite(request)
        fitted, weights, fit_notes = fit_weights(work, self._with_ranges(request), self._pins, self._judge)
        pins = {**self._pins, **weights}
        notes += fit_notes
        if not request.is_searched:
            ranges = SchemeRanges(fitted, request, pins, self._judge)
            noise = ranges.find_best()
            notes += [f"bc: corrected {ranges.corrected} biases"] if "bc" in algorithms else []
            return Attempt(algorithms, work, ranges, noise, notes)
        search = RangeSearch(fitted, request, pins, self._judge)
        if self._choice is None:
            noise = search.find_best()
            self._choice = search.choice
        else:
            search.choice = self._choice
            noise = search.measure_noise(search.choice)
        return Attempt(algorithms, work, search, noise, notes)

    def settle(self, attempt: Attempt) -> Attempt:
        """The attempt with ranges of its own where it has those that were found without algorithms."""
        if not self._request.is_searched or not attempt.algorithms:
            return attempt
        return replace(attempt, noise=attempt.ranges.find_best())

    def _with_ranges(self, request: QuantizationRequest) -> QuantizationRequest:
        """The request with the ranges of weights that the search found to be better."""
        has_better = self._choice is not None and self._choice.weights != "min-max"
        return replace(request, param_quantizer="mse") if has_better else request

    def _rewrite(self, request: QuantizationRequest) -> tuple[Graph, list[str]]:
        """The float graph after what keeps its meaning."""
        work, notes = self._graph, list[str]()
        if "cle" in request.algorithms:
            work, notes = self._equalize(work)
        if "smooth" in request.algorithms:
            work, balance_notes = balance_graph(work, request, self._pins, self._judge)
            notes += balance_notes
        if request.is_searched or any(name in request.algorithms for name in ("bc", "adaround")):
            work = with_biases(work)
        if request.is_searched:
            work, even_notes = self._evening.apply(work)
            notes += even_notes
        return work, notes

    def _equalize(self, graph: Graph) -> tuple[Graph, list[str]]:
        judge = self._judge
        work, equalization = equalize(
            graph, lambda twin, values: measure_channel_reach(twin, values, judge.fitting, judge.executor)
        )
        if not equalization.chains:
            return graph, ["cle: left out, no chain of convolutions can be equalized"]
        return work, equalization.list_notes()
