"""Comparators by the names of the guide."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from edgewright.analyse.comparators.relative_errors import (
    AverageMatch,
    Divergence,
    LargestError,
    NormMatch,
    RootMeanMatch,
    SpreadMatch,
)
from edgewright.analyse.verifiers.distances import CosineSimilarity, SignalToNoise
from edgewright.analyse.verifiers.rankings import MeanIou, TopK
from edgewright.analyse.verifiers.tolerances import RtolAtol
from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.core.errors import UsageError, shown
from edgewright.core.numbers import Array
from edgewright.core.words import did_you_mean

DEFAULT_TOLERANCE = 0.001
# The figure for no noise at all: a mean over inputs needs a number.
MOST_DB = 120.0
# Classes that are looked at where the tolerance gives no number of them: more would match by themselves in a
# model of few classes.
BEST_CLASSES = 1


@dataclass(frozen=True)
class Comparator:
    """A way to compare an output with its reference: a verifier, whose shares are given in percent."""

    name: str
    verifier: Verifier
    is_percent: bool = True
    # What a plain value is.
    unit: str = ""

    @property
    def is_higher_better(self) -> bool:
        """Which way is better."""
        return self.verifier.is_higher_better

    @property
    def heading(self) -> str:
        """What the mean over all outputs is called."""
        return "Avg Match (all outputs)" if self.is_percent else f"Avg {self.name} (all outputs)"

    def compare(self, golden: Array, target: Array) -> float:
        """The figure of one output for one input."""
        score = self.verifier.score(golden, target)
        if self.is_percent:
            return 100.0 * max(score, 0.0)
        return max(-MOST_DB, min(MOST_DB, score)) if self.unit == "dB" else score

    def rank(self, figure: float | None) -> float:
        """A key that sorts the best figure first, and what has none last."""
        if figure is None or math.isnan(figure):
            return math.inf
        return -figure if self.is_higher_better else figure


def find_comparator(name: str, tolerance: float | None = None) -> Comparator:
    """The comparator of a name; what the tolerance means depends on it."""
    if name not in COMPARATORS:
        raise UsageError(
            f"comparator '{shown(name)}' is unknown, expected one of: {', '.join(COMPARATORS)}",
            do=did_you_mean(name, COMPARATORS, "name one of those"),
        )
    if tolerance is not None and not (math.isfinite(tolerance) and tolerance >= 0):
        raise UsageError(f"the tolerance is {tolerance}, expected a number that is not negative")
    return COMPARATORS[name](DEFAULT_TOLERANCE if tolerance is None else tolerance)


def _count_classes(tolerance: float) -> int:
    return int(tolerance) if tolerance >= 1 else BEST_CLASSES


# In the order of the guide. pixelbypixel has avg's figure beside its pictures, box reads several outputs.
COMPARATORS: dict[str, Callable[[float], Comparator]] = {
    "abs": lambda tolerance: Comparator("abs", RtolAtol(rtolmargin=tolerance, atolmargin=0.0)),
    "cos": lambda _: Comparator("cos", CosineSimilarity()),
    "topk": lambda tolerance: Comparator("topk", TopK(k=_count_classes(tolerance))),
    "avg": lambda tolerance: Comparator("avg", AverageMatch(tolerance=tolerance)),
    "l1norm": lambda _: Comparator("l1norm", NormMatch(order=1)),
    "l2norm": lambda _: Comparator("l2norm", NormMatch(order=2)),
    "std": lambda _: Comparator("std", SpreadMatch()),
    "rme": lambda _: Comparator("rme", RootMeanMatch()),
    "snr": lambda _: Comparator("snr", SignalToNoise(), is_percent=False, unit="dB"),
    "maxerror": lambda _: Comparator("maxerror", LargestError(), is_percent=False),
    "kld": lambda _: Comparator("kld", Divergence(), is_percent=False, unit="nats"),
    "pixelbypixel": lambda tolerance: Comparator("pixelbypixel", AverageMatch(tolerance=tolerance)),
    "box": lambda _: Comparator("box", MeanIou(background_classification=math.nan)),
}
