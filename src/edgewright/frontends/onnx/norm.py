"""ONNX normalisations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import emit_onnx_op, emit_reduction
from edgewright.ir.dims import element_count
from edgewright.ops.axes import normal_axes, normal_axis
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.norm import AxesNorm, Batchnorm, L2Norm, LayerNorm, RmsNorm
from edgewright.ops.norm_channel import GroupNorm, InstanceNorm, Lrn

LARGEST_WINDOW = 1 << 16


@onnx_op("BatchNormalization", since=7)
def batch_normalization(ctx: Context, node: SourceNode) -> str | Sequence[str]:
    """Statistics folded into one scale and one bias a channel."""
    if not node.attr("spatial", 1):
        raise ctx.refuse(
            node, "statistics of every element ('spatial' is 0)", do="export with opset 9 or later"
        )
    if node.attr("training_mode", 0):
        return _normalize_by_batch(ctx, node)
    if any(node.outputs[1:]):
        raise ctx.refuse(node, "running statistics are wanted outside of training")
    return _normalize_batch(ctx, node, *node.inputs[3:5])


@onnx_op("BatchNormalization")
def early_batch_normalization(ctx: Context, node: SourceNode) -> str | Sequence[str]:
    """The first forms say by an attribute whether they train."""
    if not node.attr("is_test", 0):
        raise ctx.refuse(node, "it trains ('is_test' is 0)", do="export the model for inference")
    return batch_normalization(ctx, node)


@onnx_op("InstanceNormalization", since=6)
def instance_normalization(ctx: Context, node: SourceNode) -> str:
    """Channel last and back."""
    op = InstanceNorm(epsilon=node.attr("epsilon", 1e-5))
    x, gamma, beta = node.inputs
    return ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(x), gamma, beta))


@onnx_op("GroupNormalization", since=18)
def group_normalization_18(ctx: Context, node: SourceNode) -> str:
    """Weights of a group spread over its channels."""
    channels, groups = _count_channels(ctx, node), node.need("num_groups")
    if groups < 1 or channels % groups:
        raise ShapeMismatch(f"{channels} channels do not fall into {groups} groups", node.where)
    ones = ctx.add_constant(np.ones((groups, channels // groups), ctx.dtype(node.inputs[1]).numpy))
    weights = [
        ctx.reshape(ctx.emit(ElementWiseMultiply(), ctx.reshape(w, (groups, 1)), ones), (channels,))
        for w in node.inputs[1:]
    ]
    return _group_norm(ctx, node, *weights)


@onnx_op("GroupNormalization", since=21)
def group_normalization(ctx: Context, node: SourceNode) -> str:
    """Channel last and back."""
    return _group_norm(ctx, node, *node.inputs[1:])


@onnx_op("LayerNormalization", since=17)
def layer_normalization(ctx: Context, node: SourceNode) -> list[str]:
    """Over all axes from one on; the statistics only where they are wanted."""
    x = node.inputs[0]
    axis = normal_axis(node.attr("axis", -1), ctx.rank(x))
    op = LayerNorm(axes=tuple(range(axis, ctx.rank(x))), epsilon=node.attr("epsilon", 1e-5))
    result = emit_axes_norm(ctx, op, x, node.input(1), node.input(2))
    return [result, *(_emit_statistics(ctx, node, op) if any(node.outputs[1:]) else ())]


@onnx_op("RMSNormalization", since=23)
def rms_normalization(ctx: Context, node: SourceNode) -> str:
    """Over all axes from one on; the result has the datatype of the scale."""
    x, scale = node.inputs[:2]
    axis = normal_axis(node.attr("axis", -1), ctx.rank(x))
    op = RmsNorm(axes=tuple(range(axis, ctx.rank(x))), epsilon=node.attr("epsilon", 1e-5))
    if ctx.dtype(x) == ctx.dtype(scale):
        return emit_axes_norm(ctx, op, x, scale)
    return emit_onnx_op(ctx, "Mul", cast_to(ctx, ctx.emit(op, x), ctx.dtype(scale)), scale)


@onnx_op("LpNormalization")
def lp_normalization(ctx: Context, node: SourceNode) -> str:
    """Length 2 is an op of its own; length 1 is a sum of absolutes. Both leave zeros where they are."""
    x = node.inputs[0]
    axis = normal_axis(node.attr("axis", -1), ctx.rank(x))
    power = node.attr("p", 2)
    if power not in {1, 2}:
        raise ctx.refuse(node, f"p is {power}, expected 1 or 2")
    op = L2Norm(axis=axis)
    if power == 2:
        return ctx.emit(op, x)
    length = emit_reduction(ctx, node, "ReduceSum", emit_onnx_op(ctx, "Abs", x), (axis,))
    return emit_onnx_op(ctx, "Div", x, emit_onnx_op(ctx, "Max", length, ctx.add_scalar(op.epsilon, x)))


@onnx_op("MeanVarianceNormalization", since=9)
def mean_variance_normalization(ctx: Context, node: SourceNode) -> str:
    """A layer norm without weights; ONNX adds 1e-9 to the deviation, which is nothing but a guard."""
    x = node.inputs[0]
    axes = normal_axes(node.attr("axes", [0, 2, 3]), ctx.rank(x))
    return ctx.emit(LayerNorm(axes=axes, epsilon=1e-12), x)


@onnx_op("LRN")
def lrn(ctx: Context, node: SourceNode) -> str:
    """Channel last and back; ONNX divides alpha by the window, QNN does not."""
    size = node.need("size")
    alpha, beta, bias = (node.attr(n, d) for n, d in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    if size < 1:
        raise ShapeMismatch(f"size is {size}, expected at least 1", node.where)
    channels = ctx.shape(node.inputs[0])[1] if ctx.rank(node.inputs[0]) > 1 else size
    if isinstance(channels, int) and (size - 1) // 2 >= channels > 0:
        # A window that always holds every channel; engines take their time for what lies outside.
        op = Lrn(radius=channels - 1, alpha=alpha / size, beta=beta, bias=bias)
        return ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(node.inputs[0])))
    if size > LARGEST_WINDOW:
        raise LimitExceeded(f"size is {size}, expected at most {LARGEST_WINDOW}", node.where, do="lower it")
    if size % 2 == 0:
        return _even_lrn(ctx, node, size, alpha, beta, bias)
    op = Lrn(radius=size // 2, alpha=alpha / size, beta=beta, bias=bias)
    return ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(node.inputs[0])))


def emit_axes_norm(ctx: Context, op: AxesNorm, x: str, gamma: str = "", beta: str = "") -> str:
    """A normalisation with weights; those that only broadcast are applied after it."""
    wanted = tuple(ctx.shape(x)[axis] for axis in op.axes)
    weights = [w for w in (gamma, beta) if w]
    if all(ctx.shape(w) == wanted and ctx.dtype(w) == ctx.dtype(x) for w in weights):
        return ctx.emit(op, x, *([gamma, beta] if beta else weights))
    result = ctx.emit(op, x)
    result = emit_onnx_op(ctx, "Mul", result, gamma) if gamma else result
    return emit_onnx_op(ctx, "Add", result, beta) if beta else result


def _normalize_batch(ctx: Context, node: SourceNode, mean: str, variance: str) -> str:
    x, scale, offset = node.inputs[:3]
    weight, bias = _fold_statistics(ctx, node, (scale, offset, mean, variance))
    if ctx.rank(x) == 1:  # ONNX reads a vector as N values of one channel
        return ctx.reshape(
            ctx.emit(Batchnorm(), ctx.reshape(x, (*ctx.shape(x), 1)), weight, bias), ctx.shape(x)
        )
    result = ctx.emit(Batchnorm(), ctx.move_channels_last(x), weight, bias)
    made = ctx.graph.producer(result)
    gamma, beta = ctx.find_array(scale), ctx.find_array(offset)
    if made is not None and gamma is not None and beta is not None:
        made.notes.update(gamma=gamma, beta=beta)
    return ctx.move_channels_first(result)


def _fold_statistics(ctx: Context, node: SourceNode, values: Sequence[str]) -> tuple[str, str]:
    """The weight scale / sqrt(variance + epsilon) and the bias offset - mean * weight, in x's type."""
    dtype, epsilon = ctx.dtype(node.inputs[0]), node.attr("epsilon", 1e-5)
    if not np.isfinite(epsilon):
        raise BadInput(f"epsilon is {epsilon}, expected a number", do="correct the attribute")
    arrays = [ctx.find_array(value) for value in values]
    scale, offset, mean, variance = values
    if all(array is not None for array in arrays):
        s, o, m, v = (np.asarray(array, np.float64) for array in arrays)
        weight: Array = s / np.sqrt(v + epsilon)
        return tuple(ctx.add_constant(a.astype(dtype.numpy)) for a in (weight, o - m * weight))  # type: ignore[return-value]
    wide = max(DType.FLOAT_32, ctx.dtype(variance), key=lambda t: t.bits)
    scale, offset, mean, variance = (cast_to(ctx, value, wide) for value in values)
    deviation = emit_onnx_op(
        ctx, "Sqrt", emit_onnx_op(ctx, "Add", variance, ctx.add_scalar(epsilon, variance))
    )
    ratio = emit_onnx_op(ctx, "Div", scale, deviation)
    bias = emit_onnx_op(ctx, "Sub", offset, emit_onnx_op(ctx, "Mul", mean, ratio))
    return cast_to(ctx, ratio, dtype), cast_to(ctx, bias, dtype)


