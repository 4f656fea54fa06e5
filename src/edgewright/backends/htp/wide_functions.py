"""Functions of 16 bits, as HTP computes them: the input in units of its own, a result of few bits for each.

`python -m tests.native.wide_functions` asks the genuine emulator for these results; what it gave is kept as
the difference from one to the next.
"""

from functools import cache
from importlib.resources import files
from typing import cast

import numpy as np

from edgewright.backends.cpu.sums import SumForm
from edgewright.backends.htp.flat_values import is_made_in_blocks
from edgewright.backends.htp.half_functions import find_half_table
from edgewright.backends.htp.wide_moves import rescale_coarsely, rescale_wide
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import HardSigmoid

FILE = "wide_functions.npz"
INTEGERS = 1 << 16
# Units of a sigmoid's input in one, and the largest whole number of them.
UNITS, MOST_UNITS = 6144, INTEGERS - 1
# Bits of the factor from steps of the input to units, and how many of them lie below a unit at most.
FACTOR_BITS, MOST_SHIFT = 15, 15
# What results are stored in before they get the scale of the output: even numbers of 65,536 parts of one.
UNIT_RANGE = Encoding((1 / INTEGERS,), (0,), bitwidth=16)
LARGEST_EVEN = INTEGERS - 2
# The same of a hyperbolic tangent, which is a sigmoid with all its bits: from minus one on.
BOTH_SIDES = Encoding((2 / INTEGERS,), (-INTEGERS // 2,), bitwidth=16)
# Scales that are taken for the same.
UNIT_SCALES = (np.float32(1 / INTEGERS), np.float32(1 / (INTEGERS - 1)))
# A gate's one, by how much its input has to grow for that, and the power of two that is half a part of it.
GATE_ONE, STEEPNESS, FEWEST_PARTS_BITS = 1 << 15, 6, -2
# The least number above zero in half precision.
LEAST_HALF = np.float16(2.0**-24)
# Units of a Gelu's input in one, and its gate's one.
CURVE_UNITS, CURVE_ONE = 2.0**14 / 2.0**0.5, 1 << 12
# Below this ratio of scales results are rounded, not cut.
LEAST_CUT = 0.5


def compute_sigmoid(graph: Graph, node: Node) -> SumForm | None:
    """Distances from zero are cut to whole units; the results of negative ones mirror the others."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    shares = find_sigmoid(x)
    if y.offsets[0] or np.float32(y.scales[0]) not in UNIT_SCALES:
        rescale = rescale_coarsely if is_made_in_blocks(graph, node.inputs[0]) else rescale_wide
        shares = rescale(UNIT_RANGE, y)[shares.astype(np.int64)] - y.offsets[0]
    return SumForm({node.inputs[0]: x}, table=np.clip(shares, 0, INTEGERS - 1).astype(np.uint16))


def compute_tangent(graph: Graph, node: Node) -> SumForm | None:
    """Tanh: the sigmoid of twice a number, from its middle on."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    units, is_negative = _count_units(x, 2 * UNITS)
    upper = INTEGERS // 2 + read_results()["Tanh"][units]
    stored = np.where(is_negative, INTEGERS - 1 - upper, upper)
    maker = graph.producer(node.inputs[0])
    rescale = rescale_coarsely if maker is not None and maker.op.is_product else rescale_wide
    steps = rescale(BOTH_SIDES, y)[stored] - y.offsets[0]
    return SumForm({node.inputs[0]: x}, table=np.clip(steps, 0, INTEGERS - 1).astype(np.uint16))


def find_sigmoid(x: Encoding) -> Array:
    """Of each integer, in 65,536 parts of one; the last bit is lost."""
    units, is_negative = _count_units(x, UNITS)
    upper = (INTEGERS // 2 + read_results()["Tanh"][units]) & ~1
    return np.asarray(np.where(is_negative, LARGEST_EVEN - upper, upper))


def _count_units(x: Encoding, units: int) -> tuple[Array, Array]:
    """How far each integer is from zero, in whole units of which one has so many; and which are negative."""
    whole = np.arange(INTEGERS) + float(x.offsets[0])
    ratio = float(np.float32(x.scales[0])) * units
    bits = min(MOST_SHIFT, FACTOR_BITS - 1 - int(np.floor(np.log2(ratio))))
    factor = np.floor(ratio * 2.0**bits + 0.5) / 2.0**bits
    return np.minimum(np.floor(np.abs(whole) * factor), MOST_UNITS).astype(np.int64), whole < 0


def gate_line(graph: Graph, node: Node) -> SumForm | None:
    """HardSwish: steps of the output times a gate of 15 bits, which is computed from those of the input."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    whole, factor = np.arange(INTEGERS) + float(x.offsets[0]), keep_bits(x.scales[0] / y.scales[0])
    # Steps that are much coarser than those of the input have parts until the end.
    parts = 2.0 ** max(0, -int(np.floor(np.log2(factor))) - 1)
    moved = np.floor(whole * factor * parts + 0.5)
    gated = np.floor(moved * _find_gate(whole, x.scales[0]) / GATE_ONE + 0.5)
    steps = np.floor(gated / parts + 0.5) - y.offsets[0]
    return SumForm({node.inputs[0]: x}, table=np.clip(steps, 0, INTEGERS - 1).astype(np.uint16))


def _find_gate(whole: Array, scale: float) -> Array:
    """A line from 0 to 1, which it does not reach; it is rounded to parts first, of small slopes to more."""
    slope = keep_bits(scale / STEEPNESS * GATE_ONE)
    parts = 2.0 ** min(FEWEST_PARTS_BITS, int(np.floor(np.log2(slope))))
    line = np.floor(whole * slope + parts + 0.5) + GATE_ONE // 2
    return np.asarray(np.clip(line, 0, GATE_ONE - 1))


def compute_line(graph: Graph, node: Node) -> SumForm | None:
    """HardSigmoid: a line within 0 and 1, halves up; its slope passes through float32."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    op = cast("HardSigmoid", node.op)
    if x is None or y is None:
        return None
    slope = float(np.float32(x.scales[0]) * np.float32(op.alpha))
    line = np.clip((np.arange(INTEGERS) + float(x.offsets[0])) * slope + op.beta, 0, 1)
    steps = np.floor(line / y.scales[0] + 0.5) - y.offsets[0]
    return SumForm({node.inputs[0]: x}, table=np.clip(steps, 0, INTEGERS - 1).astype(np.uint16))


def gate_curve(graph: Graph, node: Node) -> SumForm | None:
    """Gelu: distances from zero times a gate of 12 bits, rounded, and then cut to steps of the output.

    Steps more than twice as large as those of the input are rounded to.
    """
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    whole = np.arange(INTEGERS) + float(x.offsets[0])
    units = np.floor(np.abs(whole) * keep_bits(x.scales[0] * CURVE_UNITS) + 0.5)
    upper = read_results()["Gelu"][np.minimum(units, MOST_UNITS).astype(np.int64)]
    gate = np.where(whole >= 0, upper, np.maximum(CURVE_ONE - upper, 0))
    gated = np.floor(np.abs(whole) * gate / CURVE_ONE + 0.5)
    factor = keep_bits(x.scales[0] / y.scales[0])
    steps = np.sign(whole) * np.floor(gated * factor + (0.5 if factor < LEAST_CUT else 0.0)) - y.offsets[0]
    return SumForm({node.inputs[0]: x}, table=np.clip(steps, 0, INTEGERS - 1).astype(np.uint16))


def find_logarithms(graph: Graph, node: Node) -> SumForm | None:
    """Those of floats that half precision has, as they are compiled; zero is taken for the least of them.

    Halves of steps go away from zero.
    """
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    results = find_half_table(node.op.specific())
    if x is None or y is None or results is None:
        return None
    real = x.decode(np.arange(INTEGERS).astype(np.uint16)).astype(np.float16)
    inverse = np.float32(1) / np.float32(y.scales[0])
    steps = results[np.maximum(real, LEAST_HALF).view(np.uint16)] * inverse
    whole = np.sign(steps) * np.floor(np.abs(steps) + np.float32(0.5)) - y.offsets[0]
    return SumForm({node.inputs[0]: x}, table=np.clip(whole, 0, INTEGERS - 1).astype(np.uint16))


def keep_bits(number: float) -> float:
    """A number with 15 bits."""
    unit = 2.0 ** (int(np.floor(np.log2(number))) - FACTOR_BITS + 1)
    return float(np.rint(number / unit) * unit)


@cache
def read_results() -> dict[str, Array]:
    """What was measured, by the names of functions."""
    with files("edgewright").joinpath("_data", FILE).open("rb") as file, np.load(file) as stored:
        return {name: np.cumsum(stored[name].astype(np.int32)) for name in stored}
