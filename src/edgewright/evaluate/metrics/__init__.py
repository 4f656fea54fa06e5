"""Metrics by name: each says what one sample adds, and what the sums of all samples come to."""

from collections.abc import Callable

from edgewright.core.errors import UsageError, shown
from edgewright.evaluate.metrics.answers import RightAnswers, SameAnswers, TopAnswers
from edgewright.evaluate.metrics.boxes import BoxOverlap
from edgewright.evaluate.metrics.detections import MeanAveragePrecision
from edgewright.evaluate.metrics.measure import Measure
from edgewright.evaluate.metrics.own_function import open_own_function
from edgewright.evaluate.metrics.pixels import IntersectionOverUnion
from edgewright.evaluate.metrics.tokens import Perplexity
from edgewright.evaluate.metrics.transcripts import CharacterErrors, WordErrors
from edgewright.evaluate.metrics.values import Closeness, Cosine, MeanAbsoluteError, SignalToNoise

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        RightAnswers(),
        SameAnswers(),
        TopAnswers(),
        Closeness(),
        SignalToNoise(),
        Cosine(),
        MeanAbsoluteError(),
        IntersectionOverUnion(),
        BoxOverlap(),
        MeanAveragePrecision(),
        WordErrors(),
        CharacterErrors(),
        Perplexity(),
    )
}
# Those that are told more after a colon.
DETAILED: dict[str, Callable[..., Measure]] = {
    "box-iou": BoxOverlap,
    "map": MeanAveragePrecision,
    "wer": WordErrors,
    "cer": CharacterErrors,
}


def find_measure(name: str) -> Measure:
    """The metric of a name, or the user's own function: FILE.py:FUNCTION."""
    kind, *details = name.split(":")
    if name in MEASURES:
        return MEASURES[name]
    if kind in DETAILED:
        return _make_detailed(kind, details)
    number = name.removeprefix("top-")
    return TopAnswers(int(number)) if number.isdecimal() and number != name else open_own_function(name)


def _make_detailed(kind: str, details: list[str]) -> Measure:
    most = 1 if kind == "box-iou" else 2
    if len(details) > most:
        raise UsageError(
            f"the metric '{kind}' is told {len(details)} things, expected {most} at most",
            do=f"leave ':{shown(details[most], 60)}' out",
        )
    return DETAILED[kind](*details)
