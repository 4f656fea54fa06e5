"""Sums of products of 16 bits, as HTP rounds them: high and low bytes of the input have sums of their own.

Those of low bytes are cut to whole units of the others; so is all that is added to them.
"""

import numpy as np

from edgewright.backends.cpu.sums import BYTE, Step, SumForm, WideSums
from edgewright.backends.htp.requantize import Multiplier, is_symmetric, is_wide, multiplier, shift_down
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node

# Bits of the multiplier of such sums; a step of the output has so many parts of a cut sum, in bits.
WIDE_BITS, WIDE_PARTS_BITS = 22, 8
# By how much a value has to grow for a gate to open, the bits of a gate, and those of its slope below one.
STEEPNESS, GATE_BITS, SLOPE_BITS = 6, 20, 25
# A slope that needs finer parts than these is cut.
MOST_ROUNDED = 4


def split_input(x: Encoding, total: Array, *, is_cut: bool) -> WideSums:
    """How sums of bytes become one; ``total`` is the sum of each channel's weights."""
    zero = -x.offsets[0]
    return WideSums(zero, (zero % BYTE) * total if is_cut else None)


def cut_wide(factor: Multiplier, x: Encoding, total: Array, bias: Array) -> tuple[Step, ...]:
    """Sums of high bytes, and what the zero point and the bias add, in steps."""
    return store_parts(factor, add_zero(x, total) + bias, BYTE)


def store_parts(factor: Multiplier, added: Array, unit: int) -> tuple[Step, ...]:
    """The middle of the part that a sum in so many units lies in, times its factor, halves up."""
    value, parts = factor.value * unit, np.exp2(factor.exponent + np.log2(unit) + WIDE_PARTS_BITS)
    if np.all(parts >= 1):
        return shift_down(value, (added + 0.5 / parts) * value + 0.5)
    return (
        Step("Cast", to=DType.FLOAT_64),
        Step("Add", added),
        Step("Mul", parts),
        Step("Floor"),
        *shift_down(value / parts, 0.5 * value / parts + 0.5),
    )


def multiply_wide_matrices(graph: Graph, node: Node) -> SumForm | None:
    """A product of two activations, the second of which is symmetric: sums of high bytes of both."""
    first, second, result = (graph.types[value] for value in (*node.inputs[:2], node.outputs[0]))
    if any(node.inputs[2:]) or not set(node.inputs).isdisjoint(graph.constants):
        return None
    if 0 in first.shape or not (is_wide(first) and is_wide(result) and is_symmetric(second)):
        return None
    a, b, y = (kind.encoding for kind in (first, second, result))
    assert a is not None
    assert b is not None
    assert y is not None
    factor = multiplier(a.scales[0], np.asarray(b.scales), y.scales[0], WIDE_BITS)
    if factor is None:
        return None
    whole = Multiplier(factor.value[0], factor.exponent[0], factor.exact[0])
    return SumForm({}, {}, store_parts(whole, np.asarray(0.0), BYTE * BYTE), zero=-a.offsets[0])


def gate_wide(x: Encoding, y: Encoding, scales: Array, total: Array, bias: Array) -> tuple[Step, ...]:
    """HardSwish of the middles of parts of sums of high bytes, cut to a step; ``scales`` are the weights'.

    A gate whose slope has more bits than there is room for reads parts that are finer by these.
    """
    real = _find_real(x, scales)
    exact = real / np.float32(y.scales[0])
    exponent = np.floor(np.log2(exact.astype(np.float64)))
    parts, unit = np.exp2(exponent + np.log2(BYTE) + WIDE_PARTS_BITS), np.exp2(exponent - GATE_BITS + 1)
    single = (exact.astype(np.float64) * real / STEEPNESS).astype(np.float32)
    slope = single.astype(np.float64) * BYTE / unit / parts
    fineness = np.exp2(np.maximum(np.floor(np.log2(slope)) + SLOPE_BITS - WIDE_BITS + 1, 0.0))
    steps = slope / fineness * 2.0**SLOPE_BITS
    # Halves of slopes go up, three quarters of those that lose up to two bits, nothing of others.
    whole = np.floor(steps + np.select([fineness == 1, fineness <= MOST_ROUNDED], [0.5, 0.25]))
    gate = (
        Step("Mul", parts * fineness),
        Step("Floor"),
        Step("Add", np.asarray(0.5)),
        Step("Mul", whole / 2.0**SLOPE_BITS),
        Step("Floor"),
        Step("Add", _round_to(exact / unit / 2, 1.0)),
        Step("Max", np.asarray(0.0)),
        Step("Min", _round_to(exact / unit, 2.0 ** (GATE_BITS - WIDE_BITS))),
    )
    middles = (Step("Mul", parts), Step("Floor"), Step("Add", np.asarray(0.5)))
    return (
        Step("Cast", to=DType.FLOAT_64),
        Step("Add", add_zero(x, total) + bias),
        Step("Mul", trunk=middles, branch=gate),
        Step("Mul", unit * BYTE / parts),
        Step("Floor"),
        Step("Cast", to=DType.FLOAT_32),
    )


def round_real(x: Encoding, y: Encoding, scales: Array, bias: Array) -> tuple[Step, ...]:
    """Whole sums as real numbers of single precision: in the scale of the widest channel, then in steps.

    The output's zero is added before steps are rounded, halves to the even one. ``bias`` is in units of sums.
    """
    single, zero = scales.astype(np.float32), np.asarray(-y.offsets[0], np.float32)
    unit = np.float32(x.scales[0]) * single.max()
    return (
        Step("Cast", to=DType.FLOAT_64),
        Step("Add", bias.astype(np.float64)),
        Step("Mul", np.asarray(unit, np.float64)),
        Step("Cast", to=DType.FLOAT_32),
        Step("Mul", single / single.max()),
        Step("Mul", np.float32(1) / np.asarray(y.scales[0], np.float32)),
        Step("Add", zero),
        Step("Round"),
        Step("Sub", zero),
    )


def find_steps(x: Encoding, y: Encoding, scales: Array) -> Array:
    """Steps of the output for each sum, as float32 has them; ``scales`` are the weights'."""
    return np.asarray(_find_real(x, scales) / np.float32(y.scales[0]), np.float64)


def _find_real(x: Encoding, scales: Array) -> Array:
    """The real numbers that sums stand for."""
    single = scales.astype(np.float32)
    return np.asarray((np.float32(x.scales[0]) * single.max()) * (single / single.max()))


def _round_to(numbers: Array, unit: float) -> Array:
    """The nearest multiples of a unit, halves up."""
    return np.floor(numbers.astype(np.float64) / unit + 0.5) * unit


def add_zero(x: Encoding, total: Array) -> Array:
    """What the zero point adds to the sums of high bytes: it is rounded by itself, halves down."""
    return np.asarray(np.ceil(-(-x.offsets[0] % BYTE) * total / BYTE - 0.5))
