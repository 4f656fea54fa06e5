"""Samples in files: input lists, and folders with a file for each sample."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.data.images import IMAGES, ImageReader, is_image
from edgewright.data.indexed_samples import IndexedSamples
from edgewright.data.input_list import InputLine, InputList, read_input_list
from edgewright.data.input_sets import InputSets
from edgewright.data.sample_format import SampleFormat
from edgewright.data.tensor_files import ExpectedTensor, is_raw, read_array
from edgewright.ir.symbols import batch_symbols, resolve
from edgewright.ir.types import TensorType
from edgewright.lower.names import NameTable

TENSORS = (".npy", ".npz", ".raw", ".bin")


def open_input_list(sample_format: SampleFormat, path: Path, *, is_native: bool) -> "FileSamples":
    """The sets of an input list."""
    names = list(sample_format.types)
    return FileSamples(
        sample_format, read_input_list(path, names, sample_format.spellings), is_native=is_native
    )


def open_folder(
    sample_format: SampleFormat, folder: Path, *, is_native: bool, preprocessing: Preprocessing | None = None
) -> "FileSamples":
    """A sample a file; for several inputs an .npz file a sample, or a folder of files for each input."""
    names = list(sample_format.types)
    beside = _find_input_folders(folder, names)
    if beside:
        columns = {name: _list_sample_files(path) for name, path in beside.items()}
        counts = {name: len(files) for name, files in columns.items()}
        if len(set(counts.values())) > 1:
            described = ", ".join(f"'{shown(name, 60)}' has {count}" for name, count in counts.items())
            raise BadInput(
                f"the inputs have different numbers of files: {described}", Where(file=str(folder))
            )
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    else:
        files = _list_sample_files(folder)
        odd = [file for file in files if len(names) > 1 and file.suffix != ".npz"]
        if odd:
            raise BadInput(
                f"the model has {len(names)} inputs, '{shown(odd[0].name)}' holds one array",
                Where(file=str(folder)),
                do="give one .npz file a sample with an array for each input, or a folder for each input",
            )
        rows = [dict.fromkeys(names, file) for file in files]
    lines = tuple(InputLine(number, row) for number, row in enumerate(rows, 1))
    listed = InputList(folder, lines)
    return FileSamples(
        sample_format, listed, is_native=is_native, preprocessing=preprocessing or Preprocessing()
    )


class FileSamples(IndexedSamples):
    """Samples whose files are read when they are used; sizes are checked before the first one."""

    def __init__(
        self,
        sample_format: SampleFormat,
        listed: InputList,
        *,
        is_native: bool,
        preprocessing: Preprocessing | None = None,
    ) -> None:
        self.sample_format, self._listed = sample_format, listed
        # QNN's lists hold single elements of a batch, or whole batches.
        ones = dict.fromkeys(batch_symbols(sample_format.types), 1)
        types = {
            name: resolve(replace(t, layout=None), ones) if ones else t
            for name, t in sample_format.types.items()
        }
        self._is_static = all(t.is_static for t in types.values())
        readers = {} if preprocessing is None else _make_image_readers(listed, types, preprocessing)
        prepared = {} if is_native else sample_format.preparations
        expected = [
            ExpectedTensor(name, t, is_native, readers.get(name), prepared.get(name))
            for name, t in types.items()
        ]
        self._sets = InputSets(listed, expected) if self._is_static else None
        self.has_images = bool(readers)
        notes = [text for each in readers.values() for text in (each.describe(), each.find_mistake()) if text]
        # What a user should know about how the files were understood.
        self.notes = tuple(notes)

    def __len__(self) -> int:
        return len(self._listed.lines) if self._sets is None else len(self._sets)

    def __getitem__(self, number: int) -> Mapping[str, Array]:
        """One sample."""
        if self._sets is not None:
            return self._sets.read_set(number)
        line = self._listed.lines[number]
        arrays = {name: self._read_array(line, name) for name in self.sample_format.types}
        return self.sample_format.convert_sample(arrays, number, str(next(iter(line.files.values()))))

    @property
    def files(self) -> list[Path]:
        """A file of each sample, where a file is one sample; none where several make a batch."""
        files = [next(iter(line.files.values())) for line in self._listed.lines]
        return files if len(files) == len(self) else []

    def _read_array(self, line: InputLine, name: str) -> Array:
        path = line.files[name] if name in line.files else line.files[""]
        if is_raw(path):
            raise UsageError(
                f"a raw file does not tell the symbolic dimensions of {self.sample_format.types[name]}",
                Where(file=str(path), tensor=name),
                do="give .npy files, or convert the model with numbers for its dimensions",
            )
        return read_array(path, name)


def _find_input_folders(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    table = NameTable(names)
    folders = {}
    for name in names:
        spelled = [folder / table(name), *([folder / name] if "/" not in name and name else [])]
        chosen = [path for path in spelled if path.is_dir()]
        if chosen:
            folders[name] = chosen[0]
    return folders if len(folders) == len(names) else {}


def _make_image_readers(
    listed: InputList, types: Mapping[str, TensorType], preprocessing: Preprocessing
) -> dict[str, ImageReader]:
    """Readers for the inputs whose files are images."""
    readers = {}
    for name, expected in types.items():
        if not any(is_image(line.files[name]) for line in listed.lines):
            continue
        if not expected.is_static:
            raise UsageError(
                f"the input has the shape {expected}, expected numbers to bring images to",
                Where(tensor=name),
                do="convert the model with numbers for its dimensions (-d or -s on the command line)",
            )
        readers[name] = ImageReader.of(name, expected, preprocessing)
    return readers


def _list_sample_files(folder: Path) -> list[Path]:
    """The files of a folder and of the folders in it, by name: all of one kind."""
    entries = sorted(path for path in folder.rglob("*") if not _is_hidden(path.relative_to(folder)))
    entries = [path for path in entries if path.is_file()]
    kinds: dict[str, list[Path]] = {}
    for path in entries:
        kind = "image" if is_image(path) else path.suffix.lower()
        if kind in {"image", *TENSORS}:
            kinds.setdefault(kind, []).append(path)
    if len(kinds) > 1:
        raise _make_mixed_kinds_error(folder, kinds)
    if not kinds:
        raise BadInput(
            f"the folder holds no {', '.join(TENSORS)} files and no images ({', '.join(IMAGES)}) among "
            f"{len(entries)} files",
            Where(file=str(folder)),
            do="save one file a sample, with numpy.save for example",
        )
    return next(iter(kinds.values()))


def _make_mixed_kinds_error(folder: Path, kinds: Mapping[str, Sequence[Path]]) -> BadInput:
    """Several kinds are mostly the same samples twice, or samples beside something else."""
    described = " and ".join(
        f"{len(files)} {kind} file{'s' if len(files) > 1 else ''} ('{shown(files[0].name, 60)}'"
        f"{' ...' if len(files) > 1 else ''})"
        for kind, files in kinds.items()
    )
    return BadInput(
        f"the folder holds {described}, expected one kind",
        Where(file=str(folder)),
        do="put one kind into a folder of its own",
    )


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
