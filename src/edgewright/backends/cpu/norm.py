"""Normalisations for the engine."""

import numpy as np

from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ops.norm import Batchnorm, L2Norm, LayerNorm, RmsNorm
from edgewright.ops.norm_channel import GroupNorm, InstanceNorm, InstanceRegion, Lrn, LrnRegion, NormMode

ENGINE_LRN_RANK = 4


@lowers(Batchnorm)
def batchnorm(w: Writer, op: Batchnorm, inputs: list[str], node: Node) -> str:
    """A batch norm of mean 0 and variance 1, channel first: the engine folds it into a convolution."""
    x = w.type(node.inputs[0])
    channels = x.shape[-1]
    if x.rank < 2 or not isinstance(channels, int):
        result = w.node("Mul", inputs[0], inputs[1])
        return w.node("Add", result, inputs[2]) if _find_optional(inputs, 2) else result
    zeros, ones = (w.constant(np.full(channels, n, x.dtype.numpy)) for n in (0, 1))
    bias = _find_optional(inputs, 2) or zeros
    first = w.channel_first(inputs[0], x.rank)
    return w.channel_last(
        w.node("BatchNormalization", first, inputs[1], bias, zeros, ones, epsilon=0.0), x.rank
    )


@lowers(LayerNorm)
def layer_norm(w: Writer, op: LayerNorm, inputs: list[str], node: Node) -> str:
    """LayerNormalization over the last axes."""
    return _write_over_last_axes(w, op, inputs, node, "LayerNormalization")


@lowers(RmsNorm)
def rms_norm(w: Writer, op: RmsNorm, inputs: list[str], node: Node) -> str:
    """The engine's own op; ONNX has one only from opset 23 on."""
    return _write_over_last_axes(w, op, inputs, node, "SimplifiedLayerNormalization")


@lowers(L2Norm)
def l2_norm(w: Writer, op: L2Norm, inputs: list[str], node: Node) -> str:
    """Divided by the length."""
    dtype = w.type(node.inputs[0]).dtype
    axes = w.constant(np.asarray(op.all_axes, np.int64))
    length = w.node("ReduceL2", inputs[0], axes, keepdims=1)
    return w.node("Div", inputs[0], w.node("Max", length, w.scalar(op.epsilon, dtype)))


@lowers(InstanceNorm)
def instance_norm(w: Writer, op: InstanceNorm, inputs: list[str], node: Node) -> str:
    """InstanceNormalization, channel first; the other regions are left to the reference."""
    x = w.type(node.inputs[0])
    is_plain = op.mode == NormMode.MU_SIGMA and op.region == InstanceRegion.ACROSS_SPATIAL
    if not is_plain or not op.normalize_variance or x.rank < 3:
        raise NotOnEngine
    beta = _find_optional(inputs, 2) or _fill_channels(w, 0, node)
    first = w.channel_first(inputs[0], x.rank)
    result = w.node("InstanceNormalization", first, inputs[1], beta, epsilon=op.epsilon)
    return w.channel_last(result, x.rank)


@lowers(GroupNorm)
def group_norm(w: Writer, op: GroupNorm, inputs: list[str], node: Node) -> str:
    """GroupNormalization, channel first."""
    rank = w.type(node.inputs[0]).rank
    gamma = _find_optional(inputs, 1) or _fill_channels(w, 1, node)
    beta = _find_optional(inputs, 2) or _fill_channels(w, 0, node)
    first = w.channel_first(inputs[0], rank)
    result = w.node("GroupNormalization", first, gamma, beta, epsilon=op.epsilon, num_groups=op.group)
    return w.channel_last(result, rank)


@lowers(Lrn)
def lrn(w: Writer, op: Lrn, inputs: list[str], node: Node) -> str:
    """LRN, channel first; ONNX divides alpha by the window."""
    rank = w.type(node.inputs[0]).rank
    if op.region != LrnRegion.ACROSS_CHANNEL or rank != ENGINE_LRN_RANK:
        raise NotOnEngine
    size = 2 * op.radius + 1
    first = w.channel_first(inputs[0], rank)
    result = w.node("LRN", first, alpha=op.alpha * size, beta=op.beta, bias=op.bias, size=size)
    return w.channel_last(result, rank)


def _write_over_last_axes(
    w: Writer, op: LayerNorm | RmsNorm, inputs: list[str], node: Node, name: str
) -> str:
    x = w.type(node.inputs[0])
    shape = [x.shape[axis] for axis in op.axes]
    order = (*(axis for axis in range(x.rank) if axis not in op.axes), *op.axes)
    gamma = _find_optional(inputs, 1)
    if not gamma:
        if not all(isinstance(dim, int) for dim in shape):
            raise NotOnEngine
        gamma = w.constant(np.ones([int(dim) for dim in shape], x.dtype.numpy))
    beta = _find_optional(inputs, 2)
    is_layer = isinstance(op, LayerNorm)
    result = w.node(
        name,
        w.transpose(inputs[0], order),
        gamma,
        *([beta] if beta and is_layer else []),
        axis=x.rank - len(op.axes),
        epsilon=op.epsilon,
        stash_type=None if x.dtype == DType.FLOAT_64 else 1,
    )
    if beta and not is_layer:
        result = w.node("Add", result, beta)
    return w.transpose(result, tuple(order.index(axis) for axis in range(x.rank)))


def _fill_channels(w: Writer, number: float, node: Node) -> str:
    x = w.type(node.inputs[0])
    if not isinstance(x.shape[-1], int):
        raise NotOnEngine
    return w.constant(np.full(x.shape[-1], number, x.dtype.numpy))


def _find_optional(inputs: list[str], index: int) -> str:
    return inputs[index] if index < len(inputs) else ""
