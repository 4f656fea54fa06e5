"""ONNX DeformConv and Col2Im: windows whose elements are sampled, and windows added back."""

from itertools import product
from math import prod

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, ShapeMismatch
from edgewright.core.numbers import Array
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.conv import emit_conv, filter_size
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.resize_sample import emit_grid_sample, make_pixel_grid
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import take_along
from edgewright.frontends.onnx.windows import make_geometry, read_int, read_ints
from edgewright.ops.conv_patches import Col2Im
from edgewright.ops.conv_transpose import TransposeConv3d
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.ops.resize_sample import GridSample
from edgewright.ops.windows import Geometry, Pair, output_size

LARGEST_FILTER = 1 << 26


@onnx_op("DeformConv", since=19)
def deform_conv(ctx: Context, node: SourceNode) -> str:
    """Every tap sampled at its moved place, times the mask, then a convolution over taps and channels."""
    x, filters, offsets = node.inputs[:3]
    size = filter_size(ctx, node)
    if len(size) != 2:
        raise ctx.refuse(node, f"{len(size)} spatial axes, expected 2")
    if not all(ctx.type(value).is_static for value in (x, offsets)):
        raise NeedsValue(x)
    shape, geometry = ctx.type(x).static_shape(), make_geometry(ctx, node, size)
    groups, taps = read_int(node, "offset_group", 1), prod(size)
    counts = _count_positions(shape, size, geometry)
    if groups < 1 or shape[1] % groups or ctx.shape(offsets) != (shape[0], 2 * groups * taps, *counts):
        raise ShapeMismatch(
            f"offsets {ctx.type(offsets)} in {groups} group(s) do not fit {ctx.type(x)}",
            node.where,
            do=f"give offsets [{shape[0]},{2 * groups * taps},{counts[0]},{counts[1]}]",
        )
    batch, channels = shape[0] * groups, shape[1] // groups
    images = ctx.reshape(x, (batch, channels, *shape[2:]))
    moved = ctx.transpose(ctx.reshape(offsets, (batch, taps, 2, *counts)), (0, 1, 3, 4, 2))
    places = ctx.emit(
        ElementWiseAdd(),
        take_along(ctx, moved, (1, 0), 4),
        ctx.add_constant(_list_tap_places(ctx, x, size, geometry)),
    )
    grid = ctx.reshape(
        make_pixel_grid(ctx, places, shape[3], shape[2]), (batch, taps * counts[0], counts[1], 2)
    )
    seen = emit_grid_sample(ctx, images, grid, GridSample())
    if node.input(4):
        mask = ctx.reshape(node.input(4), (batch, 1, taps * counts[0], counts[1]))
        seen = ctx.emit(ElementWiseMultiply(), seen, mask)
    columns = ctx.reshape(seen, (shape[0], shape[1] * taps, *counts))
    kernel_shape = ctx.type(filters).static_shape()
    kernel = ctx.reshape(filters, (kernel_shape[0], kernel_shape[1] * taps, 1, 1))
    bias = [node.input(3)] if node.input(3) else []
    whole = Geometry((1, 1), ((0, 0), (0, 0)), (1, 1), geometry.group)
    return emit_conv(ctx, columns, kernel, bias, whole)


