"""Folders of raw tensors: written with a list of what each file holds, read with it or without."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.files import measure_file, read_limited, resolve_inside, write_whole
from edgewright.core.json_text import parse_json
from edgewright.core.numbers import Array
from edgewright.run.run_results import RUN_FILE

LIST_FILE = "tensor_files.json"
LARGEST_LIST = 1 << 26
# What file names of some system cannot hold.
_UNFIT = re.compile(r'[<>:"\\|?*\x00-\x1f]')
LONGEST_PART = 200
_WORDS = ("bool", "float32", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
_STORED = dict(zip(_WORDS, _WORDS, strict=True))


@dataclass(frozen=True)
class TensorFile:
    """The file of one tensor; ``dims`` is None where nothing tells them."""

    name: str
    path: Path
    dims: tuple[int, ...] | None = None
    dtype: str = "float32"

    def read(self) -> Array:
        """The values in their shape; one axis where that is not known."""
        size, dtype = measure_file(self.path), np.dtype(self.dtype)
        expected = size if self.dims is None else prod(self.dims) * dtype.itemsize
        if size != expected or size % dtype.itemsize:
            shape = "whole numbers of elements" if self.dims is None else f"{expected} for {list(self.dims)}"
            raise BadInput(
                f"the file has {size} bytes, expected {shape} of {self.dtype}",
                Where(file=str(self.path), tensor=self.name),
                do="write the tensors again",
            )
        array: Array = np.fromfile(self.path, dtype)
        return array if self.dims is None else array.reshape(self.dims)


def write_tensors(folder: Path, tensors: Iterable[tuple[str, Array]]) -> int:
    """Writes each tensor into FOLDER/NAME.raw, where a slash makes a folder; returns how many there were."""
    taken: set[str] = set()
    listed: list[dict[str, Any]] = []
    for name, array in tensors:
        file = _name_file(name, taken)
        stored = _to_file_type(array)
        write_whole(folder / file, [stored.reshape(-1).view("u1").data] if stored.size else [b""])
        listed.append({"name": name, "file": file, "dims": list(array.shape), "dtype": str(stored.dtype)})
    write_whole(folder / LIST_FILE, [f"{json.dumps(listed, indent=1)}\n".encode()])
    return len(listed)


def list_tensor_files(folder: str | Path, dtype: str = "float32") -> dict[str, TensorFile]:
    """The tensors of a folder by name: from its list, from a run's description, or by the files' names."""
    home = Path(folder)
    if not home.is_dir():
        raise BadInput(
            f"'{shown(home)}' is no folder, expected one of raw tensors",
            Where(file=str(home)),
            do="name the folder that framework diagnosis or the inference engine wrote",
        )
    if (home / LIST_FILE).is_file():
        files = list(_read_list(home))
    elif (home.parent / RUN_FILE).is_file():
        files = list(_read_run(home))
    else:
        paths = sorted(path for path in home.rglob("*.raw") if path.is_file())
        files = [TensorFile(str(p.relative_to(home).with_suffix("")), p, None, dtype) for p in paths]
    if not files:
        raise BadInput(
            f"'{shown(home)}' has no raw tensors",
            Where(file=str(home)),
            do="name the folder with the .raw files, such as inference_engine/latest/output/Result_0",
        )
    return {file.name: file for file in files}


def read_json_object(file: str | Path, what: str) -> dict[str, Any]:
    """A JSON object from a file."""
    try:
        content = parse_json(read_limited(file, LARGEST_LIST))
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"the {what} is no JSON: {shown(problem)}", Where(file=str(file))) from None
    if not isinstance(content, dict):
        raise BadInput(f"the {what} is no JSON object, expected one", Where(file=str(file)))
    return content


def _name_file(name: str, taken: set[str]) -> str:
    parts = [_UNFIT.sub("_", part)[:LONGEST_PART].strip(". ") for part in name.split("/")]
    base = "/".join(part for part in parts if part) or "tensor"
    file, number = base, 1
    # Some systems do not tell capitals apart.
    while file.lower() in taken:
        number += 1
        file = f"{base}_{number}"
    taken.add(file.lower())
    return f"{file}.raw"


def _to_file_type(array: Array) -> Array:
    """Real numbers as float32, as every raw file has them; integers and truth values as they are."""
    kept = array.dtype.kind in "iub" and array.dtype.itemsize <= 8
    return np.ascontiguousarray(array if kept else array.astype(np.float32))


def _read_list(home: Path) -> Iterator[TensorFile]:
    where = Where(file=str(home / LIST_FILE))
    try:
        entries = parse_json(read_limited(home / LIST_FILE, LARGEST_LIST))
        for entry in entries:
            path = resolve_inside(home, str(entry["file"]), str(home / LIST_FILE))
            word = _STORED[str(entry["dtype"])]
            yield TensorFile(str(entry["name"]), path, tuple(map(int, entry["dims"])), word)
    except (ValueError, TypeError, KeyError) as problem:
        raise BadInput(
            f"the list of tensors is damaged: {shown(problem)}", where, do="write the folder again"
        ) from None


def _read_run(home: Path) -> Iterator[TensorFile]:
    content = read_json_object(home.parent / RUN_FILE, "description of the run")
    for entry in content.get("outputs", ()):
        if not isinstance(entry, Mapping) or entry.get("file_dtype") != "float32":
            continue
        path = resolve_inside(home, str(entry["file"]), str(home.parent / RUN_FILE))
        if path.is_file():
            # Artifacts spell names as files are called; mappings and structures use that form.
            yield TensorFile(path.stem, path, tuple(map(int, entry["shape"])))
