"""ONNX convolutions."""

from collections.abc import Sequence

from edgewright.core.errors import ShapeMismatch
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import MICROSOFT, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import emit_onnx_op
from edgewright.frontends.onnx.windows import add_height, drop_height, lift_geometry, make_geometry, read_ints
from edgewright.ops.conv import Conv2d, Conv3d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d, TransposeConv3d
from edgewright.ops.windows import Geometry, Pair

# Attribute names that a fused activation's parameters stand for, in order.
ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "LeakyRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
}


@onnx_op("Conv")
def conv(ctx: Context, node: SourceNode) -> str:
    """Activation to channel last, filters OIHW to HWIO, and back."""
    size = filter_size(ctx, node)
    geometry = make_geometry(ctx, node, size)
    bias = [node.input(2)] if node.input(2) else []
    return emit_conv(ctx, node.inputs[0], node.inputs[1], bias, geometry)


@onnx_op("FusedConv", domain=MICROSOFT)
def fused_conv(ctx: Context, node: SourceNode) -> str:
    """A convolution, a sum where a fourth input is given, and an activation."""
    result = conv(ctx, node)
    assert isinstance(result, str)
    if node.input(3):
        result = emit_onnx_op(ctx, "Add", result, node.input(3))
    activation = node.attr("activation", "")
    if not activation:
        return result
    params = node.attr("activation_params", [])
    if activation == "Clip" and len(params) == 2:
        bounds = [ctx.add_scalar(number, result) for number in params]
        return emit_onnx_op(ctx, "Min", emit_onnx_op(ctx, "Max", result, bounds[0]), bounds[1])
    if activation not in ACTIVATIONS:
        raise ctx.refuse(node, f"activation '{activation}' is none of {[*ACTIVATIONS, 'Clip']}")
    attributes = dict(zip(ACTIVATIONS[activation], params, strict=False))
    return emit_onnx_op(ctx, activation, result, **attributes)


@onnx_op("ConvTranspose")
def conv_transpose(ctx: Context, node: SourceNode) -> str:
    """Activation to channel last, filters IOHW to HWIO, and back."""
    size = filter_size(ctx, node)
    geometry, extra = _read_transposed_geometry(ctx, node, size)
    x, filters, rank = node.inputs[0], node.inputs[1], ctx.rank(node.inputs[0])
    bias = [node.input(2)] if node.input(2) else []
    if rank == 5 or set(geometry.dilation) == {1}:
        result = _emit_transposed(ctx, add_height(ctx, x), add_height(ctx, filters), bias, geometry, extra)
        return drop_height(ctx, result, rank)
    # QNN dilates transposed convolutions in three dimensions only.
    data, kernel = _add_depth(ctx, add_height(ctx, x)), _add_depth(ctx, add_height(ctx, filters))
    result = _emit_transposed(ctx, data, kernel, bias, geometry, extra)
    shape = ctx.shape(result)
    return ctx.reshape(result, (*shape[:2], *shape[5 - (rank - 2) :]))


def emit_conv(ctx: Context, x: str, filters: str, bias: Sequence[str], geometry: Geometry) -> str:
    """A convolution of channel-first values: 1-D becomes 2-D of height 1, one channel a group depthwise."""
    rank = ctx.rank(x)
    data, kernel, flat = add_height(ctx, x), add_height(ctx, filters), lift_geometry(geometry)
    order = (*range(2, ctx.rank(kernel)), 1, 0)
    op: Conv2d | Conv3d | DepthWiseConv2d
    if rank == 5:
        op = Conv3d(stride=flat.stride, pad_amount=flat.pads, group=flat.group, dilation=flat.dilation)
    elif ctx.shape(x)[1] == flat.group > 1 and ctx.shape(filters)[1] == 1:
        op = DepthWiseConv2d(stride=flat.stride, pad_amount=flat.pads, dilation=flat.dilation)
    else:
        op = Conv2d(stride=flat.stride, pad_amount=flat.pads, group=flat.group, dilation=flat.dilation)
    result = ctx.emit(op, ctx.move_channels_last(data), ctx.transpose(kernel, order), *bias)
    return drop_height(ctx, ctx.move_channels_first(result), rank)


