"""TFLite convolutions."""

from collections.abc import Sequence

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.frontends.tflite.windows import SAME, read_geometry, spread_of
from edgewright.ops.conv import Conv2d, Conv3d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d, TransposeConv3d
from edgewright.ops.windows import Pair, Pairs


@tflite_op("CONV_2D")
def conv_2d(ctx: Context, node: SourceNode) -> str:
    """Filters OHWI to HWIO; fewer input channels than the activation has are a group's."""
    x, filters = node.need(0, 1)
    size = _filter_size(ctx, node, x, filters, slice(1, 3))
    group = _count_groups(ctx, node, x, filters)
    found = read_geometry(ctx, node, x, size)
    op = Conv2d(stride=found.stride, pad_amount=found.pads, group=group, dilation=found.dilation)
    return ctx.activated(node, ctx.emit(op, x, ctx.turned(filters, (1, 2, 3, 0)), *_list_bias(node, 2)))


@tflite_op("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(ctx: Context, node: SourceNode) -> str:
    """Filters 1HWO to HW1O."""
    x, filters = node.need(0, 1)
    size = _filter_size(ctx, node, x, filters, slice(1, 3))
    found = read_geometry(ctx, node, x, size)
    op = DepthWiseConv2d(stride=found.stride, pad_amount=found.pads, dilation=found.dilation)
    return ctx.activated(node, ctx.emit(op, x, ctx.turned(filters, (1, 2, 0, 3)), *_list_bias(node, 2)))


@tflite_op("CONV_3D")
def conv_3d(ctx: Context, node: SourceNode) -> str:
    """Filters are DHWIO as QNN has them."""
    x, filters = node.need(0, 1)
    size = _filter_size(ctx, node, x, filters, slice(0, 3))
    found = read_geometry(ctx, node, x, size)
    op = Conv3d(stride=found.stride, pad_amount=found.pads, dilation=found.dilation)
    return ctx.activated(node, ctx.emit(op, x, filters, *_list_bias(node, 2)))


@tflite_op("TRANSPOSE_CONV")
def transpose_conv(ctx: Context, node: SourceNode) -> str:
    """Filters OHWI to HWIO; the wanted size decides the padding."""
    wanted, filters, x = node.need(0, 1, 2)
    size = _filter_size(ctx, node, x, filters, slice(1, 3))
    stride, _ = spread_of(node, 2)
    pads, extra = _measure_cropping(ctx, node, x, wanted, size, stride)
    op = TransposeConv2d(stride=stride, pad_amount=pads, output_padding=extra)
    return ctx.activated(node, ctx.emit(op, x, ctx.turned(filters, (1, 2, 3, 0)), *_list_bias(node, 3)))


@tflite_op("CONV_3D_TRANSPOSE")
def conv_3d_transpose(ctx: Context, node: SourceNode) -> str:
    """Filters DHWOI to DHWIO; the wanted size decides the padding."""
    wanted, filters, x = node.need(0, 1, 2)
    size = _filter_size(ctx, node, x, filters, slice(0, 3))
    stride, dilation = spread_of(node, 3)
    reach = tuple((n - 1) * step + 1 for n, step in zip(size, dilation, strict=True))
    pads, extra = _measure_cropping(ctx, node, x, wanted, reach, stride)
    op = TransposeConv3d(stride=stride, pad_amount=pads, dilation=dilation, output_padding=extra)
    return ctx.activated(node, ctx.emit(op, x, ctx.turned(filters, (0, 1, 2, 4, 3)), *_list_bias(node, 3)))


def _filter_size(ctx: Context, node: SourceNode, x: str, filters: str, spatial: slice) -> Pair:
    axes = spatial.stop - spatial.start
    if ctx.rank(x) != axes + 2 or ctx.rank(filters) != axes + 2:
        raise ShapeMismatch(
            f"activation {ctx.type(x)} and filters {ctx.type(filters)}, expected rank {axes + 2} of both",
            node.where,
            do="export the model again",
        )
    return ctx.sizes(filters)[spatial]


def _count_groups(ctx: Context, node: SourceNode, x: str, filters: str) -> int:
    channels, own = ctx.shape(x)[-1], ctx.shape(filters)[-1]
    if not isinstance(channels, int) or not isinstance(own, int):
        raise NeedsValue(x, is_shape=True)
    if own < 1 or channels < 1 or channels % own:
        raise ShapeMismatch(
            f"filters of {own} channels do not fit the {channels} of {ctx.type(x)}",
            node.where,
            do="export the model again",
        )
    return channels // own


def _list_bias(node: SourceNode, place: int) -> list[str]:
    return [node.input(place)] if node.input(place) else []


def _measure_cropping(
    ctx: Context, node: SourceNode, x: str, wanted: str, reach: Sequence[int], stride: Pair
) -> tuple[Pairs, Pair]:
    """What is cut off each side so that the result has the wanted size; what is missing comes behind it."""
    target = ctx.read_ints(wanted)
    spatial = ctx.sizes(x)[1:-1]
    if len(target) != len(spatial) + 2:
        raise BadInput(
            f"the wanted shape is {list(target)}, expected {len(spatial) + 2} sizes",
            node.where,
            do="export the model again",
        )
    pads, extra = [], []
    for size, window, step, goal in zip(spatial, reach, stride, target[1:-1], strict=True):
        whole = (size - 1) * step + window
        before = max(0, whole - goal) // 2 if node.option("padding") == SAME else 0
        after = whole - goal - before
        pads.append((before, max(0, after)))
        extra.append(max(0, -after))
    return tuple(pads), tuple(extra)