def _normalize_by_batch(ctx: Context, node: SourceNode) -> list[str]:
    """Statistics of this batch, and the running ones moved towards them."""
    x = node.inputs[0]
    axes = [axis for axis in range(ctx.rank(x)) if axis != 1]
    mean, variance = (
        ctx.reshape(v, (_count_channels(ctx, node),)) for v in _emit_moments(ctx, node, x, axes)
    )
    momentum = node.attr("momentum", 0.9)
    running = []
    for old, new in zip(node.inputs[3:5], (mean, variance), strict=True):
        moved = cast_to(ctx, new, ctx.dtype(old))
        parts = [
            emit_onnx_op(ctx, "Mul", v, ctx.add_scalar(f, v))
            for v, f in ((old, momentum), (moved, 1 - momentum))
        ]
        running.append(emit_onnx_op(ctx, "Add", *parts))
    return [_normalize_batch(ctx, node, mean, variance), *running]


def _emit_statistics(ctx: Context, node: SourceNode, op: LayerNorm) -> tuple[str, str]:
    """Mean and 1 / deviation, as a layer norm has them inside."""
    x = node.inputs[0]
    wide = cast_to(ctx, x, DType.FLOAT_32) if ctx.dtype(x).bits < 32 else x
    mean, variance = _emit_moments(ctx, node, wide, op.axes)
    deviation = emit_onnx_op(
        ctx, "Sqrt", emit_onnx_op(ctx, "Add", variance, ctx.add_scalar(op.epsilon, variance))
    )
    return mean, emit_onnx_op(ctx, "Div", ctx.add_scalar(1, deviation), deviation)


