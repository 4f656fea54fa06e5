"""Normalisations of com.microsoft: layer norms fused with the sums before them."""

from collections.abc import Sequence

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.contrib import check_inputs, number
from edgewright.frontends.onnx.norm import emit_axes_norm
from edgewright.frontends.onnx.registry import MICROSOFT, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.terms import emit_onnx_op
from edgewright.ops.axes import normal_axis
from edgewright.ops.norm import LayerNorm, RmsNorm
from edgewright.ops.norm_channel import GroupNorm
from edgewright.ops.reduce import ReduceSum


@onnx_op("SimplifiedLayerNormalization")
@onnx_op("SimplifiedLayerNormalization", domain=MICROSOFT)
def simplified_layer_normalization(ctx: Context, node: SourceNode) -> str:
    """A root mean square norm."""
    check_inputs(node, 0, 1)
    x = node.inputs[0]
    axis = normal_axis(number(node, "axis", -1), ctx.rank(x))
    _refuse_statistics(ctx, node, node.outputs[1:])
    op = RmsNorm(axes=tuple(range(axis, ctx.rank(x))), epsilon=float(number(node, "epsilon", 1e-5)))
    return emit_axes_norm(ctx, op, x, node.inputs[1])


@onnx_op("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(ctx: Context, node: SourceNode) -> list[str]:
    """A layer norm of a sum: input, skip, gamma, beta, bias."""
    check_inputs(node, 0, 1, 2)
    op = LayerNorm(axes=_find_last_axis(ctx, node), epsilon=float(number(node, "epsilon", 1e-12)))
    total = _add_inputs(ctx, node, (0, 1, 4))
    return [emit_axes_norm(ctx, op, total, node.inputs[2], node.input(3)), "", "", total]


@onnx_op("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified_layer_normalization(ctx: Context, node: SourceNode) -> list[str]:
    """A root mean square norm of a sum: input, skip, gamma, bias."""
    check_inputs(node, 0, 1, 2)
    op = RmsNorm(axes=_find_last_axis(ctx, node), epsilon=float(number(node, "epsilon", 1e-12)))
    total = _add_inputs(ctx, node, (0, 1, 3))
    return [emit_axes_norm(ctx, op, total, node.inputs[2]), "", "", total]


@onnx_op("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_normalization(ctx: Context, node: SourceNode) -> list[str]:
    """A layer norm of the sum of word, position and segment embeddings."""
    check_inputs(node, 0, 2, 3, 5, 6)
    ids = node.inputs[0]
    total = emit_onnx_op(ctx, "Gather", node.inputs[2], ids, axis=0)
    places = node.input(8) or _count_positions(ctx, node, ids)
    total = emit_onnx_op(ctx, "Add", total, emit_onnx_op(ctx, "Gather", node.inputs[3], places, axis=0))
    if node.input(1) and node.input(4):
        total = emit_onnx_op(
            ctx, "Add", total, emit_onnx_op(ctx, "Gather", node.input(4), node.input(1), axis=0)
        )
    op = LayerNorm(axes=(ctx.rank(total) - 1,), epsilon=float(number(node, "epsilon", 1e-12)))
    result = emit_axes_norm(ctx, op, total, node.inputs[5], node.inputs[6])
    return [result, _mask_index(ctx, node), total]


@onnx_op("GroupNorm", domain=MICROSOFT)
def group_norm(ctx: Context, node: SourceNode) -> str:
    """A group norm, channels last or first, with or without x * sigmoid(x) after it."""
    check_inputs(node, 0, 1, 2)
    x, gamma, beta = node.inputs[:3]
    op = GroupNorm(epsilon=float(number(node, "epsilon", 1e-5)), group=number(node, "groups", 0))
    is_last = bool(number(node, "channels_last", 1))
    weights = (cast_to(ctx, w, ctx.dtype(x)) for w in (gamma, beta))
    result = ctx.emit(op, x if is_last else ctx.move_channels_last(x), *weights)
    if number(node, "activation", 0):
        result = emit_onnx_op(ctx, "Mul", result, emit_onnx_op(ctx, "Sigmoid", result))
    return result if is_last else ctx.move_channels_first(result)


def _find_last_axis(ctx: Context, node: SourceNode) -> tuple[int]:
    _refuse_statistics(ctx, node, node.outputs[1:3])
    if ctx.rank(node.inputs[0]) < 1:
        raise BadInput("the input is a number, expected a tensor", node.where)
    return (ctx.rank(node.inputs[0]) - 1,)


def _refuse_statistics(ctx: Context, node: SourceNode, outputs: Sequence[str]) -> None:
    if any(outputs):
        raise ctx.refuse(node, "mean and deviation are wanted as outputs")


def _add_inputs(ctx: Context, node: SourceNode, indices: Sequence[int]) -> str:
    total = node.inputs[indices[0]]
    for index in indices[1:]:
        total = emit_onnx_op(ctx, "Add", total, node.input(index)) if node.input(index) else total
    return total


def _count_positions(ctx: Context, node: SourceNode, ids: str) -> str:
    """Positions counted from zero, for sequences of a known length."""
    length = ctx.shape(ids)[-1] if ctx.rank(ids) else None
    if not isinstance(length, int):
        raise ctx.refuse(
            node, "the length of the sequence is not known", do=f"give it with {spell_option('input_shapes')}"
        )
    return ctx.add_constant(np.arange(length, dtype=np.int64)[None])


def _mask_index(ctx: Context, node: SourceNode) -> str:
    """How many words each sequence has; zeros where no mask is given."""
    if len(node.outputs) < 2 or not node.outputs[1]:
        return ""
    mask = node.input(7)
    if mask:
        return cast_to(ctx, ctx.emit(ReduceSum(axes=(1,), keep_dims=False), mask), DType.INT_32)
    batch = ctx.shape(node.inputs[0])[0]
    if not isinstance(batch, int):
        raise ctx.refuse(
            node, "the number of sequences is not known", do=f"give it with {spell_option('input_shapes')}"
        )
    return ctx.add_constant(np.zeros(batch, np.int32))
