"""TFLite ops that work element by element."""

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import one_to_one, tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ops import elementwise as binary
from edgewright.ops import elementwise_unary as unary
from edgewright.ops.elementwise import Binary

one_to_one(
    {
        "ABS": unary.ElementWiseAbs(),
        "CEIL": unary.ElementWiseCeil(),
        "COS": unary.ElementWiseCos(),
        "EXP": unary.ElementWiseExp(),
        "FLOOR": unary.ElementWiseFloor(),
        "LOG": unary.ElementWiseLog(),
        "LOGICAL_NOT": unary.ElementWiseNot(),
        "NEG": unary.ElementWiseNeg(),
        "ROUND": unary.ElementWiseRound(),
        "RSQRT": unary.ElementWiseRsqrt(),
        "SIGN": unary.ElementWiseSign(),
        "SIN": unary.ElementWiseSin(),
        "SQRT": unary.ElementWiseSquareRoot(),
        "EQUAL": binary.ElementWiseEqual(),
        "FLOOR_DIV": binary.ElementWiseFloorDiv(),
        "FLOOR_MOD": binary.ElementWiseMod(),
        "GREATER": binary.ElementWiseGreater(),
        "GREATER_EQUAL": binary.ElementWiseGreaterEqual(),
        "LESS": binary.ElementWiseLess(),
        "LESS_EQUAL": binary.ElementWiseLessEqual(),
        "LOGICAL_AND": binary.ElementWiseAnd(),
        "LOGICAL_OR": binary.ElementWiseOr(),
        "MAXIMUM": binary.ElementWiseMaximum(),
        "MINIMUM": binary.ElementWiseMinimum(),
        "NOT_EQUAL": binary.ElementWiseNotEqual(),
        "POW": binary.ElementWisePower(),
        "SELECT_V2": binary.ElementWiseSelect(),
        "SQUARED_DIFFERENCE": binary.ElementWiseSquaredDifference(),
    }
)

_FUSED: dict[str, Binary] = {
    "ADD": binary.ElementWiseAdd(),
    "DIV": binary.ElementWiseDivide(),
    "MUL": binary.ElementWiseMultiply(),
    "SUB": binary.ElementWiseSubtract(),
}


@tflite_op(*_FUSED)
def arithmetic(ctx: Context, node: SourceNode) -> str:
    """The op and its activation."""
    return ctx.activated(node, ctx.emit(_FUSED[node.op], *node.need(0, 1)))


@tflite_op("SQUARE")
def square(ctx: Context, node: SourceNode) -> str:
    """A product with itself."""
    (x,) = node.need(0)
    return ctx.emit(binary.ElementWiseMultiply(), x, x)


@tflite_op("ADD_N")
def add_n(ctx: Context, node: SourceNode) -> str:
    """One after the other."""
    total, *others = node.need(*range(len(node.inputs)))
    for value in others:
        total = ctx.emit(binary.ElementWiseAdd(), total, value)
    return total


@tflite_op("SELECT")
def select(ctx: Context, node: SourceNode) -> str:
    """A vector of conditions chooses rows."""
    condition, left, right = node.need(0, 1, 2)
    rank = ctx.rank(left)
    if ctx.rank(condition) == 1 and rank > 1:
        condition = ctx.reshape(condition, (*ctx.shape(condition), *[1] * (rank - 1)))
    return ctx.emit(binary.ElementWiseSelect(), condition, left, right)


@tflite_op("ZEROS_LIKE")
def zeros_like(ctx: Context, node: SourceNode) -> str:
    """Zeros in the shape of the input."""
    (x,) = node.need(0)
    if not ctx.type(x).is_static:
        raise ShapeMismatch(f"{ctx.type(x)} has symbolic dimensions", node.where, do="give its shape with -d")
    return ctx.zeros(ctx.type(x), f"{node.label}_zeros")


@tflite_op("BITWISE_XOR")
def bitwise_xor(ctx: Context, node: SourceNode) -> str:
    """Of booleans; QNN has no op for the bits of integers."""
    left, right = node.need(0, 1)
    if ctx.dtype(left) != DType.BOOL_8:
        raise ctx.refuse(node, f"operands are {ctx.type(left)}, expected booleans")
    return ctx.emit(binary.ElementWiseXor(), left, right)


@tflite_op("CAST")
def cast(ctx: Context, node: SourceNode) -> str:
    """To the type of the result; of complex numbers the real part is left."""
    (x,) = node.need(0)
    x = ctx.parts(x)[0] if ctx.is_complex(x) else x
    wanted = node.results[0].dtype
    if wanted is None or DType.STRING in {wanted, ctx.dtype(x)}:
        raise ctx.refuse(node, "it casts text or handles")
    return cast_to(ctx, x, wanted)
