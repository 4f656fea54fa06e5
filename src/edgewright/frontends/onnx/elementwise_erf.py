"""ONNX's error function."""

from edgewright.frontends._common.functions import emit_error_function
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode


@onnx_op("Erf")
def erf(ctx: Context, node: SourceNode) -> str:
    """Of real numbers."""
    x = node.inputs[0]
    if not ctx.dtype(x).is_float:
        raise ctx.refuse(node, f"its operand is {ctx.dtype(x).name}, expected a floating-point type")
    return emit_error_function(ctx, x)
