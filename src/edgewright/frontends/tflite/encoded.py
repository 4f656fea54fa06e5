"""The fixed-point types behind TFLite's quantized tensors."""

import numpy as np

from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.stored import FIXED
from edgewright.frontends.tflite.reader import Tensor
from edgewright.ir.encodings import Encoding
from edgewright.ir.types import TensorType

# Biases of 16-bit models have 64 bits, but their numbers fit 32, which is checked.
STORED_IN = {**FIXED, DType.INT_64: DType.SFIXED_POINT_32}


def read_encoding(tensor: Tensor) -> tuple[DType, Encoding] | None:
    """Fixed-point type and encoding of a tensor; None where it is not quantized."""
    found = tensor.quantization
    if found is None or tensor.dtype not in STORED_IN:
        return None
    dtype = STORED_IN[tensor.dtype]
    low, high = Encoding((1.0,), (0,), bitwidth=min(tensor.dtype.bits, 32)).limits(dtype)
    if any(not low <= zero <= high for zero in found.zeros):
        raise BadInput(
            f"a zero point is {max(found.zeros, key=abs)}, expected {low} to {high}",
            Where(tensor=tensor.name),
            do="export the model again",
        )
    axis = found.axis if len(found.scales) > 1 else None
    offsets = tuple(-zero for zero in found.zeros)
    return dtype, Encoding(found.scales, offsets, axis, min(tensor.dtype.bits, 32))


def type_in_graph(tensor: Tensor, shape: tuple[int, ...] | None = None) -> TensorType:
    """The type of a tensor as the graph has it: in fixed point where it is quantized."""
    if tensor.dtype is None:
        raise BadInput(
            f"tensor '{tensor.name}' is a handle, expected elements", do="export a model without tables"
        )
    dims = tensor.shape if shape is None else shape
    found = read_encoding(tensor)
    if found is None:
        return TensorType(dims, tensor.dtype)
    return TensorType(dims, found[0], encoding=found[1])


def convert_constant(array: Array, tensor: Tensor) -> tuple[Array, TensorType]:
    """The elements of a stored tensor in the type that the graph has them in."""
    found = type_in_graph(tensor)
    if found.encoding is None:
        return array, found
    if array.dtype == np.int64 and array.size and int(np.abs(array).max()) >= 1 << 31:
        # No fixed-point type holds them; as real numbers they are what they are.
        real = found.encoding.decode(array)
        return real, TensorType(found.shape)
    return array.astype(found.dtype.numpy, copy=False), found
