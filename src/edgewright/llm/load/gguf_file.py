"""The container of GGUF, read with every count checked before memory is taken."""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, UnsupportedFeature, Where, shown
from edgewright.core.files import map_file, measure_file
from edgewright.core.numbers import Array
from edgewright.llm.load.gguf_decode import TYPES, StoredType

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT, LARGEST_ALIGNMENT = 32, 1 << 16
MOST_DIMS = 4
# Items of a list, bytes of a text: more than any vocabulary or template has.
MOST_ITEMS, MOST_TEXT = 1 << 23, 1 << 26
FLAG, TEXT, LIST = 7, 8, 9
NUMBERS = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
# The fewest bytes that a pair and a tensor take.
PAIR_BYTES, TENSOR_BYTES = 13, 32


@dataclass(frozen=True)
class GgufEntry:
    """A tensor of a file: its type, its shape as [rows, columns], its bytes."""

    name: str
    kind: StoredType
    shape: tuple[int, ...]
    data: memoryview

    def read_rows(self, rows: Array | slice) -> Array:
        """Some rows in single precision; a vector is one row."""
        width = self.shape[-1] // self.kind.values * self.kind.size
        data = np.frombuffer(self.data, np.uint8).reshape(-1, width)[rows]
        return self.kind.decode(data.reshape(-1, self.kind.size)).reshape(len(data), self.shape[-1])


@dataclass(frozen=True)
class GgufContent:
    """What a file holds."""

    path: Path
    values: Mapping[str, Any]
    tensors: Mapping[str, GgufEntry]


def read_gguf(path: Path) -> GgufContent:
    """Keys and values, and where the tensors are."""
    if measure_file(path) < len(MAGIC):
        raise BadInput("the file is cut short", Where(file=str(path)))
    cursor = _Cursor(map_file(path), path)
    if cursor.take(len(MAGIC)) != MAGIC:
        raise BadInput("the file is no GGUF: its first bytes are not 'GGUF'", cursor.where)
    version = cursor.read_number("<u4")
    if version not in VERSIONS:
        raise UnsupportedFeature(
            f"the version is {version}, expected 2 or 3; files of big-endian machines are not read",
            cursor.where,
        )
    tensors, pairs = cursor.read_number("<u8"), cursor.read_number("<u8")
    cursor.check_count(pairs, PAIR_BYTES, "pairs of keys and values")
    values: dict[str, Any] = {}
    for _ in range(pairs):
        key = cursor.read_text()
        if key in values:
            raise BadInput(f"key '{shown(key)}' is there twice", cursor.where)
        values[key] = cursor.read_value()
    cursor.check_count(tensors, TENSOR_BYTES, "tensors")
    return GgufContent(path, values, _read_tensors(cursor, tensors, _find_alignment(values, cursor)))


class _Cursor:
    """Reads one thing after another, never past the end."""

    def __init__(self, data: memoryview, path: Path) -> None:
        self.data, self.where, self.place = data, Where(file=str(path)), 0

    def take(self, count: int) -> memoryview:
        """The next bytes."""
        if count > len(self.data) - self.place:
            raise BadInput(
                f"byte {self.place}: {count} bytes are announced, {len(self.data) - self.place} are left",
                self.where,
                do="download or write the file again",
            )
        self.place += count
        return self.data[self.place - count : self.place]

    def check_count(self, count: int, size: int, what: str) -> None:
        """So many things must fit into what is left."""
        if count * size > len(self.data) - self.place:
            raise BadInput(
                f"{count} {what} are announced, {len(self.data) - self.place} bytes are left", self.where
            )

    def read_number(self, kind: str) -> Any:
        """One number."""
        return np.frombuffer(self.take(np.dtype(kind).itemsize), kind)[0].item()

    def read_text(self) -> str:
        """A text with its length before it."""
        length = self.read_number("<u8")
        if length > MOST_TEXT:
            raise LimitExceeded(f"a text has {length} bytes, at most {MOST_TEXT} are read", self.where)
        return bytes(self.take(length)).decode("utf-8", errors="replace")

    def read_value(self) -> Any:
        """A value with its type before it."""
        kind = self.read_number("<u4")
        if kind != LIST:
            return self._read_single(kind)
        kind, count = self.read_number("<u4"), self.read_number("<u8")
        if kind == LIST:
            raise UnsupportedFeature("a list holds lists, which no language model needs", self.where)
        if count > MOST_ITEMS:
            raise LimitExceeded(f"a list has {count} items, at most {MOST_ITEMS} are read", self.where)
        if kind in NUMBERS or kind == FLAG:
            dtype = np.dtype(NUMBERS.get(kind, "<u1"))
            return np.frombuffer(self.take(count * dtype.itemsize), dtype).tolist()
        self.check_count(count, 8, "texts")
        return [self._read_single(kind) for _ in range(count)]

    def _read_single(self, kind: int) -> Any:
        if kind == TEXT:
            return self.read_text()
        if kind == FLAG:
            return bool(self.read_number("<u1"))
        if kind not in NUMBERS:
            raise BadInput(f"byte {self.place}: a value has the unknown type {kind}", self.where)
        return self.read_number(NUMBERS[kind])


