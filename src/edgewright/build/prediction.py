"""Foresees which candidates a build will try, and which it will judge, from what two of them lose."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from edgewright.build.candidates import (
    HALF,
    MIXED,
    MIXED_BASE,
    PLAIN,
    WIDE,
    CandidateResult,
    SearchLimit,
    find_chosen,
    search_precisions,
)
from edgewright.build.records import Candidate

# What candidates mostly lose, as a part of what plain 8 bits lose; mixed widths lose this part of the limit.
USUAL_LOSSES = {MIXED_BASE: 0.5, WIDE: 0.25, HALF: 0.05}
USUAL_LOSS_OF_MIXED = 0.9
# What they cost, in plain 8 bits.
USUAL_COSTS = {PLAIN: 1.0, MIXED_BASE: 1.0, MIXED: 1.5, WIDE: 2.0, HALF: 4.0}


@dataclass(frozen=True)
class Tried:
    """Points that a candidate loses on a few samples, and up to how many on those that judge."""

    drop: float
    high: float
    samples: int
    # What it costs, in plain 8 bits: more where layers are in half precision in any case.
    cost: float = 1.0

    def expect(self, name: str) -> Candidate:
        """A candidate that loses so much."""
        cost = max(self.cost, USUAL_COSTS.get(name, 1.0))
        score = 100 - self.drop
        return Candidate(
            name, "", "htp-sim", self.samples, score, self.drop, 0.0, 0, cost, drop_high=self.high
        )


@dataclass(frozen=True)
class Prediction:
    """The candidates that will be built, and the one that will be judged."""

    built: tuple[str, ...]
    chosen: str


def predict_search(names: tuple[str, ...], goal: SearchLimit, tried: Mapping[str, Tried]) -> Prediction:
    """The search of a build, with what was tried, and for the others what they mostly lose."""

    def build(name: str) -> CandidateResult:
        loss = tried.get(name) or _expect_loss(name, goal, tried[PLAIN])
        return CandidateResult(loss.expect(name))

    results = search_precisions(names, goal, build).results
    return Prediction(tuple(each.candidate.name for each in results), find_chosen(results).candidate.name)


def _expect_loss(name: str, goal: SearchLimit, plain: Tried) -> Tried:
    """What a candidate mostly loses; the interval is as wide, measured by the loss."""
    if name != MIXED:
        part = USUAL_LOSSES[name]
        return replace(plain, drop=part * plain.drop, high=part * plain.high)
    drop = USUAL_LOSS_OF_MIXED * goal.limit
    reach = plain.high / plain.drop if plain.drop > 0 else 1.0
    return replace(plain, drop=drop, high=drop * reach)
