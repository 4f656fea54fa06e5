"""Candidates of precision, from the cheapest to the widest: the cheapest that keeps the limit is chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from edgewright.build.records import Candidate
from edgewright.config.build import AUTO
from edgewright.quantize.report import QuantizationReport
from edgewright.targets.soc import FIRST_WITH_HALF

MIXED, HALF, AS_GIVEN = "mixed", "fp16", "as given"
# What is added to the name of a precision where weights are corrected and ranges searched.
ALGORITHMS = "+algorithms"
# What mixed precision begins with, even if it is no better than plain w8a8: the wider values get, the more
# weights matter.
MIXED_BASE = f"w8a8{ALGORITHMS}"


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


def list_candidates(precision: str, architecture: int | None = None) -> tuple[str, ...]:
    """The candidates that are tried, in order; half precision only on chips that have it."""
    has_half = architecture is None or architecture >= FIRST_WITH_HALF
    if precision == AUTO:
        return ("w8a8", MIXED_BASE, MIXED, "w8a16", *([HALF] if has_half else []))
    return (HALF,) if precision == HALF else (precision, f"{precision}{ALGORITHMS}")


def list_wider_precisions(precision: str, architecture: int | None = None) -> tuple[str, ...]:
    """Precisions that keep more than the one asked for; none after `auto`, which tried them."""
    has_half = architecture is None or architecture >= FIRST_WITH_HALF
    if precision in {AUTO, HALF}:
        return ()
    return (*(["w8a16"] if precision != "w8a16" else []), *([HALF] if has_half else []))


def search_precisions(
    names: Sequence[str], limit: float, build: Callable[[str], CandidateResult]
) -> tuple[CandidateResult, ...]:
    """Builds all candidates and chooses one.

    Args:
        names: the candidates, as ``list_candidates`` gives them.
        limit: points of the metric that may be lost.
        build: gives the result of a candidate; one that is finished need not be built again.
    """
    return choose_candidate([build(name) for name in names], limit)


def choose_candidate(results: Sequence[CandidateResult], limit: float) -> tuple[CandidateResult, ...]:
    """Marks the cheapest candidate that keeps the limit, or the one that loses least where none does."""
    candidates = [result.candidate for result in results]
    accurate = [candidate for candidate in candidates if candidate.drop <= limit]
    if accurate:
        return mark_chosen(results, min(accurate, key=lambda each: (each.cost, each.drop)).name)
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
