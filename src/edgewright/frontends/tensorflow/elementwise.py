"""TensorFlow's elementwise ops."""

from collections.abc import Callable
from functools import reduce

from edgewright.frontends._common import functions
from edgewright.frontends._common.functions import add
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.norm import match_l2_norm
from edgewright.frontends.tensorflow.registry import Handler, one_to_one, tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ops import elementwise as binary
from edgewright.ops import elementwise_unary as unary
from edgewright.ops.activation import Gelu
from edgewright.ops.elementwise_generic import ElementWiseUnary, UnaryOperation

one_to_one(
    {
        "Abs": unary.ElementWiseAbs(),
        "Add": binary.ElementWiseAdd(),
        "AddV2": binary.ElementWiseAdd(),
        "Asin": unary.ElementWiseAsin(),
        "Atan": unary.ElementWiseAtan(),
        "Ceil": unary.ElementWiseCeil(),
        "Cos": unary.ElementWiseCos(),
        "Div": binary.ElementWiseDivide(),
        "Equal": binary.ElementWiseEqual(),
        "Exp": unary.ElementWiseExp(),
        "Floor": unary.ElementWiseFloor(),
        "FloorDiv": binary.ElementWiseFloorDiv(),
        "FloorMod": binary.ElementWiseMod(),
        "Greater": binary.ElementWiseGreater(),
        "GreaterEqual": binary.ElementWiseGreaterEqual(),
        "Inv": ElementWiseUnary(operation=UnaryOperation.RECIPROCAL),
        "IsInf": unary.IsInf(),
        "IsNan": unary.IsNan(),
        "Less": binary.ElementWiseLess(),
        "LessEqual": binary.ElementWiseLessEqual(),
        "Log": unary.ElementWiseLog(),
        "LogicalAnd": binary.ElementWiseAnd(),
        "LogicalNot": unary.ElementWiseNot(),
        "LogicalOr": binary.ElementWiseOr(),
        "Maximum": binary.ElementWiseMaximum(),
        "Minimum": binary.ElementWiseMinimum(),
        "Mod": binary.ElementWiseFmod(),
        "Neg": unary.ElementWiseNeg(),
        "NotEqual": binary.ElementWiseNotEqual(),
        "Pow": binary.ElementWisePower(),
        "RealDiv": binary.ElementWiseDivide(),
        "Reciprocal": ElementWiseUnary(operation=UnaryOperation.RECIPROCAL),
        "Rint": unary.ElementWiseRound(),
        "Round": unary.ElementWiseRound(),
        "Rsqrt": unary.ElementWiseRsqrt(),
        "SelectV2": binary.ElementWiseSelect(),
        "Sign": unary.ElementWiseSign(),
        "Sin": unary.ElementWiseSin(),
        "Sqrt": unary.ElementWiseSquareRoot(),
        "SquaredDifference": binary.ElementWiseSquaredDifference(),
        "Sub": binary.ElementWiseSubtract(),
        "TruncateDiv": binary.ElementWiseDivide(),
        "TruncateMod": binary.ElementWiseFmod(),
    }
)

_FUNCTIONS: dict[str, Callable[[Context, str], str]] = {
    **functions.BY_NAME,
    "Erf": functions.emit_error_function,
    "Erfc": lambda ctx, x: add(ctx, functions.emit_error_function(ctx, _negate_value(ctx, x)), 1),
    "Expm1": lambda ctx, x: add(ctx, ctx.emit(unary.ElementWiseExp(), x), -1),
    "Log1p": lambda ctx, x: ctx.emit(unary.ElementWiseLog(), add(ctx, x, 1)),
    "Square": lambda ctx, x: ctx.emit(binary.ElementWiseMultiply(), x, x),
}


def _negate_value(ctx: Context, value: str) -> str:
    """The value with the other sign; a sign that it has already goes, as in a Gelu that was written out."""
    node = ctx.graph.producer(value)
    if node is not None and isinstance(node.op, unary.ElementWiseNeg):
        return node.inputs[0]
    if node is not None and isinstance(node.op, binary.ElementWiseMultiply):
        for inner, other in (node.inputs, node.inputs[::-1]):
            before = ctx.graph.producer(inner)
            if before is not None and isinstance(before.op, unary.ElementWiseNeg):
                return ctx.emit(node.op, before.inputs[0], other)
    return ctx.emit(unary.ElementWiseNeg(), value)


def _of_one(function: Callable[[Context, str], str]) -> Handler:
    def emit(ctx: Context, node: SourceNode) -> str:
        return function(ctx, *node.need(0))

    return emit


for _name, _function in _FUNCTIONS.items():
    tf_op(_name)(_of_one(_function))


@tf_op("Mul")
def product(ctx: Context, node: SourceNode) -> str:
    """The last product of a Gelu or an L2 norm that was written out is that op."""
    left, right = node.need(0, 1)
    operand = functions.find_gelu_operand(ctx, left, right)
    if operand:
        return ctx.emit(Gelu(), operand)
    norm = match_l2_norm(ctx, left, right)
    return ctx.emit(norm, left) if norm else ctx.emit(binary.ElementWiseMultiply(), left, right)


@tf_op("AddN")
def total(ctx: Context, node: SourceNode) -> str:
    """Pair by pair."""
    node.need(0)
    return reduce(lambda left, right: ctx.emit(binary.ElementWiseAdd(), left, right), node.inputs)


@tf_op("BiasAdd", "BiasAddV1")
def bias_add(ctx: Context, node: SourceNode) -> str:
    """One number a channel."""
    x, bias = node.need(0, 1)
    if node.is_channel_first:
        bias = ctx.reshape(bias, (*ctx.shape(bias), *(1,) * (ctx.rank(x) - 2)))
    return ctx.emit(binary.ElementWiseAdd(), x, bias)


@tf_op("DivNoNan", "MulNoNan")
def without_nan(ctx: Context, node: SourceNode) -> str:
    """Zero where the second operand is."""
    x, y = node.need(0, 1)
    is_zero = ctx.emit(binary.ElementWiseEqual(), y, ctx.add_scalar(0, y))
    if node.op == "DivNoNan":
        result = ctx.emit(
            binary.ElementWiseDivide(),
            x,
            ctx.emit(binary.ElementWiseSelect(), is_zero, ctx.add_scalar(1, y), y),
        )
    else:
        result = ctx.emit(binary.ElementWiseMultiply(), x, y)
    return ctx.emit(binary.ElementWiseSelect(), is_zero, ctx.add_scalar(0, result), result)


@tf_op("IsFinite")
def is_finite(ctx: Context, node: SourceNode) -> str:
    """Neither infinite nor no number."""
    (x,) = node.need(0)
    odd = ctx.emit(binary.ElementWiseOr(), ctx.emit(unary.IsNan(), x), ctx.emit(unary.IsInf(), x))
    return ctx.emit(unary.ElementWiseNot(), odd)


@tf_op("Select")
def select(ctx: Context, node: SourceNode) -> str:
    """A vector of conditions chooses whole rows."""
    condition, x, y = node.need(0, 1, 2)
    if ctx.rank(condition) == 1 and ctx.rank(x) > 1:
        condition = ctx.reshape(condition, (*ctx.shape(condition), *(1,) * (ctx.rank(x) - 1)))
    return ctx.emit(binary.ElementWiseSelect(), condition, x, y)
