"""ONNX tensors as arrays: views of the stored bytes, sizes checked before memory is taken."""

from math import prod
from typing import Any

import numpy as np
import onnx

from edgewright.core.errors import BadInput, UnsupportedFeature, Where
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.stored import check_dims, read_stored_array

_T = onnx.TensorProto
DTYPES: dict[int, DType] = {
    _T.FLOAT: DType.FLOAT_32,
    _T.UINT8: DType.UINT_8,
    _T.INT8: DType.INT_8,
    _T.UINT16: DType.UINT_16,
    _T.INT16: DType.INT_16,
    _T.INT32: DType.INT_32,
    _T.INT64: DType.INT_64,
    _T.STRING: DType.STRING,
    _T.BOOL: DType.BOOL_8,
    _T.FLOAT16: DType.FLOAT_16,
    _T.DOUBLE: DType.FLOAT_64,
    _T.UINT32: DType.UINT_32,
    _T.UINT64: DType.UINT_64,
    _T.COMPLEX64: DType.COMPLEX_64,
    _T.COMPLEX128: DType.COMPLEX_128,
    _T.BFLOAT16: DType.BFLOAT_16,
    _T.FLOAT8E4M3FN: DType.FLOAT_8E4M3FN,
    _T.FLOAT8E4M3FNUZ: DType.FLOAT_8E4M3FNUZ,
    _T.FLOAT8E5M2: DType.FLOAT_8E5M2,
    _T.FLOAT8E5M2FNUZ: DType.FLOAT_8E5M2FNUZ,
    _T.FLOAT8E8M0: DType.FLOAT_8E8M0,
    _T.UINT4: DType.UINT_4,
    _T.INT4: DType.INT_4,
    _T.FLOAT4E2M1: DType.FLOAT_4E2M1,
    _T.UINT2: DType.UINT_2,
    _T.INT2: DType.INT_2,
}
# Fields that lie in a file just as raw data does, and the types they are for.
FIELD_DTYPES: dict[str, tuple[DType, ...]] = {
    "float_data": (DType.FLOAT_32, DType.COMPLEX_64),
    "double_data": (DType.FLOAT_64, DType.COMPLEX_128),
}
DATA_FIELDS = (
    *("raw_data", "float_data", "double_data", "int32_data"),
    *("int64_data", "uint64_data", "string_data"),
)
ONNX_CODES = {dtype: code for code, dtype in DTYPES.items()}


def find_dtype(code: int, where: Where) -> DType:
    """The datatype of an ONNX type code."""
    if code not in DTYPES:
        raise BadInput(f"datatype code {code} is not one of ONNX's", where, do="export the model again")
    return DTYPES[code]


def check_stored_once(tensor: onnx.TensorProto, where: Where) -> None:
    """Refuses a tensor with elements in two places, or in parts: readers disagree about which ones count."""
    if tensor.HasField("segment"):
        raise UnsupportedFeature(
            f"a segment of the tensor is stored, elements {tensor.segment.begin} to {tensor.segment.end}",
            where,
            do="store the whole tensor",
        )
    places = [name for name in DATA_FIELDS if len(getattr(tensor, name))]
    if len(places) + (tensor.data_location == _T.EXTERNAL) > 1:
        outside = ["external data"] if tensor.data_location == _T.EXTERNAL else []
        raise BadInput(
            f"elements are stored in {len(places) + len(outside)} places ({', '.join(places + outside)}), "
            "expected 1",
            where,
            do="export the model again",
        )


def read_array(tensor: onnx.TensorProto, where: Where) -> Array:
    """The tensor as an array; stored bytes are viewed, not copied, where their layout allows."""
    dtype = find_dtype(tensor.data_type, where)
    dims = read_dims(tensor, where)
    if tensor.data_location == _T.EXTERNAL:
        raise UnsupportedFeature("external data was not resolved", where, do="load the model from its file")
    if tensor.HasField("raw_data"):
        return from_bytes(tensor.raw_data, dtype, dims, where)
    return _from_fields(tensor, dtype, dims, where)


def read_dims(tensor: onnx.TensorProto, where: Where) -> tuple[int, ...]:
    """The tensor's shape, if it can be one."""
    dims = tuple(tensor.dims)
    check_dims(dims, where)
    return dims


def from_bytes(
    data: Any, dtype: DType, dims: tuple[int, ...], where: Where, field: str = "raw_data"
) -> Array:
    """Stored bytes as an array of the given type and shape."""
    if dtype not in FIELD_DTYPES.get(field, (dtype,)):
        raise BadInput(f"{dtype.name} elements are stored as {field}", where, do="export the model again")
    return read_stored_array(data, dtype, dims, where)


def _from_fields(tensor: onnx.TensorProto, dtype: DType, dims: tuple[int, ...], where: Where) -> Array:
    """Elements stored one by one in a typed field."""
    count = prod(dims)
    stored = len(getattr(tensor, onnx.helper.tensor_dtype_to_field(tensor.data_type)))
    per_element = 2 if dtype.is_complex else 1
    expected = (
        count * per_element if dtype.bits >= 8 or dtype == DType.STRING else (count * dtype.bits + 7) // 8
    )
    if stored != expected:
        raise BadInput(
            f"{stored} elements are stored, but shape {list(dims)} has {expected}",
            where,
            do="export the model again",
        )
    _check_range(tensor, dtype, where)
    array: Array = onnx.numpy_helper.to_array(tensor)
    return array.astype(dtype.numpy, copy=False)


def _check_range(tensor: onnx.TensorProto, dtype: DType, where: Where) -> None:
    """Small types are stored in wider fields, whose values may not fit."""
    values = np.asarray(tensor.int32_data or tensor.uint64_data)
    bits = max(dtype.bits, 8)
    if not values.size or bits >= values.dtype.itemsize * 8:
        return
    # Packed and real elements are stored by their bits.
    is_signed = dtype in (DType.INT_8, DType.INT_16)
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    if int(values.min()) < least or int(values.max()) > most:
        raise BadInput(
            f"{dtype.name} elements are stored as {values.min()} to {values.max()}, "
            f"expected {least} to {most}",
            where,
            do="export the model again",
        )
