"""Tries a metric of the user's own on wrong answers, which must score less than the float model's."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from edgewright.core.errors import UsageError, shown
from edgewright.evaluate.metrics.measure import Answer, Measure

# Points by which answers of other samples are worse at least; a limit on less says nothing.
LEAST_APART = 1.0


class MetricTrial:
    """Scores each sample's own answer, and that of the sample before it, by metrics that nobody knows.

    Args:
        measures: all metrics, by output.
    """

    def __init__(self, measures: Mapping[str, Measure]) -> None:
        self._measures = {name: measure for name, measure in measures.items() if measure.is_unknown}
        self._last: dict[str, Answer] = {}
        self._right: dict[str, list[tuple[float, ...]]] = {name: [] for name in self._measures}
        self._wrong: dict[str, list[tuple[float, ...]]] = {name: [] for name in self._measures}

    def add(self, name: str, answer: Answer) -> None:
        """Takes in the float model's answer of one more sample, by output."""
        measure = self._measures.get(name)
        if measure is None:
            return
        last = self._last.get(name)
        self._last[name] = answer
        if last is None:
            return
        # A function that fails on a wrong answer tells it apart.
        with suppress(UsageError):
            wrong = measure.add_up(replace(answer, result=last.result, results=last.results))
            self._wrong[name].append(wrong)
            self._right[name].append(measure.add_up(answer))

    def describe(self, name: str) -> Iterator[str]:
        """Why what is lost by the metric of an output proves nothing; nothing where it may."""
        if not self._right.get(name):
            return
        measure, nothing = self._measures[name], np.zeros(0)
        right, wrong = (
            float(measure.compute_score(np.sum(sums, 0), nothing))
            for sums in (self._right[name], self._wrong[name])
        )
        if right - wrong < LEAST_APART:
            yield (
                f"the metric '{shown(measure.name)}' gives answers of other samples {wrong:.1f} % and the "
                f"right ones {right:.1f} %: it must return 1 for a perfect output, less for a wrong one"
            )
