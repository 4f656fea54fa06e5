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


@dataclass(frozen=True)
class Roles:
    """Positions of weights and biases among an op's inputs."""

    weights: frozenset[int] = frozenset()
    biases: frozenset[int] = frozenset()
    # Output channels, and input channels, of the weights.
    axis: int | None = None
    block_axis: int | None = None
    is_convolution: bool = False
