"""What each TFLite op takes and gives, and what its options may be; nodes are held against it."""

from collections.abc import Mapping
from dataclasses import dataclass

from edgewright.core.errors import BadInput, LimitExceeded, Where
from edgewright.frontends.tflite.codes import ACTIVATIONS
from edgewright.frontends.tflite.reader import Operator
from edgewright.ops.windows import LARGEST_STEP

MANY = 1 << 20


@dataclass(frozen=True)
class Arity:
    """How many operands may be named, how many of the first must be there, and how many results there are."""

    inputs: tuple[int, int]
    required: int
    outputs: tuple[int, int] = (1, 1)


def _declare(
    count: int, most: int | None = None, required: int | None = None, outputs: int | tuple[int, int] = 1
) -> Arity:
    made = (outputs, outputs) if isinstance(outputs, int) else outputs
    return Arity((count, count if most is None else most), count if required is None else required, made)


_ONE, _TWO, _THREE = _declare(1), _declare(2), _declare(3)
ARITIES: Mapping[str, Arity] = {
    **dict.fromkeys(
        (
            *(
                "ABS",
                "AVERAGE_POOL_2D",
                "CAST",
                "CEIL",
                "COMPLEX_ABS",
                "COS",
                "DENSIFY",
            ),
            *(
                "DEPTH_TO_SPACE",
                "DEQUANTIZE",
                "ELU",
                "EXP",
                "FAKE_QUANT",
                "FLOOR",
                "GELU",
                "HARD_SWISH",
                "IMAG",
            ),
            *("L2_NORMALIZATION", "L2_POOL_2D", "LEAKY_RELU", "LOCAL_RESPONSE_NORMALIZATION", "LOG"),
            *("LOGICAL_NOT", "LOGISTIC", "LOG_SOFTMAX", "MAX_POOL_2D", "NEG", "QUANTIZE", "RANK"),
            *("READ_VARIABLE", "REAL", "RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1", "ROUND", "RSQRT"),
            *("SHAPE", "SIGN", "SIN", "SOFTMAX", "SPACE_TO_DEPTH", "SQRT", "SQUARE", "SQUEEZE", "TANH"),
            *("WHERE", "ZEROS_LIKE"),
        ),
        _ONE,
    ),
    **dict.fromkeys(
        (
            *(
                "ADD",
                "ARG_MAX",
                "ARG_MIN",
                "BATCH_MATMUL",
                "BITWISE_XOR",
                "BROADCAST_ARGS",
                "BROADCAST_TO",
                "CUMSUM",
                "DIV",
            ),
            *("EMBEDDING_LOOKUP", "EQUAL", "EXPAND_DIMS", "FILL", "FLOOR_DIV", "FLOOR_MOD", "GATHER"),
            *("GATHER_ND", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "LOGICAL_AND", "LOGICAL_OR"),
            *("MAXIMUM", "MEAN", "MINIMUM", "MIRROR_PAD", "MUL", "NOT_EQUAL", "PAD", "POW", "PRELU"),
            *("REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "RESIZE_BILINEAR"),
            *("RESIZE_NEAREST_NEIGHBOR", "REVERSE_SEQUENCE", "REVERSE_V2", "RFFT2D", "SEGMENT_SUM"),
            *("SQUARED_DIFFERENCE", "SUB", "SUM", "TILE", "TRANSPOSE"),
        ),
        _TWO,
    ),
    **dict.fromkeys(
        (
            *("BATCH_TO_SPACE_ND", "DYNAMIC_UPDATE_SLICE", "PADV2", "RANGE", "SCATTER_ND", "SELECT"),
            *("SELECT_V2", "SLICE", "SPACE_TO_BATCH_ND", "UNSORTED_SEGMENT_SUM"),
        ),
        _THREE,
    ),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "CONV_3D", "FULLY_CONNECTED"), _declare(2, 3)),
    **dict.fromkeys(("TRANSPOSE_CONV", "CONV_3D_TRANSPOSE"), _declare(3, 4)),
    **dict.fromkeys(("ADD_N", "CONCATENATION", "PACK"), _declare(1, MANY)),
    "ASSIGN_VARIABLE": _declare(2, outputs=0),
    "BIDIRECTIONAL_SEQUENCE_LSTM": _declare(39, 48, 1, outputs=(1, 2)),
    "CALL": _declare(0, MANY, outputs=(0, MANY)),
    "CALL_ONCE": _declare(0, outputs=0),
    "IF": _declare(1, MANY, outputs=(0, MANY)),
    "NON_MAX_SUPPRESSION_V4": _declare(5, outputs=2),
    "NON_MAX_SUPPRESSION_V5": _declare(6, outputs=3),
    "ONE_HOT": _declare(4),
    "RESHAPE": _declare(1, 2),
    "SPLIT": _declare(2, outputs=(1, MANY)),
    "SPLIT_V": _declare(3, outputs=(1, MANY)),
    "STABLEHLO_COMPOSITE": _declare(0, MANY, outputs=(1, MANY)),
    "STRIDED_SLICE": _declare(4),
    "SVDF": _declare(5, required=3),
    "TOPK_V2": _declare(2, outputs=2),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _declare(20, 24, 1),
    "UNIDIRECTIONAL_SEQUENCE_RNN": _declare(5, outputs=(1, 2)),
    "UNPACK": _declare(1, outputs=(1, MANY)),
    "VAR_HANDLE": _declare(0),
    "WHILE": _declare(1, MANY, outputs=(0, MANY)),
}
# The least and the most of an option, by its name: one name means the same in all ops.
RANGES: Mapping[str, tuple[int, int]] = {
    "padding": (0, 1),
    "fused_activation_function": (0, len(ACTIVATIONS) - 1),
    **dict.fromkeys(("stride_w", "stride_h", "stride_d"), (1, LARGEST_STEP)),
    **dict.fromkeys(("dilation_w_factor", "dilation_h_factor", "dilation_d_factor"), (1, LARGEST_STEP)),
    **dict.fromkeys(("filter_width", "filter_height"), (1, LARGEST_STEP)),
    "depth_multiplier": (0, LARGEST_STEP),
    "block_size": (1, LARGEST_STEP),
    "mode": (0, 1),
    "radius": (0, LARGEST_STEP),
    "num_splits": (1, MANY),
    "values_count": (1, MANY),
    "num": (1, MANY),
    "num_bits": (2, 16),
}


