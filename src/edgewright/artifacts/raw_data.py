"""Tensor data as the bytes that artifacts hold: little-endian, row-major, written and read without copies."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.lower.qnn_graph import QnnTensor

# Elements that are reordered at once if a tensor's memory order is not that of the file.
_REORDERED_AT_ONCE = 1 << 20
_SMALL_ENOUGH_TO_COPY = 1 << 26
_LARGEST_RANK = 32
_LARGEST_TENSOR = 2**62


def pack_data(tensor: QnnTensor) -> Array:
    """The data of a static tensor as it is stored: two elements per byte for 4 bits."""
    data = tensor.data
    if data is None:
        raise BadInput("a static tensor has no data", Where(tensor=tensor.name))
    if data.shape != tensor.dims or data.dtype.newbyteorder("=") != tensor.dtype.numpy:
        found, expected = f"{data.dtype} {data.shape}", f"{tensor.dtype.numpy} {tensor.dims}"
        raise BadInput(f"the data is {found}, the tensor needs {expected}", Where(tensor=tensor.name))
    return _pack_nibbles(data) if tensor.dtype.is_fixed_point and tensor.dtype.bits == 4 else data


def check_dims(dims: tuple[int, ...], dtype: DType, where: Where) -> None:
    """Refuses dims of no tensor that can be; an axis of 0 does not make the others right."""
    if len(dims) > _LARGEST_RANK:
        raise LimitExceeded(f"there are {len(dims)} dims, at most {_LARGEST_RANK} are read", where)
    size = math.prod(dim for dim in dims if dim) * dtype.numpy.itemsize
    if size > _LARGEST_TENSOR:
        raise LimitExceeded(
            f"dims {shown(list(dims))} need {size} bytes, at most {_LARGEST_TENSOR} fit", where
        )


def measure_stored(dtype: DType, dims: tuple[int, ...]) -> int:
    """The bytes of a tensor's data."""
    count = math.prod(dims)
    return -(-count // 2) if dtype.is_fixed_point and dtype.bits == 4 else count * dtype.numpy.itemsize


def to_chunks(data: Array) -> Iterator[bytes | memoryview]:
    """The bytes of an array in any memory order."""
    data = data.astype(data.dtype.newbyteorder("<"), copy=False)
    # As integers: some element types (bfloat16) have no buffer protocol.
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


def view_array(content: Any, offset: int, dtype: DType, dims: tuple[int, ...]) -> Array:
    """A read-only view of a buffer; the caller has checked that the bytes are there."""
    count = math.prod(dims)
    if dtype.is_fixed_point and dtype.bits == 4:
        return _unpack_nibbles(np.frombuffer(content, np.uint8, -(-count // 2), offset), dtype, dims)
    if dtype == DType.BOOL_8:
        # An untrusted byte may be neither 0 nor 1, which numpy must never see inside a bool.
        flags: Array = np.frombuffer(content, np.uint8, count, offset) != 0
        return flags.reshape(dims)
    return np.frombuffer(content, dtype.numpy.newbyteorder("<"), count, offset).reshape(dims)


def _pack_nibbles(data: Array) -> Array:
    """Two values per byte, the low half first; for an odd count the last half byte is 0."""
    halves = np.ascontiguousarray(data).reshape(-1).view(np.uint8) & 15
    if halves.size % 2:
        halves = np.append(halves, np.uint8(0))
    packed: Array = halves[0::2] | (halves[1::2] << 4)
    return packed


def _unpack_nibbles(pairs: Array, dtype: DType, dims: tuple[int, ...]) -> Array:
    values = np.stack([pairs & 15, pairs >> 4], -1).reshape(-1)[: math.prod(dims)]
    if dtype.is_signed:
        values = (values ^ 8) - np.uint8(8)
    array: Array = values.view(dtype.numpy).reshape(dims)
    return array
