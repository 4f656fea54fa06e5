"""Tables and vectors of a FlatBuffer, written by slot number: no schema compiler is needed."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

# A field's letter in struct ('o' for the offset of something written before) and its value.
Field = tuple[str, int | float]

_SIZES = {"B": 1, "i": 4, "I": 4, "q": 8, "f": 4, "d": 8, "o": 4}


class FlatWriter:
    """Writes children before their parents; everything is known by the number that writing it returned."""

    def __init__(self) -> None:
        import flatbuffers

        self._builder: Any = flatbuffers.Builder(1 << 12)
        # All fields are written: the defaults of readers of other versions are not known.
        self._builder.ForceDefaults(True)
        self._texts: dict[str, int] = {}

    def text(self, value: str) -> int:
        """A string; equal ones are written once."""
        if value not in self._texts:
            self._texts[value] = self._builder.CreateString(value)
        return self._texts[value]

    def texts(self, values: Sequence[str]) -> int:
        """A vector of strings."""
        return self.vector([self.text(value) for value in values])

    def vector(self, items: Sequence[int]) -> int:
        """A vector of what was written before."""
        self._builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            self._builder.PrependUOffsetTRelative(item)
        return int(self._builder.EndVector())

    def numbers(self, values: Sequence[int]) -> int:
        """A vector of uint32."""
        self._builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            self._builder.PrependUint32(value)
        return int(self._builder.EndVector())

    def write_bytes(self, values: bytes) -> int:
        """A vector of bytes."""
        return int(self._builder.CreateByteVector(values))

    def table(self, fields: Mapping[int, Field]) -> int:
        """A table with a field in each of the slots."""
        builder = self._builder
        prepend = {
            "B": builder.PrependUint8Slot,
            "i": builder.PrependInt32Slot,
            "I": builder.PrependUint32Slot,
            "q": builder.PrependInt64Slot,
            "f": builder.PrependFloat32Slot,
            "d": builder.PrependFloat64Slot,
            "o": builder.PrependUOffsetTRelativeSlot,
        }
        builder.StartObject(max(fields, default=-1) + 1)
        # Wide fields first, which leaves no gaps; otherwise in the order of slots.
        for slot in sorted(fields, key=lambda slot: (-_SIZES[fields[slot][0]], slot)):
            letter, value = fields[slot]
            prepend[letter](slot, value, 0)
        return int(builder.EndObject())

    def finished(self, root: int, identifier: bytes) -> bytearray:
        """The buffer with its identifier; nothing can be added after that."""
        self._builder.Finish(root, identifier)
        return bytearray(self._builder.Output())

    @staticmethod
    def place(content: bytearray, table: int, slot: int) -> int:
        """Where a finished buffer holds a field of a table, for a value that was not known before."""
        position = len(content) - table
        vtable = position - struct.unpack_from("<i", content, position)[0]
        return int(position + struct.unpack_from("<H", content, vtable + 4 + 2 * slot)[0])
