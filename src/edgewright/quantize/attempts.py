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
from edgewright.quantize.groups import Groups
from edgewright.quantize.judge import Judge
from edgewright.quantize.meter import CHEAP
from edgewright.quantize.noise import Noise
from edgewright.quantize.observed import Observed
from edgewright.quantize.pins import Pin
from edgewright.quantize.ranges import Ranges, SchemeRanges
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.search import RangeSearch
from edgewright.quantize.weights.balance import balance_graph
from edgewright.quantize.weights.bias_correction import with_biases
from edgewright.quantize.weights.cle import equalize
from edgewright.quantize.weights.even_channels import measure_channel_reach
from edgewright.quantize.weights.evening import Evening
from edgewright.quantize.weights.layerwise import LAYERWISE, estimate_fitting, fit_weights

# Attempts end where all that was computed comes to so many passes of the float graph over the samples.
MOST_PASSES = 12.0
# What ops to be scaled cost to find, scaling them, and ranges of what becomes of it.
REWRITING_PASSES = 4.0
REWRITING = ("cle", "smooth")
TOO_MUCH = f"{MOST_PASSES:.0f} passes over the samples are made at most"


@dataclass(frozen=True)
class PlannedGraph:
    """The graph to rewrite, before and after what goes with the plan was done to it, the plan, and notes."""

    source: Graph
    graph: Graph
    plan: Plan
    notes: list[str]
    # Graph and plan for which the samples held apart were not looked at, where ranges are searched.
    apart: tuple[Graph, Plan] | None = None


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
    asked = tuple(name for name in request.algorithms if name != "bc" or not request.is_searched)
    plain = trials.run(())
    best, left_out = _combine(trials, plain, asked)
    notes = [*best.notes, *left_out]
    if best.algorithms:
        gain = best.noise.measure_gain(plain.noise).describe()
        notes.append(f"algorithms: {', '.join(best.algorithms)} gain {gain} on {judge.text}")
    best = trials.settle(best)
    return _finish(best, judge, notes) if request.is_searched else _finish_scheme(best, judge, notes)


def _combine(trials: "_Trials", plain: Attempt, asked: tuple[str, ...]) -> tuple[Attempt, list[str]]:
    """The best attempt, and what was left out: each alone, then the others with the best one, in turn.

    Where that is too much work, all together and then each alone as far as it goes.
    """
    if not asked:
        return plain, []
    if not trials.can_afford([*((name,) for name in asked), *[asked] * (len(asked) > 1)]):
        return _combine_few(trials, plain, asked)
    alone = {name: trials.run((name,)) for name in asked}
    refusals = [note for name, each in alone.items() for note in each.notes if _is_refusal(note, name)]
    able = [name for name in asked if not any(_is_refusal(note, name) for note in refusals)]
    gains = {name: alone[name].noise.measure_gain(plain.noise) for name in able}
    best, notes = plain, list[str]()
    for name in sorted(able, key=lambda name: -gains[name].decibels):
        if best.algorithms and not trials.can_afford([(*best.algorithms, name)]):
            notes.append(f"{name}: left out beside {'+'.join(best.algorithms)}, {TOO_MUCH}")
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


def _combine_few(trials: "_Trials", plain: Attempt, asked: tuple[str, ...]) -> tuple[Attempt, list[str]]:
    """The best of all together and of each alone that can be afforded."""
    together = trials.run(asked)
    refusals = [note for name in asked for note in together.notes if _is_refusal(note, name)]
    able = [name for name in asked if not any(_is_refusal(note, name) for note in refusals)]
    gain = together.noise.measure_gain(plain.noise)
    best, notes = together if gain.is_worth() else plain, list[str]()
    for name in able if len(able) > 1 else ():
        if not trials.can_afford([(name,)]):
            notes.append(f"{name}: not tried alone, {TOO_MUCH}")
            continue
        attempt = trials.run((name,))
        if attempt.noise.measure_gain(best.noise).is_worth():
            best = attempt
    beside = f" with {'+'.join(able)}" if len(able) > 1 else ""
    left_out = [name for name in able if name not in best.algorithms]
    losses = [f"{name}: left out, it gains {gain.describe()}{beside} on {trials.text}" for name in left_out]
    return best, [*refusals, *losses, *notes]


def _is_refusal(note: str, name: str) -> bool:
    """Whether an algorithm says that there is nothing for it to do."""
    return note.startswith(f"{name}: left out")


def _finish(best: Attempt, judge: Judge, notes: list[str]) -> PlannedGraph:
    """The plan with all samples, unless those held apart show that it is worse than the one without them."""
    apart = best.ranges.make_plan(is_final=False)
    final, plan = best.ranges.make_plan(is_final=True)
    noise = judge.measure_noise(apply_plan(final, plan))
    if best.noise.measure_gain(noise).is_worth():
        final, plan = apart
    # With samples that ranges have seen, the figure is no lower but for steps that became coarser.
    figure = min(best.noise, noise, key=lambda each: each.sqnr_db)
    notes.append(f"{best.ranges.describe()}; {figure.describe()} on {judge.text}")
    return PlannedGraph(best.source, final, plan, notes, apart)


