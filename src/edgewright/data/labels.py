"""The right answers of samples: from a file, from an array beside them, from the names of their folders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, EdgewrightError, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.numbers import Array
from edgewright.data.coco_labels import ImageBoxes, read_coco_boxes
from edgewright.data.csv_samples import LABELS, split_rows
from edgewright.data.images import is_image, read_class_map
from edgewright.data.numpy_files import NumpyArchive, read_numpy_array
from edgewright.data.open_samples import Data
from edgewright.quantize.executor import Samples

# Names of arrays that hold labels and no samples: those of columns.
NAMES = LABELS
LARGEST_FILE = 64 << 20
LARGEST_CLASS = (1 << 31) - 1
# What right answers are: numbers of classes, an array for each sample, texts, boxes in images.
CLASSES, ARRAYS, TEXTS, BOXES = "classes", "arrays", "texts", "boxes"
Label = int | str | Array | ImageBoxes
GivenLabels = str | Path | Sequence[int] | Sequence[str] | Sequence[Array] | Array


@dataclass(frozen=True)
class Labels:
    """The right answer of each sample, and where that is known from."""

    values: Sequence[Label]
    note: str = ""
    kind: str = CLASSES
    # The largest class of samples that were left out: labels of another model show there, too.
    largest_left_out: int = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def largest(self) -> int:
        """The largest number of a class, of all samples that there were."""
        known = (value for value in self.values if isinstance(value, int))
        return max(self.largest_left_out, max(known, default=0))

    def select(self, numbers: Sequence[int]) -> "Labels":
        """Those of some samples."""
        values = [self.values[number] for number in numbers]
        return replace(self, values=values, largest_left_out=self.largest)


def find_labels(data: Data, samples: Samples, count: int, given: GivenLabels | None) -> Labels | None:
    """What is known of the right answers; None where nothing is."""
    files: list[Path] = list(getattr(samples, "files", ()))
    if given is None:
        labels = (
            _find_in_column(data, samples) or _find_beside_samples(data, samples) or _read_folder_names(files)
        )
        return labels if labels is not None and len(labels) == count else None
    if not isinstance(given, str | Path):
        return _check_count(_read_given(given), "", count)
    return _check_count(_read_path(Path(given), files, count), str(given), count)


def _read_path(path: Path, files: Sequence[Path], count: int) -> Labels:
    if path.is_dir():
        return _read_label_folder(path, files)
    if path.suffix == ".json":
        return Labels(read_coco_boxes(path, files, count), kind=BOXES)
    if path.suffix == ".csv":
        return _parse_texts(_read_table(path, files), path)
    if path.suffix in {".npy", ".npz"}:
        return _split_array(_read_array(path), str(path))
    return _read_lines(path, count)


def _read_given(given: Sequence[int] | Sequence[str] | Sequence[Array] | Array) -> Labels:
    if len(given) and all(isinstance(value, str) for value in given):
        return Labels([str(value) for value in given], kind=TEXTS)
    try:
        return _split_array(np.asarray(given), "")
    except ValueError:  # of different shapes
        return Labels([np.asarray(value) for value in given], kind=ARRAYS)


def describe_unused_labels(data: Data, samples: Samples, count: int) -> list[str]:
    """What looks like labels and was not taken for any: said, since figures without labels are others."""
    labels = _find_beside_samples(data, samples)
    if labels is not None:
        return [f"{len(labels)} labels are beside {count} samples: not used, expected one for each"]
    if odd := _describe_odd_array(data, samples):
        return odd
    files: list[Path] = list(getattr(samples, "files", ()))
    names = sorted({file.parent.name for file in files})
    if len(names) < 2 or _read_folder_names(files) is not None:
        return []
    rows = f"FOLDER,NUMBER ('{shown(names[0], 60)},0' ...)"
    said = f"{len(names)} folders, which are not named by numbers, are no labels"
    return [f"{said}: {spell_option('labels')} with a .csv of {rows} makes them some"]


def _check_count(labels: Labels, file: str, count: int) -> Labels:
    if len(labels) != count:
        raise BadInput(
            f"there are {len(labels)} labels for {count} samples, expected one for each",
            Where(file=file or None),
            do="give the labels of all samples, in their order; of those to evaluate on where they are named "
            f"({spell_option('eval_data')})",
        )
    name = Path(file).name if file else "the call"
    return replace(labels, note=f"right answers are from {shown(name, 60)}")


def _split_array(values: Array, file: str) -> Labels:
    """Numbers of classes, rows of a 1 among zeros, or an array for each sample."""
    where = Where(file=file or None)
    if values.dtype.kind in "US":
        return Labels([str(value) for value in values.reshape(-1)], kind=TEXTS)
    if values.dtype.kind not in "iufb" or not values.ndim:
        raise BadInput(f"labels are {values.dtype} {list(values.shape)}, expected an array of numbers", where)
    if _has_single_ones(values):
        values = values.argmax(1)
    if values.ndim > 1 and values.size > len(values):
        return Labels(list(values), kind=ARRAYS)
    values = values.reshape(-1)
    if values.dtype.kind == "f" and not (values == values.round()).all():
        raise BadInput(f"labels are {values.dtype}, expected whole numbers", where)
    if values.size and values.min() < 0:
        raise BadInput(f"a label is {values.min()}, expected numbers of classes from 0", where)
    return Labels(values.astype(np.int64).tolist())


def _has_single_ones(values: Array) -> bool:
    is_flat = values.ndim == 2 and values.shape[1] > 1
    return is_flat and bool(np.isin(values, (0, 1)).all() and (values.sum(1) == 1).all())


def _read_label_folder(folder: Path, files: Sequence[Path]) -> Labels:
    """A file for each sample: .npy, or an image whose pixels are numbers of classes."""
    known = {path.stem: path for path in sorted(folder.rglob("*")) if path.suffix == ".npy" or is_image(path)}
    missing = [file.name for file in files if file.stem not in known]
    if not known or missing:
        what = "neither .npy files nor images"
        if missing:
            what = f"no label for {len(missing)} samples, the first is '{shown(missing[0], 60)}'"
        raise BadInput(
            f"the folder has {what}",
            Where(file=str(folder)),
            do="give each label the name of its sample, as .npy or as an image of class numbers",
        )
    paths = [known[file.stem] for file in files] if files else list(known.values())
    arrays = [read_class_map(path) if is_image(path) else _read_array(path) for path in paths]
    return Labels(arrays, kind=ARRAYS)


def _find_beside_samples(data: Data, samples: Samples) -> Labels | None:
    """An array of labels in the archive that holds the samples, or in the mapping."""
    held = _open_beside(data)
    for name in _list_label_arrays(held, samples):
        values = _take_class_numbers(np.asarray(held[name]))
        if values is not None:
            place = Path(data).name if isinstance(data, str | Path) else "the samples"
            note = f"right answers are the array '{name}' of {shown(place, 60)}"
            return Labels(values.astype(np.int64).tolist(), note)
    return None


def _open_beside(data: Data) -> Mapping[str, Array]:
    """The arrays that samples come from; none where they come from anything else."""
    if isinstance(data, Mapping):
        return data
    if not isinstance(data, str | Path) or Path(data).suffix != ".npz" or not Path(data).is_file():
        return {}
    try:
        return NumpyArchive(Path(data))
    except EdgewrightError:
        return {}  # the samples are read from it too, and say what is wrong


def _list_label_arrays(held: Mapping[str, Array], samples: Samples) -> list[str]:
    """Those that are named like labels, unless an input of the model is called so."""
    named = [name for name in NAMES if name in held]
    inputs = frozenset(next(iter(samples), {})) if named else frozenset()
    return [name for name in named if name not in inputs]


def _find_in_column(data: Data, samples: Samples) -> Labels | None:
    """The column of right answers in a table of samples."""
    texts: Sequence[str] | None = getattr(samples, "label_texts", None)
    if not texts or not isinstance(data, str | Path):
        return None
    path = Path(data)
    return replace(_parse_texts(texts, path), note=f"right answers are a column of {shown(path.name, 60)}")


def _take_class_numbers(values: Array) -> Array | None:
    """The numbers of classes in a row or a column, also where they are stored as floats."""
    row = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    is_whole = row.dtype.kind in "iu" or (row.dtype.kind == "f" and bool((row == np.rint(row)).all()))
    return row if row.ndim == 1 and is_whole else None


def _describe_odd_array(data: Data, samples: Samples) -> list[str]:
    """An array that is named like labels and holds no numbers of classes."""
    held = _open_beside(data)
    for name in _list_label_arrays(held, samples):
        values = np.asarray(held[name])
        what = f"the array '{name}' {list(values.shape)} of {values.dtype} beside the samples is not used"
        return [f"{what}: labels are one number for each; others are given with {spell_option('labels')}"]
    return []


def _read_folder_names(files: Sequence[Path]) -> Labels | None:
    """Folders that are named by numbers hold a class each."""
    names = [file.parent.name for file in files]
    if not names or len(set(names)) < 2 or not all(map(is_class_number, names)):
        return None
    return Labels([int(name) for name in names], "right answers are the numbers of the folders")


def _read_table(path: Path, files: Sequence[Path]) -> list[str]:
    """Rows of a file's or a folder's name and a number or text; one a row where there are no names."""
    rows = [row for row in split_rows(_read_text(path), path) if row]
    if len(rows) > 1 and rows[1][-1].strip().isdecimal() and not rows[0][-1].strip().isdecimal():
        rows = rows[1:]
    if all(len(row) == 1 for row in rows):
        return [row[0] for row in rows]
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
    return [label or "" for label in labels]


def _find_in_table(table: Mapping[str, str], file: Path) -> str | None:
    spelled = (f"{file.parent.name}/{file.name}", file.name, file.stem, file.parent.name)
    return next((table[name] for name in spelled if name in table), None)


def _read_lines(path: Path, count: int) -> Labels:
    """One number or one text a line; numbers may stand in any lines."""
    text = _read_text(path)
    words, lines = text.split(), text.splitlines()
    return _parse_texts(words if all(map(_is_number, words)) or len(lines) != count else lines, path)


def _is_number(text: str) -> bool:
    return text.strip().isdecimal()


def _parse_texts(texts: Sequence[str], path: Path) -> Labels:
    """Numbers of classes where all are numbers, texts where none is."""
    numbers = list(map(_is_number, texts))
    if any(numbers) and not all(numbers):
        row = numbers.index(False)
        raise BadInput(
            f"'{shown(texts[row], 60)}' is no label, expected the number of a class from 0",
            Where(file=str(path), detail=f"entry {row + 1}"),
        )
    if texts and not any(numbers):
        return Labels([text.strip() for text in texts], kind=TEXTS)
    large = [row for row, text in enumerate(texts) if not is_class_number(text)]
    if large:
        raise BadInput(
            f"'{shown(texts[large[0]].strip(), 60)}' is no label, expected the number of a class from 0 to "
            f"{LARGEST_CLASS}",
            Where(file=str(path), detail=f"entry {large[0] + 1}"),
        )
    return Labels([int(text) for text in texts])


def is_class_number(text: str) -> bool:
    """Whether a text is the number of a class that a model could have."""
    digits = text.strip()
    return digits.isdecimal() and len(digits) <= len(str(LARGEST_CLASS)) and int(digits) <= LARGEST_CLASS


def _read_array(path: Path) -> Array:
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