def _find_alignment(values: Mapping[str, Any], cursor: _Cursor) -> int:
    alignment = values.get("general.alignment", ALIGNMENT)
    if type(alignment) is not int or not 1 <= alignment <= LARGEST_ALIGNMENT or alignment & (alignment - 1):
        raise BadInput(f"'general.alignment' is {shown(alignment)}, expected a power of two", cursor.where)
    return alignment


def _read_tensors(cursor: _Cursor, count: int, alignment: int) -> dict[str, GgufEntry]:
    announced = {}
    for _ in range(count):
        name = cursor.read_text()
        if name in announced:
            raise BadInput("the tensor is there twice", _locate(cursor, name))
        announced[name] = _read_description(cursor, name)
    data = cursor.data[-(-cursor.place // alignment) * alignment :]
    tensors, places = {}, []
    for name, (shape, kind, offset) in announced.items():
        size = math.prod(shape) // kind.values * kind.size
        if offset % alignment or offset + size > len(data):
            raise BadInput(
                f"{kind.name} {list(shape)} needs bytes {offset} to {offset + size} of {len(data)}; the file "
                f"begins tensors at multiples of {alignment}",
                _locate(cursor, name),
                do="download or write the file again",
            )
        places.append((offset, offset + size, name))
        tensors[name] = GgufEntry(name, kind, shape, data[offset : offset + size])
    _check_overlaps(cursor, places)
    return tensors


def _read_description(cursor: _Cursor, name: str) -> tuple[tuple[int, ...], StoredType, int]:
    rank = cursor.read_number("<u4")
    if not 1 <= rank <= MOST_DIMS:
        raise BadInput(f"the tensor has {rank} dimensions, expected 1 to {MOST_DIMS}", _locate(cursor, name))
    dims = struct.unpack(f"<{rank}Q", cursor.take(8 * rank))
    number, offset = cursor.read_number("<u4"), cursor.read_number("<u8")
    if number not in TYPES:
        names = ", ".join(kind.name for kind in TYPES.values())
        raise UnsupportedFeature(
            f"type {number} is not read, expected one of: {names}",
            _locate(cursor, name),
            do="give the file it was made from",
        )
    kind = TYPES[number]
    if 0 in dims or dims[0] % kind.values:
        raise BadInput(
            f"shape {shown(list(dims[::-1]))} does not fit blocks of {kind.values}",
            _locate(cursor, name),
        )
    return dims[::-1], kind, offset


def _check_overlaps(cursor: _Cursor, places: list[tuple[int, int, str]]) -> None:
    end = 0
    for start, stop, name in sorted(places):
        if start < end:
            raise BadInput("the bytes of the tensor are those of another one, too", _locate(cursor, name))
        end = stop


def _locate(cursor: _Cursor, name: str) -> Where:
    return Where(file=cursor.where.file, tensor=name)
