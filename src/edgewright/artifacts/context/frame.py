"""The frame of a context binary: magic, version, sizes, description, data, and a checksum over all of it.

    0   8  magic                     16  8  bytes of the description (JSON)
    8   2  major version             24  8  bytes of the data
    10  2  minor version             32     description, then zeros to a multiple of 64, then data
    12  4  zero                      end-32 SHA-256 of everything before it

Numbers are little-endian. A reader accepts the whole file or nothing.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from edgewright.core.errors import (
    BadInput,
    LimitExceeded,
    UnsupportedFeature,
    Where,
)
from edgewright.core.files import map_file, measure_file

# The line ends reveal a text-mode transfer, the last byte stops a terminal.
MAGIC = b"EWCTX\r\n\x1a"
VERSION = (1, 0)
# The data of every tensor starts at a multiple of this: mapped weights are aligned for any kernel.
ALIGNMENT = 64
_HEAD = struct.Struct("<8sHHIQQ")
_CHECKSUM_BYTES = hashlib.sha256().digest_size
_LARGEST_DESCRIPTION = 1 << 28
_HASHED_AT_ONCE = 1 << 24


@dataclass(frozen=True)
class Frame:
    """A checked file: its description and its data, which stays in the mapped file."""

    description: bytes
    data: memoryview


def frame_file(
    description: bytes, data: Iterable[bytes | memoryview], data_bytes: int
) -> Iterator[bytes | memoryview]:
    """The chunks of a file; the data must come to exactly `data_bytes`."""
    checksum = hashlib.sha256()
    padding = bytes(-(_HEAD.size + len(description)) % ALIGNMENT)
    head = _HEAD.pack(MAGIC, *VERSION, 0, len(description), data_bytes)
    for chunk in (head, description, padding):
        checksum.update(chunk)
        yield chunk
    written = 0
    for piece in data:
        checksum.update(piece)
        written += len(piece)
        yield piece
    assert written == data_bytes, f"{written} bytes of data were announced as {data_bytes}"
    yield checksum.digest()


def is_framed(path: Path) -> bool:
    """Whether the file starts like one of ours."""
    measure_file(path)
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def open_frame(path: Path) -> Frame:
    """Maps a file and checks version, sizes and checksum before anything else is read."""
    where = Where(file=str(path))
    size = measure_file(path)
    if size < _HEAD.size + _CHECKSUM_BYTES:
        raise _make_damage_error(f"the file has {size} bytes, a context binary has more", where)
    content = map_file(path)
    start, described, data_bytes = _read_sizes(content, where)
    _check_sum(content, where)
    return Frame(bytes(content[_HEAD.size : _HEAD.size + described]), content[start : start + data_bytes])


def _read_sizes(content: memoryview, where: Where) -> tuple[int, int, int]:
    """Where the data starts, and the bytes of the description and of the data, which fill the file."""
    magic, major, minor, zero, described, data_bytes = _HEAD.unpack(content[: _HEAD.size])
    if magic != MAGIC or zero:
        raise _make_damage_error("the file does not start like a context binary of Edgewright", where)
    if major != VERSION[0]:
        raise UnsupportedFeature(
            f"the context binary has version {major}.{minor}, version {VERSION[0]} is read",
            where,
            do="make it again with this version, or load it with the version that made it",
        )
    if described > _LARGEST_DESCRIPTION:
        raise LimitExceeded(
            f"the description has {described} bytes, at most {_LARGEST_DESCRIPTION} are read", where
        )
    start = _HEAD.size + described
    start += -start % ALIGNMENT
    expected = start + data_bytes + _CHECKSUM_BYTES
    if expected != len(content):
        raise _make_damage_error(f"the file has {len(content)} bytes, its header says {expected}", where)
    return start, described, data_bytes


def _check_sum(content: memoryview, where: Where) -> None:
    checksum = hashlib.sha256()
    end = len(content) - _CHECKSUM_BYTES
    for start in range(0, end, _HASHED_AT_ONCE):
        checksum.update(content[start : min(start + _HASHED_AT_ONCE, end)])
    if checksum.digest() != bytes(content[end:]):
        raise _make_damage_error(
            "the checksum does not match the content: the file was changed or damaged", where
        )


def _make_damage_error(what: str, where: Where) -> BadInput:
    return BadInput(what, where, do="copy it again, or make it again with qnn-context-binary-generator")
