"""Opens samples for a graph, whatever holds them: arrays, iterables, folders, archives, input lists."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import IO, Any

import numpy as np

from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import BadInput, ShapeMismatch, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.data.audio import AudioSamples, is_audio
from edgewright.data.csv_samples import open_csv
from edgewright.data.indexed_samples import IndexedSamples
from edgewright.data.numpy_files import NumpyArchive, map_numpy_array, read_header
from edgewright.data.sample_files import FileSamples, open_folder, open_input_list
from edgewright.data.sample_format import SampleFormat, make_shape_error
from edgewright.ir.graph import Graph
from edgewright.ir.shape_advice import is_matching_shape
from edgewright.ir.types import TensorType
from edgewright.quantize.executor import Samples

# One sample is a mapping of arrays by input name, an array (for a model of one input), or a sequence of
# arrays in the order of the inputs. A mapping or an array in place of an iterable holds all samples, stacked.
# A text is the path of a folder, of an .npz or .npy file, or of an input list.
Data = Iterable[Any] | Mapping[str, Any] | str | Path


def open_samples(
    graph: Graph,
    data: Data,
    *,
    passes: int = 1,
    is_native: bool = False,
    preprocessing: Preprocessing | None = None,
    sample_rate: int | None = None,
) -> Samples:
    """Samples that fit the graph's inputs and can be iterated as often as needed.

    Args:
        graph: the graph they are for.
        data: what holds them, see ``Data``.
        passes: how often they will be iterated; what comes in turn and is needed more than once is kept in a
            file on disk.
        is_native: raw files hold the datatypes of the graph, float32 otherwise.
        preprocessing: how images and arrays are preprocessed.
        sample_rate: the rate that sound is resampled to, in Hz; that of its files where none is given.
    """
    sample_format = SampleFormat(graph, preprocessing)
    if isinstance(data, str | Path):
        if is_audio(Path(data)):
            return AudioSamples(sample_format, Path(data), sample_rate)
        return _open_files(sample_format, Path(data), preprocessing, is_native=is_native)
    if isinstance(data, Mapping) or hasattr(data, "__array__"):
        return _StackedSamples(sample_format, sample_format.match_inputs(data))
    if not isinstance(data, Iterable):
        raise UsageError(
            f"the data is of type {type(data).__name__}, expected arrays, an iterable of samples or a path",
            do="give a list of dictionaries {input name: array}",
        )
    if isinstance(data, Sequence):
        return _ListedSamples(sample_format, data)
    if passes > 1:
        # Also what can be started again: a loader may give its samples in another order then.
        return _SpooledSamples(sample_format, data)
    kind = _SizedSamples if isinstance(data, Sized) else _IterableSamples
    return kind(sample_format, data)


def list_data_notes(samples: Samples | None) -> tuple[str, ...]:
    """What a user should know about how data was understood."""
    notes = tuple(getattr(samples, "notes", ()))
    sample_format = getattr(samples, "sample_format", None)
    if sample_format is None or getattr(samples, "has_images", False):
        return notes
    prepared = sample_format.preparations.values()
    return (*notes, *(each.describe() for each in prepared if each.preprocessing.is_normalising))


def _open_files(
    sample_format: SampleFormat, path: Path, images: Preprocessing | None, *, is_native: bool
) -> Samples:
    if path.is_dir():
        return open_folder(sample_format, path, is_native=is_native, preprocessing=images)
    if path.suffix in {".npz", ".npy"}:
        return _open_numpy_file(sample_format, path)
    if path.suffix == ".csv":
        return _open_table(sample_format, path, images, is_native=is_native)
    return open_input_list(sample_format, path, is_native=is_native)


def _open_table(
    sample_format: SampleFormat, path: Path, images: Preprocessing | None, *, is_native: bool
) -> Samples:
    """Rows of a .csv file; ``label_texts`` are what its column of right answers says."""
    opened, texts = open_csv(sample_format, path, images, is_native=is_native)
    samples = opened if isinstance(opened, FileSamples) else _StackedSamples(sample_format, opened)
    samples.label_texts = texts
    return samples


class _IterableSamples:
    """An iterable of samples, started again each time."""

    def __init__(self, sample_format: SampleFormat, items: Iterable[Any]) -> None:
        self.sample_format, self._items = sample_format, items

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        for number, item in enumerate(self._items):
            yield self.sample_format.convert_sample(item, number)


class _SizedSamples(_IterableSamples):
    """One whose length is known."""

    def __len__(self) -> int:
        return len(self._items) if isinstance(self._items, Sized) else 0


class _ListedSamples(IndexedSamples):
    """The samples of a list, each converted when it is asked for."""

    def __init__(self, sample_format: SampleFormat, items: Sequence[Any]) -> None:
        self.sample_format, self._items = sample_format, items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, number: int) -> Mapping[str, Array]:
        return self.sample_format.convert_sample(self._items[number], number)


class _SpooledSamples(IndexedSamples):
    """Samples that come in turn, once: each is kept in a file when it comes, for whoever asks again."""

    def __init__(self, sample_format: SampleFormat, items: Iterable[Any]) -> None:
        self.sample_format, self._source = sample_format, enumerate(items)
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="edgewright-")  # noqa: SIM115 - as long as this
        # Where each sample begins.
        self._places: list[int] = []

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        number = 0
        while self._has_sample(number):
            yield self[number]
            number += 1

    def __len__(self) -> int:
        while self._has_sample(len(self._places)):
            pass
        return len(self._places)

    def __getitem__(self, number: int) -> Mapping[str, Array]:
        if not self._has_sample(number):
            raise IndexError(number)
        self._file.seek(self._places[number])
        names = self.sample_format.types
        return {name: np.lib.format.read_array(self._file, allow_pickle=False) for name in names}

    def _has_sample(self, number: int) -> bool:
        """Reads on until a sample is in the file; whether there is one of that number."""
        while len(self._places) <= number:
            place, item = next(self._source, (-1, None))
            if place < 0:
                return False
            sample = self.sample_format.convert_sample(item, place)
            self._places.append(self._file.seek(0, os.SEEK_END))
            for name in self.sample_format.types:
                np.lib.format.write_array(self._file, sample[name], allow_pickle=False)
        return True


class _StackedSamples(IndexedSamples):
    """Samples along the first axis of one array for each input."""

    def __init__(
        self, sample_format: SampleFormat, arrays: Mapping[str, Array], notes: Sequence[str] = ()
    ) -> None:
        self.sample_format = sample_format
        self.notes = tuple(notes)
        prepared = sample_format.preparations
        self._columns = {
            name: _Column(
                name,
                prepared[name].transpose(array) if name in prepared else array,
                sample_format.types[name],
            )
            for name, array in arrays.items()
        }
        counts = {name: len(column) for name, column in self._columns.items()}
        if len(set(counts.values())) > 1:
            described = ", ".join(f"'{shown(name, 60)}' has {count}" for name, count in counts.items())
            raise ShapeMismatch(f"the inputs have different numbers of samples: {described}")
        self._length = next(iter(counts.values()), 0)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, number: int) -> Mapping[str, Array]:
        """One sample."""
        arrays = {name: column.read_part(number) for name, column in self._columns.items()}
        return self.sample_format.convert_sample(arrays, number)


class _Column:
    """The array of one input, in as many parts as it has samples."""

    def __init__(self, name: str, array: Array, expected: TensorType) -> None:
        self._array = array
        # Elements of the first axis that make one sample; 0: the axis only counts samples.
        self._batch = 0
        if array.ndim and is_matching_shape(array.shape[1:], expected.shape):
            return
        first = expected.shape[0] if expected.shape else 0
        self._batch = first if isinstance(first, int) else 1
        is_batched = array.ndim == expected.rank and is_matching_shape(array.shape[1:], expected.shape[1:])
        if not (is_batched and self._batch and len(array) % self._batch == 0):
            # Samples are along the first axis, however many one run takes.
            stacked = (*array.shape[:1], *expected.shape[1:])
            raise make_shape_error(name, array, expected, stacked)

    def __len__(self) -> int:
        return len(self._array) // max(self._batch, 1)

    def read_part(self, number: int) -> Array:
        """The array of one sample."""
        step = max(self._batch, 1)
        part: Array = self._array[number * step : (number + 1) * step]
        return part if self._batch else part[0]


def _open_numpy_file(sample_format: SampleFormat, path: Path) -> _StackedSamples:
    """The stacked arrays of an .npz file, or of an .npy file, which may be larger than memory."""
    if path.suffix == ".npy":
        return _StackedSamples(sample_format, sample_format.match_inputs(map_numpy_array(path)))
    return _open_archive(sample_format, path, NumpyArchive(path))


def _open_archive(sample_format: SampleFormat, path: Path, loaded: Mapping[str, Array]) -> _StackedSamples:
    """The arrays named after inputs; others beside them (labels ...) are left alone."""
    known = [name for name in loaded if name in sample_format.types or name in sample_format.spellings]
    if known:
        for name in known:
            _check_stacked_shape(sample_format, path, name)
        return _StackedSamples(
            sample_format, sample_format.match_inputs({name: loaded[name] for name in known})
        )
    shapes = {name: read_header(path, name)[0] for name in loaded}
    (input_name, expected), *more = sample_format.types.items()
    fitting = [name for name, shape in shapes.items() if _match_stacked_shape(shape, expected) is not None]
    if more or len(fitting) != 1:
        raise _make_naming_error(sample_format, path, shapes)
    name = fitting[0]
    array = loaded[name].reshape(_match_stacked_shape(shapes[name], expected) or shapes[name])
    note = (
        f"no array of '{shown(path.name, 60)}' is named after the input '{shown(input_name, 60)}': "
        f"'{shown(name, 60)}' {list(shapes[name])} is the only one that fits and is used"
    )
    return _StackedSamples(sample_format, {input_name: array}, [note])


def _check_stacked_shape(sample_format: SampleFormat, path: Path, name: str) -> None:
    """Refuses an array of a wrong shape before it is read, by its header."""
    shape, dtype = read_header(path, name)
    input_name = name if name in sample_format.types else sample_format.spellings[name]
    # One element, however large the array is said to be.
    stands_for: Array = np.broadcast_to(np.zeros((), dtype), shape)
    preparation = sample_format.preparations.get(input_name)
    if preparation is not None:
        stands_for = preparation.transpose(stands_for)
    _Column(input_name, stands_for, sample_format.types[input_name])


def _match_stacked_shape(shape: tuple[int, ...], expected: TensorType) -> tuple[int, ...] | None:
    """The shape as stacked samples of an input, axes of 1 put in where they are missing; None: no fit."""
    if not shape or not expected.shape:
        return None
    sample = tuple(size for size in shape[1:] if size != 1)
    if not is_matching_shape(sample, [dim for dim in expected.shape[1:] if dim != 1]):
        return None
    sizes = iter(sample)
    return (shape[0], *(1 if dim == 1 else next(sizes) for dim in expected.shape[1:]))


def _make_naming_error(
    sample_format: SampleFormat, path: Path, shapes: Mapping[str, tuple[int, ...]]
) -> BadInput:
    arrays = ", ".join(f"'{shown(name, 60)}' {list(shape)}" for name, shape in list(shapes.items())[:10])
    expected = ", ".join(
        f"'{shown(name, 60)}' {tensor_type}" for name, tensor_type in list(sample_format.types.items())[:10]
    )
    first = shown(next(iter(sample_format.types)), 60)
    return BadInput(
        f"no array is named after an input, found {arrays or 'none'}, expected {expected}",
        Where(file=str(path)),
        do=f"name the arrays after the inputs: numpy.savez(file, **{{'{first}': array}})",
    )
