"""Samples in files: input lists, and folders with a file for each sample."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from edgewright.api.input_list import InputLine, InputList, read_input_list
from edgewright.api.input_sets import InputSets
from edgewright.api.sample_fit import SampleFit
from edgewright.api.tensor_files import Expected, array_in, is_raw
from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.ir.symbols import batch_symbols, resolve
from edgewright.lower.names import NameTable

__all__ = ["folder_samples", "list_samples"]

TENSORS = (".npy", ".npz", ".raw", ".bin")
IMAGES = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")


def list_samples(fit: SampleFit, path: Path, *, is_native: bool) -> "FileSamples":
    """The sets of an input list."""
    names = list(fit.types)
    return FileSamples(fit, read_input_list(path, names, fit.spellings), is_native=is_native)


def folder_samples(fit: SampleFit, folder: Path, *, is_native: bool) -> "FileSamples":
    """A sample a file; for several inputs an .npz file a sample, or a folder of files for each input."""
    names = list(fit.types)
    beside = _folders_by_input(folder, names)
    if beside:
        columns = {name: _tensor_files(path) for name, path in beside.items()}
        counts = {name: len(files) for name, files in columns.items()}
        if len(set(counts.values())) > 1:
            found = ", ".join(f"'{shown(name, 60)}' has {count}" for name, count in counts.items())
            raise BadInput(f"the inputs have different numbers of files: {found}", Where(file=str(folder)))
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    else:
        files = _tensor_files(folder)
        odd = [file for file in files if len(names) > 1 and file.suffix != ".npz"]
        if odd:
            raise BadInput(
                f"the model has {len(names)} inputs, '{shown(odd[0].name)}' holds one array",
                Where(file=str(folder)),
                do="give one .npz file a sample with an array for each input, or a folder for each input",
            )
        rows = [dict.fromkeys(names, file) for file in files]
    lines = tuple(InputLine(number, row) for number, row in enumerate(rows, 1))
    return FileSamples(fit, InputList(folder, lines), is_native=is_native)


class FileSamples:
    """Samples whose files are read when they are used; sizes are checked before the first one."""

    def __init__(self, fit: SampleFit, listed: InputList, *, is_native: bool) -> None:
        self._fit, self._listed = fit, listed
        # QNN's lists hold single elements of a batch, or whole batches.
        ones = dict.fromkeys(batch_symbols(fit.types), 1)
        types = {name: resolve(replace(t, layout=None), ones) if ones else t for name, t in fit.types.items()}
        self._is_static = all(t.is_static for t in types.values())
        expected = [Expected(name, t, is_native) for name, t in types.items()]
        self._sets = InputSets(listed, expected) if self._is_static else None

    def __len__(self) -> int:
        return len(self._listed.lines) if self._sets is None else len(self._sets)

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        if self._sets is not None:
            yield from (self._sets.feed(number) for number in range(len(self._sets)))
            return
        for number, line in enumerate(self._listed.lines):
            arrays = {name: self._read(line, name) for name in self._fit.types}
            yield self._fit.sample(arrays, number, str(next(iter(line.files.values()))))

    def _read(self, line: InputLine, name: str) -> Array:
        path = line.files[name] if name in line.files else line.files[""]
        if is_raw(path):
            raise UsageError(
                f"a raw file does not tell the symbolic dimensions of {self._fit.types[name]}",
                Where(file=str(path), tensor=name),
                do="give .npy files, or convert the model with numbers for its dimensions",
            )
        return array_in(path, name)


def _folders_by_input(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    table = NameTable(names)
    found = {}
    for name in names:
        spelled = [folder / table(name), *([folder / name] if "/" not in name and name else [])]
        chosen = [path for path in spelled if path.is_dir()]
        if chosen:
            found[name] = chosen[0]
    return found if len(found) == len(names) else {}


def _tensor_files(folder: Path) -> list[Path]:
    entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    files = [path for path in entries if path.suffix.lower() in TENSORS and path.is_file()]
    if files:
        return files
    pictures = [path for path in entries if path.suffix.lower() in IMAGES]
    if pictures:
        raise BadInput(
            f"the folder holds {len(pictures)} images, expected {', '.join(TENSORS)} files",
            Where(file=str(folder)),
            do="prepare them as the model was trained (size, colours, mean) and save each with numpy.save",
        )
    raise BadInput(
        f"the folder holds no {', '.join(TENSORS)} files among {len(entries)} entries",
        Where(file=str(folder)),
        do="save one file a sample, with numpy.save for example",
    )
