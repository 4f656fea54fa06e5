"""Sums of products of 16 bits, as HTP rounds them: high and low bytes of the input have sums of their own.

Those of low bytes are cut to whole units of the others; so is all that is added to them.
"""

import numpy as np

from edgewright.backends.cpu.sums import Step, WideSums
from edgewright.backends.htp.requantize import Multiplier, shift_down
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding

# Bits of the multiplier of such sums; a step of the output has so many parts of a cut sum, in bits.
WIDE_BITS, WIDE_PARTS_BITS = 22, 8
BYTE = 256
# By how much a value has to grow for a gate to open, and the bits of an open one.
STEEPNESS, GATE_BITS = 6, 20


def split_input(x: Encoding, total: Array, *, is_cut: bool) -> WideSums:
    """How sums of bytes become one; ``total`` is the sum of each channel's weights."""
    zero = -x.offsets[0]
    return WideSums(zero, (zero % BYTE) * total if is_cut else None)


def cut_wide(factor: Multiplier, x: Encoding, total: Array, bias: Array) -> tuple[Step, ...]:
    """The middle of the part that a sum of high bytes lies in, times its factor, halves up."""
    added = _add_zero(x, total) + bias
    value, parts = factor.value * BYTE, np.exp2(factor.exponent + np.log2(BYTE) + WIDE_PARTS_BITS)
    if np.all(parts >= 1):
        return shift_down(value, (added + 0.5 / parts) * value + 0.5)
    return (
        Step("Cast", to=DType.FLOAT_64),
        Step("Add", added),
        Step("Mul", parts),
        Step("Floor"),
        *shift_down(value / parts, 0.5 * value / parts + 0.5),
    )


def gate_wide(factor: Multiplier, x: Encoding, total: Array, bias: Array, scales: Array) -> tuple[Step, ...]:
    """HardSwish of sums of high bytes, cut to a step; ``scales`` are those of the weights.

    Two elements in a thousand are a step away: what else is lost in a gate is not known.
    """
    real, unit = BYTE * x.scales[0] * scales, np.exp2(GATE_BITS - 1 - factor.exponent)
    whole = factor.exact * unit
    gate = (
        Step("Mul", whole * real / STEEPNESS),
        Step("Floor"),
        Step("Add", np.rint(whole / 2)),
        Step("Max", np.asarray(0.0)),
        Step("Min", np.rint(whole)),
        Step("Mul", BYTE / unit),
    )
    return (
        Step("Cast", to=DType.FLOAT_64),
        Step("Add", _add_zero(x, total) + bias),
        Step("Mul", branch=gate),
        # Rounded to parts of a step first.
        Step("Add", np.asarray(0.5 / (1 << WIDE_PARTS_BITS))),
        Step("Floor"),
        Step("Cast", to=DType.FLOAT_32),
    )


def _add_zero(x: Encoding, total: Array) -> Array:
    """What the zero point adds to the sums of high bytes: it is rounded by itself, halves down."""
    return np.asarray(np.ceil(-(-x.offsets[0] % BYTE) * total / BYTE - 0.5))
