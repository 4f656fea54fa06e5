"""What every metric is: sums over samples, and a figure in percent that is made of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from edgewright.core.numbers import Array
from edgewright.data.labels import Label
from edgewright.evaluate.output_parts import ONE_PART, OutputParts
from edgewright.evaluate.tail import Term

# Labels of every kind.
ANY = "any"
# What each sample adds.
Sums = Sequence[tuple[float, ...]]


@dataclass(frozen=True)
class Answer:
    """One output of one sample: the float model's, that of the model in question, and what is right."""

    reference: Array
    result: Array
    # What is right, in the form that the metric takes; None where it is not known.
    label: Label | None = None
    # The axis of classes.
    axis: int = -1
    # Values of different sizes, which are judged each by their own range.
    parts: OutputParts = ONE_PART
    # All of the sample, for metrics that look at more than one output.
    inputs: Mapping[str, Array] = field(default_factory=dict)
    references: Mapping[str, Array] = field(default_factory=dict)
    results: Mapping[str, Array] = field(default_factory=dict)
    # Whether values are whole numbers that are answers themselves, in whatever datatype.
    has_codes: bool = False


class Measure(ABC):
    """A metric that is made of sums, so that any part of the samples can be asked for its figure."""

    name: str
    text: str
    # Whether it is a share of answers: those have an interval of their own where all are good.
    is_share: ClassVar[bool] = False
    # Whether every change of a value changes it: samples that lose nothing are then no accident.
    is_of_values: ClassVar[bool] = False
    # The form of the right answers that it takes, and whether it can do without.
    label_kind: ClassVar[str | None] = None
    needs_labels: ClassVar[bool] = False
    # With labels that fit, trained models reach this at least, in percent: less says that something else is
    # wrong. And how many classes may be answered for one to be right.
    lowest_usual: ClassVar[float] = 0.0
    tolerated: int = 1
    # The package that it is computed by, where that is an extra.
    package: ClassVar[str] = ""
    # Whether it looks at all outputs at once, and not at each for itself.
    is_joint: bool = False
    # Whether only the user knows what it tells apart.
    is_unknown: ClassVar[bool] = False

    @abstractmethod
    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """What one sample adds to each of the sums."""

    @abstractmethod
    def compute_score(self, sums: Array, span: Array) -> Array:
        """The figure in percent of sums [..., sum]; ``span``: ranges of the float model's values by part."""

    def score_draws(self, parts: Sums, times: Array, span: Array) -> Array:
        """The figure in percent of samples that are taken so often [draw, sample]."""
        return self.compute_score(times @ np.array(parts, np.float64), span)

    def list_terms(self, first: Sums, second: Sums, span: Array) -> list[Term]:
        """The errors that the loss between two models is the largest of, sample by sample.

        Of a metric that says nothing else: what would be lost less without the sample, in a mean.
        """
        count = len(first)
        weights = np.concatenate([np.ones((1, count)), 1 - np.eye(count)])
        scores = (self.score_draws(sums, weights, span) / 100 for sums in (first, second))
        lost = np.subtract(*scores)
        errors = lost[0] + (count - 1) * (lost[0] - lost[1:])
        return [Term(errors + lost[0] - errors.mean(), np.ones(len(errors)))]

    def count_good(self, answer: Answer) -> Mapping[int, float]:
        """Good answers by their class, of a metric that counts answers."""
        del answer
        return {}

    def describe_float_model(self, sums: Sums) -> str:
        """Why the float model's own figures prove nothing; empty where they do."""
        del sums
        return ""

    def find_misfit(self, shapes: Mapping[str, Sequence[int]], output: str) -> str:
        """Why it cannot look at an output, and what it would need; empty where it can."""
        del shapes, output
        return ""


class MeanMeasure(Measure):
    """The mean over samples of a number that is 1 where all is well: the first sum over the second."""

    def compute_score(self, sums: Array, span: Array) -> Array:
        """In percent; 0 of no samples at all."""
        del span
        return np.asarray(100 * sums[..., 0] / np.maximum(sums[..., 1], 1))
