"""The members of an untrusted zip, found by offset in the mapped file and never unpacked."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from edgewright.core.errors import (
    BadInput,
    LimitExceeded,
    UnsupportedFeature,
    Where,
    shown,
)
from edgewright.core.files import map_file, measure_file

_END = struct.Struct("<4sHHHHIIH")
_LARGE_END = struct.Struct("<4sQHHIIQQQQ")
_LOCATOR = struct.Struct("<4sIQI")
_ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_LONGEST_COMMENT = 2**16 - 1
_ELSEWHERE = 2**32 - 1
_IS_ENCRYPTED = 1
_MOST_MEMBERS = 1000
# Checksums of larger members are not checked: weights stay in their file until they are needed.
_LARGEST_CHECKED = 1 << 28


@dataclass(frozen=True)
class _Entry:
    name: str
    method: int
    flags: int
    crc: int
    size: int
    stored: int
    offset: int


def open_members(path: Path) -> dict[str, memoryview]:
    """Maps the file; each member by its name, as a view that keeps the file open."""
    where = Where(file=str(path))
    size = measure_file(path)
    if size < _END.size:
        raise BadInput(f"the file has {size} bytes, a DLC has at least {_END.size}", where)
    return _Zip(map_file(path), where).members()


class _Zip:
    def __init__(self, content: memoryview, where: Where) -> None:
        self._content = content
        self._where = where

    def members(self) -> dict[str, memoryview]:
        count, start, stop = self._directory()
        entries = list(self._read_entries(count, start, stop))
        spans: list[tuple[int, int, str]] = []
        members: dict[str, memoryview] = {}
        for entry in entries:
            self._check_entry(entry)
            if entry.name in members:
                raise self._make_damage_error(f"there are two members '{shown(entry.name)}'")
            first = self._find_data_start(entry)
            if entry.size > start - first:
                left = max(start - first, 0)
                raise self._make_damage_error(
                    f"member '{shown(entry.name)}' has {entry.size} bytes, {left} are there"
                )
            spans.append((entry.offset, first + entry.size, entry.name))
            members[entry.name] = self._content[first : first + entry.size]
            self._check_sum(entry, members[entry.name])
        self._check_apart(sorted(spans))
        return members

    def _directory(self) -> tuple[int, int, int]:
        """Number of members, and first and last byte of their list."""
        tail = max(len(self._content) - _END.size - _LONGEST_COMMENT, 0)
        found = bytes(self._content[tail:]).rfind(b"PK\5\6")
        end = tail + found
        if found < 0 or len(self._content) - end < _END.size:
            raise self._make_damage_error(
                "the end of the zip is missing, the file is not a DLC or is truncated"
            )
        fields = _END.unpack_from(self._content, end)
        count, size, start = fields[4:7]
        if _ELSEWHERE in {size, start} or count == 2**16 - 1:
            count, size, start = self._read_large_end(end)
        if count > _MOST_MEMBERS:
            raise LimitExceeded(
                f"the zip lists {count} members, at most {_MOST_MEMBERS} are read", self._where
            )
        if start > end or size > end - start:
            raise self._make_damage_error(
                f"the list of members takes bytes {start} to {start + size} of {end}"
            )
        return count, start, start + size

    def _read_large_end(self, end: int) -> tuple[int, int, int]:
        place = end - _LOCATOR.size
        if place < 0:
            raise self._make_damage_error(
                "the zip says that it is large, but its large end record is missing"
            )
        mark, _, start, _ = _LOCATOR.unpack_from(self._content, place)
        if mark != b"PK\6\7" or start > place - _LARGE_END.size:
            raise self._make_damage_error(
                "the zip says that it is large, but its large end record is missing"
            )
        fields = _LARGE_END.unpack_from(self._content, start)
        if fields[0] != b"PK\6\6":
            raise self._make_damage_error(f"there is no large end record at byte {start}")
        return fields[7], fields[8], fields[9]

    def _read_entries(self, count: int, start: int, stop: int) -> Iterator[_Entry]:
        for _ in range(count):
            if start + _ENTRY.size > stop:
                raise self._make_damage_error(f"the list of {count} members ends early")
            fields = _ENTRY.unpack_from(self._content, start)
            if fields[0] != b"PK\1\2":
                raise self._make_damage_error(f"there is no member of the list at byte {start}")
            name, extra, comment = fields[10:13]
            first = start + _ENTRY.size
            start = first + name + extra + comment
            if start > stop:
                raise self._make_damage_error(f"the list of {count} members ends early")
            text = self._name(bytes(self._content[first : first + name]))
            wide = self._read_wide_numbers(bytes(self._content[first + name : first + name + extra]))
            # Size, stored size and offset, in this order, if their own fields are full.
            size, stored, offset = (
                next(wide, _ELSEWHERE) if value == _ELSEWHERE else value
                for value in (fields[9], fields[8], fields[16])
            )
            yield _Entry(text, fields[4], fields[3], fields[7], size, stored, offset)

    @staticmethod
    def _read_wide_numbers(extra: bytes) -> Iterator[int]:
        """The eight-byte numbers that replace full fields."""
        place = 0
        while place + 4 <= len(extra):
            kind, size = struct.unpack_from("<HH", extra, place)
            body = extra[place + 4 : place + 4 + size]
            if kind == 1:
                return iter(struct.unpack_from(f"<{len(body) // 8}Q", body))
            place += 4 + size
        return iter(())

    def _name(self, raw: bytes) -> str:
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError as problem:
            raise self._make_damage_error(f"member name '{shown(raw)}' is not UTF-8") from problem
        if not name or not name.isprintable() or {"..", ""} & set(name.replace("\\", "/").split("/")):
            raise self._make_damage_error(f"member name '{shown(name)}' leads out of the container")
        return name

    def _check_entry(self, entry: _Entry) -> None:
        if entry.method or entry.flags & _IS_ENCRYPTED:
            found = "encrypted" if entry.flags & _IS_ENCRYPTED else f"compressed by method {entry.method}"
            raise UnsupportedFeature(
                f"member '{shown(entry.name)}' is {found}, a DLC stores its members as they are", self._where
            )
        if entry.size != entry.stored:
            found = f"{entry.stored} bytes, and {entry.size} when read"
            raise self._make_damage_error(f"member '{shown(entry.name)}' has {found}, expected one number")

    def _find_data_start(self, entry: _Entry) -> int:
        if entry.offset > len(self._content) - _LOCAL.size:
            raise self._make_damage_error(
                f"member '{shown(entry.name)}' is at byte {entry.offset}, past the end"
            )
        fields = _LOCAL.unpack_from(self._content, entry.offset)
        first = entry.offset + _LOCAL.size
        name = bytes(self._content[first : first + fields[9]])
        if fields[0] != b"PK\3\4" or name != entry.name.encode():
            raise self._make_damage_error(f"member '{shown(entry.name)}' is not at byte {entry.offset}")
        return first + int(fields[9]) + int(fields[10])

    def _check_sum(self, entry: _Entry, content: memoryview) -> None:
        # Genuine writers since SDK 2.26 leave the checksum at 0.
        if not entry.crc or entry.size > _LARGEST_CHECKED:
            return
        found = zlib.crc32(content)
        if found != entry.crc:
            raise self._make_damage_error(
                f"member '{shown(entry.name)}' has the checksum {found:08x}, expected {entry.crc:08x}"
            )

    def _check_apart(self, spans: list[tuple[int, int, str]]) -> None:
        for (_, stop, name), (start, _, other) in pairwise(spans):
            if start < stop:
                raise self._make_damage_error(f"members '{shown(name)}' and '{shown(other)}' overlap")

    def _make_damage_error(self, what: str) -> BadInput:
        return BadInput(what, self._where, do="copy the file again, or convert the model again")
