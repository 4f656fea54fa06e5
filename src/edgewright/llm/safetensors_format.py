"""The container of .safetensors: a header in JSON, then the bytes of all tensors."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

NAMES = {"float32": "F32", "float16": "F16", "uint32": "U32", "int8": "I8", "uint8": "U8"}


@dataclass(frozen=True)
class WrittenTensor:
    """A tensor that will follow."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Its bytes."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


def iterate_safetensors(
    tensors: Sequence[WrittenTensor],
    contents: Iterable[Iterable[bytes | memoryview]],
    framework: str = "pt",
) -> Iterator[bytes | memoryview]:
    """The bytes of a file; contents come in the order of the tensors, names are those of the framework."""
    header, offset = {"__metadata__": {"format": framework}}, 0
    for tensor in tensors:
        places = [offset, offset + tensor.size]
        entry = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": places}
        header[tensor.name] = entry  # type: ignore[assignment]
        offset += tensor.size
    text = json.dumps(header, separators=(",", ":")).encode()
    # The bytes of tensors begin at a multiple of 8.
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for tensor, pieces in zip(tensors, contents, strict=True):
        size = 0
        for piece in pieces:
            size += len(piece)
            yield piece
        if size != tensor.size:
            raise ValueError(f"tensor '{tensor.name}' has {size} bytes, {tensor.size} were announced")
