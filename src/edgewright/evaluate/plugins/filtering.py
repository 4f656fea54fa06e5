"""Plugins that choose and cut data sets: fewer samples, a sample for each line of a text."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, Where
from edgewright.evaluate.plugins.dataset import read_lines
from edgewright.evaluate.plugins.parameters import FLAG, INTEGER, declare
from edgewright.evaluate.plugins.plugin import DatasetPlugin, register
from edgewright.evaluate.plugins.sample import Context, Dataset

# Shuffled data is the same at every run.
SEED = 0
ALL = -1


@register
class FilterDataset(DatasetPlugin):
    """Filters the data set: the input list, the calibration and with them the annotations."""

    name = "filter_dataset"

    max_inputs: int = declare(INTEGER, "how many inputs of the list are used; -1 for all")
    max_calib: int = declare(INTEGER, "how many inputs of the calibration are used; -1 for all")
    random: bool = declare(
        FLAG, "shuffles the input list and the calibration, the same way at every run", False
    )

    def transform(self, dataset: Dataset, context: Context) -> Dataset:
        """Samples keep their numbers, by which annotations are found."""
        del context
        chosen = choose(len(dataset.rows), self.max_inputs, self.random)
        numbers = dataset.numbers or tuple(range(len(dataset.rows)))
        kept = choose(len(dataset.calibration), self.max_calib, self.random)
        return replace(
            dataset,
            rows=tuple(dataset.rows[n] for n in chosen),
            numbers=tuple(numbers[n] for n in chosen),
            calibration=tuple(dataset.calibration[n] for n in kept),
        )


@register
class SplitTextData(DatasetPlugin):
    """Saves a text file for each line of the input text file."""

    name = "split_txt_data"

    def transform(self, dataset: Dataset, context: Context) -> Dataset:
        """A sample for each line; in memory the texts themselves."""
        del context
        lines = [line for row in dataset.rows for file in row for line in _read_texts(file)]
        calibration = [line for row in dataset.calibration for file in row for line in _read_texts(file)]
        return replace(
            dataset,
            rows=tuple((line,) for line in lines),
            numbers=(),
            calibration=tuple((line,) for line in calibration),
        )


def choose(count: int, limit: int, is_random: bool) -> list[int]:
    """The first places, or any."""
    places = list(range(count))
    if is_random:
        places = [int(n) for n in np.random.default_rng(SEED).permutation(count)]
    return places if limit == ALL else places[: max(limit, 0)]


def _read_texts(value: object) -> list[str]:
    if isinstance(value, Path):
        lines = read_lines(value)
        if not lines:
            raise BadInput("the text has no lines", Where(file=str(value)))
        return lines
    return str(value).splitlines()
