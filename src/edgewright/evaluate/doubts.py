"""Why a loss proves nothing: values that are no numbers, outputs that never change, classes that are lost."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from edgewright.core.errors import shown
from edgewright.core.numbers import Array
from edgewright.evaluate.output_parts import ONE_PART, OutputParts
from edgewright.ir.graph import Graph

# Good answers of a class by sample; a class that fewer samples have than this tells nothing by itself.
ClassCounts = Sequence[Mapping[int, float]]
FEWEST_OF_CLASS = 5
# A class that keeps less than this part of its good answers is lost.
LEAST_KEPT = 0.5
# Rarer classes are lost where they keep nothing and chance would take all of a class less often than this.
RARE_CHANCE = 0.05
# Samples with values so many times as large as those of the smaller half hide what is lost of these, and the
# part of them that may be noise.
MUCH_LARGER, MOST_HIDDEN = 30.0, 0.1
# Probabilities that differ by less than this part of their range show one answer only.
LEAST_OF_RANGE = 0.05
# Probabilities within this part of their range from either end are sure.
SURE_PART = 0.01
# Classes that the float model never has right matter where so many of the samples are theirs.
MOST_MISSED = 0.05
# Lost classes that are named.
MOST_NAMED = 3


class OutputFacts:
    """What the float model's values of one output are like, over samples.

    Args:
        width: the range of an output that is nothing but probabilities: it is looked at as a whole.
        parts: the parts of another one.
    """

    def __init__(self, width: float = 0.0, parts: OutputParts = ONE_PART) -> None:
        self._is_whole = width > 0
        self._labels = None if self._is_whole else parts.labels
        # The range of probabilities in each part; 0 of other values.
        self._widths = np.array([width] if self._is_whole else parts.known)
        self._unsure = np.zeros(len(self._widths), np.int64)
        self._samples = self._broken = 0
        self._first: Array | None = None
        self._is_constant = True

    def add(self, values: Array) -> None:
        """Takes in one more sample."""
        self._samples += 1
        self._broken += not is_finite(values)
        if self._first is None:
            self._first = values
        self._is_constant = self._is_constant and np.array_equal(values, self._first)
        if self._widths.any():
            self._unsure += self._find_unsure(values)

    def _find_unsure(self, values: Array) -> Array:
        """Which parts hold a probability that is sure of nothing."""
        if self._labels is None:
            return np.array([_is_unsure(values, self._widths).any()])
        labels = self._labels.reshape(values.shape)
        unsure = labels[_is_unsure(values, self._widths[labels])]
        return np.bincount(unsure, minlength=len(self._widths)) > 0

    def describe(
        self, name: str, spans: Array, widths: Array, *, is_computed: bool, are_values_judged: bool
    ) -> Iterator[str]:
        """What the float model itself does not show.

        Args:
            name: the output.
            spans: the ranges of its parts in these samples.
            widths: the ranges of parts whose values are each a probability; 0 of others.
            is_computed: whether it is computed from an input.
            are_values_judged: by how close they are, and not as answers.
        """
        model = f"the float model's output '{shown(name)}'"
        if self._is_whole:
            # That some of its values are all alike is nothing strange, such as the rim of a mask.
            spans, widths = spans.max(keepdims=True), widths.max(keepdims=True)
        if self._broken:
            yield (
                f"{model} has values that are no numbers, NaN or infinite, in {self._broken} of "
                f"{self._samples} samples: what is lost there cannot be measured"
            )
        elif self._is_constant and self._samples > 1 and is_computed:
            yield (
                f"{model} is the same for all {self._samples} samples: how it follows its input is not shown"
            )
        elif (spans < LEAST_OF_RANGE * widths).any():
            narrow = spans[spans < LEAST_OF_RANGE * widths].max()
            holds = "is a probability that differs" if len(spans) == 1 else "holds probabilities that differ"
            yield (
                f"{model} {holds} by {narrow:.2g} at most between all {self._samples} samples, "
                f"of a range of {widths.max():g}: give samples that it answers differently"
            )
        elif are_values_judged and (self._unsure < FEWEST_OF_CLASS)[self._widths > 0].any():
            # Where all are 0 or 1, they lose the same, if anything, and others may lose much more.
            fewest = self._unsure[self._widths > 0].min()
            yield (
                f"{model} has a probability between 1 % and 99 % in only {fewest} of {self._samples} "
                "samples: what becomes of the others is not shown, give samples of which it is less sure"
            )


def _is_unsure(values: Array, widths: Array) -> Array:
    """Which values are probabilities, of such ranges, that are neither all nor nothing."""
    return np.asarray(np.minimum(values, widths - values) > SURE_PART * widths)


def describe_broken_results(name: str, backend: str, are_finite: Sequence[bool]) -> Iterator[str]:
    """Values that are no numbers, where the float model has numbers."""
    broken = len(are_finite) - sum(are_finite)
    if broken:
        yield (
            f"output '{shown(name)}' has values that are no numbers, NaN or infinite, in {broken} of "
            f"{len(are_finite)} samples on {backend}"
        )


def describe_answers(name: str, before: ClassCounts, after: ClassCounts) -> Iterator[str]:
    """A float model that knows one answer only, and classes that are lost, which the mean over all hides.

    Args:
        name: the output.
        before: good answers of the float model, by class, of each sample.
        after: those of the other.
    """
    kept, good, samples = Counter[int](), Counter[int](), Counter[int]()
    for mine, others in zip(before, after, strict=True):
        good.update(mine)
        kept.update({number: min(mine[number], others.get(number, 0)) for number in mine})
        samples.update({number: 1 for number, count in mine.items() if count})
    answers = [number for number, count in good.items() if count]
    if len(answers) == 1 and len(before) > 1:
        yield (
            f"the only answer at output '{shown(name)}' that the float model gives or has right is class "
            f"{answers[0]}: that classes are told apart is not shown"
        )
    lost = [
        number
        for number in answers
        if samples[number] >= FEWEST_OF_CLASS and kept[number] < LEAST_KEPT * good[number]
    ]
    if lost := sorted(lost + _list_lost_rare(answers, samples, good, kept)):
        named = ", ".join(f"{n} ({kept[n]:.0f} of {good[n]:.0f} are kept)" for n in lost[:MOST_NAMED])
        more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
        yield f"classes of output '{shown(name)}' are lost, which the figure over all hides: {named}{more}"


def _list_lost_rare(
    answers: Sequence[int], samples: Counter[int], good: Counter[int], kept: Counter[int]
) -> list[int]:
    """Classes of few samples that keep nothing, where chance does not explain it: those of rare events.

    Of many classes some have a single sample, which any wrong answer may take; pixels are not counted so.
    """
    if any(good[number] != samples[number] for number in answers):
        return []
    share = 1 - sum(kept.values()) / max(1, sum(good.values()))
    chance = sum(share ** samples[number] for number in answers)
    is_rare = [number for number in answers if samples[number] < FEWEST_OF_CLASS and not kept[number]]
    return is_rare if chance < RARE_CHANCE else []


def describe_missed_classes(name: str, before: ClassCounts) -> Iterator[str]:
    """Classes that the float model never has right, which labels in another order show.

    Args:
        name: the output.
        before: good answers of the float model, by class, of each sample.
    """
    samples = Counter(number for mine in before for number in mine)
    known = {number for mine in before for number, count in mine.items() if count}
    missed = [n for n in sorted(samples) if n not in known and samples[n] >= FEWEST_OF_CLASS]
    count = sum(samples[number] for number in missed)
    if known and count > MOST_MISSED * len(before):
        named = ", ".join(f"{n} ({samples[n]} samples)" for n in missed[:MOST_NAMED])
        more = f" and {len(missed) - MOST_NAMED} more" if len(missed) > MOST_NAMED else ""
        yield (
            f"the float model has class {named}{more} of output '{shown(name)}' right in no sample: what is "
            "lost of these is not shown; are the labels in the model's order?"
        )


def describe_hidden_samples(name: str, powers: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Small values that are lost beside samples with much larger ones, which noise over signal cannot show.

    Args:
        name: an output of values.
        powers: noise and signal of each sample.
    """
    ranked = sorted(powers, key=lambda power: power[1])
    half = len(ranked) // 2
    if half < FEWEST_OF_CLASS:
        return
    noise, signal = (sum(power[place] for power in ranked[:half]) for place in (0, 1))
    larger = sum(power[1] for power in ranked[half:])
    if 0 < signal < larger / MUCH_LARGER**2 and noise > signal * MOST_HIDDEN**2:
        yield (
            f"the half of the samples with the smaller values of output '{shown(name)}' keeps only "
            f"{10 * math.log10(signal / noise):.1f} dB, which the larger ones of the other half hide"
        )


def is_finite(values: Array) -> bool:
    """Whether all values are numbers."""
    return values.dtype.kind != "f" or bool(np.isfinite(values).all())


def is_computed_from_inputs(graph: Graph, name: str) -> bool:
    """Whether an output is computed from an input, and not from constants alone."""
    inputs, pending, known = frozenset(graph.inputs), [name], {name}
    while pending:
        value = pending.pop()
        if value in inputs:
            return True
        producer = graph.producer(value)
        new = set(() if producer is None else producer.inputs) - known
        known |= new
        pending += new
    return False
