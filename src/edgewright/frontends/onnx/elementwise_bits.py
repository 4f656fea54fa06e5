"""ONNX bitwise ops: numbers are taken apart into bits, which QNN can count, and put together again."""

from collections.abc import Sequence

import numpy as np

from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.op import Op
from edgewright.ops.elementwise import (
    ElementWiseFloorDiv,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMod,
    ElementWiseMultiply,
    ElementWiseSquaredDifference,
)
from edgewright.ops.reduce import ReduceSum

__all__: list[str] = []

# What these ops do to bits as numbers 0 and 1.
_BITS: dict[str, Op] = {
    "BitwiseAnd": ElementWiseMinimum(),
    "BitwiseOr": ElementWiseMaximum(),
    "BitwiseXor": ElementWiseSquaredDifference(),
}


@onnx_op("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(ctx: Context, node: SourceNode) -> str:
    """Bits along a new last axis, combined, weighted and added up."""
    left, right = (_bits(ctx, value) for value in node.inputs)
    combined = ctx.emit(_BITS[node.op_type], left, right)
    dtype = ctx.dtype(node.inputs[0])
    weights = [1 << bit for bit in range(dtype.bits)]
    if dtype.is_signed:
        weights[-1] = -weights[-1]
    weighted = ctx.emit(ElementWiseMultiply(), combined, _row(ctx, weights, node.inputs[0]))
    return ctx.emit(ReduceSum(axes=(ctx.rank(weighted) - 1,)), weighted)


def _bits(ctx: Context, value: str) -> str:
    """Bit i is the remainder by 2 of the value divided by 2^i, rounded down."""
    dtype = ctx.dtype(value)
    factors = [1 << bit for bit in range(dtype.bits)]
    rest = ctx.reshape(value, (*ctx.shape(value), 1))
    if dtype.is_signed:
        # 2^(bits-1) is no number of a signed type: the sign's bit is reached in two steps.
        factors[-1] //= 2
        rest = ctx.emit(ElementWiseFloorDiv(), rest, _row(ctx, factors, value))
        factors = [1] * (dtype.bits - 1) + [2]
    rest = ctx.emit(ElementWiseFloorDiv(), rest, _row(ctx, factors, value))
    return ctx.emit(ElementWiseMod(), rest, ctx.scalar(2, value))


def _row(ctx: Context, numbers: Sequence[int], like: str) -> str:
    return ctx.constant(np.asarray(numbers, ctx.dtype(like).numpy))
