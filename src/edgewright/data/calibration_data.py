"""Samples for a graph from whatever holds them: arrays, iterables, folders, archives, input lists."""

import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import IO, Any

import numpy as np

from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import BadInput, ShapeMismatch, UsageError, Where, shown
from edgewright.core.files import file_size
from edgewright.core.numbers import Array
from edgewright.data.audio import AudioSamples, holds_audio
from edgewright.data.calibration_files import folder_samples, list_samples
from edgewright.data.indexed_samples import IndexedSamples
from edgewright.data.sample_fit import SampleFit, does_fit, misfit
from edgewright.data.tensor_files import array_header
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.quantize.executor import Samples

__all__ = ["Data", "notes_of", "samples_of"]

# One sample is a mapping of arrays by input name, an array (for a model of one input), or a sequence of
# arrays in the order of the inputs. A mapping or an array in place of an iterable holds all samples, stacked.
# A text is the path of a folder, of an .npz or .npy file, or of an input list.
Data = Iterable[Any] | Mapping[str, Any] | str | Path


def samples_of(
    graph: Graph,
    data: Data,
    *,
    passes: int = 1,
    is_native: bool = False,
    preprocessing: Preprocessing | None = None,
    sample_rate: int | None = None,
) -> Samples:
    """Samples that fit the graph's inputs and can be walked as often as needed.

    Args:
        graph: the graph they are for.
        data: what holds them, see ``Data``.
        passes: how often they will be walked; a generator that is walked more than once goes through a file
            on disk.
        is_native: raw files hold the datatypes of the graph, float32 otherwise.
        preprocessing: what is done to images; nothing else is changed by it.
        sample_rate: what sound is brought to, in Hz; as its files have it where nothing is said.
    """
    fit = SampleFit(graph)
    if isinstance(data, str | Path):
        if holds_audio(Path(data)):
            return AudioSamples(fit, Path(data), sample_rate)
        return _in_files(fit, Path(data), preprocessing, is_native=is_native)
    if isinstance(data, Mapping) or hasattr(data, "__array__"):
        return _Stacked(fit, fit.by_name(data))
    if not isinstance(data, Iterable):
        raise UsageError(
            f"the data is of type {type(data).__name__}, expected arrays, an iterable of samples or a path",
            do="give a list of dictionaries {input name: array}",
        )
    if iter(data) is data:
        return _Spooled(fit, data) if passes > 1 else _Walked(fit, data)
    return _Counted(fit, data) if isinstance(data, Sized) else _Walked(fit, data)


def notes_of(samples: Samples | None, preprocessing: Preprocessing | None = None) -> tuple[str, ...]:
    """What a user should know about how data was understood."""
    found = tuple(getattr(samples, "notes", ()))
    is_idle = samples is not None and not getattr(samples, "has_images", False)
    if is_idle and preprocessing is not None and preprocessing != Preprocessing():
        return (*found, "mean, std, layout and color are for images: these samples are taken as they are")
    return found


def _in_files(fit: SampleFit, path: Path, images: Preprocessing | None, *, is_native: bool) -> Samples:
    if path.is_dir():
        return folder_samples(fit, path, is_native=is_native, preprocessing=images)
    if path.suffix in {".npz", ".npy"}:
        return _stored(fit, path)
    return list_samples(fit, path, is_native=is_native)


class _Walked:
    """An iterable of samples, walked anew each time."""

    def __init__(self, fit: SampleFit, items: Iterable[Any]) -> None:
        self._fit, self._items = fit, items

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        for number, item in enumerate(self._items):
            yield self._fit.sample(item, number)


class _Counted(_Walked):
    """One whose length is known."""

    def __len__(self) -> int:
        return len(self._items) if isinstance(self._items, Sized) else 0


class _Spooled:
    """Samples of a generator: passed on as they come, and kept in a file for the next walk."""

    def __init__(self, fit: SampleFit, items: Iterable[Any]) -> None:
        self._fit, self._items = fit, items
        self._file: IO[bytes] | None = None
        self._count = 0

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        return self._first() if self._file is None else self._again(self._file)

    def _first(self) -> Iterator[Mapping[str, Array]]:
        self._file = tempfile.TemporaryFile(prefix="edgewright-")  # noqa: SIM115 - later walks read it
        for number, item in enumerate(self._items):
            sample = self._fit.sample(item, number)
            for name in self._fit.types:
                np.lib.format.write_array(self._file, sample[name], allow_pickle=False)
            self._count = number + 1
            yield sample

    def _again(self, file: IO[bytes]) -> Iterator[Mapping[str, Array]]:
        file.seek(0)
        for _ in range(self._count):
            yield {name: np.lib.format.read_array(file, allow_pickle=False) for name in self._fit.types}


