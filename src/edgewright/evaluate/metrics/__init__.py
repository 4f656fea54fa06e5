"""Metrics by name: each says what one sample adds, and what the sums of all samples come to."""

from edgewright.evaluate.metrics.answers import RightAnswers, SameAnswers, TopAnswers
from edgewright.evaluate.metrics.measure import Measure
from edgewright.evaluate.metrics.own_function import open_own_function
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
    )
}


def find_measure(name: str) -> Measure:
    """The metric of a name, or the user's own function: FILE.py:FUNCTION."""
    return MEASURES[name] if name in MEASURES else open_own_function(name)