def _finish_scheme(best: Attempt, judge: Judge, notes: list[str]) -> PlannedGraph:
    """The plan of the scheme that was asked for, which covers all samples."""
    final, plan = best.ranges.make_plan(is_final=True)
    notes.append(f"ranges as asked for: {best.noise.describe()} on {judge.text}")
    return PlannedGraph(best.source, final, plan, notes)


@dataclass(frozen=True)
class _Rewritten:
    """The float graph after what keeps its meaning; what was observed of it where ranges are searched."""

    graph: Graph
    notes: list[str]
    observed: Observed | None


class _Trials:
    def __init__(
        self, graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], judge: Judge
    ) -> None:
        self._graph, self._request, self._pins, self._judge = graph, request, pins, judge
        self._evening = Evening(request, pins, judge)
        self._rewritten: dict[tuple[str, ...], _Rewritten] = {}
        # What was found without any algorithm: the others begin with it.
        self._plain: RangeSearch | None = None
        self.text = judge.text

    def run(self, names: Sequence[str]) -> Attempt:
        """Goes the whole way with some algorithms."""
        request = self._make_request(names)
        rewritten = self._rewrite(request)
        work, observed = rewritten.graph, rewritten.observed
        statistics = None if observed is None else observed.get_plain()
        fitted, weights, fit_notes = fit_weights(
            work, self._with_ranges(request), self._pins, self._judge, statistics
        )
        pins, notes = {**self._pins, **weights}, [*rewritten.notes, *fit_notes]
        if observed is None:
            ranges = SchemeRanges(fitted, request, pins, self._judge)
            noise = ranges.find_best()
            notes += [f"bc: corrected {ranges.corrected} biases"] if "bc" in request.algorithms else []
            return Attempt(request.algorithms, work, ranges, noise, notes)
        search = RangeSearch(fitted, request, pins, self._judge, observed)
        if self._plain is None:
            self._plain = search
            return Attempt((), work, search, search.find_whole(), notes)
        return Attempt(request.algorithms, work, search, search.begin_with(self._plain), notes)

    def settle(self, attempt: Attempt) -> Attempt:
        """The attempt with ranges that are chosen stretch by stretch, where they are searched."""
        if isinstance(attempt.ranges, RangeSearch):
            return replace(attempt, noise=attempt.ranges.refine(attempt.noise))
        return attempt

    def can_afford(self, attempts: Sequence[Sequence[str]]) -> bool:
        """Whether there is work left for these attempts."""
        meter, judge = self._judge.executor, self._judge
        work = 0.0
        for names in attempts:
            request = self._make_request(names)
            work += estimate_fitting(self._graph, request, judge.fitting_count)
            passes = 2 * any(name in LAYERWISE for name in names) + judge.judging_share
            passes += sum(REWRITING_PASSES for name in names if name in REWRITING)
            work += passes * meter.work_of_pass
        return meter.work + work <= max(CHEAP, MOST_PASSES * meter.work_of_pass)

    def _make_request(self, names: Sequence[str]) -> QuantizationRequest:
        return replace(self._request, algorithms=tuple(name for name in ALGORITHMS if name in names))

    def _with_ranges(self, request: QuantizationRequest) -> QuantizationRequest:
        """The request with the ranges of weights that the search found to be better."""
        has_better = self._plain is not None and self._plain.choice.weights != "min-max"
        return replace(request, param_quantizer="mse") if has_better else request

    def _rewrite(self, request: QuantizationRequest) -> _Rewritten:
        """The float graph after what keeps its meaning, done once for all attempts that have it in common."""
        has_biases = request.is_searched or any(name in request.algorithms for name in ("bc", "adaround"))
        key = (*(name for name in REWRITING if name in request.algorithms), *["biases"] * has_biases)
        if key not in self._rewritten:
            self._rewritten[key] = self._rewrite_anew(request, has_biases=has_biases)
        return self._rewritten[key]

    def _rewrite_anew(self, request: QuantizationRequest, *, has_biases: bool) -> _Rewritten:
        work, notes = self._graph, list[str]()
        if "cle" in request.algorithms:
            work, notes = self._equalize(work)
        if "smooth" in request.algorithms:
            work, balance_notes = balance_graph(work, request, self._pins, self._judge)
            notes += balance_notes
        if has_biases:
            work = with_biases(work)
        if not request.is_searched:
            return _Rewritten(work, notes, None)
        work, even_notes = self._evening.apply(work)
        plain = replace(request, act_quantizer="tf")
        observed = Observed(work, plain, Groups(work, request, self._pins), self._judge)
        return _Rewritten(work, [*notes, *even_notes], observed)

    def _equalize(self, graph: Graph) -> tuple[Graph, list[str]]:
        judge = self._judge
        work, equalization = equalize(
            graph, lambda twin, values: measure_channel_reach(twin, values, judge.fitting, judge.executor)
        )
        if not equalization.chains:
            return graph, ["cle: left out, no chain of convolutions can be equalized"]
        return work, equalization.list_notes()
