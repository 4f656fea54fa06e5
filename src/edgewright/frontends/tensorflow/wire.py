"""Reads protobuf's wire format field by field: TensorFlow's messages without TensorFlow, sizes checked."""

import struct
from collections.abc import Iterator

from edgewright.core.errors import BadInput

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTHS = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT = 10
_TOP = 1 << 63

Value = int | memoryview


class Message:
    """The fields of one message by number, each a list in the order of the file; contents stay views."""

    def __init__(self, data: memoryview | bytes) -> None:
        self._fields: dict[int, list[Value]] = {}
        for number, value in _read_fields(memoryview(data)):
            self._fields.setdefault(number, []).append(value)

    @property
    def fields(self) -> frozenset[int]:
        """Which fields are there."""
        return frozenset(self._fields)

    def has(self, number: int) -> bool:
        """Whether a field is there."""
        return number in self._fields

    def is_number(self, number: int) -> bool:
        """Whether a field holds a number."""
        return isinstance(self._fields.get(number, [b""])[0], int)

    def views(self, number: int) -> list[memoryview]:
        """All contents of a field that holds bytes, strings or messages."""
        found = self._fields.get(number, [])
        views = [value for value in found if isinstance(value, memoryview)]
        if len(views) != len(found):
            raise make_damage_error(f"field {number} holds a number, expected bytes")
        return views

    def view(self, number: int) -> memoryview:
        """The last content of a field; empty where there is none."""
        found = self.views(number)
        return found[-1] if found else memoryview(b"")

    def messages(self, number: int) -> list["Message"]:
        """All messages in a field."""
        return [Message(view) for view in self.views(number)]

    def message(self, number: int) -> "Message":
        """The message in a field; an empty one where there is none."""
        return Message(self.view(number))

    def texts(self, number: int) -> list[str]:
        """All strings in a field."""
        return [str(view, "utf-8") for view in self.views(number)]

    def text(self, number: int) -> str:
        """The string in a field."""
        return str(self.view(number), "utf-8")

    def entries(self, number: int) -> dict[str, memoryview]:
        """A map from strings to messages."""
        pairs = self.messages(number)
        return {pair.text(1): pair.view(2) for pair in pairs}

    def whole(self, number: int, default: int = 0) -> int:
        """A signed number."""
        found = self.ints(number)
        return found[-1] if found else default

    def ints(self, number: int) -> list[int]:
        """Signed numbers, one by one or packed."""
        numbers: list[int] = []
        for value in self._fields.get(number, []):
            if isinstance(value, memoryview):
                numbers += map(_to_signed, _unpack_varints(value))
            else:
                numbers.append(_to_signed(value))
        return numbers

    def raw(self, number: int, width: int) -> bytes:
        """Numbers of a fixed width as they are stored, one by one or packed."""
        stored = self._fields.get(number, [])
        if any(isinstance(value, int) and value >> 8 * width for value in stored):
            raise make_damage_error(f"field {number} has a number of more than {width} bytes")
        parts = [
            bytes(value) if isinstance(value, memoryview) else value.to_bytes(width, "little")
            for value in stored
        ]
        return b"".join(parts)

    def real(self, number: int) -> float:
        """A number of single precision."""
        data = self.raw(number, 4)
        if len(data) % 4:
            raise make_damage_error(f"field {number} has {len(data)} bytes, expected whole numbers of 4")
        return float(struct.unpack("<f", data[-4:])[0]) if data else 0.0


def make_damage_error(found: str) -> BadInput:
    """The error for a file that is no model."""
    return BadInput(
        f"not a TensorFlow model: {found}", do="check that the file is complete and is a TensorFlow model"
    )


def _read_fields(data: memoryview) -> Iterator[tuple[int, Value]]:
    position, end = 0, len(data)
    while position < end:
        key, position = _read_varint(data, position)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, position = _read_varint(data, position)
            yield number, value
            continue
        if wire == _BYTES:
            length, position = _read_varint(data, position)
        elif wire in _WIDTHS:
            length = _WIDTHS[wire]
        else:
            raise make_damage_error(f"wire type {wire} at {position}")
        if length > end - position or number == 0:
            raise make_damage_error(
                f"field {number} of {length} bytes at {position}, where {end - position} are left"
            )
        content = data[position : position + length]
        position += length
        yield number, content if wire == _BYTES else int.from_bytes(content, "little")


def _unpack_varints(data: memoryview) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = _read_varint(data, position)
        yield value


def _read_varint(data: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(data[position : position + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise make_damage_error(f"a number at {position} does not end")


def _to_signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >= _TOP else value
