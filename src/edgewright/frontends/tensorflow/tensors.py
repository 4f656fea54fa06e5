"""TensorFlow's datatypes, shapes and stored tensors; sizes are checked before memory is taken."""

from dataclasses import dataclass
from math import prod

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, UnsupportedFeature, Where
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.stored import LARGEST_FILLED, check_dims, read_stored_array
from edgewright.frontends.tensorflow.wire import Message

DTYPES: dict[int, DType] = {
    1: DType.FLOAT_32,
    2: DType.FLOAT_64,
    3: DType.INT_32,
    4: DType.UINT_8,
    5: DType.INT_16,
    6: DType.INT_8,
    7: DType.STRING,
    8: DType.COMPLEX_64,
    9: DType.INT_64,
    10: DType.BOOL_8,
    11: DType.INT_8,
    12: DType.UINT_8,
    13: DType.INT_32,
    14: DType.BFLOAT_16,
    15: DType.INT_16,
    16: DType.UINT_16,
    17: DType.UINT_16,
    18: DType.COMPLEX_128,
    19: DType.FLOAT_16,
    22: DType.UINT_32,
    23: DType.UINT_64,
    24: DType.FLOAT_8E5M2,
    25: DType.FLOAT_8E4M3FN,
    29: DType.INT_4,
    30: DType.UINT_4,
}
# References to variables (TensorFlow 1) are numbered from here on.
REFERENCES = 100
# Handles of variables, lists and datasets: no elements.
NAMES = {0: "an unknown type", 20: "a resource", 21: "a variant"}

# Field of a stored tensor -> bytes of a number there; fields of varints have none.
_FIXED = {
    DType.FLOAT_32: (5, 4),
    DType.FLOAT_64: (6, 8),
    DType.COMPLEX_64: (9, 4),
    DType.COMPLEX_128: (12, 8),
}
_VARINTS = {DType.INT_64: 10, DType.BOOL_8: 11, DType.UINT_32: 16, DType.UINT_64: 17}
_HALVES = frozenset({DType.FLOAT_16, DType.BFLOAT_16})
INT_VALUES, HALF_VALUES, STRINGS, CONTENT = 7, 13, 8, 4


@dataclass(frozen=True)
class TensorShape:
    """Sizes, -1 where one is open; None where not even their number is known."""

    dims: tuple[int, ...] | None


def find_dtype(code: int, where: Where | None = None) -> DType:
    """The datatype of a type code."""
    plain = code - REFERENCES if code > REFERENCES else code
    if plain not in DTYPES:
        raise UnsupportedFeature(
            f"datatype {code} is {NAMES.get(plain, 'not known')}, expected a type of elements",
            where,
            do="export the model for inference, without tables and datasets",
        )
    return DTYPES[plain]


def shape_of(message: Message, where: Where | None = None) -> TensorShape:
    """A TensorShapeProto."""
    if message.whole(3):
        return TensorShape(None)
    dims = tuple(dim.whole(1) for dim in message.messages(2))
    check_dims(dims, where, lowest=-1)
    return TensorShape(dims)


def read_whole_shape(message: Message, where: Where) -> tuple[int, ...]:
    """The shape of a stored tensor, which leaves nothing open."""
    dims = shape_of(message, where).dims
    if dims is None or -1 in dims:
        shape = "no number of axes" if dims is None else f"the shape {list(dims)}"
        raise BadInput(
            f"a stored tensor has {shape}, expected sizes of at least 0", where, do="export the model again"
        )
    return dims


def read_array(data: memoryview, where: Where) -> Array:
    """A TensorProto as an array: a view of its content, or numbers one by one, the last one repeated."""
    tensor = Message(data)
    dtype, dims = find_dtype(tensor.whole(1), where), read_whole_shape(tensor.message(2), where)
    if dtype == DType.STRING:
        return _repeat_last(np.asarray([bytes(v) for v in tensor.views(STRINGS)], object), dims, where)
    if tensor.has(CONTENT) and len(tensor.view(CONTENT)):
        return read_stored_array(tensor.view(CONTENT), dtype, dims, where)
    return _repeat_last(_read_numbers(tensor, dtype, where), dims, where)


def _read_numbers(tensor: Message, dtype: DType, where: Where) -> Array:
    if dtype in _FIXED:
        number, width = _FIXED[dtype]
        data = tensor.raw(number, width)
        size = dtype.numpy.itemsize
        if len(data) % size:
            raise BadInput(
                f"{len(data)} bytes are stored, expected a multiple of {size}",
                where,
                do="export the model again",
            )
        return np.frombuffer(data, dtype.numpy)
    if dtype in _HALVES:
        bits = np.asarray([value & 0xFFFF for value in tensor.ints(HALF_VALUES)], np.uint16)
        return bits.view(dtype.numpy)
    values = np.asarray(tensor.ints(_VARINTS.get(dtype, INT_VALUES)), np.int64)
    return values.astype(dtype.numpy)


def _repeat_last(values: Array, dims: tuple[int, ...], where: Where) -> Array:
    """TensorFlow leaves out the numbers at the end that repeat the last one."""
    count = prod(dims)
    if values.size == count:
        return values.reshape(dims)
    if values.size > count:
        raise BadInput(
            f"{values.size} elements are stored, but shape {list(dims)} has {count}",
            where,
            do="export the model again",
        )
    if count > LARGEST_FILLED:
        raise LimitExceeded(
            f"{values.size} stored elements are to fill shape {list(dims)}, "
            f"at most {LARGEST_FILLED} are filled",
            where,
            do="check the tensor's shape",
        )
    last = values[-1] if values.size else np.zeros((), values.dtype)
    if values.size <= 1:
        return np.broadcast_to(np.asarray(last, values.dtype), dims)
    rest = np.full(count - values.size, last, values.dtype)
    return np.concatenate([values, rest]).reshape(dims)
