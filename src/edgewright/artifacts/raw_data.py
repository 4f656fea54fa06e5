"""Tensor data as the bytes that artifacts hold: little-endian, row-major, written and read without copies."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import Array, DType
from edgewright.lower.qnn_graph import QnnTensor

__all__ = ["array_at", "data_of", "to_chunks"]

# Elements that are put in order at once where a tensor does not lie in memory as it is written.
_REORDERED_AT_ONCE = 1 << 20
_SMALL_ENOUGH_TO_COPY = 1 << 26


def data_of(tensor: QnnTensor) -> Array:
    """The data of a static tensor, which must be what the tensor says."""
    data = tensor.data
    if data is None:
        raise BadInput("a static tensor has no data", Where(tensor=tensor.name))
    if data.shape != tensor.dims or data.dtype.newbyteorder("=") != tensor.dtype.numpy:
        found, expected = f"{data.dtype} {data.shape}", f"{tensor.dtype.numpy} {tensor.dims}"
        raise BadInput(f"the data is {found}, the tensor says {expected}", Where(tensor=tensor.name))
    return data


def to_chunks(data: Array) -> Iterator[bytes | memoryview]:
    """The bytes of an array in any memory order."""
    data = data.astype(data.dtype.newbyteorder("<"), copy=False)
    # As integers: some element types (bfloat16) know no buffer protocol.
    plain = data.view(f"u{data.dtype.itemsize}") if data.dtype.kind == "V" else data
    if plain.flags.c_contiguous or plain.nbytes <= _SMALL_ENOUGH_TO_COPY:
        yield np.ascontiguousarray(plain).reshape(-1).view(np.uint8).data
        return
    # nditer yields the pieces themselves, though its type says tuples, as for several arrays
    pieces: Iterable[Any] = np.nditer(
        plain, flags=["external_loop", "buffered"], order="C", buffersize=_REORDERED_AT_ONCE
    )
    for piece in pieces:
        yield piece.tobytes()


def array_at(content: Any, offset: int, dtype: DType, dims: tuple[int, ...]) -> Array:
    """A read-only view of a buffer; the caller has checked that the bytes are there."""
    count = math.prod(dims)
    if dtype == DType.BOOL_8:
        # A stranger's byte may be neither 0 nor 1, which numpy must never see inside a bool.
        flags: Array = np.frombuffer(content, np.uint8, count, offset) != 0
        return flags.reshape(dims)
    return np.frombuffer(content, dtype.numpy.newbyteorder("<"), count, offset).reshape(dims)
