"""Padding of ONNX's sliding windows, explicit or automatic."""

from collections.abc import Sequence

from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops.windows import Pairs

__all__ = ["window_pads"]


def window_pads(
    ctx: Context, node: SourceNode, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Pairs:
    """(before, after) for each spatial axis of the first input."""
    mode = node.attr("auto_pad", "NOTSET")
    if mode in {"NOTSET", ""}:
        pads = node.attr("pads", [0] * (2 * len(size)))
        return tuple(zip(pads[: len(size)], pads[len(size) :], strict=True))
    if mode == "VALID":
        return ((0, 0),) * len(size)
    pairs = []
    for axis, dim in enumerate(ctx.shape(node.inputs[0])[2:]):
        if not isinstance(dim, int):
            raise NeedsValue(node.inputs[0])
        total = max(
            0, (-(-dim // stride[axis]) - 1) * stride[axis] + (size[axis] - 1) * dilation[axis] + 1 - dim
        )
        small, large = total // 2, total - total // 2
        pairs.append((small, large) if mode == "SAME_UPPER" else (large, small))
    return tuple(pairs)
