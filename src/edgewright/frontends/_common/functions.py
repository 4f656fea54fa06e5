"""Functions of one operand that QNN composes: trigonometry, hyperbolic functions, the error function."""

import math
from collections.abc import Callable
from itertools import permutations

import numpy as np

from edgewright.frontends._common.builder import Builder
from edgewright.ir.op import Op
from edgewright.ops.activation import Gelu
from edgewright.ops.broadcast import broadcast_shapes
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseLess,
    ElementWiseMultiply,
    ElementWiseSelect,
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

# Exporters round the root of 2 to the precision of the model.
ROOT_TOLERANCE = 1e-3
# By the width of a float.
FRACTION_BITS = {16: 10, 32: 23, 64: 52}


def add(ctx: Builder, value: str, number: float) -> str:
    """The value plus a number."""
    return ctx.emit(ElementWiseAdd(), value, ctx.add_scalar(number, value))


def multiply(ctx: Builder, value: str, number: float) -> str:
    """The value times a number; itself for 1."""
    return value if number == 1 else ctx.emit(ElementWiseMultiply(), value, ctx.add_scalar(number, value))


def square_plus(ctx: Builder, value: str, number: float) -> str:
    """The value squared, plus a number."""
    return add(ctx, ctx.emit(ElementWiseMultiply(), value, value), number)


def emit_tangent(ctx: Builder, x: str) -> str:
    """Sine over cosine."""
    return ctx.emit(ElementWiseDivide(), ctx.emit(ElementWiseSin(), x), ctx.emit(ElementWiseCos(), x))


def emit_inverse_cosine(ctx: Builder, x: str) -> str:
    """A right angle less the inverse sine."""
    angle = ctx.emit(ElementWiseAsin(), x)
    return ctx.emit(ElementWiseSubtract(), ctx.add_scalar(math.pi / 2, angle), angle)


def emit_hyperbolic_sine(ctx: Builder, x: str) -> str:
    """Half the difference of two exponentials."""
    return _halve_exponentials(ctx, x, ElementWiseSubtract())


def emit_hyperbolic_cosine(ctx: Builder, x: str) -> str:
    """Half the sum of two exponentials."""
    return _halve_exponentials(ctx, x, ElementWiseAdd())


def emit_inverse_hyperbolic_sine(ctx: Builder, x: str) -> str:
    """Of the absolute value, with the sign put back: for negative numbers the sum would cancel out."""
    size = ctx.emit(ElementWiseAbs(), x)
    root = ctx.emit(ElementWiseSquareRoot(), square_plus(ctx, size, 1))
    result = ctx.emit(ElementWiseLog(), ctx.emit(ElementWiseAdd(), size, root))
    return ctx.emit(ElementWiseMultiply(), ctx.emit(ElementWiseSign(), x), result)


def emit_inverse_hyperbolic_cosine(ctx: Builder, x: str) -> str:
    """Logarithm of x + sqrt(x * x - 1)."""
    root = ctx.emit(ElementWiseSquareRoot(), square_plus(ctx, x, -1))
    return ctx.emit(ElementWiseLog(), ctx.emit(ElementWiseAdd(), x, root))


def emit_inverse_hyperbolic_tangent(ctx: Builder, x: str) -> str:
    """Half the logarithm of (1 + x) / (1 - x)."""
    below = ctx.emit(ElementWiseSubtract(), ctx.add_scalar(1, x), x)
    ratio = ctx.emit(ElementWiseDivide(), add(ctx, x, 1), below)
    return multiply(ctx, ctx.emit(ElementWiseLog(), ratio), 0.5)


def emit_error_function(ctx: Builder, x: str) -> str:
    """Through Gelu(s) = s / 2 * (1 + erf(s / sqrt(2))), solved for erf; near 0, its tangent."""
    scaled = multiply(ctx, x, math.sqrt(2))
    ratio = ctx.emit(ElementWiseDivide(), ctx.emit(Gelu(), scaled), scaled)
    solved = add(ctx, multiply(ctx, ratio, 2), -1)
    # There the next term of the series is below the precision of the type, and the quotient loses its own.
    near = ctx.add_scalar(2.0 ** (-FRACTION_BITS.get(ctx.dtype(x).bits, 10) / 2), x)
    is_near = ctx.emit(ElementWiseLess(), ctx.emit(ElementWiseAbs(), scaled), near)
    return ctx.emit(ElementWiseSelect(), is_near, multiply(ctx, scaled, math.sqrt(2 / math.pi)), solved)


