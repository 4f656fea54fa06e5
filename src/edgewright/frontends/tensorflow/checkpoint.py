"""Reads TensorFlow's checkpoints: a table of names (.index) and files of elements (.data-...)."""

import struct
from collections.abc import Iterator
from pathlib import Path

from edgewright.core.crc32c import compute_crc32c, read_masked_crc32c
from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.numbers import Array
from edgewright.frontends._common.mapping import map_file
from edgewright.frontends._common.stored import read_stored_array
from edgewright.frontends.tensorflow.tensors import find_dtype, read_whole_shape
from edgewright.frontends.tensorflow.wire import Message

# The table is LevelDB's: blocks of sorted keys, a block of the blocks' places, a footer of fixed size.
MAGIC = 0xDB4775248B80FB57
FOOTER, TRAILER = 48, 5
PLAIN = 0
MOST_SHARDS = 100_000


class Checkpoint:
    """The tensors of a checkpoint by name; elements are read when they are asked for."""

    def __init__(self, prefix: Path) -> None:
        self._prefix = prefix
        self._index = Path(f"{prefix}.index")
        self._where = Where(file=str(self._index))
        entries = dict(_read_table(map_file(self._index, self._where), self._where))
        header = Message(entries.pop(b"", memoryview(b"")))
        self._shards = header.whole(1)
        if header.whole(2) or not 0 < self._shards <= MOST_SHARDS:
            raise BadInput(
                f"the checkpoint has {self._shards} files of byte order {header.whole(2)}, "
                "expected 1 or more of order 0 (little endian)",
                self._where,
                do="save the model again",
            )
        self._entries = entries
        self._files: dict[int, memoryview] = {}

    def __contains__(self, name: str) -> bool:
        return name.encode() in self._entries

    @property
    def names(self) -> list[str]:
        """All names that are text."""
        return [name.decode("utf-8", "replace") for name in self._entries]

    def array(self, name: str) -> Array:
        """The elements of a tensor: a view of the file."""
        where = Where(file=str(self._index), tensor=name)
        if name not in self:
            raise BadInput(f"the checkpoint has no tensor '{shown(name)}'", where, do="save the model again")
        entry = Message(self._entries[name.encode()])
        if entry.has(7):
            raise UnsupportedFeature(
                f"tensor '{shown(name)}' is stored in slices", where, do="save the model without partitions"
            )
        dims = read_whole_shape(entry.message(2), where)
        file = self._file(entry.whole(3))
        start, size = entry.whole(4), entry.whole(5)
        if start < 0 or size < 0 or start + size > len(file):
            raise BadInput(
                f"tensor '{shown(name)}' lies at {start} with {size} bytes, the file has {len(file)}",
                where,
                do="copy the checkpoint again: a file is cut off",
            )
        stored = file[start : start + size]
        _check_sum(entry.raw(6, 4), stored, f"tensor '{shown(name)}'", where)
        return read_stored_array(stored, find_dtype(entry.whole(1), where), dims, where)

    def _file(self, shard: int) -> memoryview:
        if shard not in self._files:
            if not 0 <= shard < self._shards:
                raise BadInput(
                    f"file {shard} is named, the checkpoint has {self._shards}",
                    self._where,
                    do="save the model again",
                )
            path = Path(f"{self._prefix}.data-{shard:05d}-of-{self._shards:05d}")
            self._files[shard] = map_file(path, Where(file=str(path)))
        return self._files[shard]


def _read_table(data: memoryview, where: Where) -> Iterator[tuple[bytes, memoryview]]:
    """All keys and values of a table."""
    if len(data) < FOOTER or struct.unpack("<Q", data[-8:])[0] != MAGIC:
        raise BadInput("not the index of a checkpoint", where, do="check that the file is complete")
    footer = data[-FOOTER:]
    _, position = _handle(footer, 0, where)
    index, _ = _handle(footer, position, where)
    for _, place in _read_block(data, index, where):
        block, _ = _handle(place, 0, where)
        yield from _read_block(data, block, where)


def _read_block(data: memoryview, place: tuple[int, int], where: Where) -> Iterator[tuple[bytes, memoryview]]:
    """Keys share their beginnings with the key before them."""
    start, size = place
    if start + size + TRAILER > len(data) or size < 4:
        raise _cut(where)
    if data[start + size] != PLAIN:
        raise UnsupportedFeature(
            "the checkpoint's index is compressed", where, do="save it with TensorFlow 1.2 or later"
        )
    _check_sum(
        data[start + size + 1 : start + size + TRAILER], data[start : start + size + 1], "the index", where
    )
    content = data[start : start + size]
    restarts = struct.unpack("<I", content[-4:])[0]
    end = size - 4 - 4 * restarts
    position, key = 0, b""
    while position < end:
        shared, position = _read_varint(content, position, where)
        own, position = _read_varint(content, position, where)
        length, position = _read_varint(content, position, where)
        if shared > len(key) or position + own + length > end:
            raise _cut(where)
        key = key[:shared] + bytes(content[position : position + own])
        position += own
        yield key, content[position : position + length]
        position += length


def _check_sum(stored: bytes | memoryview, content: memoryview, what: str, where: Where) -> None:
    """Bytes must be those that were written; what has no checksum is not looked at."""
    if len(stored) == 4 and read_masked_crc32c(int.from_bytes(stored, "little")) != compute_crc32c(content):
        raise BadInput(
            f"the checksum of {what} is wrong: bytes of the checkpoint were changed",
            where,
            do="copy the checkpoint again",
        )


def _handle(data: memoryview, position: int, where: Where) -> tuple[tuple[int, int], int]:
    start, position = _read_varint(data, position, where)
    size, position = _read_varint(data, position, where)
    return (start, size), position


def _read_varint(data: memoryview, position: int, where: Where) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 64:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
    raise _cut(where)


def _cut(where: Where) -> BadInput:
    return BadInput("the index of the checkpoint is damaged", where, do="copy the checkpoint again")
