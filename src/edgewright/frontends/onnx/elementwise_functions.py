"""ONNX functions of one operand that QNN composes: trigonometry and hyperbolic functions."""

import math

from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.op import Op
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import (
    ElementWiseAbs,
    ElementWiseAsin,
    ElementWiseCos,
    ElementWiseExp,
    ElementWiseLog,
    ElementWiseNeg,
    ElementWiseSign,
    ElementWiseSin,
    ElementWiseSquareRoot,
)

__all__ = ["add", "multiply", "square_plus"]


def add(ctx: Context, value: str, number: float) -> str:
    """The value plus a number."""
    return ctx.emit(ElementWiseAdd(), value, ctx.scalar(number, value))


def multiply(ctx: Context, value: str, number: float) -> str:
    """The value times a number; itself for 1."""
    return value if number == 1 else ctx.emit(ElementWiseMultiply(), value, ctx.scalar(number, value))


def square_plus(ctx: Context, value: str, number: float) -> str:
    """The value squared, plus a number."""
    return add(ctx, ctx.emit(ElementWiseMultiply(), value, value), number)


@onnx_op("Tan")
def tangent(ctx: Context, node: SourceNode) -> str:
    """Sine over cosine."""
    x = node.inputs[0]
    return ctx.emit(ElementWiseDivide(), ctx.emit(ElementWiseSin(), x), ctx.emit(ElementWiseCos(), x))


@onnx_op("Acos")
def inverse_cosine(ctx: Context, node: SourceNode) -> str:
    """A right angle less the inverse sine."""
    angle = ctx.emit(ElementWiseAsin(), node.inputs[0])
    return ctx.emit(ElementWiseSubtract(), ctx.scalar(math.pi / 2, angle), angle)


@onnx_op("Sinh")
def hyperbolic_sine(ctx: Context, node: SourceNode) -> str:
    """Half the difference of two exponentials."""
    return _half_of_exponentials(ctx, node.inputs[0], ElementWiseSubtract())


@onnx_op("Cosh")
def hyperbolic_cosine(ctx: Context, node: SourceNode) -> str:
    """Half the sum of two exponentials."""
    return _half_of_exponentials(ctx, node.inputs[0], ElementWiseAdd())


@onnx_op("Asinh")
def inverse_hyperbolic_sine(ctx: Context, node: SourceNode) -> str:
    """Of the absolute value, with the sign put back: for negative numbers the sum would cancel out."""
    x = node.inputs[0]
    size = ctx.emit(ElementWiseAbs(), x)
    root = ctx.emit(ElementWiseSquareRoot(), square_plus(ctx, size, 1))
    result = ctx.emit(ElementWiseLog(), ctx.emit(ElementWiseAdd(), size, root))
    return ctx.emit(ElementWiseMultiply(), ctx.emit(ElementWiseSign(), x), result)


@onnx_op("Acosh")
def inverse_hyperbolic_cosine(ctx: Context, node: SourceNode) -> str:
    """Logarithm of x + sqrt(x * x - 1)."""
    x = node.inputs[0]
    root = ctx.emit(ElementWiseSquareRoot(), square_plus(ctx, x, -1))
    return ctx.emit(ElementWiseLog(), ctx.emit(ElementWiseAdd(), x, root))


@onnx_op("Atanh")
def inverse_hyperbolic_tangent(ctx: Context, node: SourceNode) -> str:
    """Half the logarithm of (1 + x) / (1 - x)."""
    x = node.inputs[0]
    below = ctx.emit(ElementWiseSubtract(), ctx.scalar(1, x), x)
    ratio = ctx.emit(ElementWiseDivide(), add(ctx, x, 1), below)
    return multiply(ctx, ctx.emit(ElementWiseLog(), ratio), 0.5)


def _half_of_exponentials(ctx: Context, x: str, op: Op) -> str:
    up = ctx.emit(ElementWiseExp(), x)
    down = ctx.emit(ElementWiseExp(), ctx.emit(ElementWiseNeg(), x))
    return multiply(ctx, ctx.emit(op, up, down), 0.5)
