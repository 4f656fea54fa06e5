"""Samples in a .csv file: a row of numbers for each, or the path of its file; right answers in a column."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import BadInput, ShapeMismatch, Where, shown
from edgewright.core.files import is_there, read_limited
from edgewright.core.numbers import Array
from edgewright.data.images import is_image
from edgewright.data.input_list import InputLine, InputList
from edgewright.data.sample_files import TENSORS, FileSamples
from edgewright.data.sample_format import SampleFormat

# Names of columns that hold right answers.
LABELS = ("labels", "label", "y", "target", "targets", "class")
LARGEST_FILE = 1 << 30
SEPARATORS = ",;\t"
_ADVICE = "give a column for each number of a sample, in their order, or a column of paths"


@dataclass(frozen=True)
class CsvTable:
    """Columns of texts by name, in their order; without names they are numbered."""

    path: Path
    names: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    has_names: bool

    def list_texts(self, column: int) -> list[str]:
        """All of one column."""
        return [row[column].strip() for row in self.rows]

    def find_row(self, number: int) -> Where:
        """Where a row stands in the file."""
        return Where(file=str(self.path), detail=f"line {number + 1 + self.has_names}")


def read_table(path: Path) -> CsvTable:
    """The rows of a file; the first one has the names of the columns where it holds no number and no path."""
    try:
        text = read_limited(path, LARGEST_FILE).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("the file is no text, expected rows of values", Where(file=str(path))) from None
    mark = max(SEPARATORS, key=text.partition("\n")[0].count)
    rows = [row for row in split_rows(text, path, mark) if any(map(str.strip, row))]
    if not rows:
        raise BadInput("the file has no rows", Where(file=str(path)), do=_ADVICE)
    has_names = not any(_is_number(cell) or _is_path(cell) for cell in rows[0])
    names = rows[0] if has_names else [f"column {number + 1}" for number in range(len(rows[0]))]
    table = CsvTable(path, tuple(name.strip() for name in names), rows[has_names:], has_names)
    for number, row in enumerate(table.rows):
        if len(row) != len(names):
            what = f"the row has {len(row)} columns, expected {len(names)} as in the first one"
            raise BadInput(what, table.find_row(number))
    return table


def split_rows(text: str, path: Path, mark: str = ",") -> list[list[str]]:
    """The rows of a table; a field without an end, or one too long, is an error."""
    try:
        return list(csv.reader(io.StringIO(text), delimiter=mark))
    except csv.Error as problem:
        raise BadInput(f"the file is no table: {problem}", Where(file=str(path)), do=_ADVICE) from None


def open_csv(
    sample_format: SampleFormat, path: Path, preprocessing: Preprocessing | None, *, is_native: bool
) -> tuple[FileSamples | Mapping[str, Array], list[str] | None]:
    """Samples in files, or stacked arrays by input; and the texts of right answers where there are some."""
    table = read_table(path)
    labels = [n for n, name in enumerate(table.names) if table.has_names and name.lower() in LABELS]
    # An input may be called so too.
    labels = [n for n in labels if table.names[n] not in sample_format.types]
    texts = table.list_texts(labels[0]) if len(labels) == 1 else None
    columns = [n for n in range(len(table.names)) if n not in labels]
    paths = [n for n in columns if table.rows and _is_path(table.rows[0][n])]
    if len(paths) == 1 and len(sample_format.types) == 1:
        others = [n for n in columns if n not in paths]
        if texts is None and len(others) == 1:
            texts = table.list_texts(others[0])
        return _open_listed(sample_format, table, paths[0], preprocessing, is_native=is_native), texts
    return _stack_numbers(sample_format, table, columns), texts


def _open_listed(
    sample_format: SampleFormat,
    table: CsvTable,
    column: int,
    preprocessing: Preprocessing | None,
    *,
    is_native: bool,
) -> FileSamples:
    (name,) = sample_format.types
    lines = []
    for number, text in enumerate(table.list_texts(column)):
        file = table.path.parent / text
        if not (is_there(file) and file.is_file()):
            what = f"there is no file '{shown(text, 120)}' beside the table"
            raise BadInput(what, table.find_row(number), do="give paths from the table's folder")
        lines.append(InputLine(number + 1 + table.has_names, {name: file}))
    listed = InputList(table.path, tuple(lines))
    return FileSamples(
        sample_format, listed, is_native=is_native, preprocessing=preprocessing or Preprocessing()
    )


def _is_path(text: str) -> bool:
    file = Path(text.strip())
    return is_image(file) or file.suffix.lower() in TENSORS


def _stack_numbers(
    sample_format: SampleFormat, table: CsvTable, columns: Sequence[int]
) -> Mapping[str, Array]:
    """Each input's columns, in the shape of one sample."""
    inputs = list(sample_format.types)
    groups = {name: [n for n in columns if _is_of(table.names[n], name)] for name in inputs}
    if len(inputs) == 1:
        groups = {inputs[0]: list(columns)}
    stacked = {}
    for name, chosen in groups.items():
        dims = sample_format.types[name].shape[1:]
        shape = tuple(dim for dim in dims if isinstance(dim, int))
        if len(shape) != len(dims) or math.prod(shape) != len(chosen):
            raise _make_count_error(table, name, dims, chosen, len(inputs))
        stacked[name] = _read_numbers(table, chosen).reshape(-1, *shape)
    return stacked


def _is_of(column: str, name: str) -> bool:
    """Whether a column is of an input: its name, or its name and a number (``x_0``, ``x[1]``, ``x.2``)."""
    rest = column.removeprefix(name)
    return column == name or (rest != column and rest.strip("_.[]() ").isdecimal())


def _make_count_error(
    table: CsvTable, name: str, dims: Sequence[object], chosen: Sequence[int], count: int
) -> ShapeMismatch:
    held = f"the table has {len(chosen)} columns of numbers for it" if table.rows else "the table has no rows"
    advice = _ADVICE
    if count > 1:
        advice = "call the columns of each input by its name and a number, such as 'age' or 'pixels_0'"
    elif isinstance(dims, Sequence) and not table.has_names and len(chosen) == _count_all(dims) + 1:
        advice = "name the columns in a first row: the one of right answers is called label"
    text = ",".join(map(str, dims))
    return ShapeMismatch(
        f"a sample has the shape [{text}], {held}", Where(file=str(table.path), tensor=name), do=advice
    )


def _count_all(dims: Sequence[object]) -> int:
    return math.prod(dim for dim in dims if isinstance(dim, int))


def _read_numbers(table: CsvTable, columns: Sequence[int]) -> Array:
    values = np.empty((len(table.rows), len(columns)), np.float64)
    for number, row in enumerate(table.rows):
        for place, column in enumerate(columns):
            text = row[column].strip()
            if not _is_number(text):
                what = f"'{shown(text, 60)}' in column '{shown(table.names[column], 60)}' is no number"
                raise BadInput(what, table.find_row(number), do="give numbers, as the model was trained with")
            values[number, place] = float(text)
    is_whole = bool((values == np.rint(values)).all()) and bool((np.abs(values) < 1 << 53).all())
    return values.astype(np.int64) if is_whole else values.astype(np.float32)


def _is_number(text: str) -> bool:
    # Python reads 1_0 and digits of other scripts; tables do not mean them.
    try:
        return text.isascii() and "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False
