"""ONNX pooling."""

from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.windows import window_pads
from edgewright.ops.pool import PoolMax2d, Rounding

__all__: list[str] = []


@onnx_op("MaxPool")
def max_pool(ctx: Context, node: SourceNode) -> str:
    """Channel last and back."""
    size = node.need("kernel_shape")
    stride = node.attr("strides", [1] * len(size))
    dilation = node.attr("dilations", [1] * len(size))
    if len(size) != 2 or set(dilation) != {1} or len(node.outputs) > 1:
        raise ctx.refuse(node, "only 2-D, undilated, without indices")
    op = PoolMax2d(
        filter_size=tuple(size),
        stride=tuple(stride),
        pad_amount=window_pads(ctx, node, size, stride, dilation),
        rounding_mode=Rounding(node.attr("ceil_mode", 0)),
    )
    return ctx.channel_first(ctx.emit(op, ctx.channel_last(node.inputs[0])))
