"""Opens data sets as people have them: an input list, or a folder of images, sound or texts."""

import re
from collections.abc import Sequence
from pathlib import Path

from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.files import is_there, read_limited, resolve_inside
from edgewright.data.csv_samples import split_rows
from edgewright.data.images import is_image
from edgewright.evaluate.plugins.sample import Dataset, Row

LARGEST_LIST = 256 << 20
SAMPLES = frozenset({".wav", ".txt", ".json", ".npy", ".raw"})
INDEX, RAW, WHOLE = "index", "raw", "dataset"
CALIBRATIONS = (INDEX, RAW, WHOLE)


def open_dataset(
    folder: Path,
    *,
    input_list: str = "",
    annotations: str = "",
    calibration: str = "",
    calibration_type: str = "",
) -> Dataset:
    """The data set of a configuration's dataset section.

    Args:
        folder: where the data lies; files of the lists are inside it.
        input_list: a file of lines, the inputs of one sample each, separated by commas; without one, all
            images (or other samples) of the folder in the order of their names.
        annotations: the file of the right answers; without one, the folders of the images.
        calibration: the file of what calibrates.
        calibration_type: index (numbers of lines of the input list), raw (files that the model takes as they
            are) or dataset (files like those of the input list).
    """
    if not folder.is_dir():
        raise BadInput(
            f"the data set '{shown(folder)}' is no folder", do="set path of the dataset section to its folder"
        )
    rows = read_rows(folder, input_list) if input_list else _list_samples(folder)
    if not rows:
        raise BadInput("the data set has no samples", Where(file=str(folder / input_list)))
    known = folder if not annotations and _has_class_folders(folder, rows) else None
    return Dataset(
        folder,
        tuple(rows),
        calibration=_read_calibration(folder, rows, calibration, calibration_type),
        is_calibration_raw=calibration_type == RAW,
        annotations=_find_file(folder, annotations) if annotations else known,
    )


def read_rows(folder: Path, name: str) -> list[Row]:
    """The lines of an input list; files that are missing are one error."""
    path = _find_file(folder, name)
    lines = read_lines(path)
    rows = [
        tuple(_find_sample(folder, path, part.strip()) for part in line.split(",") if part.strip())
        for line in lines
        if line.strip() and not line.startswith(("#", "%"))
    ]
    missing = [file for row in rows for file in row if not (is_there(file) and file.is_file())]
    if missing:
        raise BadInput(
            f"{len(missing)} files of the list are missing, the first is '{shown(missing[0])}'",
            Where(file=str(path)),
            do="paths are relative to the folder of the data set",
        )
    return list(rows)


def read_lines(path: Path) -> list[str]:
    """The lines of a text file in UTF-8."""
    try:
        return read_limited(path, LARGEST_LIST).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as problem:
        raise BadInput(f"the file is no text in UTF-8: {shown(problem)}", Where(file=str(path))) from None


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Lines of a file's name and its answer, separated by a tab, a comma or a space."""
    lines = [line for line in read_lines(path) if line.strip()]
    if path.suffix == ".csv":
        pairs = [
            (row[0].strip(), ",".join(row[1:]).strip()) for row in split_rows("\n".join(lines), path) if row
        ]
        has_header = bool(pairs) and "." not in pairs[0][0] and any("." in name for name, _ in pairs[1:])
        return pairs[1:] if has_header else pairs
    return [_split_line(line) for line in lines]


def _split_line(line: str) -> tuple[str, str]:
    name, *answer = re.split(r"[\t, ]\s*", line.strip(), maxsplit=1)
    return (name, answer[0]) if answer else ("", name)


def list_class_folders(folder: Path) -> list[str]:
    """Names of folders in their order, each of which is a class: ImageNet's layout."""
    return sorted(item.name for item in folder.iterdir() if item.is_dir())


def _find_sample(folder: Path, file: Path, name: str) -> Path:
    """A file of the data set; absolute names must be inside its folder too."""
    given = Path(name)
    if given.is_absolute() and given.is_relative_to(folder.absolute()):
        name = str(given.relative_to(folder.absolute()))
    return resolve_inside(folder, name, str(file))


def _find_file(folder: Path, name: str) -> Path:
    """A file that the configuration itself names: the user's own words, so that it may lie elsewhere."""
    given = Path(name)
    path = given if given.is_absolute() else folder / given
    if not path.exists():
        raise BadInput(
            f"the file '{shown(name)}' of the data set is missing",
            Where(file=str(path)),
            do="correct its path",
        )
    return path


def _list_samples(folder: Path) -> list[Row]:
    files = sorted(item for item in folder.rglob("*") if item.is_file() and not item.name.startswith("."))
    images = [file for file in files if is_image(file)]
    return [(file,) for file in images or [file for file in files if file.suffix in SAMPLES]]


def _has_class_folders(folder: Path, rows: Sequence[Row]) -> bool:
    """Whether every sample lies in a folder of its class."""
    parents = {row[0].parent.parent for row in rows}
    return {parent.resolve() for parent in parents} == {folder.resolve()}


def _read_calibration(folder: Path, rows: Sequence[Row], name: str, kind: str) -> tuple[Row, ...]:
    if not name:
        return ()
    if kind not in CALIBRATIONS:
        raise UsageError(
            f"the type of the calibration is '{shown(kind, 60)}', expected one of: {', '.join(CALIBRATIONS)}"
        )
    if kind != INDEX:
        return tuple(read_rows(folder, name))
    path = _find_file(folder, name)
    words = [word for line in read_lines(path) for word in line.replace(",", " ").split()]
    wrong = [word for word in words if not word.isdecimal() or int(word) >= len(rows)]
    if wrong:
        raise BadInput(
            f"'{shown(wrong[0], 60)}' is no line of the input list, expected 0 to {len(rows) - 1}",
            Where(file=str(path)),
        )
    return tuple(rows[int(word)] for word in words)
