"""Whether a limit is kept: proven, not proven, or missed."""

from dataclasses import dataclass

from edgewright.config.spelling import spell_option
from edgewright.core.errors import shown
from edgewright.evaluate.loss import FEWEST, UNKNOWN, count_needed_samples
from edgewright.evaluate.records import Accuracy, Loss
from edgewright.evaluate.statistics import compute_wilson_interval

MET, NOT_PROVEN, MISSED, NO_LIMIT = "met", "not proven", "missed", "no limit"
# Simulation and emulator disagree where their difference is beyond chance and beyond this part of the limit.
WORTH_TELLING = 0.25
DISAGREEMENT = "simulation and emulator disagree"
# What does not hold then, where the emulator loses more, and where it loses less.
SIMULATED = "figures of the simulation do not hold for this model"
CHOSEN = "candidates were chosen by figures that do not hold for this model"
NO_EMULATION = "the emulator had time for no sample"
# Trained models that are right less often than this mostly have samples that are not as in training.
LOWEST_USUAL = 0.5
# What loses more than this part of the limit is near to it.
NEAR_PART = 0.5
# What the float model scores by its own answers, in percent, where a metric reads them as they are meant.
LEAST_OF_ITSELF = 99.0


@dataclass(frozen=True)
class Verdict:
    """The word that is said, what it is drawn from, and why it is not a better one."""

    word: str
    loss: Loss
    reasons: tuple[str, ...] = ()
    # Samples that would prove the limit if they went on like these; None where that cannot be said.
    needed: int | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the limit is proven to be kept; None where there is none."""
        return None if self.word == NO_LIMIT else self.word == MET


def describe_poor_float_model(score: float, samples: int, classes: int, tolerated: int = 1) -> str:
    """What is wrong before anything was quantized, by right answers in percent; empty where nothing is.

    ``tolerated``: how many classes are answered, one of which must be right.
    """
    if not samples:
        return ""
    low, high = compute_wilson_interval(score / 100 * samples, samples)
    chance = min(1.0, tolerated / max(classes, 1))
    least = min(2 * chance, (1 + chance) / 2)
    if high >= LOWEST_USUAL and low > least:
        return ""
    counted = "one sample" if samples == 1 else f"{samples} samples"
    if high >= LOWEST_USUAL and score / 100 > least:
        return f"the float model is right on {score:.0f} % of {counted}, too few to tell that from chance"
    text = f"right on only {score:.0f} % of {counted}"
    return (
        f"the float model itself is {text} ({100 * chance:.1f} % would be chance): "
        "what is lost says little before samples and labels fit the model"
    )


def describe_low_score(metric: str, accuracy: Accuracy, lowest: float, *, has_labels: bool) -> str:
    """What is wrong with a float model's own score of another metric; empty where nothing is."""
    score = accuracy.score
    if score is None or not accuracy.samples:
        return ""
    if not has_labels and score < LEAST_OF_ITSELF:
        return (
            f"by {metric} the float model's output '{shown(accuracy.output)}' agrees with itself in only "
            f"{score:.1f} %: the metric does not read it as it is meant"
        )
    if has_labels and (accuracy.high is None or accuracy.high < lowest):
        return (
            f"the float model itself reaches only {score:.1f} % of {metric} on {accuracy.samples} samples, "
            f"{lowest:g} % or more are usual: losses say little before samples and labels fit the model"
        )
    return ""


def judge_loss(
    loss: Loss, limit: float | None, apart: Loss | None = None, doubts: tuple[str, ...] = ()
) -> Verdict:
    """What a loss means for a limit.

    Args:
        loss: against the float model, on samples that neither calibrated nor chose.
        limit: points that may be lost; None where nobody said.
        apart: what the emulator loses against the simulation on the same samples, where both ran.
        doubts: why the loss proves nothing, whatever it is.
    """
    unmeasured = () if loss.samples else ("no sample was measured",)
    reasons = (*unmeasured, *doubts, *describe_disagreement(apart, limit))
    if limit is None:
        return Verdict(NO_LIMIT, loss, reasons)
    if loss.points > limit:
        return Verdict(MISSED, loss, (_describe_miss(loss, limit), *reasons))
    if loss.high <= limit and not reasons:
        return Verdict(MET, loss)
    if loss.high <= limit:
        return Verdict(NOT_PROVEN, loss, reasons)
    if reasons:
        # More samples help only where nothing else stands against it.
        return Verdict(NOT_PROVEN, loss, (*reasons, _describe_lost(loss)))
    needed = count_needed_samples(loss, limit)
    return Verdict(NOT_PROVEN, loss, (_describe_doubt(loss, limit, needed),), needed)


def _describe_miss(loss: Loss, limit: float) -> str:
    return f"{loss.points:.2f} points are lost, {limit:g} may be"


def _describe_lost(loss: Loss) -> str:
    count = "one sample" if loss.samples == 1 else f"{loss.samples} samples"
    return f"{loss.points:.2f} points are lost on {count}, with others up to {loss.high:.2f}"


def _describe_doubt(loss: Loss, limit: float, needed: int | None) -> str:
    lost = _describe_lost(loss)
    if loss.samples < FEWEST and needed is not None:
        least = "at least" if needed == FEWEST else "about"
        return f"{lost}, for so few show nothing of them: {least} {needed} are needed"
    if needed is None and loss.points < NEAR_PART * limit:
        return (
            f"{lost}: samples differ so much that even many times as many would not prove the limit of "
            f"{limit:g}; a metric of the task may ({spell_option('metric')})"
        )
    if needed is None:
        return f"{lost}: too near to the limit of {limit:g} to be proven"
    return (
        f"{lost}: {max(1, needed - loss.samples)} more samples like these would prove the limit of {limit:g}"
    )


def describe_disagreement(apart: Loss | None, limit: float | None) -> tuple[str, ...]:
    """That the emulator loses more than the simulation, or less, beyond chance; empty where it does not."""
    if apart is None or not _is_worth_telling(apart, 1.0 if limit is None else limit):
        return ()
    same = f"{DISAGREEMENT}: on the same {apart.samples} samples"
    word, doubted = ("more", SIMULATED) if apart.points > 0 else ("less", CHOSEN)
    low, high = sorted(abs(end) for end in (apart.low, apart.high))
    sure = "too few to say how much on others" if _is_unknown(apart) else f"{low:.2f} to {high:.2f}"
    return (f"{same} the emulator loses {abs(apart.points):.2f} points {word} ({sure}); {doubted}",)


def _is_worth_telling(apart: Loss, limit: float) -> bool:
    """Few samples differ by as much as may be lost at all; of others the interval decides."""
    if _is_unknown(apart):
        return abs(apart.points) > limit
    return not apart.low <= 0 <= apart.high and abs(apart.points) > WORTH_TELLING * limit


def _is_unknown(loss: Loss) -> bool:
    """Whether samples are too few for an interval."""
    return loss.samples < FEWEST and (loss.low, loss.high) == UNKNOWN
