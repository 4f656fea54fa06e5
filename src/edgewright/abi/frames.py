"""The worker's protocol: messages of plain values, records and arrays over a socket, none of them code."""

import dataclasses
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from edgewright.core.errors import BackendCrash, EdgewrightError, Problems
from edgewright.core.numbers import Array

_HEAD = struct.Struct("<QI")
LONGEST_TEXT = 1 << 30
# Sends all bytes; receives what there is into a buffer, and returns how much. A socket has both.
Write = Callable[[Any], None]
Read = Callable[[memoryview], int]


class Closed(Exception):
    """The other side is gone."""


class Codec:
    """Turns values into JSON and arrays, and back; only the classes it was given can be decoded."""

    def __init__(self, classes: Sequence[type]) -> None:
        self._classes = {kind.__name__: kind for kind in classes}

    def encode(self, value: Any, arrays: list[Array]) -> Any:
        """The value for JSON; arrays and bytes go into the list."""
        for kinds, mark, spelled in self._spellings():
            if isinstance(value, kinds):
                return {mark: spelled(value, arrays)}
        if isinstance(value, list):
            return [self.encode(item, arrays) for item in value]
        if dataclasses.is_dataclass(value):
            fields = {f.name: self.encode(getattr(value, f.name), arrays) for f in dataclasses.fields(value)}
            return {"record": [type(value).__name__, fields]}
        return value

    def decode(self, value: Any, arrays: Sequence[Array]) -> Any:
        """The value that was encoded."""
        if isinstance(value, list):
            return [self.decode(item, arrays) for item in value]
        if not isinstance(value, dict):
            return value
        ((mark, held),) = value.items()
        readers: dict[str, Callable[[], Any]] = {
            "array": lambda: arrays[held],
            "enum": lambda: self._classes[held[0]](held[1]),
            "record": lambda: self._record(held[0], held[1], arrays),
            "tuple": lambda: tuple(self.decode(held, arrays)),
            "problems": lambda: Problems(self.decode(held, arrays)),
            "error": lambda: self._classes.get(held[0], BackendCrash)(*self.decode(held[1:], arrays)),
            "dict": lambda: dict(self.decode(held, arrays)),
        }
        return readers[mark]()

    def _spellings(self) -> tuple[tuple[Any, str, Callable[[Any, list[Array]], Any]], ...]:
        return (
            ((np.ndarray, bytes), "array", _keep_array),
            (IntEnum, "enum", lambda value, _: [type(value).__name__, int(value)]),
            (Problems, "problems", lambda value, arrays: self.encode(list(value.errors), arrays)),
            (EdgewrightError, "error", self._error),
            (tuple, "tuple", lambda value, arrays: self.encode(list(value), arrays)),
            (
                Mapping,
                "dict",
                lambda value, arrays: [self.encode(list(pair), arrays) for pair in value.items()],
            ),
        )

    def _error(self, error: EdgewrightError, arrays: list[Array]) -> Any:
        return [type(error).__name__, error.what, self.encode(error.where, arrays), error.do]

    def _record(self, name: str, fields: dict[str, Any], arrays: Sequence[Array]) -> Any:
        return self._classes[name](**{key: self.decode(item, arrays) for key, item in fields.items()})


def _keep_array(value: Any, arrays: list[Array]) -> int:
    arrays.append(np.frombuffer(value, np.uint8) if isinstance(value, bytes) else np.ascontiguousarray(value))
    return len(arrays) - 1


def send(write: Write, codec: Codec, value: Any) -> None:
    """Sends one message."""
    arrays: list[Array] = []
    text = json.dumps(codec.encode(value, arrays)).encode()
    shapes = [[array.dtype.name, list(array.shape)] for array in arrays]
    head = json.dumps(shapes).encode()
    write(_HEAD.pack(len(text), len(head)) + head + text)
    for array in arrays:
        if array.nbytes:
            write(_view_bytes(array))


def receive(read: Read, codec: Codec) -> Any:
    """Waits for one message; `Closed` if the other side is gone."""
    length, head = _HEAD.unpack(_receive_exactly(read, _HEAD.size))
    if length > LONGEST_TEXT or head > LONGEST_TEXT:
        raise Closed
    shapes = json.loads(bytes(_receive_exactly(read, head)))
    text = bytes(_receive_exactly(read, length))
    arrays = [_receive_array(read, name, tuple(shape)) for name, shape in shapes]
    return codec.decode(json.loads(text), arrays)


def _receive_array(read: Read, name: str, shape: tuple[int, ...]) -> Array:
    array: Array = np.empty(shape, np.dtype(name))
    if array.nbytes:
        _fill(read, _view_bytes(array))
    return array


def _view_bytes(array: Array) -> memoryview:
    flat: Any = array.reshape(-1).view(np.uint8)
    return memoryview(flat)


def _receive_exactly(read: Read, size: int) -> bytearray:
    room = bytearray(size)
    _fill(read, memoryview(room))
    return room


def _fill(read: Read, room: memoryview) -> None:
    done = 0
    while done < len(room):
        try:
            count = read(room[done:])
        except (ConnectionError, BrokenPipeError):
            raise Closed from None
        if not count:
            raise Closed
        done += count
