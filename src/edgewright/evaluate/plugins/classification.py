"""Metrics of answers: the right class among the largest, the right text."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.answers import TopAnswers
from edgewright.evaluate.metrics.measure import Answer
from edgewright.evaluate.plugins.dataset import list_class_folders, read_pairs
from edgewright.evaluate.plugins.parameters import COUNT, INTEGER, INTEGERS, declare
from edgewright.evaluate.plugins.plugin import MetricPlugin, register
from edgewright.evaluate.plugins.sample import Context, Dataset, Sample


@register
class TopK(MetricPlugin):
    """Evaluates how often the right class is among the k largest."""

    name = "topk"

    kval: tuple[int, ...] = declare(INTEGERS, "as in 1,5: top1 and top5", (5,), in_memory=(1, 5))
    softmax_index: int = declare(COUNT, "which output holds the scores of classes", 0)
    label_offset: int = declare(INTEGER, "what is added to labels: 1 where there are 1001 scores", 0)
    round: int = declare(COUNT, "decimal places of the result", 3)
    input_image_index: int = declare(COUNT, "which file of a line of the input list is the image", 0)

    def measure(self, results: Iterable[Sample], context: Context) -> dict[str, float]:
        """Shares of samples, from 0 to 1."""
        labels = Annotations(context.dataset, self.name, self.input_image_index)
        measures = [TopAnswers(k) for k in self.kval]
        sums = np.zeros((len(measures), 2))
        for sample in results:
            scores = take_output(sample, self.softmax_index)
            label = _read_label(labels.find(sample), sample) + self.label_offset
            answer = Answer(scores.reshape(1, -1), scores.reshape(1, -1), label)
            sums += [measure.add_up(answer) for measure in measures]
        shares = sums[:, 0] / np.maximum(sums[:, 1], 1)
        return {
            f"top{k}": round(float(share), self.round) for k, share in zip(self.kval, shares, strict=True)
        }


@register
class Precision(MetricPlugin):
    """Calculates the share of texts that are right; annotations are lines of a file's name and a text."""

    name = "precision"

    round: int = declare(COUNT, "decimal places of the result", 7)
    input_image_index: int = declare(COUNT, "which file of a line of the input list is the image", 0)

    def measure(self, results: Iterable[Sample], context: Context) -> dict[str, float]:
        """A share from 0 to 1."""
        texts = Annotations(context.dataset, self.name, self.input_image_index)
        right = [str(sample.values[0]).strip() == texts.find(sample) for sample in results]
        return {"precision": round(sum(right) / max(len(right), 1), self.round)}


class Annotations:
    """The right answer of each sample: by its file's name, by its line, or by the folder that it lies in."""

    def __init__(self, dataset: Dataset, plugin: str, column: int = 0) -> None:
        self._path = dataset.require_annotations(plugin)
        self._column = column
        self._answers, self._lines = _read_answers(self._path)

    def find(self, sample: Sample) -> str:
        """The answer as the annotations spell it."""
        source = sample.sources[self._column] if self._column < len(sample.sources) else None
        is_folder = self._path.is_dir()
        names = (
            [source.parent.name]
            if is_folder and source is not None
            else _spell_names(source, self._path.parent)
        )
        for name in names:
            if name in self._answers:
                return self._answers[name]
        if not self._answers and sample.number < len(self._lines):
            return self._lines[sample.number]
        raise BadInput(
            f"there is no answer for '{shown(source or sample.number, 60)}'",
            Where(file=str(self._path)),
            do="write a line for each sample: the name of its file, a space, the answer",
        )


def take_output(sample: Sample, place: int, *, is_empty_good: bool = False) -> Array:
    """An output of the model, by its place."""
    if place >= len(sample.values):
        raise BadInput(
            f"there is no output {place}, the model has {len(sample.values)}",
            sample.where,
            do="count outputs from 0, in the order of outputs_info",
        )
    output = np.asarray(sample.values[place])
    if output.dtype.kind not in "iufb" or not (output.size or is_empty_good):
        raise BadInput(
            f"the output {place} is {output.dtype} {list(output.shape)}, expected numbers", sample.where
        )
    return output


def _read_answers(path: Path) -> tuple[Mapping[str, str], list[str]]:
    """By names, or by lines where no names are said."""
    if path.is_dir():
        return {name: str(place) for place, name in enumerate(list_class_folders(path))}, []
    pairs = read_pairs(path)
    if all(not name for name, _ in pairs):
        return {}, [answer for _, answer in pairs]
    return dict(pairs), []


def _spell_names(source: Path | None, folder: Path) -> list[str]:
    """How annotations may name a file."""
    if source is None:
        return []
    inside = [str(source.relative_to(folder))] if source.is_relative_to(folder) else []
    return [*inside, source.name, source.stem]


def _read_label(text: str, sample: Sample) -> int:
    try:
        return int(text.split(maxsplit=1)[0])
    except (ValueError, IndexError):
        raise BadInput(
            f"the label is '{shown(text, 60)}', expected the number of a class", sample.where
        ) from None
