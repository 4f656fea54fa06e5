"""Tables of a FlatBuffer that may hold anything: every offset, length and count is checked before use."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown

__all__ = ["FlatBuffer", "Span", "Table"]

_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_HEADER = 8  # offset of the root table, then the identifier
_LONGEST_TEXT = 1 << 20
# Many offsets may lead to the same place, so that a small file could describe a huge tree. Real writers
# share vtables and at most names, which costs a few visits to each byte; this many are allowed.
_VISITS_PER_BYTE = 64
_MOST_VISITS = 1 << 29


@dataclass(frozen=True)
class Span:
    """A range of bytes in the buffer."""

    start: int
    size: int


class FlatBuffer:
    """A buffer with its identifier; `called` names it in messages."""

    def __init__(self, content: memoryview, called: str, where: Where) -> None:
        self.content = content
        self.called = called
        self.where = where
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

    def vector(self, position: int, item: int) -> Span:
        """The items of the vector at a position, each of `item` bytes; start and number of items."""
        count = self.number(_U32, position)
        if count * item > len(self.content) - position - 4:
            left = len(self.content) - position - 4
            raise self.damaged(position, f"a vector has {count} items of {item} bytes, {left} bytes are left")
        return Span(position + 4, count)

    def text(self, position: int) -> str:
        """The string at a position."""
        span = self.vector(position, 1)
        if span.size > _LONGEST_TEXT:
            raise LimitExceeded(
                f"{self.called} holds a text of {span.size} bytes, at most {_LONGEST_TEXT} are read",
                self.where,
            )
        self.visit(span.size)
        raw = bytes(self.content[span.start : span.start + span.size])
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
        return BadInput(f"{self.called} is damaged at byte {position}: {what}", self.where)

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

    def real(self, slot: int, form: str) -> float:
        """A floating-point number."""
        place = self._place(slot)
        return 0.0 if place is None else self.buffer.real(_FORMS[form], place)

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
        for place in self._items(slot):
            yield self.buffer.table(self.buffer.target(place))

    def texts(self, slot: int) -> Iterator[str]:
        """The strings of a vector."""
        for place in self._items(slot):
            yield self.buffer.text(self.buffer.target(place))

    def integers(self, slot: int, most: int) -> tuple[int, ...]:
        """The uint32 numbers of a vector of at most `most`."""
        span = self._vector(slot, 4)
        if span.size > most:
            where = self.buffer.where
            raise LimitExceeded(f"{self.buffer.called} holds a list of {span.size}, expected {most}", where)
        return struct.unpack_from(f"<{span.size}I", self.buffer.content, span.start)

    def blob(self, slot: int) -> Span:
        """The place of a vector of bytes."""
        return self._vector(slot, 1)

    def _items(self, slot: int) -> Iterator[int]:
        span = self._vector(slot, 4)
        self.buffer.visit(span.size)
        return iter(range(span.start, span.start + 4 * span.size, 4))

    def _vector(self, slot: int, item: int) -> Span:
        place = self._place(slot)
        return Span(0, 0) if place is None else self.buffer.vector(self.buffer.target(place), item)

    def _place(self, slot: int) -> int | None:
        entry = 4 + 2 * slot
        if entry + 2 > self._vtable_size:
            return None
        offset = self.buffer.number(_U16, self._vtable + entry)
        return self._position + offset if offset else None


_FORMS = {letter: struct.Struct(f"<{letter}") for letter in "bBhHiIqQfd"}
