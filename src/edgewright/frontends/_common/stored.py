"""Stored bytes as arrays: views wherever their layout allows, sizes checked before memory is taken."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import Array, DType

# More than any machine has: what claims such a size is damaged.
LARGEST_DIM = 1 << 48
LARGEST_RANK = 32
# A few bytes of a file can stand for any number of elements (zeros left out, one number for all of them);
# what they are made into must stay small.
LARGEST_FILLED = 1 << 26
# The fixed-point type that stores an integer type; two bits live in eight, with an encoding of two.
FIXED = {
    DType.INT_2: DType.SFIXED_POINT_8,
    DType.UINT_2: DType.UFIXED_POINT_8,
    DType.INT_4: DType.SFIXED_POINT_4,
    DType.UINT_4: DType.UFIXED_POINT_4,
    DType.INT_8: DType.SFIXED_POINT_8,
    DType.UINT_8: DType.UFIXED_POINT_8,
    DType.INT_16: DType.SFIXED_POINT_16,
    DType.UINT_16: DType.UFIXED_POINT_16,
    DType.INT_32: DType.SFIXED_POINT_32,
    DType.UINT_32: DType.UFIXED_POINT_32,
}


def check_dims(dims: Sequence[int], where: Where | None, lowest: int = 0) -> None:
    """Refuses what no tensor can have; -1 is allowed where shapes may be open (``lowest``)."""
    # Axes of no elements do not make the others right: an array of them could not be made.
    size = prod(dim for dim in dims if dim > 0)
    if len(dims) > LARGEST_RANK or any(dim < lowest for dim in dims) or size > LARGEST_DIM:
        raise BadInput(
            f"{len(dims)} dimensions {list(dims[:8])} are out of range, expected up to {LARGEST_RANK} of at "
            f"least {lowest} and up to {LARGEST_DIM} elements",
            where,
            do="export the model again",
        )


def read_stored_array(data: Any, dtype: DType, dims: tuple[int, ...], where: Where) -> Array:
    """Stored bytes as an array of the given type and shape."""
    count = prod(dims)
    expected = (count * dtype.bits + 7) // 8
    if dtype == DType.STRING or len(data) != expected:
        raise BadInput(
            f"{len(data)} bytes are stored, but {dtype.name} {list(dims)} takes {expected}",
            where,
            do="export the model again",
        )
    if not count:
        return np.empty(dims, dtype.numpy)
    if dtype.bits < 8:
        return _unpack_bits(np.frombuffer(data, np.uint8), dtype, count).reshape(dims)
    if dtype == DType.BOOL_8:
        # A byte may be neither 0 nor 1, which numpy must never see inside a bool.
        flags: Array = np.frombuffer(data, np.uint8) != 0
        return flags.reshape(dims)
    return np.frombuffer(
        data, dtype.numpy.newbyteorder("<") if dtype.numpy.kind in "iufc" else dtype.numpy
    ).reshape(dims)


def _unpack_bits(packed: Array, dtype: DType, count: int) -> Array:
    """Elements of 2 or 4 bits, lowest bits first."""
    per_byte = 8 // dtype.bits
    shifts = np.arange(per_byte, dtype=np.uint8) * dtype.bits
    raw = ((packed[:, None] >> shifts) & ((1 << dtype.bits) - 1)).reshape(-1)[:count]
    if dtype.is_integer and dtype.is_signed:
        top = 1 << (dtype.bits - 1)
        raw = (raw.astype(np.int8) ^ top) - top
        return raw.astype(dtype.numpy)
    return raw.astype(np.uint8).view(dtype.numpy) if dtype.is_float else raw.astype(dtype.numpy)
