"""ONNX's error function, and the Gelu that exporters write out with it."""

import math
from itertools import permutations

import numpy as np

from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.elementwise_functions import add, multiply
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.op import Op
from edgewright.ops.activation import Gelu
from edgewright.ops.broadcast import broadcast_shapes
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseLess,
    ElementWiseMultiply,
    ElementWiseSelect,
)
from edgewright.ops.elementwise_unary import ElementWiseAbs

__all__ = ["gelu_operand"]

# Exporters round the root of 2 to the precision of the model.
ROOT_TOLERANCE = 1e-3
# By the width of a float.
FRACTION_BITS = {16: 10, 32: 23, 64: 52}


@onnx_op("Erf")
def error_function(ctx: Context, node: SourceNode) -> str:
    """Through Gelu(s) = s / 2 * (1 + erf(s / sqrt(2))), solved for erf; near 0, its tangent."""
    x = node.inputs[0]
    if not ctx.dtype(x).is_float:
        raise ctx.refuse(node, f"its operand is {ctx.dtype(x).name}, expected a floating-point type")
    scaled = multiply(ctx, x, math.sqrt(2))
    ratio = ctx.emit(ElementWiseDivide(), ctx.emit(Gelu(), scaled), scaled)
    solved = add(ctx, multiply(ctx, ratio, 2), -1)
    # There the next term of the series is below the precision of the type, and the quotient loses its own.
    near = ctx.scalar(2.0 ** (-FRACTION_BITS.get(ctx.dtype(x).bits, 10) / 2), x)
    is_near = ctx.emit(ElementWiseLess(), ctx.emit(ElementWiseAbs(), scaled), near)
    return ctx.emit(ElementWiseSelect(), is_near, multiply(ctx, scaled, math.sqrt(2 / math.pi)), solved)


def gelu_operand(ctx: Context, left: str, right: str) -> str:
    """The x of which the product of two values is the Gelu; "" where it is something else.

    The product is x * 0.5 * (1 + erf(x / sqrt(2))), taken in any order.
    """
    for whole, split in ((left, right), (right, left)):
        parts = _read(ctx, split, ElementWiseMultiply())
        if not parts:
            continue
        for half, sum_, x in permutations((whole, *parts)):
            if _number(ctx, half) == 0.5 and _operand_of_sum(ctx, sum_) == x:
                is_whole = ctx.shape(x) == broadcast_shapes(ctx.shape(left), ctx.shape(right))
                return x if is_whole else ""
    return ""


def _operand_of_sum(ctx: Context, value: str) -> str:
    """The x of 1 + erf(x / sqrt(2))."""
    for one, erf in permutations(_read(ctx, value, ElementWiseAdd()), 2):
        if _number(ctx, one) == 1:
            return _unscaled(ctx, _operand_of_erf(ctx, erf))
    return ""


def _operand_of_erf(ctx: Context, value: str) -> str:
    """The z of erf(z) as ``error_function`` writes it: 2 * Gelu(s) / s - 1 with s = sqrt(2) * z."""
    solved = _read(ctx, value, ElementWiseSelect())[2:]
    doubled = _read(ctx, solved[0], ElementWiseAdd())[:1] if solved else []
    ratio = _read(ctx, doubled[0], ElementWiseMultiply())[:1] if doubled else []
    over = _read(ctx, ratio[0], ElementWiseDivide()) if ratio else []
    if not over or _read(ctx, over[0], Gelu()) != over[1:]:
        return ""
    return _read(ctx, over[1], ElementWiseMultiply())[0]


def _unscaled(ctx: Context, value: str) -> str:
    """The x of x / sqrt(2), written as a quotient or as a product."""
    quotient = _read(ctx, value, ElementWiseDivide())
    if quotient and _is_near(ctx, quotient[1], math.sqrt(2)):
        return quotient[0]
    for x, factor in permutations(_read(ctx, value, ElementWiseMultiply()), 2):
        if _is_near(ctx, factor, math.sqrt(0.5)):
            return x
    return ""


def _read(ctx: Context, value: str, op: Op) -> list[str]:
    """What the op reads that made the value; nothing where another op made it."""
    node = ctx.graph.producer(value) if value else None
    return list(node.inputs) if node is not None and node.op == op else []


def _number(ctx: Context, value: str) -> float | None:
    array = ctx.graph.constants.get(value)
    if array is None or array.size != 1 or not ctx.dtype(value).is_float:
        return None
    return float(array.reshape(()))


def _is_near(ctx: Context, value: str, number: float) -> bool:
    found = _number(ctx, value)
    return found is not None and bool(np.isclose(found, number, rtol=ROOT_TOLERANCE))
