"""Geometry of TFLite's sliding windows: strides, dilations and automatic padding."""

from collections.abc import Sequence

from edgewright.core.errors import BadInput
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ir.dims import Dim, ceil_div, maximum
from edgewright.ops.windows import Geometry, Pair, Pairs

SAME, VALID = 0, 1
AXES = {2: ("h", "w"), 3: ("d", "h", "w")}


def read_geometry(ctx: Context, node: SourceNode, x: str, size: Sequence[int]) -> Geometry:
    """Strides, dilations and padding of windows of the given size over a channel-last value."""
    stride, dilation = spread_of(node, len(size))
    spatial = ctx.shape(x)[1:-1]
    if len(spatial) != len(size) or min(size, default=0) < 1:
        raise BadInput(
            f"windows {list(size)} do not fit the {len(spatial)} spatial axes of {ctx.type(x)}",
            node.where,
            do="export the model again",
        )
    reach = [(n - 1) * step + 1 for n, step in zip(size, dilation, strict=True)]
    return Geometry(stride, list_paddings(node, spatial, reach, stride), dilation, 1)


def spread_of(node: SourceNode, axes: int) -> tuple[Pair, Pair]:
    """Strides and dilations; 1 where the op has no dilation."""
    options = node.operator.options
    stride = tuple(int(options[f"stride_{axis}"]) for axis in AXES[axes])
    dilation = tuple(int(options.get(f"dilation_{axis}_factor", 1)) for axis in AXES[axes])
    if min((*stride, *dilation)) < 1:
        raise BadInput(
            f"strides {list(stride)} and dilations {list(dilation)}, expected numbers of at least 1",
            node.where,
            do="export the model again",
        )
    return stride, dilation


def list_paddings(node: SourceNode, spatial: Sequence[Dim], reach: Sequence[int], stride: Pair) -> Pairs:
    """None, or what makes ceil(size / stride) windows, the larger half behind."""
    if node.option("padding") not in {SAME, VALID}:
        raise BadInput(f"padding {node.option('padding')} is not known, expected 0 or 1", node.where)
    if node.option("padding") == VALID:
        return ((0, 0),) * len(spatial)
    totals = [
        maximum(0, (ceil_div(size, step) - 1) * step + window - size)
        for size, window, step in zip(spatial, reach, stride, strict=True)
    ]
    return tuple((total // 2, total - total // 2) for total in totals)
