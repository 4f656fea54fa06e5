"""ONNX bitwise ops: numbers are taken apart into bits, which QNN can count, and put together again."""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.op import Op
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseFloorDiv,
    ElementWiseLess,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMod,
    ElementWiseMultiply,
    ElementWiseOr,
    ElementWisePower,
    ElementWiseSelect,
    ElementWiseSquaredDifference,
    ElementWiseSubtract,
)
from edgewright.ops.reduce import ReduceSum

# Bits that are added up at once: engines add integers up as doubles, which hold no 64 bits.
WORD = 32

# What these ops do to bits as numbers 0 and 1.
_BITS: dict[str, Op] = {
    "BitwiseAnd": ElementWiseMinimum(),
    "BitwiseOr": ElementWiseMaximum(),
    "BitwiseXor": ElementWiseSquaredDifference(),
}


@onnx_op("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(ctx: Context, node: SourceNode) -> str:
    """Bits along a new last axis, combined, weighted and added up."""
    bits = ctx.dtype(node.inputs[0]).bits
    words = [range(start, min(start + WORD, bits)) for start in range(0, bits, WORD)]
    parts = [_combine_bits(ctx, node, word) for word in words]
    return reduce(lambda left, right: ctx.emit(ElementWiseAdd(), left, right), parts)


def _combine_bits(ctx: Context, node: SourceNode, word: range) -> str:
    """What some of the bits add up to."""
    left, right = (_split_bits(ctx, value, word) for value in node.inputs)
    combined = ctx.emit(_BITS[node.op_type], left, right)
    dtype = ctx.dtype(node.inputs[0])
    is_sign = [dtype.is_signed and bit == dtype.bits - 1 for bit in word]
    weights = [-(1 << bit) if sign else 1 << bit for bit, sign in zip(word, is_sign, strict=True)]
    weighted = ctx.emit(ElementWiseMultiply(), combined, _make_row(ctx, weights, node.inputs[0]))
    return ctx.emit(ReduceSum(axes=(ctx.rank(weighted) - 1,)), weighted)


@onnx_op("BitwiseNot")
def bitwise_not(ctx: Context, node: SourceNode) -> str:
    """Two's complement: the largest unsigned number, or -1, minus x."""
    x = node.inputs[0]
    dtype = ctx.dtype(x)
    ones = ctx.add_scalar(-1 if dtype.is_signed else (1 << dtype.bits) - 1, x)
    return ctx.emit(ElementWiseSubtract(), ones, x)


@onnx_op("BitShift")
def bit_shift(ctx: Context, node: SourceNode) -> str:
    """Times a power of two (the product wraps), or divided by it; all bits may be shifted out."""
    direction = node.need("direction")
    if direction not in {"LEFT", "RIGHT"}:
        raise ctx.refuse(node, f"direction is '{direction}', expected LEFT or RIGHT")
    x, places = node.inputs
    dtype = ctx.dtype(x)
    largest = dtype.bits - (2 if dtype.is_signed else 1)  # whose power of two is a number of the type
    op = ElementWiseMultiply() if direction == "LEFT" else ElementWiseFloorDiv()
    known = ctx.find_array(places)
    if known is not None and np.all((known >= 0) & (known <= largest)):
        return ctx.emit(op, x, ctx.emit(ElementWisePower(), ctx.add_scalar(2, x), places))
    return _shift_far(ctx, op, x, places, largest)


def _shift_far(ctx: Context, op: Op, x: str, places: str, largest: int) -> str:
    """In three steps: as far as one factor goes, one place more for the sign, and all out."""

    def chosen(condition: str, this: str, that: str) -> str:
        return ctx.emit(ElementWiseSelect(), condition, this, that)

    two, one, zero, limit = (ctx.add_scalar(number, x) for number in (2, 1, 0, largest))
    is_negative = ctx.emit(ElementWiseLess(), places, zero)
    is_beyond = ctx.emit(ElementWiseLess(), limit, places)
    is_far = ctx.emit(ElementWiseOr(), is_negative, is_beyond)
    factor = ctx.emit(ElementWisePower(), two, chosen(is_far, limit, places))
    result = ctx.emit(op, ctx.emit(op, x, factor), chosen(is_far, two, one))
    if isinstance(op, ElementWiseFloorDiv):
        return result  # what is left of all bits is the sign, which a division keeps
    last = ctx.add_scalar(ctx.dtype(x).bits - 1, x)
    is_out = ctx.emit(ElementWiseOr(), is_negative, ctx.emit(ElementWiseLess(), last, places))
    return chosen(is_out, zero, result)


def _split_bits(ctx: Context, value: str, word: range) -> str:
    """Bit i is the remainder by 2 of the value divided by 2^i, rounded down."""
    dtype = ctx.dtype(value)
    # 2^(bits-1) is no number of a signed type: the sign's bit is reached in two steps.
    largest = dtype.bits - (2 if dtype.is_signed else 1)
    steps = [[1 << min(bit, largest) for bit in word], [1 << bit - min(bit, largest) for bit in word]]
    rest = ctx.reshape(value, (*ctx.shape(value), 1))
    for factors in steps:
        if set(factors) != {1}:
            rest = ctx.emit(ElementWiseFloorDiv(), rest, _make_row(ctx, factors, value))
    return ctx.emit(ElementWiseMod(), rest, ctx.add_scalar(2, value))


def _make_row(ctx: Context, numbers: Sequence[int], like: str) -> str:
    return ctx.add_constant(np.asarray(numbers, ctx.dtype(like).numpy))
