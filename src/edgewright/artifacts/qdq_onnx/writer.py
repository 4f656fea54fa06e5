"""Writes an ONNX model whose large tensors are held separately: into the file, or into one beside it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from edgewright.core.numbers import Array

# Protocol buffers are limited to 2 GB, and their content is copied once more in memory.
LARGEST_INSIDE = 1 << 30
ALIGNMENT = 64


@dataclass(frozen=True)
class OnnxParts:
    """A model, and the arrays of those initializers whose bytes it does not hold."""

    model: onnx.ModelProto
    arrays: Mapping[str, Array]


def to_files(
    parts: OnnxParts, path: Path, largest: int = LARGEST_INSIDE
) -> dict[Path, Iterator[bytes | memoryview]]:
    """The files of a model: one, or two where the weights are large."""
    model = onnx.ModelProto()
    model.CopyFrom(parts.model)
    total = sum(array.nbytes for array in parts.arrays.values())
    if total <= largest:
        for tensor in model.graph.initializer:
            if tensor.name in parts.arrays:
                tensor.raw_data = np.ascontiguousarray(parts.arrays[tensor.name]).tobytes()
                tensor.ClearField("data_location")
                del tensor.external_data[:]
        return {path: iter([model.SerializeToString(deterministic=True)])}
    beside = path.with_name(f"{path.name}.data")
    _point_to(model, parts.arrays, beside.name)
    return {beside: _stream(parts.arrays), path: iter([model.SerializeToString(deterministic=True)])}


def _point_to(model: onnx.ModelProto, arrays: Mapping[str, Array], location: str) -> None:
    places, offset = {}, 0
    for name, array in arrays.items():
        places[name] = offset
        offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    for tensor in model.graph.initializer:
        if tensor.name in places:
            del tensor.external_data[:]
            tensor.data_location = onnx.TensorProto.EXTERNAL
            length = arrays[tensor.name].nbytes
            for key, value in (("location", location), ("offset", places[tensor.name]), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))


def _stream(arrays: Mapping[str, Array]) -> Iterator[bytes | memoryview]:
    for array in arrays.values():
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        yield b"\0" * (-array.nbytes % ALIGNMENT)
