"""Quantisation for the engine."""

from dataclasses import replace

from edgewright.backends.cpu.linear import decode_value, encode_value
from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.writer import ENGINE_CODES, Writer
from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ops.quant import Convert, Dequantize, Quantize


@lowers(Quantize)
def quantize(w: Writer, op: Quantize, inputs: list[str], node: Node) -> str:
    """QuantizeLinear, clamped where the encoding is narrower than its container."""
    return encode_value(w, inputs[0], w.type(node.inputs[0]).dtype, op.dtype, op.encoding)


@lowers(Dequantize)
def dequantize(w: Writer, op: Dequantize, inputs: list[str], node: Node) -> str:
    """DequantizeLinear; of a constant, what reads it transposed gets transposed integers."""
    real = w.decoded(inputs[0], replace(w.type(node.inputs[0]), encoding=op.encoding))
    return real if op.dtype == DType.FLOAT_32 else w.node("Cast", real, to=w.code(op.dtype))


@lowers(Convert)
def convert(w: Writer, op: Convert, inputs: list[str], node: Node) -> str:
    """Decoded and encoded again."""
    dtype, value = w.type(node.inputs[0]).dtype, inputs[0]
    if op.source is not None:
        value, dtype = decode_value(w, value, dtype, op.source, DType.FLOAT_32), DType.FLOAT_32
    if op.encoding is None:
        return w.node("Cast", value, to=ENGINE_CODES[op.dtype])
    return encode_value(w, value, dtype, op.dtype, op.encoding)
