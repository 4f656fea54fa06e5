"""How HTP stores a sum in 8 bits: multipliers of 12 bits, sums cut to 4 bits below a step, biases in float32.

The rules were found by comparing results of the genuine emulator (SDK 2.51, Hexagon v73 to v81) with exact
sums; docs/guide/simulation.md lists where they hold to the last bit.
"""

from dataclasses import dataclass

import numpy as np

from edgewright.backends.cpu.sums import Step
from edgewright.core.numbers import Array, DType
from edgewright.ir.types import TensorType

# Bits of the multipliers of sums that are cut, and of whole sums.
COARSE_BITS, FINE_BITS = 12, 15
# A step of the output has so many parts of a cut sum.
PARTS_BITS = 4
# Biases pass through integers that cover the largest of them with so many bits.
BIAS_BITS = 28


@dataclass(frozen=True)
class Multiplier:
    """A unit of a channel's sum in steps of the output, to some bits, and the power of two below it."""

    value: Array
    exponent: Array
    # With all bits of float32.
    exact: Array

    @property
    def cut(self) -> Array:
        """The units of a cut sum, as a power of two of the sum's own."""
        return np.asarray(np.exp2(self.exponent + PARTS_BITS))


def multiplier(given: float, weights: Array, stored: float, bits: int) -> Multiplier | None:
    """The multiplier of each channel from the scales of input, weights and output; None beyond float32."""
    f = np.float32
    scales = weights.astype(f)
    largest = scales.max()
    with np.errstate(all="ignore"):
        return round_multiplier((f(given) * largest / f(stored)) * (scales / largest), bits)


def round_multiplier(numbers: Array, bits: int) -> Multiplier | None:
    """Multipliers of float32 that keep so many bits; None beyond float32."""
    exact = numbers.astype(np.float64)
    if not np.all(np.isfinite(exact) & (exact > 0)):
        return None
    exponent = np.floor(np.log2(exact))
    unit = np.exp2(exponent - bits + 1)
    return Multiplier(np.floor(exact / unit + 0.5) * unit, exponent, exact)


# A value that is brought to another scale has so many bits, at most so many of them below a step, before it
# is rounded to a step; its multiplier has one less.
RESCALED_BITS, PART_BITS = 16, 6
# Where a value is bent on the way, small factors leave it more of them.
BENT_PARTS = 15


@dataclass(frozen=True)
class Rescaling:
    """A factor of so many bits below a step, and what is added to a product with it before it is rounded."""

    factor: float
    added: float
    bits: int

    @property
    def half_up(self) -> float:
        """What is added where a product is rounded once: it only keeps halves from going down."""
        return 2.0 ** -(self.bits + 1)


def find_rescaling(ratio: float, most_parts: int = PART_BITS, reach: float = 1.0) -> Rescaling | None:
    """From steps of one scale to those of another; some values may become so many times as large.

    Values are rounded to a part of a step first and then, halves up, to a step: both roundings together are
    one that begins half a part earlier. A bit below the last of the multiplier's keeps halves from going
    down.
    """
    if not (np.isfinite(ratio) and ratio):
        return None
    exponent = int(np.floor(np.log2(abs(ratio) * reach)))
    bits, parts = RESCALED_BITS - 2 - exponent, min(most_parts, PART_BITS - exponent)
    if parts < 0:
        return None
    whole = away_from_zero(ratio * 2.0**bits)
    return Rescaling(whole / 2.0**bits, 2.0 ** -(parts + 1) + 2.0 ** -(bits + 1), bits)


def added_bias(real: Array, sums: float, *, is_per_channel: bool, is_whole: bool = False) -> Array:
    """The whole number that is added for each bias; ``sums`` is the scale of (the widest channel's) sums.

    Biases of whole sums are rounded, others lose their fraction.
    """
    f = np.float32
    found = real.astype(f)
    largest = np.abs(found).max(initial=f(0))
    if is_per_channel and largest:
        unit = f(largest / f(1 << BIAS_BITS))
        found = np.rint((found * (f(1) / unit)).astype(np.float64)).astype(f) * unit
    added = np.rint(found * (f(1) / f(sums))) if is_whole else np.trunc(found / f(sums))
    return np.asarray(added, np.float64)


def sum_weights(operands: Array, largest: float) -> tuple[list[int], int]:
    """Whole factors of operands whose sum is at most ``largest`` steps for a step of each, and their bits."""
    bits = 13 - int(np.floor(np.log2(largest)))
    return [away_from_zero(operand * 2.0**bits) for operand in operands.tolist()], bits


def away_from_zero(number: float) -> int:
    """The nearest whole number, halves away from zero."""
    return int(np.copysign(np.floor(abs(number) + 0.5), number))


def is_byte(kind: TensorType) -> bool:
    """Whether a tensor has 8 bits and one encoding with a zero point that is one of its integers."""
    encoding = kind.encoding
    if kind.dtype != DType.UFIXED_POINT_8 or encoding is None or encoding.axis is not None:
        return False
    return encoding.bitwidth == 8 and -255 <= encoding.offsets[0] <= 0


def is_wide(kind: TensorType) -> bool:
    """Whether a tensor has 16 bits and one encoding."""
    encoding = kind.encoding
    if kind.dtype != DType.UFIXED_POINT_16 or encoding is None or encoding.axis is not None:
        return False
    return encoding.bitwidth == 16 and -65535 <= encoding.offsets[0] <= 0


def is_symmetric(kind: TensorType) -> bool:
    """Whether a tensor has signed integers of 16 bits, of which 0 stands for zero."""
    encoding = kind.encoding
    is_plain = encoding is not None and encoding.axis is None and not any(encoding.offsets)
    return kind.dtype == DType.SFIXED_POINT_16 and is_plain


def add_number(number: float) -> Step:
    """A number is added."""
    return Step("Add", np.asarray(number, np.float32))


def cut_sums(factor: Array) -> tuple[Step, ...]:
    """The middle of the part that a cut sum lies in, times its factor: exact in float32."""
    return Step("Floor"), add_number(0.5), Step("Mul", factor.astype(np.float32))


def shift_down(factor: Array, added: Array) -> tuple[Step, ...]:
    """Whole numbers times a factor, plus a part of a step, cut: more bits than float32 has."""
    return (
        Step("Cast", to=DType.FLOAT_64),
        Step("Mul", factor),
        Step("Add", added),
        Step("Floor"),
        Step("Cast", to=DType.FLOAT_32),
    )