def _emit_moments(ctx: Context, node: SourceNode, x: str, axes: Sequence[int]) -> tuple[str, str]:
    mean = emit_reduction(ctx, node, "ReduceMean", x, axes)
    centred = emit_onnx_op(ctx, "Sub", x, mean)
    return mean, emit_reduction(ctx, node, "ReduceMean", emit_onnx_op(ctx, "Mul", centred, centred), axes)


def _group_norm(ctx: Context, node: SourceNode, gamma: str, beta: str) -> str:
    op = GroupNorm(epsilon=node.attr("epsilon", 1e-5), group=node.need("num_groups"))
    return ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(node.inputs[0]), gamma, beta))


def _even_lrn(ctx: Context, node: SourceNode, size: int, *numbers: Any) -> str:
    """An even window reaches further to one side than QNN's: a pool over the channels takes the mean."""
    alpha, beta, bias = numbers
    x = node.inputs[0]
    batch, channels, *spatial = ctx.shape(x)
    flat = (batch, 1, channels, element_count(spatial))
    pads = [(size - 1) // 2, 0, size - 1 - (size - 1) // 2, 0]
    square = ctx.reshape(emit_onnx_op(ctx, "Mul", x, x), flat)
    mean = emit_onnx_op(
        ctx, "AveragePool", square, kernel_shape=[size, 1], strides=[1, 1], pads=pads, count_include_pad=1
    )
    weighted = emit_onnx_op(ctx, "Mul", ctx.reshape(mean, ctx.shape(x)), ctx.add_scalar(alpha, x))
    power = emit_onnx_op(
        ctx, "Pow", emit_onnx_op(ctx, "Add", weighted, ctx.add_scalar(bias, x)), ctx.add_scalar(beta, x)
    )
    return emit_onnx_op(ctx, "Div", x, power)


def _count_channels(ctx: Context, node: SourceNode) -> int:
    shape = ctx.shape(node.inputs[0])
    if len(shape) < 2 or not isinstance(shape[1], int):
        raise ShapeMismatch(
            f"{ctx.type(node.inputs[0])} has no known number of channels on axis 1", node.where
        )
    return shape[1]
