"""Inputs as --input_tensor gives them: a name, dimensions, a raw file and its data type."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from edgewright.config.values import parse_dims
from edgewright.core.errors import ShapeMismatch, UsageError, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array

DTYPES = frozenset({"bool", "float16", "float32", "float64"}) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


@dataclass(frozen=True)
class InputTensor:
    """One input of the model."""

    name: str
    dims: tuple[int, ...]
    file: Path | None = None
    dtype: str = "float32"

    def read(self) -> Array:
        """The values of its file."""
        if self.file is None:
            raise UsageError(
                f"--input_tensor '{shown(self.name)}' names no file, expected one",
                do=f'write --input_tensor "{shown(self.name)}" DIMS FILE',
            )
        size, expected = measure_file(self.file), prod(self.dims) * np.dtype(self.dtype).itemsize
        if size != expected:
            raise ShapeMismatch(
                f"the file has {size} bytes, expected {expected} for {self.dtype} {list(self.dims)}",
                Where(file=str(self.file), tensor=self.name),
                do="check the dimensions, and the data type that may follow the file (float32 otherwise)",
            )
        array: Array = np.fromfile(self.file, np.dtype(self.dtype)).reshape(self.dims)
        return array


def read_input_tensors(entries: Sequence[Sequence[str]]) -> list[InputTensor]:
    """The inputs of the option, each once."""
    tensors = [_read_entry(entry) for entry in entries]
    names = [tensor.name for tensor in tensors]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"--input_tensor names '{shown(twice[0])}' {names.count(twice[0])} times")
    return tensors


def _read_entry(entry: Sequence[str]) -> InputTensor:
    name, text, *rest = entry
    try:
        dims = parse_dims(text)
    except ValueError as problem:
        raise UsageError(f"--input_tensor '{shown(name)}' has '{shown(text)}', expected {problem}") from None
    dtype = rest[1].lower() if len(rest) > 1 else "float32"
    if dtype not in DTYPES:
        raise UsageError(
            f"--input_tensor '{shown(name)}' has the data type '{shown(dtype)}', expected one of: "
            f"{', '.join(sorted(DTYPES))}"
        )
    return InputTensor(name, dims, Path(rest[0]) if rest else None, dtype)
