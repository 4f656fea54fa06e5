"""Encodings in the engine's terms: QuantizeLinear and DequantizeLinear."""

from typing import TYPE_CHECKING

import numpy as np

from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding

if TYPE_CHECKING:
    from edgewright.backends.cpu.writer import Writer

ENGINE_TYPES = frozenset(d for d in DType if d.is_fixed_point and d.bits <= 16)


def encode_value(w: "Writer", value: str, dtype: DType, fixed: DType, encoding: Encoding) -> str:
    """The integers that stand for a value, clamped where the encoding is narrower than its container."""
    if fixed not in ENGINE_TYPES:
        raise NotOnEngine
    value = value if dtype == DType.FLOAT_32 else w.node("Cast", value, to=w.code(DType.FLOAT_32))
    scale, zero = _scale_and_zero(w, encoding, fixed)
    result = w.node("QuantizeLinear", value, scale, zero, axis=encoding.axis)
    if encoding.bitwidth == fixed.numpy.itemsize * 8:
        return result
    low, high = (w.constant(np.asarray(limit, fixed.numpy)) for limit in encoding.limits(fixed))
    return w.node("Clip", result, low, high)


def decode_value(w: "Writer", value: str, fixed: DType, encoding: Encoding, dtype: DType) -> str:
    """The real numbers that stored integers stand for."""
    is_plain = fixed in ENGINE_TYPES or (fixed == DType.SFIXED_POINT_32 and not any(encoding.offsets))
    if not is_plain:
        raise NotOnEngine
    scale, zero = _scale_and_zero(w, encoding, fixed)
    given = [] if fixed == DType.SFIXED_POINT_32 else [zero]
    result = w.node("DequantizeLinear", value, scale, *given, axis=encoding.axis)
    return result if dtype == DType.FLOAT_32 else w.node("Cast", result, to=w.code(dtype))


def _scale_and_zero(w: "Writer", encoding: Encoding, fixed: DType) -> tuple[str, str]:
    """The engine's zero point is minus the offset, and must fit the stored type."""
    if encoding.block_axis is not None:
        raise NotOnEngine
    limits = np.iinfo(fixed.numpy)
    zeros = -np.asarray(encoding.offsets, np.int64)
    if zeros.size and (zeros.min() < limits.min or zeros.max() > limits.max):
        raise NotOnEngine
    shape = () if encoding.axis is None else (len(encoding.scales),)
    scale = w.constant(np.asarray(encoding.scales, np.float32).reshape(shape))
    return scale, w.constant(zeros.astype(fixed.numpy).reshape(shape))
