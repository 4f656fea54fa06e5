"""Tables of a FlatBuffer that may hold anything: every offset, length and count is checked before use."""

import struct
from collections.abc import Iterator

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.core.numbers import Array

_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_HEADER = 8  # offset of the root table, then the identifier
_LONGEST_TEXT = 1 << 20
# Many offsets may lead to the same place, so that a small file could describe a huge tree. Real writers
# share vtables and at most names, which costs a few visits to each byte; this many are allowed.
_VISITS_PER_BYTE = 64
_MOST_VISITS = 1 << 29


class FlatBuffer:
    """A buffer with its identifier; `called` names it in messages, `do` says what to do about damage."""

    def __init__(self, content: memoryview, called: str, where: Where, do: str = "") -> None:
        self.content = content
        self.called = called
        self.where = where
        self._do = do
        self._visits = min(_VISITS_PER_BYTE * len(content), _MOST_VISITS) + 1024
        if len(content) < _HEADER:
            raise BadInput(f"{called} has {len(content)} bytes, a FlatBuffer has at least {_HEADER}", where)

    @property
    def identifier(self) -> bytes:
        """The four letters that name the buffer's kind."""
        return bytes(self.content[4:_HEADER])

    def root(self) -> "Table":
        """The root table."""
        return self.table(self.target(0))

    def table(self, position: int) -> "Table":
        """The table at a position."""
        self.visit(8)
        vtable = position - self.number(_I32, position)
        size = self.number(_U16, vtable)
        if size < 4 or size % 2:
            raise self.damaged(vtable, f"a vtable has {size} bytes")
        self._check(vtable, size)
        return Table(self, position, vtable, size)

    def number(self, form: struct.Struct, position: int) -> int:
        """The number at a position."""
        self._check(position, form.size)
        value: int = form.unpack_from(self.content, position)[0]
        return value

    def real(self, form: struct.Struct, position: int) -> float:
        """The floating-point number at a position."""
        self._check(position, form.size)
        value: float = form.unpack_from(self.content, position)[0]
        return value

    def target(self, position: int) -> int:
        """Where the offset at a position leads; offsets lead forward only."""
        offset = self.number(_U32, position)
        if not offset:
            raise self.damaged(position, "an offset is 0")
        return position + offset

    def vector(self, position: int, item: int) -> memoryview:
        """The items of the vector at a position, each of `item` bytes."""
        count = self.number(_U32, position)
        if count * item > len(self.content) - position - 4:
            left = len(self.content) - position - 4
            raise self.damaged(position, f"a vector has {count} items of {item} bytes, {left} bytes are left")
        return self.content[position + 4 : position + 4 + count * item]

    def text(self, position: int) -> str:
        """The string at a position."""
        content = self.vector(position, 1)
        if len(content) > _LONGEST_TEXT:
            raise LimitExceeded(
                f"{self.called} holds a text of {len(content)} bytes, at most {_LONGEST_TEXT} are read",
                self.where,
            )
        self.visit(len(content))
        raw = bytes(content)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as problem:
            raise self.damaged(position, f"the text '{shown(raw)}' is not UTF-8") from problem

    def visit(self, cost: int) -> None:
        """Counts the work that the file causes."""
        self._visits -= cost
        if self._visits < 0:
            what = f"{self.called} of {len(self.content)} bytes refers to its parts too often"
            raise LimitExceeded(what, self.where)

    def damaged(self, position: int, what: str) -> BadInput:
        """The error for impossible content."""
        return BadInput(f"{self.called} is damaged at byte {position}: {what}", self.where, self._do)

    def _check(self, position: int, size: int) -> None:
        if position < 0 or position + size > len(self.content):
            raise self.damaged(position, f"an offset leads out of its {len(self.content)} bytes")


class Table:
    """One table; fields are read by slot, and a missing one has its default."""

    def __init__(self, buffer: FlatBuffer, position: int, vtable: int, vtable_size: int) -> None:
        self.buffer = buffer
        self._position = position
        self._vtable = vtable
        self._vtable_size = vtable_size

    def has(self, slot: int) -> bool:
        """Whether the field is stored."""
        return self._place(slot) is not None

    def integer(self, slot: int, form: str, default: int = 0) -> int:
        """A whole number; `form` is its letter in struct."""
        place = self._place(slot)
        return default if place is None else self.buffer.number(_FORMS[form], place)

    def real(self, slot: int, form: str, default: float = 0.0) -> float:
        """A floating-point number."""
        place = self._place(slot)
        return default if place is None else self.buffer.real(_FORMS[form], place)

    def truth(self, slot: int, *, default: bool = False) -> bool:
        """A boolean."""
        return bool(self.integer(slot, "b", default))

    def text(self, slot: int) -> str:
        """A string, empty where there is none."""
        place = self._place(slot)
        return "" if place is None else self.buffer.text(self.buffer.target(place))

    def child(self, slot: int) -> "Table | None":
        """The table in a field."""
        place = self._place(slot)
        return None if place is None else self.buffer.table(self.buffer.target(place))

    def children(self, slot: int) -> Iterator["Table"]:
        """The tables of a vector."""
        return map(self.buffer.table, self._follow_offsets(slot))

    def texts(self, slot: int) -> Iterator[str]:
        """The strings of a vector."""
        return map(self.buffer.text, self._follow_offsets(slot))

    def blob(self, slot: int) -> memoryview:
        """The bytes of a vector; none where it is left out."""
        return self._read_vector(slot, 1)

    def numbers(self, slot: int, dtype: str, most: int | None = None) -> Array:
        """The numbers of a vector of at most `most`, as a view of the file; none where it is left out."""
        kind = np.dtype(dtype).newbyteorder("<")
        numbers = np.frombuffer(self._read_vector(slot, kind.itemsize), kind)
        if most is not None and len(numbers) > most:
            what = f"{self.buffer.called} holds a list of {len(numbers)}, expected at most {most}"
            raise LimitExceeded(what, self.buffer.where)
        return numbers

    def _follow_offsets(self, slot: int) -> Iterator[int]:
        """Where the offsets of a vector lead."""
        place = self._place(slot)
        if place is None:
            return
        start = self.buffer.target(place)
        count = len(self.buffer.vector(start, 4)) // 4
        self.buffer.visit(count)
        for index in range(1, count + 1):
            yield self.buffer.target(start + 4 * index)

    def _read_vector(self, slot: int, item: int) -> memoryview:
        place = self._place(slot)
        if place is None:
            return self.buffer.content[:0]
        return self.buffer.vector(self.buffer.target(place), item)

    def _place(self, slot: int) -> int | None:
        entry = 4 + 2 * slot
        if entry + 2 > self._vtable_size:
            return None
        offset = self.buffer.number(_U16, self._vtable + entry)
        return self._position + offset if offset else None


_FORMS = {letter: struct.Struct(f"<{letter}") for letter in "bBhHiIqQfd"}
