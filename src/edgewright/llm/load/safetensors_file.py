"""Tensors of a .safetensors file, each read when it is asked for; all sizes are checked before."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, UnsupportedFeature, Where, shown
from edgewright.core.numbers import Array

LENGTH_BYTES = 8
# The writers of the format keep to the same limit.
LARGEST_HEADER = 100_000_000
METADATA = "__metadata__"
DTYPES: dict[str, Any] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U64": np.uint64,
    "U32": np.uint32,
    "U16": np.uint16,
    "U8": np.uint8,
    "BOOL": np.bool_,
}


@dataclass(frozen=True)
class StoredTensor:
    """Where a tensor is in its file, and of what kind it is."""

    path: Path
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int

    def read(self) -> Array:
        """All of it, as it is stored; the operating system loads what is looked at."""
        if 0 in self.shape:
            return np.zeros(self.shape, self.dtype)
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return math.prod(self.shape) * self.dtype.itemsize

    def pick_rows(self, numbers: Array) -> Array:
        """Rows by their numbers, in single precision."""
        return widen(self.read()[numbers])

    def read_rows(self, start: int, stop: int) -> Array:
        """Some rows, in single precision."""
        return widen(self.read()[start:stop])


def widen(values: Array) -> Array:
    """The same numbers in single precision."""
    if values.dtype != ml_dtypes.bfloat16:
        return np.asarray(values).astype(np.float32)
    # The upper halves of the same numbers; casts of the package ml_dtypes take three times as long.
    wide = np.asarray(values).view(np.uint16).astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)


def list_stored_tensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a file by their names."""
    header, start = _read_header(path)
    size = path.stat().st_size - start
    tensors = {
        name: _check_tensor(path, name, entry, start, size)
        for name, entry in header.items()
        if name != METADATA
    }
    end = 0
    for tensor in sorted(tensors.values(), key=lambda tensor: (tensor.offset, tensor.nbytes)):
        if tensor.nbytes and tensor.offset < end:
            raise BadInput(
                "the bytes of the tensor are those of another one, too",
                Where(file=str(path), tensor=tensor.name),
                do="download or save the file again",
            )
        end = max(end, tensor.offset + tensor.nbytes)
    if tensors and end < start + size:
        raise BadInput(
            f"{start + size - end} bytes at the end of the file belong to no tensor",
            Where(file=str(path)),
            do="download or save the file again",
        )
    return tensors


def _read_header(path: Path) -> tuple[dict[str, Any], int]:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if size < LENGTH_BYTES or length > size - LENGTH_BYTES:
            raise BadInput(
                f"the header is {length} bytes long, the file has {max(0, size - LENGTH_BYTES)}",
                Where(file=str(path)),
                do="download or save the file again: it is cut short, or no .safetensors",
            )
        if length > LARGEST_HEADER:
            raise LimitExceeded(
                f"the header is {length} bytes long, the limit is {LARGEST_HEADER}", Where(file=str(path))
            )
        return _parse_header(path, file.read(length)), LENGTH_BYTES + length


def _parse_header(path: Path, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"the header is no JSON: {shown(problem)}", Where(file=str(path))) from None
    if not isinstance(header, dict):
        raise BadInput(f"the header is a {type(header).__name__}, expected an object", Where(file=str(path)))
    return header


def _check_tensor(path: Path, name: str, entry: Any, start: int, size: int) -> StoredTensor:
    where = Where(file=str(path), tensor=name)
    shape, begin, end = _read_entry(entry, where)
    if entry["dtype"] not in DTYPES:
        raise UnsupportedFeature(
            f"datatype '{shown(entry['dtype'])}' is unknown, expected one of {', '.join(DTYPES)}", where
        )
    dtype = np.dtype(DTYPES[entry["dtype"]])
    needed = math.prod(shape) * dtype.itemsize
    if not 0 <= begin <= end <= size or end - begin != needed:
        raise BadInput(
            f"shape {shown(list(shape))} of {entry['dtype']} needs {needed} bytes, "
            f"the header gives bytes {begin} to {end} of {size}",
            where,
            do="download or save the file again",
        )
    return StoredTensor(path, name, dtype, shape, start + begin)


def _read_entry(entry: Any, where: Where) -> tuple[tuple[int, ...], int, int]:
    fields = entry if isinstance(entry, dict) else {}
    shape, offsets = fields.get("shape"), fields.get("data_offsets")
    if (
        not isinstance(shape, list)
        or not isinstance(offsets, list)
        or len(offsets) != 2
        or not isinstance(fields.get("dtype"), str)
        or not all(type(number) is int and number >= 0 for number in [*shape, *offsets])
    ):
        raise BadInput(
            "the header's entry has no dtype, shape and data_offsets of whole numbers",
            where,
            do="download or save the file again",
        )
    return tuple(shape), offsets[0], offsets[1]
