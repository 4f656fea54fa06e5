"""ONNX elementwise ops of one, two and more operands."""

from functools import reduce

from edgewright.core.errors import ShapeMismatch
from edgewright.frontends._common.functions import find_gelu_operand
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import Handler, one_to_one, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.op import Op
from edgewright.ops import elementwise as binary
from edgewright.ops import elementwise_unary as unary
from edgewright.ops.activation import Gelu
from edgewright.ops.axes import normal_axis
from edgewright.ops.elementwise_generic import ElementWiseUnary, UnaryOperation

# Up to here operands broadcast only when asked to, and from an axis that an attribute names.
LAST_NAMED_AXIS_OPSET = 6

one_to_one(
    {
        "Abs": unary.ElementWiseAbs(),
        "Asin": unary.ElementWiseAsin(),
        "Atan": unary.ElementWiseAtan(),
        "Ceil": unary.ElementWiseCeil(),
        "Cos": unary.ElementWiseCos(),
        "Exp": unary.ElementWiseExp(),
        "Floor": unary.ElementWiseFloor(),
        "IsNaN": unary.IsNan(),
        "Log": unary.ElementWiseLog(),
        "Neg": unary.ElementWiseNeg(),
        "Not": unary.ElementWiseNot(),
        "Reciprocal": ElementWiseUnary(operation=UnaryOperation.RECIPROCAL),
        "Round": unary.ElementWiseRound(),
        "Sign": unary.ElementWiseSign(),
        "Sin": unary.ElementWiseSin(),
        "Sqrt": unary.ElementWiseSquareRoot(),
        "Where": binary.ElementWiseSelect(),
    }
)

_BINARY: dict[str, Op] = {
    "Add": binary.ElementWiseAdd(),
    "And": binary.ElementWiseAnd(),
    "Div": binary.ElementWiseDivide(),
    "Equal": binary.ElementWiseEqual(),
    "Greater": binary.ElementWiseGreater(),
    "GreaterOrEqual": binary.ElementWiseGreaterEqual(),
    "Less": binary.ElementWiseLess(),
    "LessOrEqual": binary.ElementWiseLessEqual(),
    "Or": binary.ElementWiseOr(),
    "Sub": binary.ElementWiseSubtract(),
    "Xor": binary.ElementWiseXor(),
}


def _make_binary(op: Op) -> Handler:
    def emit(ctx: Context, node: SourceNode) -> str:
        return ctx.emit(op, *_align_operands(ctx, node))

    return emit


for _name, _op in _BINARY.items():
    onnx_op(_name)(_make_binary(_op))


@onnx_op("Mul")
def product(ctx: Context, node: SourceNode) -> str:
    """The last product of a Gelu that was written out is that Gelu."""
    left, right = _align_operands(ctx, node)
    operand = find_gelu_operand(ctx, left, right)
    return ctx.emit(Gelu(), operand) if operand else ctx.emit(binary.ElementWiseMultiply(), left, right)


@onnx_op("Pow")
def power(ctx: Context, node: SourceNode) -> str:
    """The result has the datatype of the base, whatever the exponent's."""
    base, exponent = _align_operands(ctx, node)
    wanted, given = ctx.dtype(base), ctx.dtype(exponent)
    # A whole base with a broken exponent is computed as the exponent's type, and cut off.
    working = given if given.is_float and not wanted.is_float else wanted
    result = ctx.emit(binary.ElementWisePower(), cast_to(ctx, base, working), cast_to(ctx, exponent, working))
    return cast_to(ctx, result, wanted)


@onnx_op("Mod")
def mod(ctx: Context, node: SourceNode) -> str:
    """The remainder has the divisor's sign, or the dividend's where asked to."""
    op = binary.ElementWiseFmod() if node.attr("fmod", 0) else binary.ElementWiseMod()
    return ctx.emit(op, *node.inputs)


@onnx_op("IsInf")
def is_inf(ctx: Context, node: SourceNode) -> str:
    """Of either sign, or of one."""
    op = unary.IsInf(
        detect_negative=bool(node.attr("detect_negative", 1)),
        detect_positive=bool(node.attr("detect_positive", 1)),
    )
    return ctx.emit(op, node.inputs[0])


@onnx_op("Max")
def maximum(ctx: Context, node: SourceNode) -> str:
    """Pair by pair."""
    return _emit_chain(ctx, binary.ElementWiseMaximum(), node)


@onnx_op("Min")
def minimum(ctx: Context, node: SourceNode) -> str:
    """Pair by pair."""
    return _emit_chain(ctx, binary.ElementWiseMinimum(), node)


@onnx_op("Sum")
def total(ctx: Context, node: SourceNode) -> str:
    """Pair by pair."""
    return _emit_chain(ctx, binary.ElementWiseAdd(), node)


@onnx_op("Mean")
def mean(ctx: Context, node: SourceNode) -> str:
    """The sum divided by the number of operands."""
    added = _emit_chain(ctx, binary.ElementWiseAdd(), node)
    return ctx.emit(binary.ElementWiseDivide(), added, ctx.add_scalar(len(node.inputs), added))


def _emit_chain(ctx: Context, op: Op, node: SourceNode) -> str:
    return reduce(lambda left, right: ctx.emit(op, left, right), node.inputs)


def _align_operands(ctx: Context, node: SourceNode) -> tuple[str, str]:
    """The two operands; of old models, the second one with the axes it was meant to have."""
    left, right = node.inputs
    if node.version > LAST_NAMED_AXIS_OPSET or not node.attr("broadcast", 0) or not node.has("axis"):
        return left, right
    rank, own = ctx.rank(left), ctx.rank(right)
    behind = rank - normal_axis(node.attr("axis"), rank) - own
    if behind < 0:
        raise ShapeMismatch(
            f"axis {node.attr('axis')} leaves too few of {rank} axes for an operand of rank {own}",
            do=f"use an axis of at most {rank - own}",
        )
    return left, ctx.reshape(right, (*ctx.shape(right), *(1,) * behind))
