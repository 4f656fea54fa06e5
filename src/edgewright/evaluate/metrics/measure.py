"""What every metric is: sums over samples, and a figure in percent that is made of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgewright.core.numbers import Array


@dataclass(frozen=True)
class Answer:
    """One output of one sample: the float model's, that of the model in question, and what is right."""

    reference: Array
    result: Array
    # The right class; None where it is not known.
    label: int | None = None
    # The axis of classes.
    axis: int = -1


class Measure(ABC):
    """A metric that is made of sums, so that any part of the samples can be asked for its figure."""

    name: ClassVar[str]
    text: ClassVar[str]
    # Whether it is a share of answers: those have an interval of their own where all are good.
    is_share: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False

    @abstractmethod
    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """What one sample adds to each of the sums."""

    @abstractmethod
    def compute_score(self, sums: Array, span: float) -> Array:
        """The figure in percent of sums [..., sum]; ``span`` is the range of the float model's values."""


class MeanMeasure(Measure):
    """The mean over samples of a number that is 1 where all is well: the first sum over the second."""

    def compute_score(self, sums: Array, span: float) -> Array:
        """In percent; 0 of no samples at all."""
        del span
        return np.asarray(100 * sums[..., 0] / np.maximum(sums[..., 1], 1))
