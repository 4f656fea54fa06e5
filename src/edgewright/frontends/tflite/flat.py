"""Reads flatbuffers without trusting them: every offset and length is checked before it is followed."""

import struct
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput
from edgewright.core.numbers import Array

__all__ = ["Table", "root_table"]

# An offset, or the length of a vector, in a flatbuffer.
WORD = 4
# A vtable begins with its own size and the size of the table.
VTABLE_HEAD = 4
SLOT = 2


def root_table(data: memoryview) -> "Table":
    """The table that a file begins with."""
    return Table(data, _followed(data, 0))


class Table:
    """One table; fields are read by their slot, and a field that is left out has its default."""

    def __init__(self, data: memoryview, position: int) -> None:
        self._data, self._position = data, position
        self._vtable = position - _number(data, position, "i")
        size = _number(data, self._vtable, "H")
        if size < VTABLE_HEAD or size % SLOT:
            raise _damaged(f"a table at {position} has a vtable of {size} bytes")
        _check(data, self._vtable, size)
        self._slots = (size - VTABLE_HEAD) // SLOT

    def number(self, slot: int, kind: str, default: Any = 0) -> Any:
        """A number of a kind of the struct module ("b", "i", "I", "f" ...)."""
        place = self._place(slot)
        return default if place is None else _number(self._data, place, kind)

    def truth(self, slot: int, *, default: bool = False) -> bool:
        """A boolean."""
        return bool(self.number(slot, "b", default))

    def text(self, slot: int) -> str:
        """A string; "" where it is left out."""
        place = self._target(slot)
        if place is None:
            return ""
        start, count = self._vector(place, 1)
        try:
            return bytes(self._data[start : start + count]).decode("utf-8")
        except UnicodeDecodeError:
            raise _damaged(f"a name at {place} is not UTF-8") from None

    def numbers(self, slot: int, dtype: Any) -> Array:
        """A vector of numbers as a view of the file; empty where it is left out."""
        kind = np.dtype(dtype).newbyteorder("<")
        place = self._target(slot)
        if place is None:
            return np.empty(0, kind)
        start, count = self._vector(place, kind.itemsize)
        return np.frombuffer(self._data[start : start + count * kind.itemsize], kind)

    def table(self, slot: int) -> "Table | None":
        """A table inside; None where it is left out."""
        place = self._target(slot)
        return None if place is None else Table(self._data, place)

    def tables(self, slot: int) -> "list[Table]":
        """A vector of tables."""
        place = self._target(slot)
        if place is None:
            return []
        start, count = self._vector(place, WORD)
        places = [_followed(self._data, start + WORD * index) for index in range(count)]
        return [Table(self._data, found) for found in places]

    def has(self, slot: int) -> bool:
        """Whether a field is stored."""
        return self._place(slot) is not None

    def _place(self, slot: int) -> int | None:
        if slot >= self._slots:
            return None
        offset = _number(self._data, self._vtable + VTABLE_HEAD + SLOT * slot, "H")
        return self._position + offset if offset else None

    def _target(self, slot: int) -> int | None:
        place = self._place(slot)
        return None if place is None else _followed(self._data, place)

    def _vector(self, place: int, size: int) -> tuple[int, int]:
        count = _number(self._data, place, "I")
        _check(self._data, place + WORD, count * size)
        return place + WORD, count


def _followed(data: memoryview, place: int) -> int:
    """Where the offset at a place points to."""
    return place + int(_number(data, place, "I"))


def _number(data: memoryview, place: int, kind: str) -> Any:
    form = f"<{kind}"
    _check(data, place, struct.calcsize(form))
    return struct.unpack_from(form, data, place)[0]


def _check(data: memoryview, place: int, size: int) -> None:
    if place < 0 or place + size > len(data):
        raise _damaged(f"{size} bytes at {place} are read, where it has {len(data)}")


def _damaged(found: str) -> BadInput:
    return BadInput(
        f"not a TFLite model: {found}", do="check that the file is complete and is a TFLite model"
    )
