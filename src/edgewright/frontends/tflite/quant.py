"""TFLite ops between real numbers and integers; the importer itself decodes and encodes operands."""

import numpy as np

from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ir.encodings import Encoding
from edgewright.ops.quant import Dequantize, Quantize

FIXED = {8: DType.UFIXED_POINT_8, 16: DType.UFIXED_POINT_16}


@tflite_op("QUANTIZE")
def quantize(ctx: Context, node: SourceNode) -> str:
    """The result is encoded as its tensor says."""
    (x,) = node.need(0)
    if node.results[0].quantization is None:
        raise BadInput("the result has no scale", node.where, do="export the model again")
    return cast_to(ctx, x, DType.FLOAT_32)


@tflite_op("DEQUANTIZE")
def dequantize(ctx: Context, node: SourceNode) -> str:
    """Real numbers already; half-precision constants become float32 ones."""
    (x,) = node.need(0)
    if x in ctx.graph.constants and ctx.dtype(x) == DType.FLOAT_16:
        array = ctx.graph.constants[x].astype(np.float32)
        return ctx.graph.add_constant(ctx.graph.fresh_name(x), array, of=x)
    return cast_to(ctx, x, DType.FLOAT_32)


@tflite_op("DENSIFY", is_stored=True)
def densify(ctx: Context, node: SourceNode) -> str:
    """Sparse constants are read with their zeros written out."""
    del ctx
    return node.need(0)[0]


@tflite_op("FAKE_QUANT")
def fake_quant(ctx: Context, node: SourceNode) -> str:
    """Through an encoding of the range, moved so that zero is one of its numbers."""
    (x,) = node.need(0)
    low, high, bits = node.option("min"), node.option("max"), node.option("num_bits")
    if bits not in FIXED or not low < high or not np.isfinite([low, high]).all():
        raise ctx.refuse(node, f"range {low} to {high} in {bits} bits, expected 8 or 16 bits")
    lowest, highest = int(node.option("narrow_range")), (1 << bits) - 1
    scale = (high - low) / (highest - lowest)
    zero = min(max(round(lowest - low / scale), lowest), highest)
    encoding = Encoding((scale,), (-zero,), bitwidth=bits)
    return ctx.emit(
        Dequantize(encoding=encoding), ctx.emit(Quantize(dtype=FIXED[bits], encoding=encoding), x)
    )
