"""The values of an op's traits: what the quantizer, the passes and the reports read from an op."""

from dataclasses import dataclass
from enum import Enum
from math import inf

# The least and the largest number.
Range = tuple[float, float]
EVERYTHING: Range = (-inf, inf)


class EncodingRule(Enum):
    """What a quantizer may do with an op's output encoding."""

    FREE = "free"
    SAME_AS_INPUT = "same as input"
    FIXED = "fixed"


class HtpPrecision(Enum):
    """The numbers that an op is computed in when a model is quantized for the HTP."""

    FIXED_POINT = "8 or 16 bits"
    EIGHT_BITS = "8 bits, or floating point"
    FLOAT = "floating point"
    # The HTP's table has neither; a comment at the op says why it is quantized anyway.
    UNLISTED = "8 or 16 bits, which the HTP's table lacks"


class HtpWork(Enum):
    """What an op without products gives the HTP to do, as far as its time goes."""

    # Nothing of its own: elements stay where they are, or the op before does it on its way.
    NONE = "none"
    # An op that the compiler often does by writing its inputs side by side.
    PLACEMENT = "placement"
    TRANSPOSE = "transpose"
    ELEMENTS = "elements"
    # Element by element as well: a function that is no line (Sigmoid, Gelu).
    CURVE = "curve"
    # Sums over whole rows before any result (norms, Softmax).
    STATISTICS = "statistics"


@dataclass(frozen=True)
class Roles:
    """Positions of weights and biases among an op's inputs."""

    weights: frozenset[int] = frozenset()
    biases: frozenset[int] = frozenset()
    # Output channels, and input channels, of the weights.
    axis: int | None = None
    block_axis: int | None = None
    is_convolution: bool = False
