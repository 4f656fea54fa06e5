"""Convolutions for the engine."""

from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.windows import flatten_pads, write_padding
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.graph import Node
from edgewright.ops.conv import Conv1d, Conv2d, Conv3d, Convolution, DepthWiseConv1d, DepthWiseConv2d
from edgewright.ops.conv_transpose import (
    TransposeConv1d,
    TransposeConv2d,
    TransposeConv3d,
    TransposedConvolution,
)
from edgewright.ops.windows import fixed_dims


@lowers(Conv1d, Conv2d, Conv3d, DepthWiseConv1d, DepthWiseConv2d)
def convolution(w: Writer, op: Convolution, inputs: list[str], node: Node) -> str:
    """Channel first, filters OIHW, and back."""
    x = w.type(node.inputs[0])
    rank, geometry = x.rank, op.geometry(x.shape[-1])
    filters = w.transpose(inputs[1], (rank - 1, rank - 2, *range(rank - 2)))
    size = fixed_dims(w.type(node.inputs[1]).shape[: rank - 2], "filters")
    data, padding = write_padding(w, w.channel_first(inputs[0], rank), x, geometry, size, 0)
    result = w.node(
        "Conv",
        data,
        filters,
        *inputs[2:],
        strides=list(geometry.stride),
        dilations=list(geometry.dilation),
        group=geometry.group,
        **padding,
    )
    return w.channel_last(result, rank)


@lowers(TransposeConv1d, TransposeConv2d, TransposeConv3d)
def transposed(w: Writer, op: TransposedConvolution, inputs: list[str], node: Node) -> str:
    """Channel first, filters IOHW, and back."""
    rank = w.type(node.inputs[0]).rank
    geometry, extra = op.geometry()
    result = w.node(
        "ConvTranspose",
        w.channel_first(inputs[0], rank),
        w.transpose(inputs[1], (rank - 2, rank - 1, *range(rank - 2))),
        *inputs[2:],
        strides=list(geometry.stride),
        pads=flatten_pads(geometry.pads),
        dilations=list(geometry.dilation),
        group=geometry.group,
        output_padding=list(extra),
    )
    return w.channel_last(result, rank)
