"""The inputs of an evaluation as an input list of float32 files, which all that runs models reads alike."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch, UsageError, Where, shown
from edgewright.core.files import is_there, measure_file, read_limited, write_whole
from edgewright.core.numbers import Array
from edgewright.data.input_list import LARGEST_LIST, read_input_list
from edgewright.data.tensor_files import is_raw
from edgewright.ir.contract import dtype_word
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.lower.names import NameTable

log = logging.getLogger(__name__)

# What inputs_info may call a type (guide: numpy types, and int).
DTYPES = {
    **{word: word for word in ("float16", "float32", "float64", "int8", "int16", "int32", "int64")},
    **{word: word for word in ("uint8", "uint16", "uint32", "bool")},
    "int": "int32",
    "float": "float32",
}
# Integers that float32 holds exactly.
LARGEST_EXACT = 1 << 24
# Small integers read as float32 are numbers below this, which no input holds.
SMALLEST_FLOAT = 1e-30
# What a raw file holds that has so many bytes for each element, for floats and for integers.
_FLOATS = {4: "float32", 2: "float16", 8: "float64", 1: "uint8"}
_INTEGERS = {4: "float32", 8: "int64", 2: "int16", 1: "uint8"}


# The files of one line, by the names that files of the model have for its inputs.
InputRow = Mapping[str, Path]


@dataclass(frozen=True)
class ListedInputs:
    """An input list that qnn-net-run and the quantizer read."""

    path: Path
    # The first file of each line, as the user knows it.
    sources: tuple[str, ...]
    rows: tuple[InputRow, ...]

    def __len__(self) -> int:
        return len(self.sources)


class InputWriter:
    """Makes input lists for a model; files that are not float32 are written anew below a folder."""

    def __init__(self, graph: Graph, folder: Path, dtypes: Mapping[str, str] | None = None) -> None:
        """Prepares for the inputs of a graph.

        Args:
            graph: the converted model, in the layout of its source.
            folder: where files and lists go.
            dtypes: types of raw files by input name, where a user says them.
        """
        self.graph = graph
        self._types = {name: graph.types[name] for name in graph.inputs}
        self._folder, self._spell = folder, NameTable(graph.inputs)
        unknown = [name for name in dtypes or {} if self._find(name) is None]
        if unknown:
            raise UsageError(
                f"inputs_info names '{shown(unknown[0])}', which is no input of the model",
                do=f"its inputs are {', '.join(shown(name) for name in self._types)}",
            )
        self._dtypes = {str(self._find(name)): DTYPES[word] for name, word in (dtypes or {}).items()}

    def read_list(self, file: str | Path, name: str) -> ListedInputs:
        """The list of a file: one set a line, separated by spaces or commas."""
        path = self._without_commas(Path(file), name)
        spellings = {self._spell(known): known for known in self._types}
        listed = read_input_list(path, list(self._types), spellings)
        rows = [
            {key: line.files.get(key, line.files.get("")) for key in self._types} for line in listed.lines
        ]
        return self.write_rows(rows, name)

    def write_rows(self, rows: Iterable[Mapping[str, Any]], name: str) -> ListedInputs:
        """A list of sets; each value is a file, or an array that is written to one."""
        listed, sources = [], []
        for number, row in enumerate(rows):
            files = {
                self._spell(key): self._find_file(
                    key, row[key], self._folder / name / f"{number}_{self._spell(key)}.raw"
                )
                for key in self._types
            }
            first = next(iter(row.values()))
            sources.append(str(first) if isinstance(first, Path) else f"{name} {number}")
            listed.append(files)
        if not listed:
            raise BadInput("there are no inputs, expected at least one", do="name files in the input list")
        target = self._folder / f"{name}.txt"
        lines = [" ".join(f"{key}:={path}" for key, path in files.items()) for files in listed]
        write_whole(target, ["\n".join([*lines, ""]).encode()])
        return ListedInputs(target, tuple(sources), tuple(listed))

    def name_row(self, values: Sequence[Any], where: Where) -> dict[str, Any]:
        """Values in the order of the inputs, by name."""
        if len(values) != len(self._types):
            raise BadInput(
                f"there are {len(values)} values for {len(self._types)} inputs: "
                f"{', '.join(shown(name) for name in self._types)}",
                where,
                do="give one for each input, in this order",
            )
        return dict(zip(self._types, values, strict=True))

    def _find(self, name: str) -> str | None:
        return next((known for known in self._types if name in {known, self._spell(known)}), None)

    def _find_file(self, name: str, value: Any, target: Path) -> Path:
        """A float32 file of a value: its own where that is one already."""
        if isinstance(value, Path):
            path = value.absolute()
            if not is_raw(path):
                return path
            dtype = self._dtypes.get(name) or _guess_dtype(path, name, self._types[name])
            if dtype == "float32":
                return path
            value = np.fromfile(path, dtype)
        write_whole(target, [_to_float32(name, np.asarray(value)).tobytes()])
        return target.absolute()

    def _without_commas(self, path: Path, name: str) -> Path:
        """The list, or one with the files of each line in quotes where commas separate them."""
        try:
            texts = read_limited(path, LARGEST_LIST).decode("utf-8-sig").split("\n")
        except UnicodeDecodeError:
            return path
        if not any("," in text and ":=" not in text and not text.startswith(("#", "%")) for text in texts):
            return path
        lines = [_quote_files(text, path.parent) for text in texts]
        target = self._folder / f"{name}_lines.txt"
        write_whole(target, ["\n".join(lines).encode()])
        return target


def _quote_files(text: str, folder: Path) -> str:
    """The files of a line in quotes; those beside the list by their full paths."""
    plain = text.strip()
    if not plain or plain.startswith(("#", "%")) or ":=" in plain:
        return plain
    words = [part.strip() for part in plain.split(",") if part.strip()]
    paths = [word if is_there(word) else str((folder / word).absolute()) for word in words]
    return " ".join(f'"{word}"' for word in paths)


def _guess_dtype(path: Path, name: str, tensor_type: TensorType) -> str:
    """The type of a raw file by its size: of the whole input, or of one element of its batch."""
    shape, size = tensor_type.static_shape(), measure_file(path)
    is_float = tensor_type.dtype.is_float or tensor_type.encoding is not None
    known = _FLOATS if is_float else _INTEGERS
    counts = [prod(shape)] + ([prod(shape[1:])] if shape and shape[0] > 1 else [])
    sizes = [size // count for count in counts if count and size % count == 0]
    dtype = next((word for item, word in known.items() if item in sizes), None)
    if dtype is None:
        raise ShapeMismatch(
            f"the file has {size} bytes, expected {4 * counts[0]} for float32 {list(shape)}",
            Where(file=str(path), tensor=name),
            do="write the file again in this shape, or give the input's type under inputs_info",
        )
    if is_float or dtype != "float32":
        return dtype
    # An integer input of four bytes: token 7 as int32 is 1e-44 as float32.
    values = np.abs(np.fromfile(path, np.float32))
    if ((values > 0) & (values < SMALLEST_FLOAT)).any():
        log.info("'%s' holds %s as int32", path, dtype_word(tensor_type.dtype))
        return "int32"
    return dtype


def _to_float32(name: str, array: Array) -> Array:
    if array.dtype.kind not in "fiub":
        raise BadInput(f"the values are {array.dtype}, expected numbers", Where(tensor=name))
    if (
        array.dtype.kind in "iu"
        and array.size
        and int(np.abs(array.astype(np.float64)).max()) > LARGEST_EXACT
    ):
        raise BadInput(
            f"the values reach {int(np.abs(array.astype(np.float64)).max())}, raw float32 files hold whole "
            f"numbers up to {LARGEST_EXACT}",
            Where(tensor=name),
        )
    return np.ascontiguousarray(array.astype(np.float32))
