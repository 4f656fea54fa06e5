"""The container of GGUF: pairs of keys and values, descriptions of tensors, then their bytes.

Written here and not by the package gguf, which opens its file itself: ours appear whole or not at all, and
tensors are made while they are written.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from edgewright.llm.writers.gguf_blocks import BlockType

MAGIC, VERSION, ALIGNMENT = b"GGUF", 3, 32
TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8, "Q4_K": 12, "Q6_K": 14}
INTEGER, REAL, FLAG, TEXT, LIST, SIGNED = 4, 6, 7, 8, 9, 5
Single = bool | int | float | str
Value = Single | Sequence[str] | Sequence[float] | Sequence[int]


@dataclass(frozen=True)
class GgufTensor:
    """A tensor that will follow."""

    name: str
    shape: tuple[int, ...]
    kind: BlockType

    @property
    def size(self) -> int:
        """Its bytes."""
        *rows, columns = self.shape
        count = 1
        for row in rows:
            count *= row
        return count * self.kind.count_row_bytes(columns)


def iterate_file(
    values: Mapping[str, Value], tensors: Sequence[GgufTensor], contents: Iterable[Iterable[bytes]]
) -> Iterator[bytes]:
    """The bytes of a file; contents come in the order of the tensors."""
    header = _write_header(values, tensors)
    yield header + _pad(len(header))
    for tensor, pieces in zip(tensors, contents, strict=True):
        size = 0
        for piece in pieces:
            size += len(piece)
            yield piece
        if size != tensor.size:
            raise ValueError(f"tensor '{tensor.name}' has {size} bytes, {tensor.size} were announced")
        yield _pad(size)


def _write_header(values: Mapping[str, Value], tensors: Sequence[GgufTensor]) -> bytes:
    parts = [MAGIC, struct.pack("<IQQ", VERSION, len(tensors), len(values))]
    parts += [_write_text(key) + _write_value(value) for key, value in values.items()]
    offset = 0
    for tensor in tensors:
        dims = tensor.shape[::-1]
        numbers = struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, TYPES[tensor.kind.name], offset)
        parts.append(_write_text(tensor.name) + numbers)
        offset += tensor.size + len(_pad(tensor.size))
    return b"".join(parts)


def _write_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _write_value(value: Value) -> bytes:
    if isinstance(value, bool | int | float | str):
        kind = _find_kind(value)
        return struct.pack("<I", kind) + _write_item(kind, value)
    items: list[Single] = list(value)
    # Lists of whole numbers are signed, as types of tokens are.
    kind = SIGNED if items and _find_kind(items[0]) == INTEGER else _find_kind(items[0]) if items else TEXT
    head = struct.pack("<IIQ", LIST, kind, len(items))
    return head + b"".join(_write_item(kind, item) for item in items)


def _find_kind(value: Single) -> int:
    if isinstance(value, bool):
        return FLAG
    return INTEGER if isinstance(value, int) else REAL if isinstance(value, float) else TEXT


def _write_item(kind: int, value: Single) -> bytes:
    if isinstance(value, str):
        return _write_text(value)
    return struct.pack({INTEGER: "<I", SIGNED: "<i", REAL: "<f", FLAG: "<?"}[kind], value)


def _pad(size: int) -> bytes:
    return bytes(-size % ALIGNMENT)
