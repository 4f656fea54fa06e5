"""Quantisation for the engine."""

import numpy as np

from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.writer import ENGINE_CODES, Writer
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Node
from edgewright.ops.quant import Convert, Dequantize, Quantize

__all__: list[str] = []

ENGINE_TYPES = frozenset(d for d in DType if d.is_fixed_point and d.bits <= 16)


@lowers(Quantize)
def quantize(w: Writer, op: Quantize, inputs: list[str], node: Node) -> str:
    """QuantizeLinear, clamped where the encoding is narrower than its container."""
    return _encoded(w, inputs[0], w.type(node.inputs[0]).dtype, op.dtype, op.encoding)


@lowers(Dequantize)
def dequantize(w: Writer, op: Dequantize, inputs: list[str], node: Node) -> str:
    """DequantizeLinear."""
    return _decoded(w, inputs[0], w.type(node.inputs[0]).dtype, op.encoding, op.dtype)


@lowers(Convert)
def convert(w: Writer, op: Convert, inputs: list[str], node: Node) -> str:
    """Decoded and encoded again."""
    dtype, value = w.type(node.inputs[0]).dtype, inputs[0]
    if op.source is not None:
        value, dtype = _decoded(w, value, dtype, op.source, DType.FLOAT_32), DType.FLOAT_32
    if op.encoding is None:
        return w.node("Cast", value, to=ENGINE_CODES[op.dtype])
    return _encoded(w, value, dtype, op.dtype, op.encoding)


def _encoded(w: Writer, value: str, dtype: DType, fixed: DType, encoding: Encoding) -> str:
    if fixed not in ENGINE_TYPES:
        raise NotOnEngine
    value = value if dtype == DType.FLOAT_32 else w.node("Cast", value, to=ENGINE_CODES[DType.FLOAT_32])
    scale, zero = _scale_and_zero(w, encoding, fixed)
    result = w.node("QuantizeLinear", value, scale, zero, axis=encoding.axis)
    if encoding.bitwidth == fixed.numpy.itemsize * 8:
        return result
    low, high = (w.constant(np.asarray(limit, fixed.numpy)) for limit in encoding.limits(fixed))
    return w.node("Clip", result, low, high)


def _decoded(w: Writer, value: str, fixed: DType, encoding: Encoding, dtype: DType) -> str:
    is_plain = fixed in ENGINE_TYPES or (fixed == DType.SFIXED_POINT_32 and not any(encoding.offsets))
    if not is_plain:
        raise NotOnEngine
    scale, zero = _scale_and_zero(w, encoding, fixed)
    given = [] if fixed == DType.SFIXED_POINT_32 else [zero]
    result = w.node("DequantizeLinear", value, scale, *given, axis=encoding.axis)
    return result if dtype == DType.FLOAT_32 else w.node("Cast", result, to=ENGINE_CODES[dtype])


def _scale_and_zero(w: Writer, encoding: Encoding, fixed: DType) -> tuple[str, str]:
    """The engine's zero point is minus the offset, and must fit the stored type."""
    limits = np.iinfo(fixed.numpy)
    zeros = -np.asarray(encoding.offsets, np.int64)
    if zeros.size and (zeros.min() < limits.min or zeros.max() > limits.max):
        raise NotOnEngine
    shape = () if encoding.axis is None else (len(encoding.scales),)
    scale = w.constant(np.asarray(encoding.scales, np.float32).reshape(shape))
    return scale, w.constant(zeros.astype(fixed.numpy).reshape(shape))
