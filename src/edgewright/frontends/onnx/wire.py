"""Scans protobuf's wire format, so that large weights stay in the file and never pass through protobuf."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from edgewright.core.errors import BadInput, LimitExceeded

# Payloads from this size on stay where they are; smaller messages cannot hold one and are not looked into.
LARGE = 4096
# protobuf itself stops at 100 messages inside each other.
DEEPEST_MESSAGE = 100
LARGEST_PROTOBUF = (1 << 31) - 1

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Message -> field number -> message inside, as onnx.proto numbers them.
CHILDREN: Mapping[str, Mapping[int, str]] = {
    "ModelProto": {7: "GraphProto", 25: "FunctionProto"},
    "GraphProto": {1: "NodeProto", 5: "TensorProto", 15: "SparseTensorProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {
        5: "TensorProto",
        6: "GraphProto",
        10: "TensorProto",
        11: "GraphProto",
        22: "SparseTensorProto",
        23: "SparseTensorProto",
    },
    "SparseTensorProto": {1: "TensorProto", 2: "TensorProto"},
    "TensorProto": {},
}
# Packed floats and doubles lie in the file exactly as raw data does.
PAYLOADS: Mapping[int, str] = {4: "float_data", 9: "raw_data", 10: "double_data"}
# What only a training framework reads, with a second copy of the weights perhaps.
DROPPED: Mapping[str, frozenset[int]] = {"ModelProto": frozenset({20})}
EXTERNAL_DATA, DATA_LOCATION = 13, 14


@dataclass(frozen=True)
class Payload:
    """Where the elements of a tensor lie, and the field they were stored in."""

    offset: int
    length: int
    field: str


@dataclass
class Slim:
    """A model without its large payloads; their tensors carry an external-data entry ``key`` instead."""

    chunks: list[memoryview | bytes] = field(default_factory=list)
    payloads: list[Payload] = field(default_factory=list)
    # Random, so that no file can pretend to be one that was already scanned.
    key: str = field(default_factory=lambda: secrets.token_hex(8))

    def data(self) -> bytes:
        """The serialized model, small enough for protobuf."""
        size = sum(len(chunk) for chunk in self.chunks)
        if size > LARGEST_PROTOBUF:
            raise LimitExceeded(
                f"{size} bytes of the model are not weights, at most {LARGEST_PROTOBUF} are read",
                do="store the weights as raw data",
            )
        return b"".join(self.chunks)


def extract_payloads(data: memoryview) -> Slim:
    """Takes the large payloads out of a serialized model."""
    result = Slim()
    found = _rewrite_message(result, data, 0, len(data), "ModelProto", 1)
    result.chunks = [data] if found is None else found
    return result


Chunks = list[memoryview | bytes]


def _rewrite_message(
    out: Slim, data: memoryview, start: int, end: int, kind: str, depth: int
) -> Chunks | None:
    """The message without its large payloads; None where it holds none."""
    if depth > DEEPEST_MESSAGE:
        raise LimitExceeded(
            f"messages are nested deeper than {DEEPEST_MESSAGE}", do="flatten the model's control flow"
        )
    if kind == "TensorProto":
        return _rewrite_tensor(out, data, start, end)
    chunks: Chunks = []
    kept = start
    for number, opening, position, length in _list_large_fields(data, start, end):
        replacement: Chunks | None = [] if number in DROPPED.get(kind, ()) else None
        if number in CHILDREN[kind]:
            inner = _rewrite_message(
                out, data, position, position + length, CHILDREN[kind][number], depth + 1
            )
            replacement = None if inner is None else _write_delimited(number, inner)
        if replacement is not None:
            chunks += [data[kept:opening], *replacement]
            kept = position + length
    return [*chunks, data[kept:end]] if kept > start else None


def _rewrite_tensor(out: Slim, data: memoryview, start: int, end: int) -> Chunks | None:
    found = [f for f in _list_large_fields(data, start, end) if f[0] in PAYLOADS]
    # Two payloads in one tensor: protobuf knows which one counts, or joins them.
    if len(found) != 1:
        return None
    number, opening, position, length = found[0]
    index = len(out.payloads)
    out.payloads.append(Payload(position, length, PAYLOADS[number]))
    entry = _write_field(1, out.key.encode()) + _write_field(2, str(index).encode())
    marker = _write_field(EXTERNAL_DATA, entry) + _write_varint(DATA_LOCATION << 3 | _VARINT) + b"\1"
    return [data[start:opening], data[position + length : end], marker]


def _list_large_fields(data: memoryview, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(number, where the field starts, where its content starts, length) of fields of ``LARGE`` bytes."""
    position = start
    while position < end:
        opening = position
        key, position = _read_varint(data, position, end)
        wire = key & 7
        if wire == _BYTES:
            length, position = _read_varint(data, position, end)
            if length > end - position:
                raise _make_damage_error(
                    f"a field of {length} bytes at {position}, where {end - position} are left"
                )
            if length >= LARGE:
                yield key >> 3, opening, position, length
            position += length
        elif wire == _VARINT:
            _, position = _read_varint(data, position, end)
        elif wire in {_FIXED64, _FIXED32}:
            position += 8 if wire == _FIXED64 else 4
        else:
            raise _make_damage_error(f"wire type {wire} at {opening}")
    if position != end:
        raise _make_damage_error(f"the last field ends {position - end} bytes after its message")


def _read_varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    if position < end and data[position] < 0x80:
        return data[position], position + 1
    value = shift = 0
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise _make_damage_error(f"a number at {position} does not end")


def _write_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _write_field(number: int, content: bytes) -> bytes:
    return _write_varint(number << 3 | _BYTES) + _write_varint(len(content)) + content


def _write_delimited(number: int, content: Chunks) -> Chunks:
    size = sum(len(chunk) for chunk in content)
    return [_write_varint(number << 3 | _BYTES) + _write_varint(size), *content]


def _make_damage_error(found: str) -> BadInput:
    return BadInput(f"not an ONNX model: {found}", do="check that the file is complete and is an ONNX model")
