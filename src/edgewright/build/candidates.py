"""Candidates of precision: which are tried, in which order, and which of them is chosen."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgewright.build.records import Candidate, LeftOut
from edgewright.config.build import AUTO
from edgewright.estimate.records import TimeRange
from edgewright.quantize.report import QuantizationReport
from edgewright.targets.soc import FIRST_WITH_HALF

PLAIN, WIDE, MIXED, HALF, AS_GIVEN = "w8a8", "w8a16", "mixed", "fp16", "as given"
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
    limit: float,
    build: Callable[[str], CandidateResult | LeftOut],
    times: Mapping[str, TimeRange] | None = None,
) -> Searched:
    """Builds the candidates that may be the best one, and chooses.

    Args:
        names: the candidates, as ``list_candidates`` gives them.
        limit: points of the metric that may be lost.
        build: gives the result of a candidate, or why there is none; one that is finished need not be built
            again.
        times: what candidates take on the chip, where the fastest is preferred to the cheapest.
    """
    results: list[CandidateResult] = []
    left_out: list[LeftOut] = []
    for name in names:
        candidates = [result.candidate for result in results]
        reason = _find_reason_against(name, candidates, limit)
        if times:
            reason = _find_slowness(name, candidates, limit, times) or (reason if name == MIXED else "")
        built = LeftOut(name, reason) if reason else build(name)
        if isinstance(built, LeftOut):
            left_out.append(built)
        else:
            results.append(built)
    return Searched(choose_candidate(results, limit, times), tuple(left_out))


def find_mixed_base(results: Iterable[CandidateResult], limit: float) -> str:
    """What mixed precision begins with: where plain 8 bits keep the limit, only fewer bits are of use."""
    drops = {result.candidate.name: result.candidate.drop for result in results}
    return PLAIN if drops.get(PLAIN, limit + 1) <= limit else MIXED_BASE


def _find_reason_against(name: str, candidates: Sequence[Candidate], limit: float) -> str:
    """Why a candidate cannot be the best one; empty where it may be."""
    are_kept = {each.name: each.drop <= limit for each in candidates}
    is_plain_proven = any(each.name == PLAIN and each.drop_high <= limit for each in candidates)
    if name in {WIDE, HALF, MIXED_BASE} and are_kept.get(PLAIN):
        return f"not needed: {PLAIN} keeps the limit"
    if name == MIXED and are_kept.get(PLAIN) and not is_plain_proven:
        return f"{PLAIN} keeps the limit, and the samples are too few to prove fewer bits"
    if name == MIXED and are_kept.get(MIXED_BASE):
        return f"not needed: {MIXED_BASE} keeps the limit, and fewer bits would not"
    widest = next((each for each in (HALF, WIDE) if each in are_kept), "")
    if name in {MIXED_BASE, MIXED} and widest and not any(are_kept.values()):
        return f"hopeless: not even {widest} keeps the limit"
    return ""


def _find_slowness(
    name: str, candidates: Sequence[Candidate], limit: float, times: Mapping[str, TimeRange]
) -> str:
    """Why a candidate cannot be the fastest one that keeps the limit; empty where it may be."""
    kept = [each.name for each in candidates if each.drop <= limit and each.name in times]
    faster = [each for each in kept if name in times and _read_time(times, each) <= _read_time(times, name)]
    return f"not needed: {faster[0]} keeps the limit and is estimated to be no slower" if faster else ""


def _read_time(times: Mapping[str, TimeRange], name: str) -> float:
    return times[name].microseconds if name in times else math.inf


def choose_candidate(
    results: Sequence[CandidateResult], limit: float, times: Mapping[str, TimeRange] | None = None
) -> tuple[CandidateResult, ...]:
    """Marks the cheapest candidate that keeps the limit, or the one that loses least where none does.

    One that the samples that judge will prove, if they are like those that choose, comes before others.
    With times, the fastest is marked in place of the cheapest.
    """
    candidates = [result.candidate for result in results]
    provable = [candidate for candidate in candidates if candidate.drop_high <= limit]
    accurate = provable or [candidate for candidate in candidates if candidate.drop <= limit]
    if accurate:
        best = min(accurate, key=lambda each: (_read_time(times or {}, each.name), each.cost, each.drop))
        return mark_chosen(results, best.name)
    return mark_chosen(results, min(candidates, key=lambda each: (each.drop, each.cost)).name)


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
    accurate = [result.candidate for result in results if result.candidate.drop <= limit]
    wider = [each for each in accurate if each.cost >= chosen.cost and each is not chosen]
    return [candidate.name for candidate in sorted(wider, key=lambda each: each.cost)]
