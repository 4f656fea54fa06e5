"""What an evaluation measured, as plain records."""

import re
from dataclasses import dataclass

# The folders of a file in a name such as wer:FOLDER/ALPHABET or OUTPUT=FOLDER/FILE.py:FUNCTION.
_FOLDERS = re.compile(r"(?<![^:=,])[^:=,]*/(?=[^:=,/]*(?:[:,]|$))")


def shorten_metric_name(name: str) -> str:
    """The name of a metric for readers: files without their folders."""
    return _FOLDERS.sub("", name)


@dataclass(frozen=True)
class Metric:
    """How accuracy is measured for this model and data: one number in percent, larger is better."""

    # Of the registry (right-answers, same-answers, closeness ...), or FILE:FUNCTION of the user's own; where
    # outputs have different ones, OUTPUT=NAME for each.
    name: str
    # A sentence for readers.
    text: str
    # The outputs that it looks at, each for itself: the worst of them counts.
    outputs: tuple[str, ...]
    # Why this one, where nobody asked for it.
    reason: str = ""
    # The metric of each of these outputs, where they have different ones.
    each: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The head of a column of its figures."""
        return "score" if self.each else self.short_name

    @property
    def short_name(self) -> str:
        """Its name for readers."""
        return shorten_metric_name(self.name)

    def find_name(self, output: str) -> str:
        """The metric that one output is judged by."""
        return self.each[self.outputs.index(output)] if self.each and output in self.outputs else self.name


@dataclass(frozen=True)
class Accuracy:
    """One output on one backend, over samples that neither calibrated nor chose anything."""

    output: str
    # float, htp-sim or htp-native.
    backend: str
    samples: int
    # The metric in percent with its interval of 95 %; None where it does not look at this output.
    score: float | None
    low: float | None
    high: float | None
    # Against the float model; None for the float model itself.
    sqnr_db: float | None
    max_abs: float | None


@dataclass(frozen=True)
class Loss:
    """Points of the metric that the float model has and the other has not, on the same samples."""

    output: str
    backend: str
    samples: int
    points: float
    # The interval of 95 % of the difference; the upper end allows for samples that are worse than these.
    low: float
    high: float
    # The float model's score on these samples.
    float_score: float
    # The upper end that so many samples would give if they went on like these, with rising numbers.
    prospects: tuple[tuple[int, float], ...] = ()