@onnx_op("Col2Im", since=18)
def col2im(ctx: Context, node: SourceNode) -> str:
    """QNN's in two dimensions; in one or three a transposed convolution that puts every tap in its place."""
    x, size, block = node.inputs[0], ctx.read_dims(node.inputs[1]), ctx.read_ints(node.inputs[2])
    axes = len(size)
    ones = [1] * axes
    stride, dilation = read_ints(node, "strides", ones), read_ints(node, "dilations", ones)
    pads = read_ints(node, "pads", [0] * (2 * axes))
    if axes not in {1, 2, 3}:
        raise ctx.refuse(node, f"{axes} axes, expected 1 to 3")
    if (
        not len(block) == len(stride) == len(dilation) == axes
        or len(pads) != 2 * axes
        or min(pads) < 0
        or min(*block, *stride, *dilation) < 1
    ):
        raise BadInput(
            f"block {list(block)}, strides {list(stride)}, dilations {list(dilation)} and pads {list(pads)} "
            f"do not fit an image of {axes} axes",
            node.where,
            do="give one number of at least 1 for each axis, and two pads of at least 0",
        )
    pairs = tuple(zip(pads[:axes], pads[axes:], strict=True))
    if axes == 2:
        op = Col2Im(kernel_size=block, stride=stride, pad_amount=pairs, dilation=dilation, size=size)
        return ctx.move_channels_first(ctx.emit(op, x))
    if ctx.rank(x) != 3:
        raise ShapeMismatch(
            f"columns are {ctx.type(x)}, expected [batch, channels times taps, windows]", node.where
        )
    if not ctx.type(x).is_static:
        raise NeedsValue(x)
    return _fold_taps(ctx, node, Geometry(stride, pairs, dilation), block, tuple(int(dim) for dim in size))


def _count_positions(shape: Pair, size: Pair, geometry: Geometry) -> tuple[int, int]:
    height, width = (
        int(
            output_size(
                shape[axis + 2],
                (size[axis] - 1) * geometry.dilation[axis] + 1,
                geometry.stride[axis],
                geometry.pads[axis],
            )
        )
        for axis in range(2)
    )
    return height, width


def _list_tap_places(ctx: Context, x: str, size: Pair, geometry: Geometry) -> Array:
    """The places (x, y) that taps see before they are moved: [1, taps, rows, columns, 2]."""
    counts = _count_positions(ctx.type(x).static_shape(), size, geometry)
    rows, columns = (
        np.arange(count) * geometry.stride[axis] - int(geometry.pads[axis][0])
        for axis, count in enumerate(counts)
    )
    table = np.zeros((1, prod(size), *counts, 2))
    for index, (down, across) in enumerate(product(range(size[0]), range(size[1]))):
        table[0, index, :, :, 0] = columns[None, :] + across * geometry.dilation[1]
        table[0, index, :, :, 1] = rows[:, None] + down * geometry.dilation[0]
    return table.astype(ctx.dtype(x).numpy)


def _fold_taps(ctx: Context, node: SourceNode, geometry: Geometry, block: Pair, size: Pair) -> str:
    n, rows, windows = ctx.type(node.inputs[0]).static_shape()
    taps, ahead = prod(block), 3 - len(block)
    reach = [(count - 1) * step + 1 for count, step in zip(block, geometry.dilation, strict=True)]
    counts = [
        int(output_size(size[axis], reach[axis], geometry.stride[axis], geometry.pads[axis]))
        for axis in range(len(size))
    ]
    if min(block) < 1 or rows % taps or prod(counts) != windows:
        raise ShapeMismatch(
            f"columns {ctx.type(node.inputs[0])} do not fold into {list(size)} by windows of {list(block)}",
            node.where,
            do=f"give a multiple of {taps} rows and {prod(counts)} columns",
        )
    if taps * rows > LARGEST_FILTER:
        raise LimitExceeded(f"windows of {list(block)} are too large", node.where, do="lower them")
    filters = np.tile(np.eye(taps), (1, rows // taps)).reshape(*(1,) * ahead, *block, rows, 1)
    # What the windows do not reach behind the last of them stays zero.
    rest = tuple(
        size[axis]
        + sum(int(side) for side in geometry.pads[axis])
        - (counts[axis] - 1) * geometry.stride[axis]
        - reach[axis]
        for axis in range(len(size))
    )
    op = TransposeConv3d(
        stride=(1,) * ahead + geometry.stride,
        pad_amount=((0, 0),) * ahead + geometry.pads,
        dilation=(1,) * ahead + geometry.dilation,
        group=rows // taps,
        output_padding=(0,) * ahead + rest,
    )
    data = ctx.move_channels_last(ctx.reshape(node.inputs[0], (n, rows, *(1,) * ahead, *counts)))
    result = ctx.emit(op, data, ctx.add_constant(filters.astype(ctx.dtype(node.inputs[0]).numpy)))
    return ctx.reshape(ctx.move_channels_first(result), (n, rows // taps, *size))
