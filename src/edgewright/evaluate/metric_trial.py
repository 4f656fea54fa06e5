"""Tries metrics on wrong answers, those of other samples: where they keep the limit, too, it says nothing."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from edgewright.core.errors import UsageError, shown
from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.measure import Answer, Measure

# Points by which answers of other samples are worse at least; a limit on less says nothing.
LEAST_APART = 1.0
# Samples that are tried; so many tell whether their answers differ.
TRIED_SAMPLES = 64


class MetricTrial:
    """Scores each sample's own answer, and that of the sample before it, by the metric of each output.

    Args:
        measures: all metrics, by output.
    """

    def __init__(self, measures: Mapping[str, Measure]) -> None:
        self._measures = measures
        self._last: dict[str, Answer] = {}
        self._right: dict[str, list[tuple[float, ...]]] = {name: [] for name in measures}
        self._wrong: dict[str, list[tuple[float, ...]]] = {name: [] for name in measures}

    def add(self, name: str, answer: Answer) -> None:
        """Takes in the float model's answer of one more sample, by output."""
        measure = self._measures.get(name)
        if measure is None or len(self._right[name]) >= TRIED_SAMPLES:
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

    def describe(self, name: str, span: Array, limit: float) -> Iterator[str]:
        """Why what is lost by the metric of an output proves nothing; nothing where it may.

        Args:
            name: the output.
            span: ranges of the float model's values by part.
            limit: points that may be lost.
        """
        if not self._right.get(name):
            return
        measure = self._measures[name]
        right, wrong = (
            float(measure.score_draws(sums, np.ones((1, len(sums))), span)[0])
            for sums in (self._right[name], self._wrong[name])
        )
        if right - wrong >= max(LEAST_APART, limit):
            return
        text = f"gives answers of other samples {wrong:.1f} % and the right ones {right:.1f} %"
        if measure.is_unknown:
            advice = "it must return 1 for a perfect output, less for a wrong one"
            yield f"the metric '{shown(measure.name)}' {text}: {advice}"
        else:
            advice = "they keep the limit, too: give samples that are answered differently, or another metric"
            yield f"{measure.name} of output '{shown(name)}' {text}: {advice}"
