"""Judges what was confirmed; where that proves nothing a more precise candidate is judged, too, in time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from edgewright.build.confirm import Compiled, Confirmation, confirm_candidate
from edgewright.build.stages import EvaluationResult
from edgewright.evaluate.loss import FEWEST

# Judges a candidate; the number says how many candidates the same samples have judged then.
Judge = Callable[[Confirmation, int], EvaluationResult]


@dataclass(frozen=True)
class Settled:
    """The candidate that is built, and its verdict's figures."""

    confirmed: Confirmation
    evaluation: EvaluationResult
    notes: tuple[str, ...]
    # Others that were tried: refused, out of time, or not as good.
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settler:
    """How candidates are compiled and judged.

    Args:
        limit: points that a candidate may lose on the samples that choose.
        judged_limit: points that it may lose on those that judge; None where nobody asked.
        compile_candidate: compiles a candidate, and measures what it loses on the samples that choose.
        judge: measures what the compiled candidate loses on the samples that judge.
        has_time: whether another one can be compiled and judged.
        can_prove: whether the samples that judge are enough to prove the limit of what loses nothing.
    """

    limit: float
    judged_limit: float | None
    compile_candidate: Callable[[str], Compiled]
    judge: Judge
    has_time: Callable[[], bool]
    can_prove: bool = False

    def settle(self, names: Iterator[str]) -> Settled:
        """The first candidate that is proven to keep the limit, or that keeps it, or that loses least.

        Args:
            names: the chosen candidate and wider ones, in order; each is asked for when it is needed.
        """
        trials: list[tuple[Confirmation, EvaluationResult]] = []
        notes: list[str] = []
        tried: list[str] = []
        while (name := next(names, None)) is not None:
            confirmed = confirm_candidate(chain([name], names), self.limit, self.compile_candidate)
            notes += confirmed.notes
            tried += confirmed.tried
            if confirmed.compiled is None and trials:
                notes += _describe_refusal(confirmed)
                break
            evaluation = self.judge(confirmed, len(trials) + 1)
            trials.append((confirmed, evaluation))
            if not self._needs_another(confirmed, evaluation):
                break
            notes.append(_describe_failure(confirmed.name, evaluation))
            if not self.has_time():
                notes.append("a more precise candidate was not judged: the time was up")
                break
        best, evaluation = self._choose(trials)
        notes += _describe_looks(best.name, len(trials))
        failed = tuple(name for name in tried if name != best.name)
        return Settled(best, evaluation, tuple(notes), failed)

    def _needs_another(self, confirmed: Confirmation, evaluation: EvaluationResult) -> bool:
        """Whether it promised to keep the limit and does not, or is not proven to."""
        loss = evaluation.loss
        if self.judged_limit is None or confirmed.compiled is None:
            return False
        if confirmed.compiled[1].points > self.limit:
            return False
        # What else speaks against it speaks against the others, too.
        can_prove = self.can_prove and loss.samples >= FEWEST and not evaluation.doubts
        return (loss.high if can_prove else loss.points) > self.judged_limit

    def _choose(
        self, trials: Sequence[tuple[Confirmation, EvaluationResult]]
    ) -> tuple[Confirmation, EvaluationResult]:
        limit = self.limit if self.judged_limit is None else self.judged_limit
        proven = [trial for trial in trials if trial[1].loss.high <= limit]
        kept = [trial for trial in trials if trial[1].loss.points <= limit]
        return next(iter(proven or kept), None) or min(trials, key=lambda trial: trial[1].loss.points)


def _describe_failure(name: str, evaluation: EvaluationResult) -> str:
    loss = evaluation.loss
    return f"{name} loses {loss.points:.2f} points on the samples that judge, up to {loss.high:.2f} on others"


def _describe_refusal(confirmed: Confirmation) -> list[str]:
    refusal = confirmed.refusal
    return [f"{confirmed.name} is refused by the compiler ({refusal.what})"] if refusal else []


def _describe_looks(name: str, looks: int) -> list[str]:
    if looks < 2:
        return []
    return [f"{looks} candidates were judged by the same samples: the interval of {name} is wider for that"]
