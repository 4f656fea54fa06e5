"""What plugins hand on: samples, the data set that they come from, and what a configuration says besides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewright.core.errors import BadInput, EdgewrightError, ShapeMismatch, Where, locate_problem, shown
from edgewright.core.files import measure_file, read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.numbers import Array

if TYPE_CHECKING:
    from edgewright.evaluate.plugins.plugin import Plugin


LARGEST_TEXT = 1 << 30


@dataclass(frozen=True)
class StoredArray:
    """An array in a raw file: what the file does not say stands here."""

    path: Path
    shape: tuple[int, ...]
    dtype: str

    def read(self) -> Array:
        """The array; a file of another size was changed."""
        dtype = np.dtype(self.dtype)
        size, expected = measure_file(self.path), int(np.prod(self.shape)) * dtype.itemsize
        if size != expected:
            raise BadInput(
                f"the file has {size} bytes, expected {expected}: {list(self.shape)} of {self.dtype}",
                Where(file=str(self.path)),
                do="do not change files of the work folder while an evaluation runs",
            )
        return np.fromfile(self.path, dtype).reshape(self.shape)


@dataclass(frozen=True)
class StoredText:
    """A text or a JSON document in a file."""

    path: Path

    def read(self) -> Any:
        """The text, or the data of the document."""
        text = read_limited(self.path, LARGEST_TEXT).decode("utf-8", "surrogatepass")
        return parse_json(text) if self.path.suffix == ".json" else text


# A file that no plugin has read yet, an array, a text, or plain data that JSON can hold.
Value = Any
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Sample:
    """What passes through a chain: a line of the input list, then inputs of the model, then its outputs."""

    # The line of the input list, from 0, as it was before anything was filtered.
    number: int
    values: Row
    # The files that it began as.
    sources: tuple[Path, ...] = ()
    # What plugins leave for later ones, such as the size of the image before it was resized.
    facts: Mapping[str, Any] = field(default_factory=dict)
    # The samples of a batch, without those that only fill it up.
    members: tuple["Sample", ...] = ()
    # Files of the work folder that hold its values.
    files: tuple[Path, ...] = ()

    @property
    def where(self) -> Where:
        """The place of an error about it."""
        return Where(file=str(self.sources[0]) if self.sources else None, detail=f"sample {self.number}")

    def load(self) -> "Sample":
        """The same with its values in memory."""
        return replace(self, values=tuple(load_value(value) for value in self.values))

    def make_next(self, values: Sequence[Value], **facts: Any) -> "Sample":
        """The same sample one step further."""
        return replace(self, values=tuple(values), facts={**self.facts, **facts})

    def split(self) -> list["Sample"]:
        """The samples of a batch, each with its part of the values; one that is no batch is itself."""
        if not self.members:
            return [self]
        arrays = [np.asarray(load_value(value)) for value in self.values]
        count = self.facts["batch"]
        if any(array.ndim == 0 or array.shape[0] % count for array in arrays):
            shapes = [list(array.shape) for array in arrays]
            raise ShapeMismatch(
                f"outputs of a batch of {count} have the shapes {shapes}, expected it as first size",
                self.where,
                do="leave create_batch out, or set the batch size that the model was made for",
            )
        parts = [array.reshape(count, -1, *array.shape[1:]) for array in arrays]
        return [
            replace(member, values=tuple(part[place] for part in parts))
            for place, member in enumerate(self.members)
        ]


def load_value(value: Value) -> Value:
    """What a stored value holds; others are themselves."""
    return value.read() if isinstance(value, StoredArray | StoredText) else value


@dataclass(frozen=True)
class Dataset:
    """The data of an evaluation."""

    folder: Path
    rows: tuple[Row, ...]
    # The line of the input list that each row was; counted where nothing was filtered.
    numbers: tuple[int, ...] = ()
    calibration: tuple[Row, ...] = ()
    # Calibration data that is already what the model takes.
    is_calibration_raw: bool = False
    # A file, or the folder of classes that the images lie in.
    annotations: Path | None = None

    def make_samples(self, *, is_calibration: bool = False) -> Iterator[Sample]:
        """A sample for each row, or for each row of the calibration data."""
        rows = self.calibration if is_calibration else self.rows
        numbers = range(len(rows)) if is_calibration or not self.numbers else self.numbers
        for number, row in zip(numbers, rows, strict=True):
            yield Sample(number, row, list_paths(row))

    def require_annotations(self, plugin: str) -> Path:
        """The annotations, or that they are needed."""
        if self.annotations is None:
            raise BadInput(
                f"the plugin '{plugin}' needs the right answers, the data set has none",
                Where(file=str(self.folder)),
                do="add annotation_file to the dataset section",
            )
        return self.annotations


def list_paths(row: Row) -> tuple[Path, ...]:
    """The files of a row."""
    return tuple(value for value in row if isinstance(value, Path))


@dataclass(frozen=True)
class OutputInfo:
    """What a configuration says about one output of the model."""

    name: str
    dtype: str = "float32"
    shape: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class Context:
    """What plugins of one evaluation share."""

    dataset: Dataset
    # Where the file-based form writes.
    work: Path
    is_memory: bool = False
    batch_size: int = 1
    outputs: tuple[OutputInfo, ...] = ()
    # All plugins of the configuration: one may take what another was told.
    plugins: tuple["Plugin", ...] = ()
    # What one plugin leaves for others that is of no single sample.
    shared: dict[str, Any] = field(default_factory=dict)

    def find_setting(self, *names: str) -> Any:
        """What the first plugin that has a parameter of these names was told; None where there is none."""
        given = [getattr(plugin, name, None) for plugin in self.plugins for name in names]
        return next((value for value in given if value is not None), None)

    def with_dataset(self, dataset: Dataset) -> "Context":
        """The same with another data set; what plugins share stays shared."""
        return replace(self, dataset=dataset)


def locate_in_sample(problem: EdgewrightError, sample: Sample, plugin: str) -> EdgewrightError:
    """The error with the sample and the plugin that it came from."""
    where = sample.where
    return locate_problem(problem, replace(where, detail=f"plugin '{shown(plugin, 60)}', {where.detail}"))
