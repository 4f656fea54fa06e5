"""Metrics that count answers: the largest class, or a few of the largest."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from edgewright.core.numbers import Array
from edgewright.data.labels import CLASSES
from edgewright.evaluate.metrics.measure import Answer, MeanMeasure

# How many of the largest classes may hold the right one, where no number is said.
TOP = 5
# Whole numbers of more kinds than this are no classes.
MOST_CLASSES = 4096
# From this probability on, the one class of two is answered.
EVEN = 0.5


def has_nan(result: Array) -> bool:
    """Whether something is not a number: the largest of such values is no answer."""
    return result.dtype.kind == "f" and bool(np.isnan(result).any())


def _count_by_class(answers: Array, are_good: Array) -> dict[int, float]:
    """How many answers of each class are good; nothing where they are no classes."""
    if answers.dtype.kind not in "iub":
        return {}
    numbers, places = np.unique(answers, return_inverse=True)
    if len(numbers) > MOST_CLASSES:
        return {}
    counts = np.bincount(places.reshape(-1), are_good.reshape(-1).astype(np.float64), len(numbers))
    return dict(zip(map(int, numbers), map(float, counts), strict=True))


class _Share(MeanMeasure):
    """Good answers out of all."""

    is_share: ClassVar[bool] = True
    lowest_usual: ClassVar[float] = 50.0


class RightAnswers(_Share):
    """The largest class is the right one; a single value is a class, or the probability of class 1."""

    name = "right-answers"
    text = "share of samples whose largest class is the right one"
    label_kind = CLASSES
    needs_labels = True

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Of a sample without label nothing is known."""
        if answer.label is None:
            return 0.0, 0.0
        is_right = not has_nan(answer.result) and self._find_class(answer) == answer.label
        return float(is_right), 1.0

    @staticmethod
    def _find_class(answer: Answer) -> int:
        values = answer.result.reshape(-1)
        if values.size > 1:
            return int(values.argmax())
        return int(np.rint(values[0])) if answer.has_codes else int(values[0] >= EVEN)

    def count_good(self, answer: Answer) -> Mapping[int, float]:
        """The class of the label, where it is answered."""
        return {answer.label: self.add_up(answer)[0]} if isinstance(answer.label, int) else {}


class SameAnswers(_Share):
    """The largest class is that of the float model."""

    name = "same-answers"
    text = "share of answers (largest class) that are those of the float model"

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """The share of the same answers."""
        _, same = self._compare(answer)
        return float(np.mean(same)) if np.size(same) else 1.0, 1.0

    def count_good(self, answer: Answer) -> Mapping[int, float]:
        """The float model's answers that are the same."""
        return _count_by_class(*self._compare(answer))

    def _compare(self, answer: Answer) -> tuple[Array, Array]:
        """The float model's answers, and whether each is the same; whole numbers are answers themselves."""
        first, second = answer.reference, answer.result.reshape(answer.reference.shape)
        if answer.has_codes and first.dtype.kind == "f":
            return first.astype(np.int64), np.asarray(first == np.rint(second))
        if first.dtype.kind in "iub" or not first.ndim:
            return first, np.asarray(first == second)
        is_number = ~np.isnan(second).any(answer.axis)
        answers = np.asarray(first.argmax(answer.axis))
        return answers, np.asarray((answers == second.argmax(answer.axis)) & is_number)


class TopAnswers(_Share):
    """The right class, or the float model's where none is known, is among the largest."""

    label_kind = CLASSES

    def __init__(self, count: int = TOP) -> None:
        self._count = self.tolerated = count
        self.name = f"top-{count}"
        self.text = f"share of samples with the right class (or the float model's) among the {count} largest"

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Of equal scores the first one is larger, as argmax has it: an output that is all one says nothing.

        Rows of classes are answers each where no label is known.
        """
        _, is_good = self._compare(answer)
        return float(np.mean(is_good)) if np.size(is_good) else 1.0, 1.0

    def _compare(self, answer: Answer) -> tuple[Array, Array]:
        """The right answers, and whether each is among the largest."""
        axis = answer.axis
        scores: Array = answer.result.reshape(answer.reference.shape)
        right: Array = answer.reference.argmax(axis)
        if isinstance(answer.label, int):
            scores, axis = scores.reshape(-1), 0
            right = np.asarray(answer.label)
            if not 0 <= answer.label < scores.size:
                return right, np.zeros(())
        level = np.take_along_axis(scores, np.expand_dims(right, axis), axis)
        is_number = ~np.isnan(scores).any(axis) if scores.dtype.kind == "f" else np.True_
        places = np.moveaxis(np.arange(scores.shape[axis]).reshape([-1] + [1] * (scores.ndim - 1)), 0, axis)
        is_before = (scores == level) & (places < np.expand_dims(right, axis))
        is_good = (((scores > level) | is_before).sum(axis) < self._count) & is_number
        return right, np.asarray(is_good)

    def count_good(self, answer: Answer) -> Mapping[int, float]:
        """The right classes that are among the largest."""
        return _count_by_class(*self._compare(answer))

    def find_misfit(self, shapes: Mapping[str, Sequence[int]], output: str) -> str:
        """As many classes as there are hold every answer."""
        classes = max(shapes[output], default=1)
        if self._count < classes:
            return ""
        return f"of {classes} classes, every one is among the {self._count} largest"
