"""TensorFlow's convolutions: filters lie as QNN has them, depthwise ones but for one axis."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.frontends.tensorflow.windows import read_geometry, read_spatial
from edgewright.ir.dims import Dim
from edgewright.ops.conv import Conv2d, Conv3d, DepthWiseConv2d
from edgewright.ops.conv_patches import ExtractPatches, PatchPadding
from edgewright.ops.conv_transpose import TransposeConv2d, TransposeConv3d
from edgewright.ops.windows import Geometry, Pair


@tf_op("Conv2D", "Conv3D")
def convolution(ctx: Context, node: SourceNode) -> str:
    """Filters with fewer channels than the data make groups."""
    x, filters = node.need(0, 1)
    axes = 3 if node.op == "Conv3D" else 2

    def convolved(data: str) -> str:
        shape, weights = ctx.shape(data), _filter_shape(ctx, filters, axes)
        found = read_geometry(node, shape[1:-1], weights[:axes], _count_groups(shape[-1], weights[-2]))
        is_depthwise = axes == 2 and weights[-2] == 1 and found.group > 1
        return ctx.emit(_make_depthwise(found) if is_depthwise else _forward(found), data, filters)

    return ctx.around(node, x, convolved)


@tf_op("DepthwiseConv2dNative")
def depthwise(ctx: Context, node: SourceNode) -> str:
    """Filters [H, W, C, M] become [H, W, 1, C * M]."""
    x, filters = node.need(0, 1)
    weights = _filter_shape(ctx, filters, 2)
    kernel = ctx.reshape(filters, (*weights[:2], 1, weights[2] * weights[3]))

    def convolved(data: str) -> str:
        found = read_geometry(node, ctx.shape(data)[1:-1], weights[:2])
        return ctx.emit(_make_depthwise(found), data, kernel)

    return ctx.around(node, x, convolved)


@tf_op("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def transposed(ctx: Context, node: SourceNode) -> str:
    """Filters [spatial, out, in] turned; what the forward convolution pads is cut off."""
    sizes, filters, x = node.need(0, 1, 2)
    axes = 3 if node.op.startswith("Conv3D") else 2
    wanted = ctx.read_dims(sizes)
    inner = wanted[2:] if node.is_channel_first else wanted[1:-1]
    # TensorFlow also takes the spatial sizes alone.
    inner = wanted if len(wanted) == axes else inner
    weights = _filter_shape(ctx, filters, axes)
    dilation = read_spatial(node, "dilations", axes)
    kernel = _dilate_filters(ctx, filters, dilation)
    turned = ctx.transpose(kernel, (*range(axes), axes + 1, axes))
    reach = tuple((size - 1) * rate + 1 for size, rate in zip(weights[:axes], dilation, strict=True))

    def spread(data: str) -> str:
        found = read_geometry(node, inner, weights[:axes])
        output = _Output(reach, found, ctx.shape(data)[1:-1], inner)
        return ctx.emit(output.op(_count_groups(ctx.shape(data)[-1], weights[-1])), data, turned)

    return ctx.around(node, x, spread)


@tf_op("ExtractImagePatches")
def extract_patches(ctx: Context, node: SourceNode) -> str:
    """Windows of the data, one behind the other along the channels."""
    modes = {"SAME": PatchPadding.SAME, "VALID": PatchPadding.VALID}
    op = ExtractPatches(
        size=read_spatial(node, "ksizes", 2),
        stride=read_spatial(node, "strides", 2),
        rate=read_spatial(node, "rates", 2),
        padding=modes[node.choice("padding", "VALID", tuple(modes))],
    )
    return ctx.emit(op, *node.need(0))


@dataclass(frozen=True)
class _Output:
    """What a transposed convolution makes of each axis."""

    reach: Pair
    forward: Geometry
    sizes: tuple[Dim, ...]
    wanted: tuple[Dim, ...]

    def op(self, group: int) -> TransposeConv2d | TransposeConv3d:
        """The op that makes the wanted sizes."""
        axes = range(len(self.reach))
        if not len(self.sizes) == len(self.wanted) == len(self.reach):
            raise ShapeMismatch(
                f"sizes {list(self.sizes)} are to become {list(self.wanted)}, "
                f"expected {len(self.reach)} of both"
            )
        before = [self._measure_before(axis) for axis in axes]
        left = [self._measure_left_over(axis) - before[axis] for axis in axes]
        pads = tuple((before[axis], max(left[axis], 0)) for axis in axes)
        extra = tuple(max(-left[axis], 0) for axis in axes)
        kind: Callable[..., TransposeConv2d | TransposeConv3d]
        kind = TransposeConv2d if len(axes) == 2 else TransposeConv3d
        return kind(stride=self.forward.stride, pad_amount=pads, group=group, output_padding=extra)

    def _measure_before(self, axis: int) -> int:
        amount = self.forward.pads[axis][0]
        if not isinstance(amount, int):
            raise ShapeMismatch(
                f"padding of axis {axis} is {amount}, expected a number",
                do=f"fix the input's shape with {spell_option('input_shapes')}",
            )
        return amount

    def _measure_left_over(self, axis: int) -> int:
        """What is too much along an axis, on both sides together."""
        full = (self.sizes[axis] - 1) * self.forward.stride[axis] + self.reach[axis]
        left = full - self.wanted[axis]
        if not isinstance(left, int):
            raise ShapeMismatch(
                f"axis {axis} of size {self.sizes[axis]} is to become {self.wanted[axis]}, expected numbers",
                do=f"fix the input's shape with {spell_option('input_shapes')}",
            )
        return left


def _forward(found: Geometry) -> Conv2d | Conv3d:
    kind: Callable[..., Conv2d | Conv3d] = Conv2d if len(found.stride) == 2 else Conv3d
    return kind(stride=found.stride, pad_amount=found.pads, group=found.group, dilation=found.dilation)


def _make_depthwise(found: Geometry) -> DepthWiseConv2d:
    return DepthWiseConv2d(stride=found.stride, pad_amount=found.pads, dilation=found.dilation)


def _filter_shape(ctx: Context, filters: str, axes: int) -> tuple[int, ...]:
    if ctx.rank(filters) != axes + 2:
        raise ShapeMismatch(
            f"filters are {ctx.type(filters)}, expected rank {axes + 2}", do="export the model again"
        )
    if not ctx.type(filters).is_static:
        raise NeedsValue(filters, is_shape=True)
    return ctx.type(filters).static_shape()


def _count_groups(channels: Dim, inner: int) -> int:
    if not isinstance(channels, int) or not inner:
        return 1
    return max(channels // inner, 1)


def _dilate_filters(ctx: Context, filters: str, dilation: Pair) -> str:
    """Filters with zeros between their taps: QNN does not dilate transposed convolutions."""
    if set(dilation) == {1}:
        return filters
    array = ctx.read_array(filters)
    sizes = [(size - 1) * rate + 1 for size, rate in zip(array.shape, dilation, strict=False)]
    spread: Array = np.zeros((*sizes, *array.shape[len(sizes) :]), array.dtype)
    spread[tuple(slice(None, None, rate) for rate in dilation)] = array
    return ctx.add_constant(spread)
