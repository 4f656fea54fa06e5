"""Candidates of precision: which are tried, in which order, and which of them is chosen."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgewright.build.records import Candidate, LeftOut
from edgewright.config.build import AUTO, CHEAPEST, FASTEST
from edgewright.config.spelling import spell_option
from edgewright.estimate.records import TimeRange
from edgewright.evaluate.loss import FEWEST
from edgewright.quantize.report import QuantizationReport
from edgewright.targets.soc import FIRST_WITH_HALF

PLAIN, WIDE, MIXED, HALF, AS_GIVEN = "w8a8", "w8a16", "mixed", "fp16", "as given"
# What mixed widths come near to where plain 8 bits keep the limit.
SMALLER = "w4a8"
# Why a candidate is left out that has fewer bits than one that keeps the limit no better.
HOPELESS = "hopeless"
# What costs more than this part of half precision has nearly all of it, and wider values are slower.
LEAST_SAVED = 0.95
# What is added to the name of a precision where weights are corrected and ranges searched.
ALGORITHMS = "+algorithms"
# What mixed precision begins with where plain w8a8 loses too much, even if this loses no less: the wider
# values get, the more weights matter.
MIXED_BASE = f"{PLAIN}{ALGORITHMS}"


@dataclass(frozen=True)
class CandidateResult:
    """A candidate, and what a later stage must know of how it was made."""

    candidate: Candidate
    # Rules of the target by name, with the nodes or tensors they were applied to.
    rules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()

    def report(self) -> QuantizationReport:
        """The quantizer's own words, as far as they were kept."""
        rules = {name: list(places) for name, places in self.rules}
        return QuantizationReport(rules=rules, notes=list(self.notes))


@dataclass(frozen=True)
class SearchLimit:
    """What a candidate must keep."""

    # Points of the metric that may be lost.
    limit: float
    # What the samples that judge cannot tell from nothing: where that is more, they prove no limit.
    least: float = 0.0

    def is_reached(self, candidate: Candidate) -> bool:
        """Whether nothing better is needed: it will be proven, or keeps the limit where nothing can be."""
        can_be_proven = self.least <= self.limit and candidate.samples >= FEWEST
        return (candidate.drop_high if can_be_proven else candidate.drop) <= self.limit


@dataclass(frozen=True)
class Searched:
    """The candidates that were built, one of them chosen, and those that were not, with the reason."""

    results: tuple[CandidateResult, ...]
    left_out: tuple[LeftOut, ...] = ()


def list_candidates(precision: str, architecture: int | None = None) -> tuple[str, ...]:
    """The candidates that may be tried, in order; half precision only on chips that have it.

    What is quickly built and nearly always good enough comes early, so that there is a result soon.
    """
    has_half = architecture is None or architecture >= FIRST_WITH_HALF
    if precision == AUTO:
        return (PLAIN, *([HALF] if has_half else []), WIDE, MIXED_BASE, MIXED)
    return (HALF,) if precision == HALF else (precision, f"{precision}{ALGORITHMS}")


def search_precisions(
    names: Sequence[str],
    goal: SearchLimit,
    build: Callable[[str], CandidateResult | LeftOut],
    times: Mapping[str, TimeRange] | None = None,
    prefer: str = CHEAPEST,
) -> Searched:
    """Builds the candidates that may be the best one, and chooses.

    Args:
        names: the candidates, as ``list_candidates`` gives them.
        goal: what may be lost, and what can be proven.
        build: gives the result of a candidate, or why there is none; one that is finished need not be built
            again.
        times: what candidates take on the chip, as far as that is estimated.
        prefer: the cheapest or the fastest.
    """
    times = times or {}
    results: list[CandidateResult] = []
    left_out: list[LeftOut] = []
    for name in names:
        candidates = [result.candidate for result in results]
        reason = _find_reason_against(name, candidates, goal)
        if times and prefer == FASTEST:
            reason = _find_slowness(name, candidates, goal, times) or (reason if name == MIXED else "")
        built = LeftOut(name, reason) if reason else build(name)
        if isinstance(built, LeftOut):
            left_out.append(built)
        else:
            results.append(built)
    return Searched(choose_candidate(results, goal.limit, times, prefer), tuple(left_out))


