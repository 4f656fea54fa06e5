"""ONNX's Einsum."""

from edgewright.frontends._common.einsum import emit_einsum
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode


@onnx_op("Einsum", since=12)
def einsum(ctx: Context, node: SourceNode) -> str:
    """The equation is an attribute."""
    return emit_einsum(ctx, str(node.need("equation")), node.inputs, node.where)
