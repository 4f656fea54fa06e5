"""The data of a configuration on its way through plugins: to the model, and from it to the metrics."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.config.model_config import ModelConfig, PluginEntry, TensorSection
from edgewright.core.errors import EdgewrightError, Problems, Where
from edgewright.core.files import write_whole
from edgewright.core.numbers import Array
from edgewright.evaluate.plugins.chain import change_dataset, measure_results, process_samples
from edgewright.evaluate.plugins.custom import find_plugins
from edgewright.evaluate.plugins.dataset import open_dataset
from edgewright.evaluate.plugins.plugin import (
    DATASET,
    METRIC,
    POSTPROCESSING,
    PREPROCESSING,
    Plugin,
    Step,
    open_plugins,
)
from edgewright.evaluate.plugins.sample import Context, Dataset, OutputInfo, Sample
from edgewright.sdk.evaluator.comparison import Shapes, read_results
from edgewright.sdk.evaluator.inputs import DTYPES, InputWriter, ListedInputs

SQUASHED_FILE = "squashed_results.json"


@dataclass(frozen=True)
class Chains:
    """The plugins of a configuration, by the stage that they belong to."""

    dataset: tuple[Plugin, ...] = ()
    preprocessing: tuple[Plugin, ...] = ()
    postprocessing: tuple[Plugin, ...] = ()
    metrics: tuple[Plugin, ...] = ()


def open_chains(config: ModelConfig, *, is_memory: bool) -> Chains:
    """All plugins with their parameters; all that is wrong with them is one error, with lines."""
    stages = {
        DATASET: config.dataset.plugins,
        PREPROCESSING: config.preprocessing,
        POSTPROCESSING: config.postprocessing,
        METRIC: config.metrics,
    }
    known = find_plugins() if any(stages.values()) else {}
    opened: dict[str, list[Plugin]] = {kind: [] for kind in stages}
    problems: list[EdgewrightError] = []
    for kind, entries in stages.items():
        for entry in entries:
            try:
                step = Step(entry.name, entry.params, kind)
                opened[kind] += open_plugins([step], known, is_memory=is_memory)
            except EdgewrightError as problem:
                problems += [_locate(error, entry) for error in getattr(problem, "errors", (problem,))]
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    return Chains(*(tuple(plugins) for plugins in opened.values()))


class Pipeline:
    """Takes samples to the model, and what the model gives to the metrics."""

    def __init__(self, config: ModelConfig, chains: Chains, folder: Path, *, is_memory: bool) -> None:
        """Opens the data set.

        Args:
            config: the configuration, with the command line's changes.
            chains: its plugins.
            folder: the work folder.
            is_memory: whether plugins hand samples on in memory.
        """
        self._config, self._chains = config, chains
        section = config.dataset
        dataset = open_dataset(
            find_folder(section.path, config.file),
            input_list=section.inputlist_file,
            annotations=section.annotation_file,
            calibration=section.calibration_file,
            calibration_type=section.calibration_type,
        )
        self._context = Context(
            dataset,
            folder / "plugins",
            is_memory=is_memory,
            batch_size=config.batchsize,
            outputs=tuple(OutputInfo(item.name, item.type, item.shape) for item in config.outputs),
            plugins=(*chains.dataset, *chains.preprocessing, *chains.postprocessing, *chains.metrics),
        )
        self._context = self._context.with_dataset(change_dataset(chains.dataset, self._context))
        self._samples: list[Sample] = []
        self._outputs = config.outputs
        self._folder = folder

    @property
    def dataset(self) -> Dataset:
        """The data after its own plugins."""
        return self._context.dataset

    def name_outputs(self, outputs: Sequence[TensorSection]) -> None:
        """Takes what is known of the model's outputs, by the names of their files."""
        self._outputs = tuple(outputs)

    def list_inputs(self, writer: InputWriter) -> ListedInputs:
        """Preprocesses all samples; what postprocessing must know of them is kept."""
        processed = process_samples(
            self._chains.preprocessing, self.dataset.make_samples(), self._context, "preprocessing"
        )
        return writer.write_rows(self._keep(processed, writer), "inputs")

    def take_inputs(self, listed: ListedInputs) -> ListedInputs:
        """Inputs that were preprocessed elsewhere, in place of those of the data set."""
        rows = list(self.dataset.make_samples())
        self._samples = [
            replace(rows[number], values=()) if number < len(rows) else Sample(number, (), (Path(source),))
            for number, source in enumerate(listed.sources)
        ]
        return listed

    def list_calibration(self, writer: InputWriter) -> ListedInputs | None:
        """What calibrates; None where the configuration names nothing."""
        if not self.dataset.calibration:
            return None
        samples: Iterable[Sample] = self.dataset.make_samples(is_calibration=True)
        if not self.dataset.is_calibration_raw:
            samples = process_samples(self._chains.preprocessing, samples, self._context, "calibration")
        return writer.write_rows((_name_values(sample, writer) for sample in samples), "calibration")

    def measure(self, results: Path, shapes: Shapes, name: str) -> dict[str, float]:
        """The figures of all metrics for the results of a schema."""
        if not (self._chains.metrics or self._chains.postprocessing):
            return {}
        samples = process_samples(
            self._chains.postprocessing,
            self._join_results(results, shapes),
            self._context,
            f"postprocessing/{name}",
        )
        kept = list(samples)
        if self._config.squash_results:
            self._write_squashed(kept, name)
        figures = measure_results(self._chains.metrics, kept, self._context)
        return {
            _join_names(plugin, figure): value
            for plugin, values in figures.items()
            for figure, value in values.items()
        }

    def _keep(self, samples: Iterable[Sample], writer: InputWriter) -> Iterator[Mapping[str, Any]]:
        self._samples = []
        for sample in samples:
            self._samples.append(replace(sample, values=()))
            yield _name_values(sample, writer)

    def _join_results(self, folder: Path, shapes: Shapes) -> Iterator[Sample]:
        """Each sample with the outputs of its run; a run of several samples is split among them."""
        runs = len(list(folder.glob("Result_*")))
        share = max(1, len(self._samples) // max(runs, 1))
        types = {item.name: np.dtype(DTYPES[item.type]) for item in self._outputs}
        order = [item.name for item in self._outputs] or list(shapes)
        for number in range(runs):
            outputs = read_results(folder / f"Result_{number}", shapes)
            arrays = [outputs[name].astype(types.get(name, np.dtype(np.float32))) for name in order]
            for place, sample in enumerate(self._samples[number * share : (number + 1) * share]):
                yield sample.make_next([_take_part(array, place, share) for array in arrays])

    def _write_squashed(self, samples: Sequence[Sample], name: str) -> None:
        content = [
            {"sample": each.number, "values": [_to_plain(value) for value in each.load().values]}
            for each in samples
        ]
        text = json.dumps(content, ensure_ascii=False, default=str)
        write_whole(self._folder / "postprocessing" / name / SQUASHED_FILE, [f"{text}\n".encode()])


def find_folder(path: str, config: str) -> Path:
    """A folder that a configuration names: as it is, else beside the configuration."""
    given = Path(path)
    beside = Path(config).parent / given
    return beside if not given.is_absolute() and not given.is_dir() and beside.is_dir() else given


def _name_values(sample: Sample, writer: InputWriter) -> dict[str, Any]:
    values = [value if isinstance(value, Path) else _to_array(value) for value in sample.load().values]
    return writer.name_row(values, sample.where)


def _to_array(value: Any) -> Array:
    return np.asarray(value)


def _take_part(array: Array, place: int, share: int) -> Array:
    if share == 1 or not array.ndim or array.shape[0] % share:
        return array
    size = array.shape[0] // share
    return array[place * size : (place + 1) * size]


def _join_names(plugin: str, figure: str) -> str:
    return figure if figure.lower().startswith(plugin.lower()) else f"{plugin} {figure}"


def _to_plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _locate(error: EdgewrightError, entry: PluginEntry) -> EdgewrightError:
    place = entry.entry.wrong("").where
    assert place is not None
    return type(error)(error.what, Where(file=place.file, detail=place.detail), error.do)