def find_mixed_base(results: Iterable[CandidateResult], goal: SearchLimit) -> str:
    """What mixed precision begins with: where plain 8 bits are enough, only fewer bits are of use."""
    is_plain_enough = any(
        result.candidate.name == PLAIN and goal.is_reached(result.candidate) for result in results
    )
    return PLAIN if is_plain_enough else MIXED_BASE


def _find_reason_against(name: str, candidates: Sequence[Candidate], goal: SearchLimit) -> str:
    """Why a candidate cannot be the best one; empty where it may be."""
    are_kept = {each.name: goal.is_reached(each) for each in candidates}
    is_plain_proven = any(each.name == PLAIN and each.drop_high <= goal.limit for each in candidates)
    if name in {WIDE, HALF, MIXED_BASE} and are_kept.get(PLAIN):
        return f"not needed: {PLAIN} keeps the limit"
    if name == MIXED and are_kept.get(PLAIN) and not is_plain_proven:
        return f"{PLAIN} keeps the limit, and the samples are too few to prove fewer bits"
    if name == MIXED and are_kept.get(MIXED_BASE):
        return f"not needed: {MIXED_BASE} keeps the limit, and fewer bits would not"
    widest = next((each for each in (HALF, WIDE) if each in are_kept), "")
    if name in {MIXED_BASE, MIXED} and widest and not any(are_kept.values()):
        is_kept = any(each.name == widest and each.drop <= goal.limit for each in candidates)
        return f"{HOPELESS}: not even {widest} {'would be proven to keep' if is_kept else 'keeps'} the limit"
    return ""


def _find_slowness(
    name: str, candidates: Sequence[Candidate], goal: SearchLimit, times: Mapping[str, TimeRange]
) -> str:
    """Why a candidate cannot be the fastest one that keeps the limit; empty where it may be."""
    kept = [each for each in candidates if goal.is_reached(each) and each.name in times]
    # Where plain 8 bits are kept, mixed widths have some of 4 bits.
    is_smaller = name == MIXED and any(each.name == PLAIN for each in kept)
    expected = times.get(SMALLER if is_smaller else name)
    if expected is None:
        return ""
    faster = [each.name for each in kept if _read_time(times, each) <= expected.microseconds]
    return f"not needed: {faster[0]} keeps the limit and is estimated to be no slower" if faster else ""


def find_time(times: Mapping[str, TimeRange], candidate: Candidate) -> TimeRange | None:
    """What a candidate takes on the chip; that of mixed widths lies where their cost lies.

    Their cost is 1 where all is in w8a8, 2 where it is in w8a16, and less where weights have 4 bits.
    """
    if candidate.name != MIXED or not {PLAIN, WIDE, SMALLER} <= times.keys():
        return times.get(candidate.name)
    share = min(1.0, max(-1.0, math.log2(max(candidate.cost, 1e-9))))
    narrow, other = times[PLAIN], times[WIDE if share > 0 else SMALLER]
    factor = (other.microseconds / narrow.microseconds) ** abs(share)
    return TimeRange(narrow.microseconds * factor, min(narrow.low, other.low), max(narrow.high, other.high))


def _read_time(times: Mapping[str, TimeRange], candidate: Candidate) -> float:
    time = find_time(times, candidate)
    return math.inf if time is None else time.microseconds


def choose_candidate(
    results: Sequence[CandidateResult],
    limit: float,
    times: Mapping[str, TimeRange] | None = None,
    prefer: str = CHEAPEST,
) -> tuple[CandidateResult, ...]:
    """Marks the best candidate that keeps the limit, or the one that loses least where none does.

    One that the samples that judge will prove, if they are like those that choose, comes before others. The
    cheapest is the best one, unless another is faster in all of its range of times; or the one with the
    shortest time, where that is preferred.
    """
    accurate, times = _list_accurate(results, limit), times or {}
    if not accurate:
        candidates = [result.candidate for result in results]
        return mark_chosen(results, min(candidates, key=lambda each: (each.drop, each.cost)).name)
    if prefer == FASTEST:
        best = min(accurate, key=lambda each: (_read_time(times, each), each.cost, each.drop))
        return mark_chosen(results, best.name)
    best = min(accurate, key=lambda each: (each.cost, each.drop))
    faster = [each for each in accurate if _is_surely_faster(times, each, best)]
    return mark_chosen(results, min([*faster, best], key=lambda each: _read_time(times, each)).name)


