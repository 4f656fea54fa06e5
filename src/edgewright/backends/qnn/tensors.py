"""Tensors between records and QNN's structs; whatever a struct points to is kept alive beside it."""

import ctypes
from ctypes import pointer
from typing import Any

import numpy as np

from edgewright.abi.codes import UNDEFINED, EncodingKind
from edgewright.abi.structs import (
    AxisScaleOffset,
    BlockwiseExpansion,
    BwAxisScaleOffset,
    BwScaleOffset,
    QuantizeParams,
    ScaleOffset,
    Tensor,
)
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnTensor, TensorKind

# HTP refuses the 4-bit datatypes: such values are stored in 8 bits, and the encoding has the width.
CONTAINERS = {
    DType.SFIXED_POINT_4: DType.SFIXED_POINT_8,
    DType.UFIXED_POINT_4: DType.UFIXED_POINT_8,
}
FACTOR_BITS = 4


class Kept(list[Any]):
    """Objects that C holds pointers to."""

    def add(self, item: Any) -> Any:
        """Keeps an object and returns it."""
        self.append(item)
        return item


def write_tensor(record: QnnTensor, kept: Kept) -> Tensor:
    """The struct of a tensor, without memory unless it is static; its id is set later."""
    tensor = Tensor(version=1)
    of = tensor.of.v1
    of.name = kept.add(record.name.encode())
    of.type = int(record.kind)
    of.data_type = int(CONTAINERS.get(record.dtype, record.dtype))
    of.rank = len(record.dims)
    of.dims = kept.add((ctypes.c_uint32 * len(record.dims))(*record.dims))
    of.quantize = _quantize(record, kept)
    if record.data is not None:
        point_at(tensor, record.data, kept)
    return tensor


def point_at(tensor: Tensor, values: Array, kept: Kept) -> Array:
    """Makes a tensor use an array's memory; returns the array in use (a dense copy if needed)."""
    dense: Array = kept.add(np.ascontiguousarray(values))
    buffer = tensor.of.v1.memory.buffer
    buffer.data = dense.ctypes.data
    buffer.size = dense.nbytes
    return dense


def read_tensor(tensor: Tensor) -> QnnTensor:
    """The record of a struct that a library filled."""
    of = tensor.of.v1
    dtype = DType(of.data_type)
    dims = tuple(int(of.dims[axis]) for axis in range(of.rank))
    encoding = _encoding(of.quantize, dtype)
    return QnnTensor((of.name or b"").decode(), TensorKind(of.type), dtype, dims, encoding)


def _quantize(record: QnnTensor, kept: Kept) -> QuantizeParams:
    encoding = record.encoding
    if encoding is None or not record.dtype.is_fixed_point:
        return QuantizeParams(definition=UNDEFINED, encoding=UNDEFINED)
    params = QuantizeParams(definition=1)
    if encoding.block_axis is not None:
        params.encoding = EncodingKind.BLOCKWISE_EXPANSION
        params.of.expansion = kept.add(pointer(_expansion(record, encoding, kept)))
    elif encoding.axis is not None:
        _per_axis(params, record, encoding, kept)
    elif encoding.bitwidth < record.dtype.numpy.itemsize * 8:
        params.encoding = EncodingKind.BW
        params.of.bw = BwScaleOffset(encoding.bitwidth, encoding.scales[0], encoding.offsets[0])
    else:
        params.encoding = EncodingKind.SCALE_OFFSET
        params.of.scale_offset = ScaleOffset(encoding.scales[0], encoding.offsets[0])
    return params


def _per_axis(params: QuantizeParams, record: QnnTensor, encoding: Encoding, kept: Kept) -> None:
    count = len(encoding.scales)
    if encoding.bitwidth < record.dtype.numpy.itemsize * 8:
        params.encoding = EncodingKind.BW_AXIS
        scales = kept.add((ctypes.c_float * count)(*encoding.scales))
        offsets = kept.add((ctypes.c_int32 * count)(*encoding.offsets))
        params.of.bw_axis = BwAxisScaleOffset(encoding.bitwidth, encoding.axis, count, scales, offsets)
    else:
        params.encoding = EncodingKind.AXIS
        params.of.axis = AxisScaleOffset(encoding.axis, count, _pairs(encoding, kept))


def _expansion(record: QnnTensor, encoding: Encoding, kept: Kept) -> BlockwiseExpansion:
    assert encoding.block_axis is not None
    blocks = -(-record.dims[encoding.block_axis] // encoding.block_size)
    factors = kept.add((ctypes.c_uint8 * len(encoding.block_scales))(*encoding.block_scales))
    return BlockwiseExpansion(encoding.axis, _pairs(encoding, kept), blocks, FACTOR_BITS, 0, factors)


def _pairs(encoding: Encoding, kept: Kept) -> Any:
    both = zip(encoding.scales, encoding.offsets, strict=True)
    return kept.add((ScaleOffset * len(encoding.scales))(*(ScaleOffset(*pair) for pair in both)))


def _encoding(params: QuantizeParams, dtype: DType) -> Encoding | None:
    if params.definition != 1 or not dtype.is_fixed_point:
        return None
    of, bits = params.of, dtype.numpy.itemsize * 8
    if params.encoding == EncodingKind.SCALE_OFFSET:
        return Encoding((of.scale_offset.scale,), (of.scale_offset.offset,), None, bits)
    if params.encoding == EncodingKind.BW:
        return Encoding((of.bw.scale,), (of.bw.offset,), None, of.bw.bitwidth)
    if params.encoding == EncodingKind.AXIS:
        scales, offsets = zip(*((p.scale, p.offset) for p in of.axis.pairs[: of.axis.count]), strict=True)
        return Encoding(scales, offsets, of.axis.axis, bits)
    if params.encoding == EncodingKind.BW_AXIS:
        count = of.bw_axis.count
        given = of.bw_axis.offsets[:count] if of.bw_axis.offsets else [0] * count
        scales = tuple(of.bw_axis.scales[:count])
        return Encoding(scales, tuple(given), of.bw_axis.axis, of.bw_axis.bitwidth)
    # Block encodings belong to weights, which no library exposes.
    return None
