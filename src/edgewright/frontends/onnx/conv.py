"""ONNX convolutions."""

from collections.abc import Sequence

from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.windows import window_pads
from edgewright.ops.conv import Conv2d

__all__: list[str] = []


@onnx_op("Conv")
def conv(ctx: Context, node: SourceNode) -> str:
    """Activation to channel last, filters OIHW to HWIO, and back."""
    x, filters = node.inputs[:2]
    size = [int(dim) for dim in ctx.shape(filters)[2:]]
    if len(size) != 2:
        raise ctx.refuse(node, f"{len(size)}-D")
    stride = node.attr("strides", [1] * len(size))
    dilation = node.attr("dilations", [1] * len(size))
    pads = window_pads(ctx, node, size, stride, dilation)
    op = Conv2d(stride=tuple(stride), pad_amount=pads, group=node.attr("group", 1), dilation=tuple(dilation))
    result = ctx.emit(op, ctx.channel_last(x), ctx.transpose(filters, (2, 3, 1, 0)), *_bias(node))
    return ctx.channel_first(result)


def _bias(node: SourceNode) -> Sequence[str]:
    return [node.input(2)] if node.input(2) else []
