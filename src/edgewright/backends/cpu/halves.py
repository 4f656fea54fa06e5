"""Floats of 11 bits in the engine's float32, rounded and looked up as a backend's hardware does it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op

if TYPE_CHECKING:
    from edgewright.backends.cpu.writer import Writer

LARGEST_HALF = 65504.0
# The first opset that reads the bits of a number.
BITS_OPSET = 26
# A number that is so much larger is beyond the middle between two halves where it was that middle.
BEYOND = float(np.nextafter(np.float32(1), np.float32(2)))


@dataclass(frozen=True)
class HalfArithmetic:
    """How results of 11 bits come about."""

    # The float32 results of an op of one float16, by its bits; None where they are rounded as others.
    table: Callable[[Op], Array | None]
    # Whether results in the middle between two go to the even one, and not away from zero.
    has_even_ties: Callable[[Graph, Node], bool]
    # Whether results keep the bits of a float32: what the next op computes with.
    is_whole: Callable[[Graph, Node], bool]
    # Whether sums of products are exact before they become a float32, to which a bias is added.
    has_exact_sums: bool = False


def halve_value(w: "Writer", value: str, rank: int, *, is_even: bool) -> str:
    """A float with 11 bits and at most twice the largest float16, as HTP keeps it."""
    base, order = w.before_transpose(value)
    if order is not None:
        return w.transpose(halve_value(w, base, rank, is_even=is_even), order)
    if not is_even:
        value = w.node("Mul", value, w.scalar(BEYOND, DType.FLOAT_32))
    low, high = (w.scalar(limit, DType.FLOAT_32) for limit in (-LARGEST_HALF, LARGEST_HALF))
    within = w.node("Clip", value, low, high)
    beyond = w.node("Clip", w.node("Sub", value, within), low, high)
    return w.node("Add", _cast_twice(w, within, rank), _cast_twice(w, beyond, rank))


def look_up_half(w: "Writer", value: str, table: Array) -> str:
    """What a table has for the bits of a value of 11 bits; beyond float16 it is that of the largest."""
    base, order = w.before_transpose(value)
    if order is not None:
        return w.transpose(look_up_half(w, base, table), order)
    w.opset = BITS_OPSET
    low, high = (w.scalar(limit, DType.FLOAT_32) for limit in (-LARGEST_HALF, LARGEST_HALF))
    half = w.node("Cast", w.node("Clip", value, low, high), to=w.code(DType.FLOAT_16))
    bits = w.node("BitCast", half, to=w.code(DType.UINT_16))
    return w.node("Gather", w.constant(table), w.node("Cast", bits, to=w.code(DType.INT_32)))


def _cast_twice(w: "Writer", value: str, rank: int) -> str:
    # The reshape changes nothing, but without it the engine takes the casts for ones that do nothing.
    narrow = w.node("Reshape", w.node("Cast", value, to=w.code(DType.FLOAT_16)), w.ints((0,) * rank))
    return w.node("Cast", narrow, to=w.code(DType.FLOAT_32))
