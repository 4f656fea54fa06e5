"""Judges what was confirmed; after a miss a more precise candidate is judged, too, while there is time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from edgewright.build.confirm import Compiled, Confirmation, confirm_candidate
from edgewright.build.stages import EvaluationResult

# Judges a candidate; the number says how many candidates the same samples have judged then.
Judge = Callable[[Confirmation, int], EvaluationResult]


@dataclass(frozen=True)
class Settled:
    """The candidate that is built, and its verdict's figures."""

    confirmed: Confirmation
    evaluation: EvaluationResult
    # The files in place are those of another candidate.
    is_overwritten: bool
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Settler:
    """How candidates are compiled and judged.

    Args:
        limit: points that a candidate may lose on the samples that choose.
        judged_limit: points that it may lose on those that judge; None where nobody asked.
        compile_candidate: compiles a candidate, and measures what it loses on the samples that choose.
        judge: measures what the compiled candidate loses on the samples that judge.
        has_time: whether another one can be compiled and judged.
    """

    limit: float
    judged_limit: float | None
    compile_candidate: Callable[[str], Compiled]
    judge: Judge
    has_time: Callable[[], bool]

    def settle(self, names: Iterator[str]) -> Settled:
        """The first candidate that keeps the limit where it is judged, or the one that loses least there.

        Args:
            names: the chosen candidate and wider ones, in order; each is asked for when it is needed.
        """
        trials: list[tuple[Confirmation, EvaluationResult]] = []
        notes: list[str] = []
        last = ""
        while (name := next(names, None)) is not None:
            confirmed = confirm_candidate(chain([name], names), self.limit, self.compile_candidate)
            last = confirmed.name
            notes += confirmed.notes
            if confirmed.compiled is None and trials:
                break
            evaluation = self.judge(confirmed, len(trials) + 1)
            trials.append((confirmed, evaluation))
            if not self._is_missed(confirmed, evaluation):
                break
            notes.append(f"{last} loses {evaluation.loss.points:.2f} points on the samples that judge")
            if not self.has_time():
                notes.append("a more precise candidate was not judged: the time was up")
                break
        best, evaluation = min(trials, key=lambda trial: trial[1].loss.points)
        notes += _describe_looks(best.name, len(trials))
        return Settled(best, evaluation, best.name != last, tuple(notes))

    def _is_missed(self, confirmed: Confirmation, evaluation: EvaluationResult) -> bool:
        """Whether it promised to keep the limit and does not."""
        if self.judged_limit is None or confirmed.compiled is None:
            return False
        return confirmed.compiled[1].points <= self.limit and evaluation.loss.points > self.judged_limit


def _describe_looks(name: str, looks: int) -> list[str]:
    if looks < 2:
        return []
    return [f"{looks} candidates were judged by the same samples: the interval of {name} is wider for that"]
