"""Runs plugins one after another: each on what the one before gave, in memory or through files."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, EdgewrightError, Problems, UsageError, shown
from edgewright.core.files import write_whole
from edgewright.evaluate.plugins.plugin import POSTPROCESSING, DatasetPlugin, MetricPlugin, Plugin, Processor
from edgewright.evaluate.plugins.sample import Context, Dataset, Row, Sample, StoredArray, StoredText, Value


def change_dataset(plugins: Iterable[Plugin], context: Context) -> Dataset:
    """The data set after all of its plugins."""
    dataset = context.dataset
    for place, plugin in enumerate(plugins):
        assert isinstance(plugin, DatasetPlugin)
        with _name_failures(plugin):
            dataset = plugin.transform(dataset, context.with_dataset(dataset))
        if not dataset.rows:
            raise BadInput(f"the plugin '{plugin.name}' leaves no sample", do="look at its parameters")
        if not context.is_memory:
            folder = context.work / f"dataset_{place}_{plugin.name}"
            dataset = replace(
                dataset,
                rows=tuple(_write_row(row, folder, f"input_{n}") for n, row in enumerate(dataset.rows)),
                calibration=tuple(
                    _write_row(row, folder, f"calibration_{n}") for n, row in enumerate(dataset.calibration)
                ),
            )
    return dataset


def process_samples(
    plugins: Sequence[Plugin], samples: Iterable[Sample], context: Context, folder: str
) -> Iterator[Sample]:
    """Samples after all plugins of a chain, as they come.

    Args:
        plugins: of preprocessing, or of postprocessing.
        samples: in memory or stored.
        context: says whether what each plugin gives is written to a file and read from it again.
        folder: the folder below the work folder where files of this chain go.
    """
    if plugins and plugins[0].kind == POSTPROCESSING:
        samples = _split_batches(samples)
    for place, plugin in enumerate(plugins):
        assert isinstance(plugin, Processor)
        samples = _guard(plugin, plugin.process(map(Sample.load, samples), context))
        if not context.is_memory:
            samples = _write_samples(samples, context.work / folder / f"{place}_{plugin.name}")
    return iter(samples)


def measure_results(
    plugins: Iterable[Plugin], results: Sequence[Sample], context: Context
) -> dict[str, dict[str, float]]:
    """The figures of each metric by its name; problems of all of them are one error."""
    figures: dict[str, dict[str, float]] = {}
    problems: list[EdgewrightError] = []
    for plugin in plugins:
        assert isinstance(plugin, MetricPlugin)
        try:
            with _name_failures(plugin):
                figures[plugin.name] = plugin.measure(map(Sample.load, _split_batches(results)), context)
        except EdgewrightError as problem:
            problems.append(problem)
    if problems:
        raise Problems(problems)
    return figures


def _split_batches(samples: Iterable[Sample]) -> Iterator[Sample]:
    """What the model gave for a batch as samples of their own, which plugins look at."""
    for sample in samples:
        yield from sample.split()


def _write_samples(samples: Iterable[Sample], folder: Path) -> Iterator[Sample]:
    for place, sample in enumerate(samples):
        row = _write_row(sample.values, folder, f"sample_{place}")
        files = tuple(value.path for value in row if isinstance(value, StoredArray | StoredText))
        yield replace(sample, values=row, files=files)


def _write_row(row: Row, folder: Path, stem: str) -> Row:
    return tuple(_write_value(value, folder / f"{stem}_{column}") for column, value in enumerate(row))


def _write_value(value: Value, path: Path) -> Value:
    """What a file of the form's own kind holds; files that are already there stay where they are."""
    if isinstance(value, Path | StoredArray | StoredText):
        return value
    if isinstance(value, np.ndarray):
        stored = np.ascontiguousarray(value)
        raw = path.with_suffix(".raw")
        write_whole(raw, [stored.tobytes()])
        return StoredArray(raw, stored.shape, stored.dtype.name)
    is_text = isinstance(value, str)
    text = value if is_text else json.dumps(value, ensure_ascii=False, default=_write_number)
    file = path.with_suffix(".txt" if is_text else ".json")
    write_whole(file, [text.encode("utf-8", "surrogatepass")])
    return StoredText(file)


def _write_number(value: Any) -> Any:
    """Numbers of numpy as JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a value of the type {type(value).__name__} cannot be written")


def _guard(plugin: Plugin, samples: Iterator[Sample]) -> Iterator[Sample]:
    """Errors of the user's own code name the plugin; ours keep their traceback."""
    while True:
        with _name_failures(plugin):
            sample = next(samples, None)
        if sample is None:
            return
        if not isinstance(sample, Sample):
            raise UsageError(
                f"the plugin '{plugin.name}' gave {type(sample).__name__}, expected a Sample",
                do="return sample.make_next(values)",
            )
        yield sample


@contextmanager
def _name_failures(plugin: Plugin) -> Iterator[None]:
    try:
        yield
    except EdgewrightError:
        raise
    except Exception as problem:
        if not plugin.is_custom:
            raise
        raise UsageError(
            f"the plugin '{plugin.name}' failed with {type(problem).__name__}: {shown(problem)}",
            do="correct it in the folder of CUSTOM_PLUGIN_PATH",
        ) from problem
