"""Prelu behind a product, as HTP computes it: sums times one of two factors, whatever is stored of them.

Sums on either side of zero are cut as finely as the range of the output asks for on the side that they go to.
"""

import numpy as np

from edgewright.backends.cpu.sums import BYTE, Step, SumForm
from edgewright.backends.htp.gated_sums import GATE_BITS, cut_reach
from edgewright.backends.htp.requantize import Multiplier, is_byte, is_wide
from edgewright.backends.htp.wide_moves import INTEGERS
from edgewright.backends.htp.wide_products import WIDE_BITS, WIDE_PARTS_BITS
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import Prelu
from edgewright.passes.htp.raise_faint_channels import read_slopes

LAST = 255
# Of the factor of 16 bits that are not negative.
WORD_BITS = 15
# Of a product with it.
WHOLE_BITS = 32
# Less than any result.
LOWEST = -(2.0**40)
REAL, SINGLE = Step("Cast", to=DType.FLOAT_64), Step("Cast", to=DType.FLOAT_32)
HALF, FLOOR = Step("Add", np.asarray(0.5)), Step("Floor")


def find_slopes(graph: Graph, maker: Node) -> Array | None:
    """A slope for each channel of the Prelu right behind a product; None where its sums are not bent."""
    value = maker.outputs[0]
    if not maker.op.is_product or not graph.is_used_once(value):
        return None
    (reader,) = graph.consumers(value)
    if type(reader.op) is not Prelu or reader.inputs[0] != value:
        return None
    kinds = [graph.types[name] for name in (value, reader.outputs[0])]
    is_known = all(map(is_byte, kinds)) or all(map(is_wide, kinds))
    return read_slopes(graph, reader.inputs[1], kinds[0].shape[-1:]) if is_known else None


def find_bend(graph: Graph, maker: Node) -> Array | None:
    """The slopes where a product writes what the Prelu behind it gives; `with_fusions` makes it so."""
    slopes = find_slopes(graph, maker)
    if slopes is None:
        return None
    (reader,) = graph.consumers(maker.outputs[0])
    kinds = [graph.types[name] for name in (maker.outputs[0], reader.outputs[0])]
    return slopes if kinds[0].encoding == kinds[1].encoding else None


def round_bent_words(graph: Graph, node: Node) -> SumForm | None:
    """A Prelu of 16 bits: factors of both sides lose what is finer than a bit of the larger one.

    They have at most as many bits below a step; halves go up. What needs more than 32 bits then wraps.
    """
    value, slope = node.inputs
    x, y = (graph.types[name].encoding for name in (value, node.outputs[0]))
    slopes = read_slopes(graph, slope, graph.types[value].shape[-1:])
    if x is None or y is None or slopes is None:
        return None
    ratio = np.float32(x.scales[0]) / np.float32(y.scales[0])
    steepest = np.float64(ratio) * max(1.0, np.abs(slopes).max())
    bits = WORD_BITS - max(np.floor(np.log2(steepest)) + 1, 0)
    above, below = (
        np.trunc((ratio * size).astype(np.float64) * 2.0**bits) / 2.0**bits
        for size in (np.ones(1, np.float32), slopes.astype(np.float32))
    )
    turn = 2.0 ** (WHOLE_BITS - bits)
    if slopes.size == 1:
        # The engine has one slope as an attribute, which no stand-in replaces.
        return SumForm({value: x}, table=_make_table(x, y, above, below, turn))
    # The op itself passes the whole numbers on.
    ones = {slope: np.ones(graph.constants[slope].shape, np.float32)}
    sides = _join_sides((Step("Mul", above),), (Step("Mul", below),))
    wrapped = (
        Step("Mul", np.asarray(1 / turn)),
        Step("Add", np.asarray(0.5 - y.offsets[0] / turn)),
        FLOOR,
        Step("Mul", np.asarray(-turn)),
    )
    steps = (REAL, sides, HALF, FLOOR, Step("Add", branch=wrapped), SINGLE)
    return SumForm({value: Encoding((1.0,), x.offsets)}, ones, steps)


def _make_table(x: Encoding, y: Encoding, above: Array, below: Array, turn: float) -> Array:
    """What each integer becomes."""
    whole = np.arange(INTEGERS) + float(x.offsets[0])
    steps = np.floor(np.where(whole < 0, whole * below, whole * above) + 0.5) - y.offsets[0]
    steps -= np.floor(steps / turn + 0.5) * turn
    return np.asarray(np.clip(steps, 0, INTEGERS - 1), np.uint16)


def round_bent_sums(factor: Multiplier, offset: int, slopes: Array) -> tuple[Step, ...]:
    """Of 8 bits: units of which 8,192 reach the end of the output's range, factors of 15 bits below one."""
    up, down = LAST + offset, -offset
    reach = np.where(slopes < 0, up, down)
    sides = []
    for slope, end in ((np.ones_like(slopes), up), (slopes, reach)):
        exact = factor.exact * _measure(slope)
        units = cut_reach(exact, end)
        whole = np.floor(exact / units * 2.0**GATE_BITS + 0.5) * np.sign(slope)
        sides.append((*_cut_side(units, whole / 2.0**GATE_BITS), HALF, FLOOR))
    return REAL, _join_sides(*sides), SINGLE


def round_bent_wide(exact: Array, added: Array, slopes: Array) -> tuple[Step, ...]:
    """Of 16 bits: the middles of parts of sums of high bytes, cut to a step; ``exact`` are steps for a sum.

    The factor of sums above zero is cut to 22 bits, the other rounded.
    """
    sides = []
    for slope, half in ((np.ones_like(slopes), 0.0), (slopes, 0.5)):
        scaled = exact * BYTE * _measure(slope)
        exponent = np.floor(np.log2(scaled))
        units, parts = np.exp2(exponent - WIDE_BITS + 1), np.exp2(exponent + WIDE_PARTS_BITS)
        factor = np.floor(scaled / units + half) * units * np.sign(slope)
        # The middle of the part that zero lies in is no result of the other side.
        least = Step("Max", np.where(slope < 0, 0.0, LOWEST))
        sides.append((*_cut_side(parts, factor / parts), FLOOR, least))
    return REAL, Step("Add", added), _join_sides(*sides), SINGLE


def _measure(slopes: Array) -> Array:
    """How steep slopes are; any number where there is none."""
    return np.where(slopes == 0, 1.0, np.abs(slopes))


def _cut_side(units: Array, factor: Array) -> tuple[Step, ...]:
    return Step("Mul", units), FLOOR, HALF, Step("Mul", factor)


def _join_sides(above: tuple[Step, ...], below: tuple[Step, ...]) -> Step:
    """What becomes of sums above zero, and of those below: the other side has nothing to add."""
    zero = np.asarray(0.0)
    return Step("Add", trunk=(Step("Max", zero), *above), branch=(Step("Min", zero), *below))