def _list_accurate(results: Sequence[CandidateResult], limit: float) -> list[Candidate]:
    """Those that will be proven, else those that keep the limit on the samples that choose."""
    candidates = [result.candidate for result in results]
    provable = [candidate for candidate in candidates if candidate.drop_high <= limit]
    accurate = provable or [candidate for candidate in candidates if candidate.drop <= limit]
    half = next((each for each in accurate if each.name == HALF), None)
    return [each for each in accurate if half is None or not _is_no_cheaper(each, half)]


def _is_no_cheaper(candidate: Candidate, half: Candidate) -> bool:
    """Whether wider values cost about as much as half precision alone."""
    return candidate.name in {MIXED, WIDE} and candidate.cost > LEAST_SAVED * half.cost


def _is_surely_faster(times: Mapping[str, TimeRange], candidate: Candidate, other: Candidate) -> bool:
    first, second = find_time(times, candidate), find_time(times, other)
    return first is not None and second is not None and first.high < second.low


def describe_faster(
    results: Sequence[CandidateResult],
    limit: float,
    times: Mapping[str, TimeRange],
    failed: Collection[str] = (),
) -> list[str]:
    """That one of more bits may be faster than the chosen one; empty where none is estimated to be.

    ``failed``: candidates that the compiler refused, or that did not keep the limit when they were judged.
    """
    chosen = find_chosen(results).candidate
    kept = [each for each in _list_accurate(results, limit) if each.name not in failed]
    others = [each for each in kept if each.cost > chosen.cost]
    faster = min(others, key=lambda each: _read_time(times, each), default=chosen)
    first, second = find_time(times, chosen), find_time(times, faster)
    if first is None or second is None or second.microseconds >= first.microseconds:
        return []
    what = f"{faster.name} keeps the limit too and may be faster, {second} where {chosen.name} takes {first}"
    which = f"such ranges do not tell which: {chosen.name} has fewer bits"
    return [f"{what}; {which}, {spell_option('prefer', FASTEST)} decides"]


def mark_chosen(results: Sequence[CandidateResult], name: str) -> tuple[CandidateResult, ...]:
    """The same results, of which one is the chosen one."""
    return tuple(
        replace(result, candidate=replace(result.candidate, is_chosen=result.candidate.name == name))
        for result in results
    )


def find_chosen(results: Sequence[CandidateResult]) -> CandidateResult:
    """The candidate that was chosen."""
    return next(result for result in results if result.candidate.is_chosen)


def list_wider_candidates(results: Sequence[CandidateResult], limit: float) -> list[str]:
    """Candidates that keep the limit and cost at least as much as the chosen one, the cheapest first."""
    chosen = find_chosen(results).candidate
    wider = [each for each in _list_others(results, limit) if each.cost >= chosen.cost]
    return [candidate.name for candidate in sorted(wider, key=lambda each: each.cost)]


def list_narrower_candidates(results: Sequence[CandidateResult], limit: float) -> list[str]:
    """Candidates that keep the limit and cost less than the chosen one, which may be faster: widest first."""
    chosen = find_chosen(results).candidate
    narrower = [each for each in _list_others(results, limit) if each.cost < chosen.cost]
    return [candidate.name for candidate in sorted(narrower, key=lambda each: -each.cost)]


def list_reserves(left_out: Sequence[LeftOut], base: str, *, has_binary: bool) -> list[LeftOut]:
    """Those that were not needed before, and are now that what was chosen failed.

    Args:
        left_out: candidates that were not built.
        base: what mixed precision begins with.
        has_binary: whether the compiler took one; until then what is hopeless is better than nothing.
    """
    reserves = [each for each in left_out if not each.is_for_time]
    if base == PLAIN:
        # Mixed widths have fewer bits than what did not hold.
        reserves = [each for each in reserves if each.name != MIXED]
    return [each for each in reserves if not (has_binary and each.reason.startswith(HOPELESS))]


def _list_others(results: Sequence[CandidateResult], limit: float) -> list[Candidate]:
    candidates = [result.candidate for result in results]
    return [each for each in candidates if each.drop <= limit and not each.is_chosen]
