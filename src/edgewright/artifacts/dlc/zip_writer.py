"""A zip of stored members with their checksums, streamed; the same members always give the same bytes."""

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

Chunks = Iterable[bytes | memoryview]

# The earliest date in a zip: today's date would make two files of one model differ.
_DATE = (1 << 5) | 1
_PLAIN_VERSION, _LARGE_VERSION = 20, 45
# From here on the four-byte fields of a zip point to eight-byte ones.
_LARGEST_PLAIN = 2**32 - 2
_ELSEWHERE = 2**32 - 1


@dataclass(frozen=True)
class Member:
    """A name, and a function that yields the content; it is called twice, first for the checksum."""

    name: str
    chunks: Callable[[], Chunks]


@dataclass(frozen=True)
class _Entry:
    name: bytes
    crc: int
    size: int
    offset: int
    is_large: bool

    def header(self) -> bytes:
        """The header before the content."""
        extra = struct.pack("<HHQQ", 1, 16, self.size, self.size) if self.is_large else b""
        return struct.pack("<4s", b"PK\3\4") + self._pack_fields(extra) + self.name + extra

    def directory(self) -> bytes:
        """The entry in the list of members."""
        extra = struct.pack("<HHQQQ", 1, 24, self.size, self.size, self.offset) if self.is_large else b""
        head = struct.pack("<4sH", b"PK\1\2", self._version) + self._pack_fields(extra)
        offset = _ELSEWHERE if self.is_large else self.offset
        return head + struct.pack("<HHHII", 0, 0, 0, 0, offset) + self.name + extra

    @property
    def _version(self) -> int:
        return _LARGE_VERSION if self.is_large else _PLAIN_VERSION

    def _pack_fields(self, extra: bytes) -> bytes:
        size = _ELSEWHERE if self.is_large else self.size
        head = struct.pack("<HHHHH", self._version, 0, 0, 0, _DATE)
        return head + struct.pack("<IIIHH", self.crc, size, size, len(self.name), len(extra))


def to_chunks(members: Sequence[Member], largest_plain: int = _LARGEST_PLAIN) -> Iterator[bytes | memoryview]:
    """The file.

    Args:
        members: in the order of the file.
        largest_plain: sizes and offsets above it are written as eight-byte numbers (zip64).
    """
    entries: list[_Entry] = []
    position = 0
    for member in members:
        crc, size = _measure_chunks(member.chunks())
        entry = _Entry(member.name.encode(), crc, size, position, max(size, position) > largest_plain)
        entries.append(entry)
        yield entry.header()
        yield from member.chunks()
        position += len(entry.header()) + size
    yield from _end(entries, position, largest_plain)


def _measure_chunks(chunks: Chunks) -> tuple[int, int]:
    crc, size = 0, 0
    for chunk in chunks:
        crc = zlib.crc32(chunk, crc)
        size += len(chunk)
    return crc, size


def _end(entries: Sequence[_Entry], position: int, largest_plain: int) -> Iterator[bytes]:
    directory = b"".join(entry.directory() for entry in entries)
    yield directory
    count, size, start = len(entries), len(directory), position
    if position > largest_plain:
        versions = (_LARGE_VERSION, _LARGE_VERSION)
        yield struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, *versions, 0, 0, count, count, size, position)
        yield struct.pack("<4sIQI", b"PK\6\7", 0, position + size, 1)
        start = _ELSEWHERE
    yield struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, size, start, 0)