class _Stacked(IndexedSamples):
    """Samples along the first axis of one array for each input."""

    def __init__(self, fit: SampleFit, arrays: Mapping[str, Array], notes: Sequence[str] = ()) -> None:
        self._fit = fit
        self.notes = tuple(notes)
        self._columns = {name: _Column(name, array, fit.types[name]) for name, array in arrays.items()}
        counts = {name: len(column) for name, column in self._columns.items()}
        if len(set(counts.values())) > 1:
            found = ", ".join(f"'{shown(name, 60)}' has {count}" for name, count in counts.items())
            raise ShapeMismatch(f"the inputs have different numbers of samples: {found}")
        self._length = next(iter(counts.values()), 0)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, number: int) -> Mapping[str, Array]:
        """One sample."""
        arrays = {name: column.part(number) for name, column in self._columns.items()}
        return self._fit.sample(arrays, number)


class _Column:
    """The array of one input, in as many parts as it has samples."""

    def __init__(self, name: str, array: Array, wanted: TensorType) -> None:
        self._array = array
        # Elements of the first axis that make one sample; 0: the axis only counts samples.
        self._batch = 0
        if array.ndim and does_fit(array.shape[1:], wanted.shape):
            return
        first = wanted.shape[0] if wanted.shape else 0
        self._batch = first if isinstance(first, int) else 1
        is_batched = array.ndim == wanted.rank and does_fit(array.shape[1:], wanted.shape[1:])
        if not (is_batched and self._batch and len(array) % self._batch == 0):
            raise misfit(name, array, wanted)

    def __len__(self) -> int:
        return len(self._array) // max(self._batch, 1)

    def part(self, number: int) -> Array:
        """The array of one sample."""
        step = max(self._batch, 1)
        part: Array = self._array[number * step : (number + 1) * step]
        return part if self._batch else part[0]


def _stored(fit: SampleFit, path: Path) -> _Stacked:
    """The stacked arrays of an .npz file, or of an .npy file, which may be larger than memory."""
    file_size(path)
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _Stacked(fit, fit.by_name(loaded))
        with loaded:
            return _archived(fit, path, loaded)
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile) as problem:
        raise BadInput(
            f"the file is no readable {path.suffix} file: {shown(problem)}",
            Where(file=str(path)),
            do="write it with numpy again",
        ) from None


def _archived(fit: SampleFit, path: Path, loaded: Mapping[str, Array]) -> _Stacked:
    """The arrays named after inputs; others beside them (labels ...) are left alone."""
    known = [name for name in loaded if name in fit.types or name in fit.spellings]
    if known:
        return _Stacked(fit, fit.by_name({name: loaded[name] for name in known}))
    shapes = {name: array_header(path, name)[0] for name in loaded}
    (input_name, wanted), *more = fit.types.items()
    fitting = [name for name, shape in shapes.items() if _stacked_shape(shape, wanted) is not None]
    if more or len(fitting) != 1:
        raise _unnamed(fit, path, shapes)
    name = fitting[0]
    array = loaded[name].reshape(_stacked_shape(shapes[name], wanted) or shapes[name])
    note = (
        f"no array of '{shown(path.name, 60)}' is named after the input '{shown(input_name, 60)}': "
        f"'{shown(name, 60)}' {list(shapes[name])} is the only one that fits and is used"
    )
    return _Stacked(fit, {input_name: array}, [note])


def _stacked_shape(shape: tuple[int, ...], wanted: TensorType) -> tuple[int, ...] | None:
    """The shape as stacked samples of an input, axes of 1 put in where they are missing; None: no fit."""
    if not shape or not wanted.shape:
        return None
    sample = tuple(size for size in shape[1:] if size != 1)
    if not does_fit(sample, [dim for dim in wanted.shape[1:] if dim != 1]):
        return None
    sizes = iter(sample)
    return (shape[0], *(1 if dim == 1 else next(sizes) for dim in wanted.shape[1:]))


def _unnamed(fit: SampleFit, path: Path, shapes: Mapping[str, tuple[int, ...]]) -> BadInput:
    found = ", ".join(f"'{shown(name, 60)}' {list(shape)}" for name, shape in list(shapes.items())[:10])
    expected = ", ".join(f"'{shown(name, 60)}' {wanted}" for name, wanted in list(fit.types.items())[:10])
    first = shown(next(iter(fit.types)), 60)
    return BadInput(
        f"no array is named after an input, found {found or 'none'}, expected {expected}",
        Where(file=str(path)),
        do=f"name the arrays after the inputs: numpy.savez(file, **{{'{first}': array}})",
    )
