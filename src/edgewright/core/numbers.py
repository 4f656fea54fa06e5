"""Datatypes with QNN's codes, their numpy storage, and the rounding rules shared by all layers."""

import re
from enum import IntEnum
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class DType(IntEnum):
    """Element type of a tensor. QNN's own types carry QNN's codes; the others start at 0x10000."""

    INT_8 = 0x008
    INT_16 = 0x016
    INT_32 = 0x032
    INT_64 = 0x064
    UINT_8 = 0x108
    UINT_16 = 0x116
    UINT_32 = 0x132
    UINT_64 = 0x164
    FLOAT_16 = 0x216
    FLOAT_32 = 0x232
    FLOAT_64 = 0x264
    BFLOAT_16 = 0x226
    SFIXED_POINT_4 = 0x304
    SFIXED_POINT_8 = 0x308
    SFIXED_POINT_16 = 0x316
    SFIXED_POINT_32 = 0x332
    UFIXED_POINT_4 = 0x404
    UFIXED_POINT_8 = 0x408
    UFIXED_POINT_16 = 0x416
    UFIXED_POINT_32 = 0x432
    BOOL_8 = 0x508
    STRING = 0x608
    # Below: types that QNN has no code for. A target that meets one reports it.
    INT_4 = 0x10004
    UINT_4 = 0x10104
    INT_2 = 0x10002
    UINT_2 = 0x10102
    FLOAT_4E2M1 = 0x10204
    FLOAT_8E4M3FN = 0x10208
    FLOAT_8E4M3FNUZ = 0x10209
    FLOAT_8E5M2 = 0x1020A
    FLOAT_8E5M2FNUZ = 0x1020B
    FLOAT_8E8M0 = 0x1020C
    COMPLEX_64 = 0x10264
    COMPLEX_128 = 0x10228

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy type that stores one element (4-bit fixed point lives in its 8-bit container)."""
        return _NUMPY[self]

    @property
    def bits(self) -> int:
        """Bits of one element, as in the type's name."""
        return _BITS[self]

    @property
    def is_qnn(self) -> bool:
        """Whether QNN has a code for it."""
        return self < 0x10000

    @property
    def is_fixed_point(self) -> bool:
        """Whether values have a meaning only with an encoding."""
        return 0x300 <= self < 0x500

    @property
    def is_float(self) -> bool:
        """Whether it is a real floating-point type of any width."""
        return 0x200 <= self < 0x300 or 0x10200 <= self <= 0x1020C

    @property
    def is_integer(self) -> bool:
        """Whether it is a plain integer (no encoding, not bool)."""
        return self < 0x200 or self in _SMALL_INTEGERS

    @property
    def is_complex(self) -> bool:
        """Whether it holds complex numbers."""
        return self in {DType.COMPLEX_64, DType.COMPLEX_128}

    @property
    def is_signed(self) -> bool:
        """Whether negative values can be stored."""
        return not (0x100 <= self < 0x200 or 0x400 <= self < 0x600 or self in {DType.UINT_4, DType.UINT_2})

    @classmethod
    def of(cls, dtype: Any) -> "DType":
        """The plain (never fixed-point) type that numpy's dtype corresponds to."""
        found = _FROM_NUMPY.get(np.dtype(dtype))
        if found is None:
            if np.dtype(dtype).kind in "OUST":
                return cls.STRING
            raise TypeError(f"numpy type '{np.dtype(dtype)}' has no datatype here")
        return found


_SMALL_INTEGERS = frozenset({DType.INT_4, DType.UINT_4, DType.INT_2, DType.UINT_2})

_NUMPY: dict[DType, np.dtype[Any]] = {
    DType.INT_8: np.dtype(np.int8),
    DType.INT_16: np.dtype(np.int16),
    DType.INT_32: np.dtype(np.int32),
    DType.INT_64: np.dtype(np.int64),
    DType.UINT_8: np.dtype(np.uint8),
    DType.UINT_16: np.dtype(np.uint16),
    DType.UINT_32: np.dtype(np.uint32),
    DType.UINT_64: np.dtype(np.uint64),
    DType.FLOAT_16: np.dtype(np.float16),
    DType.FLOAT_32: np.dtype(np.float32),
    DType.FLOAT_64: np.dtype(np.float64),
    DType.BFLOAT_16: np.dtype(ml_dtypes.bfloat16),
    DType.BOOL_8: np.dtype(np.bool_),
    DType.STRING: np.dtype(object),
    DType.INT_4: np.dtype(ml_dtypes.int4),
    DType.UINT_4: np.dtype(ml_dtypes.uint4),
    DType.INT_2: np.dtype(ml_dtypes.int2),
    DType.UINT_2: np.dtype(ml_dtypes.uint2),
    DType.FLOAT_4E2M1: np.dtype(ml_dtypes.float4_e2m1fn),
    DType.FLOAT_8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    DType.FLOAT_8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    DType.FLOAT_8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    DType.FLOAT_8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    DType.FLOAT_8E8M0: np.dtype(ml_dtypes.float8_e8m0fnu),
    DType.COMPLEX_64: np.dtype(np.complex64),
    DType.COMPLEX_128: np.dtype(np.complex128),
}
_FROM_NUMPY = {numpy: dtype for dtype, numpy in _NUMPY.items()}
_NUMPY |= {
    DType.SFIXED_POINT_4: np.dtype(np.int8),
    DType.SFIXED_POINT_8: np.dtype(np.int8),
    DType.SFIXED_POINT_16: np.dtype(np.int16),
    DType.SFIXED_POINT_32: np.dtype(np.int32),
    DType.UFIXED_POINT_4: np.dtype(np.uint8),
    DType.UFIXED_POINT_8: np.dtype(np.uint8),
    DType.UFIXED_POINT_16: np.dtype(np.uint16),
    DType.UFIXED_POINT_32: np.dtype(np.uint32),
}


def _count_bits(dtype: DType) -> int:
    found = re.search(r"_(\d+)", dtype.name)
    return int(found.group(1)) if found else 8


_BITS: dict[DType, int] = {dtype: _count_bits(dtype) for dtype in DType}


def round_half_away(values: Array) -> Array:
    """Rounds to the nearest integer, halves away from zero (as C's round does)."""
    rounded: Array = np.trunc(values + np.copysign(0.5, values))
    return rounded
