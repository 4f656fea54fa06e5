"""Op types as a DLC spells them: some stand for a family, with an attribute for the member."""

from dataclasses import dataclass, field

from edgewright.core.numbers import DType
from edgewright.lower.lower import QNN_PACKAGE
from edgewright.lower.qnn_graph import QnnScalar

_OPERATION = "operation"


@dataclass(frozen=True)
class Spelling:
    """An op type, and the scalars that complete it."""

    type: str
    parameters: dict[str, QnnScalar] = field(default_factory=dict)
    bookkeeping: dict[str, QnnScalar] = field(default_factory=dict)


# DLC type -> the QNN op that has the same parameter 'operation', and the ops that its values stand for. The
# pairs are what libQnnIr 2.51 writes, but for two: it gives HardSwish the number of HARD_SIGMOID, and leaves
# ElementWiseSoftplus, which the composer of libQnnSystem then refuses.
_BY_NUMBER: dict[str, tuple[str, dict[int, str]]] = {
    "Eltwise_Unary": (
        "ElementWiseUnary",
        {
            0: "ElementWiseAbs",
            1: "ElementWiseAsin",
            2: "ElementWiseAtan",
            3: "ElementWiseCeil",
            4: "ElementWiseCos",
            5: "ElementWiseExp",
            6: "ElementWiseFloor",
            7: "ElementWiseLog",
            8: "ElementWiseNeg",
            9: "ElementWiseNot",
            11: "ElementWiseRound",
            12: "ElementWiseRsqrt",
            13: "ElementWiseSign",
            14: "ElementWiseSin",
            15: "ElementWiseSquareRoot",
        },
    ),
    "Eltwise_Binary": (
        "ElementWiseBinary",
        {
            0: "ElementWiseAdd",
            1: "ElementWiseAnd",
            2: "ElementWiseDivide",
            3: "ElementWiseEqual",
            4: "ElementWiseFloorDiv",
            5: "ElementWiseFmod",
            6: "ElementWiseGreater",
            7: "ElementWiseGreaterEqual",
            8: "ElementWiseLess",
            9: "ElementWiseLessEqual",
            10: "ElementWiseMaximum",
            11: "ElementWiseMinimum",
            12: "ElementWiseMod",
            13: "ElementWiseMultiply",
            14: "ElementWiseNotEqual",
            15: "ElementWiseOr",
            16: "ElementWisePower",
            17: "ElementWiseSquaredDifference",
            18: "ElementWiseSubtract",
            19: "ElementWiseXor",
        },
    ),
    "Neuron": (
        "ElementWiseNeuron",
        {
            0: "Elu",
            1: "Gelu",
            3: "HardSwish",
            4: "Relu",
            5: "ReluMinMax",
            6: "Sigmoid",
            7: "ElementWiseSoftplus",
            8: "Tanh",
        },
    ),
}
# The genuine composer of graphs knows neither op by its name, only as limits; our own word keeps the name.
_OWN_WORD = "edgewright_type"
_RELU_MIN_MAX = 5
_BY_LIMITS = {"Relu1": (-1.0, 1.0), "Relu6": (0.0, 6.0)}
# The parameters that a member has; with any other it is read as the generic op.
_OWN_PARAMETERS = {
    "Elu": {"alpha"},
    "ElementWiseSoftplus": {"beta", "threshold"},
    "ReluMinMax": {"min_value", "max_value"},
}
# DLC type -> the attribute that holds the QNN type, and the types that it stands for.
_BY_WORD: dict[str, tuple[str, tuple[str, ...]]] = {
    "Arg": ("arg_type", ("Argmax", "Argmin")),
    "Eltwise_Ternary": ("eltwise_type", ("ElementWiseSelect",)),
    "Pool": ("pool_type", ("PoolAvg2d", "PoolMax2d", "L2Pool2d")),
    "Pool3d": ("pool_type", ("PoolAvg3d", "PoolMax3d")),
    "Reduce": ("reduce_type", ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")),
}
TYPE_WORDS = frozenset({_OWN_WORD, *(word for word, _ in _BY_WORD.values())})

# Aliases: they are read as the op that is meant. A DLC keeps the third, ElementWiseNeuron.
_GENERIC = {"ElementWiseUnary": "Eltwise_Unary", "ElementWiseBinary": "Eltwise_Binary"}
_NUMBERS = {name: (family, number) for family, (_, ops) in _BY_NUMBER.items() for number, name in ops.items()}
_WORDS = {name: (family, word) for family, (word, names) in _BY_WORD.items() for name in names}


def spell_in_dlc(op_type: str, package: str) -> Spelling:
    """How a DLC spells an op; ops of other packages keep their names."""
    if package != QNN_PACKAGE:
        return Spelling(op_type)
    if op_type in _NUMBERS:
        family, number = _NUMBERS[op_type]
        return Spelling(family, {_OPERATION: QnnScalar(DType.UINT_32, number)})
    if op_type in _WORDS:
        family, word = _WORDS[op_type]
        return Spelling(family, bookkeeping={word: QnnScalar(DType.STRING, op_type)})
    if op_type in _BY_LIMITS:
        return Spelling("Neuron", _list_limits(op_type), {_OWN_WORD: QnnScalar(DType.STRING, op_type)})
    return Spelling(_GENERIC.get(op_type, op_type))


def spell_in_qnn(spelling: Spelling, package: str) -> Spelling:
    """The QNN op behind a spelling, with the remaining parameters; an unknown type is kept."""
    if package == QNN_PACKAGE and spelling.type in _BY_NUMBER:
        return _spell_by_number(spelling)
    if package == QNN_PACKAGE and spelling.type in _BY_WORD:
        word, names = _BY_WORD[spelling.type]
        meant = spelling.bookkeeping.get(word)
        if meant is not None and meant.value in names:
            return Spelling(str(meant.value), spelling.parameters)
    return Spelling(spelling.type, spelling.parameters)


def _spell_by_number(spelling: Spelling) -> Spelling:
    generic, ops = _BY_NUMBER[spelling.type]
    word = spelling.bookkeeping.get(_OWN_WORD)
    if word is not None and word.value in _BY_LIMITS and spelling.parameters == _list_limits(str(word.value)):
        return Spelling(str(word.value))
    operation = spelling.parameters.get(_OPERATION)
    if operation is None or operation.value not in ops:
        return Spelling(generic, spelling.parameters)
    rest = {name: value for name, value in spelling.parameters.items() if name != _OPERATION}
    op_type = ops[int(operation.value)]
    if set(rest) - _OWN_PARAMETERS.get(op_type, set()):
        return Spelling(generic, spelling.parameters)
    return Spelling(op_type, rest)


def _list_limits(op_type: str) -> dict[str, QnnScalar]:
    low, high = _BY_LIMITS[op_type]
    return {
        _OPERATION: QnnScalar(DType.UINT_32, _RELU_MIN_MAX),
        "min_value": QnnScalar(DType.FLOAT_32, low),
        "max_value": QnnScalar(DType.FLOAT_32, high),
    }
