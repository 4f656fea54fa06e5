"""The right answers of samples: from a file, from an array beside them, from the names of their folders."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, EdgewrightError, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.numbers import Array
from edgewright.data.numpy_files import NumpyArchive, read_numpy_array
from edgewright.data.open_samples import Data
from edgewright.quantize.executor import Samples

# Names of arrays that hold labels and no samples.
NAMES = ("labels", "label", "y", "targets")
LARGEST_FILE = 64 << 20


@dataclass(frozen=True)
class Labels:
    """The class of each sample, and where that is known from."""

    values: Array
    note: str


def find_labels(
    data: Data, samples: Samples, count: int, given: str | Path | Sequence[int] | None
) -> Labels | None:
    """What is known of the right answers; None where nothing is."""
    files: list[Path] = list(getattr(samples, "files", ()))
    if given is None:
        labels = _find_beside_samples(data) or _read_folder_names(files)
        return labels if labels is not None and len(labels.values) == count else None
    if not isinstance(given, str | Path):
        return _check_labels(np.asarray(given), "", count)
    path = Path(given)
    if path.suffix == ".csv":
        return _check_labels(_read_table(path, files), str(path), count)
    if path.suffix in {".npy", ".npz"}:
        return _check_labels(_read_array(path), str(path), count)
    return _check_labels(_read_lines(path), str(path), count)


def describe_unused_labels(data: Data, samples: Samples, count: int) -> list[str]:
    """What looks like labels and was not taken for any: said, since figures without labels are others."""
    labels = _find_beside_samples(data)
    if labels is not None:
        return [f"{len(labels.values)} labels are beside {count} samples: not used, expected one for each"]
    files: list[Path] = list(getattr(samples, "files", ()))
    names = sorted({file.parent.name for file in files})
    if len(names) < 2 or _read_folder_names(files) is not None:
        return []
    rows = f"FOLDER,NUMBER ('{shown(names[0], 60)},0' ...)"
    said = f"{len(names)} folders, which are not named by numbers, are no labels"
    return [f"{said}: --labels with a .csv of {rows} makes them some"]


def _check_labels(values: Array, file: str, count: int) -> Labels:
    where = Where(file=file or None)
    if values.ndim == 2 and values.shape[1] > 1:
        values = values.argmax(1)  # one row of a 1 among zeros for each sample
    values = values.reshape(-1)
    if values.dtype.kind not in "iuf" or (values.dtype.kind == "f" and not (values == values.round()).all()):
        raise BadInput(f"labels are {values.dtype}, expected whole numbers", where)
    if len(values) != count:
        raise BadInput(
            f"there are {len(values)} labels for {count} samples, expected one for each",
            where,
            do="give the labels of all samples, in their order; of --eval-data where that is given",
        )
    if values.size and values.min() < 0:
        raise BadInput(f"a label is {values.min()}, expected numbers of classes from 0", where)
    name = Path(file).name if file else "the call"
    return Labels(values.astype(np.int64), f"right answers are from {shown(name, 60)}")


def _find_beside_samples(data: Data) -> Labels | None:
    """An array of labels in the archive that holds the samples, or in the mapping."""
    if isinstance(data, Mapping):
        held: Mapping[str, Array] = data
        return _find_label_array(held, "the samples")
    if not isinstance(data, str | Path) or Path(data).suffix != ".npz" or not Path(data).is_file():
        return None
    try:
        return _find_label_array(NumpyArchive(Path(data)), Path(data).name)
    except EdgewrightError:
        return None  # the samples are read from it too, and say what is wrong


def _find_label_array(held: Mapping[str, Array], place: str) -> Labels | None:
    for name in NAMES:
        if name in held:
            values = np.asarray(held[name])
            if values.ndim == 1 and values.dtype.kind in "iu":
                note = f"right answers are the array '{name}' of {shown(place, 60)}"
                return Labels(values.astype(np.int64), note)
    return None


def _read_folder_names(files: Sequence[Path]) -> Labels | None:
    """Folders that are named by numbers hold a class each."""
    names = [file.parent.name for file in files]
    if not names or len(set(names)) < 2 or not all(name.isdecimal() for name in names):
        return None
    return Labels(np.array([int(name) for name in names]), "right answers are the numbers of the folders")


def _read_table(path: Path, files: Sequence[Path]) -> Array:
    """Rows of a file's or a folder's name and a number; one number a row where there are no names."""
    rows = [row for row in csv.reader(io.StringIO(_read_text(path))) if row]
    if rows and not rows[0][-1].strip().isdecimal():
        rows = rows[1:]
    if all(len(row) == 1 for row in rows):
        return _parse_numbers([row[0] for row in rows], path)
    table = {row[0].strip(): row[-1] for row in rows}
    if not files:
        raise UsageError(
            f"'{shown(path)}' gives labels by file names, the samples are no files of their own",
            do="give one number a line, in the order of the samples",
        )
    labels = [_find_in_table(table, file) for file in files]
    missing = [file.name for file, label in zip(files, labels, strict=True) if label is None]
    if missing:
        raise BadInput(
            f"{len(missing)} of {len(files)} files have no label, the first is '{shown(missing[0], 60)}'",
            Where(file=str(path)),
            do="add rows FILE,NUMBER, or FOLDER,NUMBER for all files of a folder",
        )
    return _parse_numbers([label or "" for label in labels], path)


def _find_in_table(table: Mapping[str, str], file: Path) -> str | None:
    spelled = (f"{file.parent.name}/{file.name}", file.name, file.stem, file.parent.name)
    return next((table[name] for name in spelled if name in table), None)


def _read_lines(path: Path) -> Array:
    return _parse_numbers(_read_text(path).split(), path)


def _parse_numbers(texts: Sequence[str], path: Path) -> Array:
    for row, text in enumerate(texts, 1):
        if not text.strip().isdecimal():
            raise BadInput(
                f"'{shown(text, 60)}' is no label, expected the number of a class from 0",
                Where(file=str(path), detail=f"entry {row}"),
            )
    return np.array([int(text) for text in texts], np.int64)


def _read_array(path: Path) -> Array:
    read_limited(path, LARGEST_FILE)
    if path.suffix == ".npy":
        return read_numpy_array(path)
    loaded = NumpyArchive(path)
    names = [name for name in (*NAMES, *loaded) if name in loaded]
    return loaded[names[0]] if names else np.zeros(0, np.int64)


def _read_text(path: Path) -> str:
    try:
        return read_limited(path, LARGEST_FILE).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("the labels are no text, expected numbers", Where(file=str(path))) from None
