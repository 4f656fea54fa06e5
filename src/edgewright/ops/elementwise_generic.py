"""The three ops that name an elementwise function by an enum: each stands for the op of that function."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

from edgewright.core.errors import BadInput
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import REGISTRY, Op, Port, Sample, register, scalar
from edgewright.ir.types import TensorType
from edgewright.ops import activation, elementwise, elementwise_unary
from edgewright.ops.elementwise_unary import POSITIVE


class UnaryOperation(IntEnum):
    """Functions of ElementWiseUnary."""

    ABS = 0
    ASIN = 1
    ATAN = 2
    CEIL = 3
    COS = 4
    EXP = 5
    FLOOR = 6
    LOG = 7
    NEG = 8
    NOT = 9
    RECIPROCAL = 10
    ROUND = 11
    RSQRT = 12
    SIGN = 13
    SIN = 14
    SQRT = 15


class BinaryOperation(IntEnum):
    """Functions of ElementWiseBinary."""

    ADD = 0
    AND = 1
    DIVIDE = 2
    EQUAL = 3
    FLOOR_DIV = 4
    FMOD = 5
    GREATER = 6
    GREATER_EQUAL = 7
    LESS = 8
    LESS_EQUAL = 9
    MAXIMUM = 10
    MINIMUM = 11
    MOD = 12
    MULTIPLY = 13
    NOT_EQUAL = 14
    OR = 15
    POWER = 16
    SQUARED_DIFFERENCE = 17
    SUBTRACT = 18
    XOR = 19


class NeuronOperation(IntEnum):
    """Functions of ElementWiseNeuron."""

    ELU = 0
    GELU = 1
    HARD_SIGMOID = 2
    HARD_SWISH = 3
    RELU = 4
    RELU_MIN_MAX = 5
    SIGMOID = 6
    SOFTPLUS = 7
    TANH = 8


_UNARY: dict[UnaryOperation, Op] = {
    UnaryOperation.ABS: elementwise_unary.ElementWiseAbs(),
    UnaryOperation.ASIN: elementwise_unary.ElementWiseAsin(),
    UnaryOperation.ATAN: elementwise_unary.ElementWiseAtan(),
    UnaryOperation.CEIL: elementwise_unary.ElementWiseCeil(),
    UnaryOperation.COS: elementwise_unary.ElementWiseCos(),
    UnaryOperation.EXP: elementwise_unary.ElementWiseExp(),
    UnaryOperation.FLOOR: elementwise_unary.ElementWiseFloor(),
    UnaryOperation.LOG: elementwise_unary.ElementWiseLog(),
    UnaryOperation.NEG: elementwise_unary.ElementWiseNeg(),
    UnaryOperation.NOT: elementwise_unary.ElementWiseNot(),
    UnaryOperation.RECIPROCAL: elementwise_unary.Reciprocal(),
    UnaryOperation.ROUND: elementwise_unary.ElementWiseRound(),
    UnaryOperation.RSQRT: elementwise_unary.ElementWiseRsqrt(),
    UnaryOperation.SIGN: elementwise_unary.ElementWiseSign(),
    UnaryOperation.SIN: elementwise_unary.ElementWiseSin(),
    UnaryOperation.SQRT: elementwise_unary.ElementWiseSquareRoot(),
}
_BINARY: dict[BinaryOperation, Op] = {
    BinaryOperation.ADD: elementwise.ElementWiseAdd(),
    BinaryOperation.AND: elementwise.ElementWiseAnd(),
    BinaryOperation.DIVIDE: elementwise.ElementWiseDivide(),
    BinaryOperation.EQUAL: elementwise.ElementWiseEqual(),
    BinaryOperation.FLOOR_DIV: elementwise.ElementWiseFloorDiv(),
    BinaryOperation.FMOD: elementwise.ElementWiseFmod(),
    BinaryOperation.GREATER: elementwise.ElementWiseGreater(),
    BinaryOperation.GREATER_EQUAL: elementwise.ElementWiseGreaterEqual(),
    BinaryOperation.LESS: elementwise.ElementWiseLess(),
    BinaryOperation.LESS_EQUAL: elementwise.ElementWiseLessEqual(),
    BinaryOperation.MAXIMUM: elementwise.ElementWiseMaximum(),
    BinaryOperation.MINIMUM: elementwise.ElementWiseMinimum(),
    BinaryOperation.MOD: elementwise.ElementWiseMod(),
    BinaryOperation.MULTIPLY: elementwise.ElementWiseMultiply(),
    BinaryOperation.NOT_EQUAL: elementwise.ElementWiseNotEqual(),
    BinaryOperation.OR: elementwise.ElementWiseOr(),
    BinaryOperation.POWER: elementwise.ElementWisePower(),
    BinaryOperation.SQUARED_DIFFERENCE: elementwise.ElementWiseSquaredDifference(),
    BinaryOperation.SUBTRACT: elementwise.ElementWiseSubtract(),
    BinaryOperation.XOR: elementwise.ElementWiseXor(),
}


@dataclass(frozen=True, kw_only=True)
class Generic(Op):
    """An op that stands for another one."""

    @abstractmethod
    def specific(self) -> Op:
        """The op that has the meaning."""

    def canonical(self) -> Op:
        """The op it stands for where QNN has that op too."""
        specific = self.specific()
        return specific if specific.qnn_name() in REGISTRY else self

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """As the op it stands for."""
        return self.specific().infer(*inputs)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """As the op it stands for."""
        return self.specific().compute(*inputs)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """As the op it stands for, whose parameters no order changes."""
        found = self.specific().permuted(order, *inputs)
        return None if found is None else (self, found[1])


@register
@dataclass(frozen=True, kw_only=True)
class ElementWiseUnary(Generic):
    """A function of one operand, named by ``operation``."""

    operation: UnaryOperation = scalar(DType.UINT_32)

    def specific(self) -> Op:
        """The op of that name."""
        return _UNARY[UnaryOperation(self.operation)]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Every function."""
        for operation, op in _UNARY.items():
            given = next(iter(type(op).samples())).inputs
            if operation == UnaryOperation.RECIPROCAL:
                given = (POSITIVE,)
            yield Sample(operation.name.lower(), cls(operation=operation), given)