def filter_size(ctx: Context, node: SourceNode) -> Pair:
    """Spatial sizes of the filters in the second input; they must be numbers."""
    x, filters = node.inputs[:2]
    if ctx.rank(x) != ctx.rank(filters):
        raise ShapeMismatch(
            f"activation {ctx.type(x)} and filters {ctx.type(filters)} differ in rank",
            node.where,
            do="make the ranks equal",
        )
    if ctx.rank(x) not in {3, 4, 5}:
        raise ctx.refuse(node, f"{ctx.rank(x) - 2} spatial axes, expected 1 to 3")
    if not ctx.type(filters).is_static:
        raise NeedsValue(filters)
    size = ctx.type(filters).static_shape()[2:]
    stated = read_ints(node, "kernel_shape", size)
    if stated != size:
        raise ShapeMismatch(
            f"kernel_shape {list(stated)} differs from the filters' {list(size)}",
            node.where,
            do="export the model again",
        )
    return size


def _read_transposed_geometry(ctx: Context, node: SourceNode, size: Pair) -> tuple[Geometry, Pair]:
    """Padding from the attributes, or what is left over for an output of the wanted size."""
    axes = len(size)
    geometry = make_geometry(ctx, node, size)
    extra = read_ints(node, "output_padding", [0] * axes)
    mode = node.attr("auto_pad", "NOTSET")
    wanted = read_ints(node, "output_shape", ())
    if len(extra) != axes or (wanted and len(wanted) < axes):
        raise ShapeMismatch(
            f"output_padding {list(extra)} and output_shape {list(wanted)} do not fit {axes} spatial axes",
            node.where,
            do="give one number for each spatial axis",
        )
    if not wanted and mode not in {"SAME_UPPER", "SAME_LOWER"}:
        return geometry, extra
    totals = [
        _measure_left_over(ctx, node, geometry, size, axis, wanted) + extra[axis] for axis in range(axes)
    ]
    # What is missing is made up behind the data.
    grown = tuple(extra[axis] + max(0, -total) for axis, total in enumerate(totals))
    halves = [(max(0, total) // 2, max(0, total) - max(0, total) // 2) for total in totals]
    pads = tuple(halves if mode == "SAME_UPPER" else [(large, small) for small, large in halves])
    return Geometry(geometry.stride, pads, geometry.dilation, geometry.group), grown


def _measure_left_over(
    ctx: Context, node: SourceNode, geometry: Geometry, size: Pair, axis: int, wanted: Pair
) -> int:
    reach = (size[axis] - 1) * geometry.dilation[axis] + 1
    if not wanted:
        return reach - geometry.stride[axis]
    length = ctx.shape(node.inputs[0])[axis + 2]
    if not isinstance(length, int):
        raise NeedsValue(node.inputs[0])
    return geometry.stride[axis] * (length - 1) + reach - wanted[axis - len(size)]


def _emit_transposed(
    ctx: Context, x: str, filters: str, bias: Sequence[str], geometry: Geometry, extra: Pair
) -> str:
    axes, rank = len(geometry.stride), ctx.rank(x)
    ahead = rank - 2 - axes
    stride, pads = (1,) * ahead + geometry.stride, ((0, 0),) * ahead + geometry.pads
    padding, group = (0,) * ahead + extra, geometry.group
    op: TransposeConv2d | TransposeConv3d
    if rank == 4:
        op = TransposeConv2d(stride=stride, pad_amount=pads, group=group, output_padding=padding)
    else:
        dilation = (1,) * ahead + geometry.dilation
        op = TransposeConv3d(
            stride=stride, pad_amount=pads, dilation=dilation, group=group, output_padding=padding
        )
    order = (*range(2, rank), 0, 1)
    return ctx.move_channels_first(
        ctx.emit(op, ctx.move_channels_last(x), ctx.transpose(filters, order), *bias)
    )


def _add_depth(ctx: Context, value: str) -> str:
    shape = ctx.shape(value)
    return ctx.reshape(value, (*shape[:2], 1, *shape[2:]))
