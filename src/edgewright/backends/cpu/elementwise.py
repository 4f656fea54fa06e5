"""Elementwise ops for the engine."""

from collections.abc import Sequence

from edgewright.backends.cpu.registry import LOWERINGS, NotOnEngine, lowers, one_to_one
from edgewright.backends.cpu.writer import ENGINE_CODES, Writer
from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ir.op import Op
from edgewright.ops import elementwise as binary
from edgewright.ops import elementwise_unary as unary
from edgewright.ops.elementwise_generic import ElementWiseBinary, ElementWiseNeuron, ElementWiseUnary, Generic

one_to_one(
    {
        binary.ElementWiseAdd: "Add",
        binary.ElementWiseEqual: "Equal",
        binary.ElementWiseGreater: "Greater",
        binary.ElementWiseGreaterEqual: "GreaterOrEqual",
        binary.ElementWiseLess: "Less",
        binary.ElementWiseLessEqual: "LessOrEqual",
        binary.ElementWiseMaximum: "Max",
        binary.ElementWiseMinimum: "Min",
        binary.ElementWiseMultiply: "Mul",
        binary.ElementWisePower: "Pow",
        binary.ElementWiseSubtract: "Sub",
        unary.ElementWiseAbs: "Abs",
        unary.ElementWiseAsin: "Asin",
        unary.ElementWiseAtan: "Atan",
        unary.ElementWiseCeil: "Ceil",
        unary.ElementWiseCos: "Cos",
        unary.ElementWiseExp: "Exp",
        unary.ElementWiseFloor: "Floor",
        unary.ElementWiseLog: "Log",
        unary.ElementWiseNeg: "Neg",
        unary.ElementWiseRound: "Round",
        unary.ElementWiseSign: "Sign",
        unary.ElementWiseSin: "Sin",
        unary.ElementWiseSquareRoot: "Sqrt",
        unary.IsNan: "IsNaN",
        unary.Reciprocal: "Reciprocal",
    }
)


LOGICAL: dict[type[Op], str] = {
    binary.ElementWiseAnd: "And",
    binary.ElementWiseOr: "Or",
    binary.ElementWiseXor: "Xor",
    unary.ElementWiseNot: "Not",
}


@lowers(ElementWiseBinary, ElementWiseNeuron, ElementWiseUnary)
def generic(w: Writer, op: Generic, inputs: list[str], node: Node) -> str | Sequence[str]:
    """As the op it stands for."""
    specific = op.specific()
    if type(specific) not in LOWERINGS:
        raise NotOnEngine
    return LOWERINGS[type(specific)](w, specific, inputs, node)


@lowers(binary.ElementWiseNotEqual)
def not_equal(w: Writer, op: binary.ElementWiseNotEqual, inputs: list[str], node: Node) -> str:
    """Not, of Equal."""
    return w.node("Not", w.node("Equal", *inputs))


@lowers(*LOGICAL)
def logical(w: Writer, op: Op, inputs: list[str], node: Node) -> str:
    """The engine has it for truth values."""
    if w.type(node.outputs[0]).dtype != DType.BOOL_8:
        raise NotOnEngine
    return w.node(LOGICAL[type(op)], *inputs)


@lowers(binary.ElementWiseSelect)
def select(w: Writer, op: binary.ElementWiseSelect, inputs: list[str], node: Node) -> str:
    """Where, of a truth value."""
    return w.node("Where", _write_truth(w, inputs[0], node.inputs[0]), *inputs[1:])


def _write_truth(w: Writer, name: str, value: str) -> str:
    return (
        name if w.type(value).dtype == DType.BOOL_8 else w.node("Cast", name, to=ENGINE_CODES[DType.BOOL_8])
    )


@lowers(binary.ElementWiseDivide)
def divide(w: Writer, op: binary.ElementWiseDivide, inputs: list[str], node: Node) -> str:
    """The engine truncates quotients of integers, as this op does."""
    return _write_quotient(w, inputs, node)