def check_operator(operator: Operator, where: Where) -> None:
    """Counts of operands and results, and options, against the op's declaration."""
    if operator.is_custom:
        return
    arity = ARITIES.get(operator.op)
    if arity is not None:
        _check_count("inputs", len(operator.inputs), arity.inputs, where)
        _check_count("outputs", len(operator.outputs), arity.outputs, where)
        missing = [place for place, index in enumerate(operator.inputs[: arity.required]) if index < 0]
        if missing:
            raise BadInput(
                f"input {missing[0]} is left out, expected a tensor", where, do="export the model again"
            )
    for name, value in operator.options.items():
        _check_option(name, value, where)


def _check_count(what: str, count: int, limits: tuple[int, int], where: Where) -> None:
    least, most = limits
    if least <= count <= most:
        return
    expected = str(least) if least == most else f"{least} or more" if most == MANY else f"{least} to {most}"
    raise BadInput(f"{count} {what} are given, expected {expected}", where, do="export the model again")


def _check_option(name: str, value: object, where: Where) -> None:
    if name not in RANGES or not isinstance(value, int):
        return
    least, most = RANGES[name]
    if least <= value <= most:
        return
    kind = LimitExceeded if value > most >= LARGEST_STEP else BadInput
    raise kind(f"{name} is {value}, expected {least} to {most}", where, do="export the model again")
