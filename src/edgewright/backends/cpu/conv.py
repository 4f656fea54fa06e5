"""Convolutions for the engine."""

from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.graph import Node
from edgewright.ops.conv import Conv2d, Convolution

__all__: list[str] = []


@lowers(Conv2d)
def convolution(w: Writer, op: Convolution, inputs: list[str], node: Node) -> str:
    """Channel first, filters OIHW, and back."""
    rank = w.type(node.outputs[0]).rank
    stride, pads, dilation, group = op.geometry()
    filters = w.transpose(inputs[1], (rank - 1, rank - 2, *range(rank - 2)))
    result = w.node(
        "Conv",
        w.channel_first(inputs[0], rank),
        filters,
        *inputs[2:],
        strides=list(stride),
        pads=[before for before, _ in pads] + [after for _, after in pads],
        dilations=list(dilation),
        group=group,
    )
    return w.channel_last(result, rank)