@register
@dataclass(frozen=True, kw_only=True)
class ElementWiseBinary(Generic):
    """A function of two operands, named by ``operation``."""

    inputs = (Port("in[0]"), Port("in[1]"))

    operation: BinaryOperation = scalar(DType.UINT_32)

    def specific(self) -> Op:
        """The op of that name."""
        return _BINARY[BinaryOperation(self.operation)]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Every function."""
        for operation, op in _BINARY.items():
            given = next(iter(type(op).samples())).inputs
            yield Sample(operation.name.lower(), cls(operation=operation), given)


@register
@dataclass(frozen=True, kw_only=True)
class ElementWiseNeuron(Generic):
    """An activation function, named by ``operation``; each has parameters of its own."""

    operation: NeuronOperation = scalar(DType.UINT_32)
    alpha: float | None = scalar(DType.FLOAT_32, None)
    beta: float | None = scalar(DType.FLOAT_32, None)
    min_value: float | None = scalar(DType.FLOAT_32, None)
    max_value: float | None = scalar(DType.FLOAT_32, None)
    threshold: float | None = scalar(DType.FLOAT_32, None)

    def specific(self) -> Op:
        """The op of that name with the parameters that are its own."""
        operation = NeuronOperation(self.operation)
        kind, names = _NEURON[operation]
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        given = {name: value for name, value in found.items() if value is not None}
        if operation == NeuronOperation.RELU_MIN_MAX and len(given) < len(names):
            raise BadInput("RELU_MIN_MAX lacks a bound", do="give both min_value and max_value")
        return kind(**given)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Every function, and every parameter."""
        x = (TensorType((2, 3, 4)),)
        for operation in NeuronOperation:
            if operation != NeuronOperation.RELU_MIN_MAX:
                yield Sample(operation.name.lower(), cls(operation=operation), x)
        hard, clip = NeuronOperation.HARD_SIGMOID, NeuronOperation.RELU_MIN_MAX
        yield Sample("alpha_beta", cls(operation=hard, alpha=1 / 6, beta=0.4), x)
        yield Sample("bounds", cls(operation=clip, min_value=-1.0, max_value=0.5), x)
        yield Sample("threshold", cls(operation=NeuronOperation.SOFTPLUS, beta=2.0, threshold=0.5), x)


_NEURON: dict[NeuronOperation, tuple[type[Op], tuple[str, ...]]] = {
    NeuronOperation.ELU: (activation.Elu, ("alpha",)),
    NeuronOperation.GELU: (activation.Gelu, ()),
    NeuronOperation.HARD_SIGMOID: (activation.HardSigmoid, ("alpha", "beta")),
    NeuronOperation.HARD_SWISH: (activation.HardSwish, ()),
    NeuronOperation.RELU: (activation.Relu, ()),
    NeuronOperation.RELU_MIN_MAX: (activation.ReluMinMax, ("min_value", "max_value")),
    NeuronOperation.SIGMOID: (activation.Sigmoid, ()),
    NeuronOperation.SOFTPLUS: (activation.ElementWiseSoftplus, ("beta", "threshold")),
    NeuronOperation.TANH: (activation.Tanh, ()),
}