@lowers(binary.ElementWiseMod)
def mod(w: Writer, op: binary.ElementWiseMod, inputs: list[str], node: Node) -> str:
    """The engine has it for integers; for floats it has the remainder of the other sign only."""
    if not w.type(node.outputs[0]).dtype.is_float:
        return _write_remainder(w, inputs, node)
    rest = w.node("Mod", *inputs, fmod=1)
    zero = w.scalar(0, w.type(node.outputs[0]).dtype)
    is_other_sign = w.node("Less", w.node("Mul", rest, inputs[1]), zero)
    return w.node("Where", is_other_sign, w.node("Add", rest, inputs[1]), rest)


@lowers(binary.ElementWiseFmod)
def fmod(w: Writer, op: binary.ElementWiseFmod, inputs: list[str], node: Node) -> str:
    """Mod with the sign of the dividend."""
    return w.node("Mod", *inputs, fmod=1)


@lowers(binary.ElementWiseFloorDiv)
def floor_div(w: Writer, op: binary.ElementWiseFloorDiv, inputs: list[str], node: Node) -> str:
    """Integers lose their remainder first, so that truncation has nothing left to round."""
    if w.type(node.outputs[0]).dtype.is_float:
        return w.node("Floor", w.node("Div", *inputs))
    exact = w.node("Sub", inputs[0], _write_remainder(w, inputs, node))
    return _write_quotient(w, [exact, inputs[1]], node)


@lowers(binary.ElementWiseSquaredDifference)
def squared_difference(
    w: Writer, op: binary.ElementWiseSquaredDifference, inputs: list[str], node: Node
) -> str:
    """The difference times itself."""
    difference = w.node("Sub", *inputs)
    return w.node("Mul", difference, difference)


@lowers(unary.ElementWiseRsqrt)
def rsqrt(w: Writer, op: unary.ElementWiseRsqrt, inputs: list[str], node: Node) -> str:
    """One over the root."""
    return w.node("Reciprocal", w.node("Sqrt", inputs[0]))


@lowers(unary.IsInf)
def is_inf(w: Writer, op: unary.IsInf, inputs: list[str], node: Node) -> str:
    """Both signs are the engine's default too."""
    if w.type(node.inputs[0]).dtype not in {DType.FLOAT_32, DType.FLOAT_64}:
        raise NotOnEngine
    return w.node(
        "IsInf",
        inputs[0],
        detect_negative=int(op.detect_negative),
        detect_positive=int(op.detect_positive),
    )


def _write_quotient(w: Writer, inputs: Sequence[str], node: Node) -> str:
    if not _may_trap(w, node):
        return w.node("Div", *inputs)
    is_negated, divisor = _without_minus_one(w, inputs[1], node)
    quotient = w.node("Div", inputs[0], divisor)
    return w.node("Where", is_negated, w.node("Neg", quotient), quotient)


def _write_remainder(w: Writer, inputs: Sequence[str], node: Node) -> str:
    """The remainder of integers with the sign of the divisor; that of -1 is 0, as that of 1."""
    divisor = _without_minus_one(w, inputs[1], node)[1] if _may_trap(w, node) else inputs[1]
    return w.node("Mod", inputs[0], divisor)


def _may_trap(w: Writer, node: Node) -> bool:
    """Processors end a process that divides the smallest integer by -1: the quotient has no place."""
    known = w.graph.constants.get(node.inputs[1])
    is_wide = w.type(node.outputs[0]).dtype in {DType.INT_32, DType.INT_64}
    return is_wide and (known is None or bool((known == -1).any()))


def _without_minus_one(w: Writer, divisor: str, node: Node) -> tuple[str, str]:
    """Where a divisor is -1, and the divisor with 1 in these places."""
    dtype = w.type(node.outputs[0]).dtype
    is_minus_one = w.node("Equal", divisor, w.scalar(-1, dtype))
    return is_minus_one, w.node("Where", is_minus_one, w.scalar(1, dtype), divisor)