def find_gelu_operand(ctx: Builder, left: str, right: str) -> str:
    """The x of which the product of two values is the Gelu; "" where it is something else.

    The product is x * 0.5 * (1 + erf(x / sqrt(2))), taken in any order.
    """
    for whole, split in ((left, right), (right, left)):
        parts = _read(ctx, split, ElementWiseMultiply())
        if not parts:
            continue
        for half, sum_, x in permutations((whole, *parts)):
            if _number(ctx, half) == 0.5 and _find_operand_of_sum(ctx, sum_) == x:
                is_whole = ctx.shape(x) == broadcast_shapes(ctx.shape(left), ctx.shape(right))
                return x if is_whole else ""
    return ""


def _find_operand_of_sum(ctx: Builder, value: str) -> str:
    """The x of 1 + erf(x / sqrt(2))."""
    for one, erf in permutations(_read(ctx, value, ElementWiseAdd()), 2):
        if _number(ctx, one) == 1:
            return _remove_scale(ctx, _find_operand_of_erf(ctx, erf))
    return ""


def _find_operand_of_erf(ctx: Builder, value: str) -> str:
    """The z of erf(z) as ``error_function`` writes it: 2 * Gelu(s) / s - 1 with s = sqrt(2) * z."""
    solved = _read(ctx, value, ElementWiseSelect())[2:]
    doubled = _read(ctx, solved[0], ElementWiseAdd())[:1] if solved else []
    ratio = _read(ctx, doubled[0], ElementWiseMultiply())[:1] if doubled else []
    over = _read(ctx, ratio[0], ElementWiseDivide()) if ratio else []
    if not over or _read(ctx, over[0], Gelu()) != over[1:]:
        return ""
    return _read(ctx, over[1], ElementWiseMultiply())[0]


def _remove_scale(ctx: Builder, value: str) -> str:
    """The x of x / sqrt(2), written as a quotient or as a product."""
    quotient = _read(ctx, value, ElementWiseDivide())
    if quotient and _is_near(ctx, quotient[1], math.sqrt(2)):
        return quotient[0]
    for x, factor in permutations(_read(ctx, value, ElementWiseMultiply()), 2):
        if _is_near(ctx, factor, math.sqrt(0.5)):
            return x
    return ""


def _read(ctx: Builder, value: str, op: Op) -> list[str]:
    """What the op reads that made the value; nothing where another op made it."""
    node = ctx.graph.producer(value) if value else None
    return list(node.inputs) if node is not None and node.op == op else []


def _number(ctx: Builder, value: str) -> float | None:
    array = ctx.graph.constants.get(value)
    if array is None or array.size != 1 or not ctx.dtype(value).is_float:
        return None
    return float(array.reshape(()))


def _is_near(ctx: Builder, value: str, number: float) -> bool:
    constant = _number(ctx, value)
    return constant is not None and bool(np.isclose(constant, number, rtol=ROOT_TOLERANCE))


# Those that several source formats have under the same name.
BY_NAME: dict[str, Callable[[Builder, str], str]] = {
    "Acos": emit_inverse_cosine,
    "Acosh": emit_inverse_hyperbolic_cosine,
    "Asinh": emit_inverse_hyperbolic_sine,
    "Atanh": emit_inverse_hyperbolic_tangent,
    "Cosh": emit_hyperbolic_cosine,
    "Sinh": emit_hyperbolic_sine,
    "Tan": emit_tangent,
}


def _halve_exponentials(ctx: Builder, x: str, op: Op) -> str:
    up = ctx.emit(ElementWiseExp(), x)
    down = ctx.emit(ElementWiseExp(), ctx.emit(ElementWiseNeg(), x))
    return multiply(ctx, ctx.emit(op, up, down), 0.5)
