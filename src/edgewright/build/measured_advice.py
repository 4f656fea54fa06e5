"""Advice that was tried before it is given: what does not help on the samples is not said."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from edgewright.analyse.records import Finding, Layer
from edgewright.build.candidates import HALF
from edgewright.build.records import Candidate
from edgewright.build.request import BuildRequest
from edgewright.config.build import AUTO
from edgewright.core.errors import shown
from edgewright.evaluate.records import Loss
from edgewright.targets.soc import FIRST_WITH_HALF

# Kinds of findings: an override for several tensors, and for one; a precision; none that would do; a choice
# that does not hold.
OVERRIDE, SINGLES = "override", frozenset({"range", "weights"})
PRECISION, NO_PRECISION, CHOICE = "precision", "limit", "choice"
# Points that are not worth a word.
LEAST_GAIN = 0.005
# Layers that are named as the cause.
MOST_LAYERS = 3
# Gives a candidate that was built for the question; None where there was no time for it.
TryOverride = Callable[[str], Candidate | None]
LATE = "for the time was up"
TRIED_LAST = ("w8a16", HALF)


def keep_what_helps(
    findings: Sequence[Finding], chosen: Candidate, try_override: TryOverride | None
) -> tuple[Finding, ...]:
    """The findings of an analysis, of whose overrides one is left: the one that gains points as measured.

    Args:
        findings: each with the override that widens what is weak.
        chosen: the candidate that they are about.
        try_override: builds it with an override; None where overrides would undo what was chosen on purpose.
    """
    overrides = [finding for finding in findings if finding.kind in {OVERRIDE, *SINGLES} and finding.do]
    # What is weak stays worth knowing.
    facts = [
        replace(finding, grade="note", do="") if finding.kind in SINGLES else finding
        for finding in findings
        if finding.kind != OVERRIDE
    ]
    if not overrides or try_override is None:
        return tuple(facts)
    best = next((finding for finding in overrides if finding.kind == OVERRIDE), overrides[0])
    tried = try_override(best.do)
    if tried is None:
        return (Finding("note", OVERRIDE, f"{best.what}: what may help was not tried, {LATE}"), *facts)
    if chosen.drop - tried.drop <= LEAST_GAIN:
        return tuple(facts)
    return (Finding("warning", OVERRIDE, f"{best.what}: {_describe_gain(chosen, tried)}", do=best.do), *facts)


def _describe_gain(chosen: Candidate, tried: Candidate) -> str:
    return (
        f"{tried.drop:.2f} points are lost with it in place of {chosen.drop:.2f},"
        f" on the {tried.samples} samples that choose,"
        f" at a cost of {tried.cost:.2f} in place of {chosen.cost:.2f}"
    )


def list_untried_precisions(
    candidates: Sequence[Candidate], request: BuildRequest, architecture: int
) -> tuple[str, ...]:
    """Wider precisions that might keep a limit; none where `auto` found one that did on its samples."""
    if request.precision == AUTO and any(candidate.drop <= request.limit for candidate in candidates):
        return ()
    known = {candidate.name for candidate in candidates}
    has_half = architecture >= FIRST_WITH_HALF
    return tuple(name for name in TRIED_LAST if name not in known and (name != HALF or has_half))


def advise_on_miss(
    candidates: Sequence[Candidate],
    limit: float,
    loss: Loss,
    layers: Sequence[Layer],
    try_wider: Sequence[tuple[str, Callable[[], Candidate | None]]] = (),
) -> tuple[Finding, ...]:
    """What to do about a limit that is missed: another precision that keeps it, or that none does and why.

    Args:
        candidates: what was tried, one of them chosen.
        limit: points that may be lost.
        loss: what the chosen one loses on the samples that judge.
        layers: the chosen one's.
        try_wider: precisions that were not tried, with functions that build them.
    """
    chosen = next(candidate for candidate in candidates if candidate.is_chosen)
    tried = list(candidates)
    for name, build in try_wider:
        wider = build()
        if wider is None:
            return (Finding("note", PRECISION, f"{name} was not tried, {LATE}"),)
        if wider.drop <= limit and wider.drop < chosen.drop - LEAST_GAIN:
            what = f"{name} loses {wider.drop:.2f} points on the {wider.samples} samples that choose"
            cost = f"at a cost of {wider.cost:.2f} in place of {chosen.cost:.2f}"
            text = f"{what}, {chosen.name} {chosen.drop:.2f}, {cost}"
            return (Finding("warning", PRECISION, text, do=f"--precision {name}"),)
        tried.append(wider)
    best = min(tried, key=lambda candidate: candidate.drop)
    if best.drop > limit:
        return (Finding("warning", NO_PRECISION, _describe_cause(best, limit, loss, layers)),)
    return tuple(_describe_luck(chosen, limit))


def _describe_cause(best: Candidate, limit: float, loss: Loss, layers: Sequence[Layer]) -> str:
    """Which output and which layers cost most where nothing keeps the limit."""
    text = (
        f"no precision meets the limit of {limit:g} on these samples: even {best.name} loses {best.drop:.2f}"
        f" points on those that choose, and what was built loses {loss.points:.2f} on those that judge"
    )
    text += f", most of it at output '{shown(loss.output)}'" if loss.output else ""
    names = ", ".join(
        f"{layer.op} '{shown(layer.source)}' ({noise:.1f} dB)" for noise, layer in _list_noisy(layers)
    )
    return f"{text}; the layers farthest from the float model by themselves are {names}" if names else text


def _list_noisy(layers: Sequence[Layer]) -> list[tuple[float, Layer]]:
    own = [(layer.own_db, layer) for layer in layers if layer.own_db is not None]
    far = [(noise, layer) for layer in layers if (noise := layer.emulator_db or layer.sim_db) is not None]
    return sorted(own or far, key=lambda pair: pair[0])[:MOST_LAYERS]


def _describe_luck(chosen: Candidate, limit: float) -> Iterator[Finding]:
    """It kept the limit on the samples that chose it: too few of them, or others than those that judge."""
    if chosen.drop <= limit and chosen.samples:
        what = f"{chosen.name} lost {chosen.drop:.2f} points on the {chosen.samples} samples that chose it"
        share = 100 / chosen.samples
        few = f": one of them is {round(share, 1):g} points, more than the limit" if share > limit else ""
        yield Finding(
            "warning", CHOICE, f"{what}{few}", do="give more samples, so that the choice holds for others"
        )
