"""ONNX matrix products."""

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array
from edgewright.frontends._common.products import emit_fully_connected, emit_product, is_weight
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import MICROSOFT, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.dims import Dim
from edgewright.ops.broadcast import broadcast_shapes
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.ops.matmul import MatMul


@onnx_op("MatMul")
def matmul(ctx: Context, node: SourceNode) -> str:
    """Vectors become matrices and back, as numpy's matmul has it."""
    return emit_product(ctx, node.inputs[0], node.inputs[1])


@onnx_op("FusedMatMul", domain=MICROSOFT)
def fused_matmul(ctx: Context, node: SourceNode) -> str:
    """A product times alpha; a "batch" transpose moves the first axis before the last."""
    left, right = (
        _transpose_batch(ctx, value, bool(node.attr(f"transBatch{side}", 0)))
        for value, side in zip(node.inputs, "AB", strict=True)
    )
    turned = MatMul(
        transpose_in0=bool(node.attr("transA", 0)) and ctx.rank(left) > 1,
        transpose_in1=bool(node.attr("transB", 0)) and ctx.rank(right) > 1,
    )
    return _scale_value(ctx, emit_product(ctx, left, right, turned), node.attr("alpha", 1.0))


@onnx_op("Gemm")
def gemm(ctx: Context, node: SourceNode) -> str:
    """Product and bias with factors: a fully connected layer where the weights are known."""
    left, right = node.inputs[:2]
    if ctx.rank(left) != 2 or ctx.rank(right) != 2:
        raise ShapeMismatch(f"operands are {ctx.type(left)} and {ctx.type(right)}, expected matrices")
    turns = bool(node.attr("transA", 0)), bool(node.attr("transB", 0))
    alpha, bias = node.attr("alpha", 1.0), _scale_bias(ctx, node)
    if not is_weight(ctx, right):
        # A sum of its own: HTP forgets the bias of such a product in fixed point.
        rows = ctx.emit(MatMul(transpose_in0=turns[0], transpose_in1=turns[1]), left, right)
        return _add_bias(ctx, _scale_value(ctx, rows, alpha), bias)
    weights = _scale_value(ctx, right if turns[1] else ctx.transpose(right, (1, 0)), alpha)
    units, x = ctx.shape(weights)[0], ctx.transpose(left, (1, 0)) if turns[0] else left
    if bias and ctx.find_array(bias) is not None and isinstance(units, int):
        row = _as_row(ctx.read_array(bias), units)
        if row is not None:
            return emit_fully_connected(
                ctx, x, weights, bias if _is_row(ctx, bias, units) else ctx.add_constant(row)
            )
    return _add_bias(ctx, emit_fully_connected(ctx, x, weights), bias)


def _is_row(ctx: Context, bias: str, units: Dim) -> bool:
    return bias in ctx.graph.constants and ctx.shape(bias) == (units,)


def _as_row(bias: Array, units: int) -> Array | None:
    """The bias as one number for each column; None where it differs from row to row."""
    if bias.ndim > 2 or (bias.ndim == 2 and bias.shape[0] != 1) or bias.size not in {1, units}:
        return None
    return np.ascontiguousarray(np.broadcast_to(bias.reshape(-1), (units,)))


def _scale_bias(ctx: Context, node: SourceNode) -> str:
    bias, beta = node.input(2), node.attr("beta", 1.0)
    if not bias or beta == 0:
        return ""
    return _scale_value(ctx, bias, beta)


def _scale_value(ctx: Context, value: str, factor: float) -> str:
    if factor == 1:
        return value
    if value in ctx.graph.constants:
        array = ctx.graph.constants[value]
        return ctx.add_constant((array * np.asarray(factor, np.float32)).astype(array.dtype))
    return ctx.emit(ElementWiseMultiply(), value, ctx.add_scalar(factor, value))


def _add_bias(ctx: Context, rows: str, bias: str) -> str:
    if not bias:
        return rows
    if ctx.rank(bias) > 2 or broadcast_shapes(ctx.shape(rows), ctx.shape(bias)) != ctx.shape(rows):
        raise ShapeMismatch(f"bias {ctx.type(bias)} does not broadcast to {ctx.type(rows)}")
    return ctx.emit(ElementWiseAdd(), rows, bias)


def _transpose_batch(ctx: Context, value: str, is_turned: bool) -> str:
    rank = ctx.rank(value)
    return ctx.transpose(value, (*range(1, rank - 1), 0, rank - 1)) if is_turned and rank > 2 else value
