"""HardSwish behind a product of 8 bits, as HTP computes it: sums times a gate, whatever is stored of them.

What the encoding between the two is makes no difference.
"""

from dataclasses import dataclass

import numpy as np

from edgewright.backends.cpu.sums import Step
from edgewright.backends.htp.requantize import Multiplier, is_byte, is_wide
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Reshape

# Bits of a gate below one, in units of cut sums, and of its slope.
GATE_BITS, SLOPE_BITS = 15, 11
# Sums are cut so far that so many of their units reach the largest step, and by one bit at least.
MOST_UNITS, LEAST_CUT = (1 << 13) * (1 + 2.0**-15), 1
# But a step has at least so many bits of a unit.
PARTS_BITS = 4
# Cut sums of a gate that leave twice this range keep their lower bits only.
WRAPPED = 1 << 13
LAST = 255
REACH, STEEPNESS = 0.5, 6


def is_gated(graph: Graph, node: Node) -> bool:
    """Whether a product writes what the HardSwish behind it gives; `with_fusions` makes it so."""
    value, kind = node.outputs[0], graph.types[node.outputs[0]]
    while graph.is_used_once(value):
        (reader,) = graph.consumers(value)
        value = reader.outputs[0]
        if not has_same_image(graph, reader):
            is_same = graph.types[value].encoding == kind.encoding
            return reader.op.is_gated_on_htp and (is_byte(kind) or is_wide(kind)) and is_same
    return False


def has_same_image(graph: Graph, node: Node) -> bool:
    """Whether a Reshape only adds or takes axes of one place in front: HTP has nothing to do for it."""
    if not isinstance(node.op, Reshape):
        return False
    shapes = [list(graph.types[name].shape) for name in (node.inputs[0], node.outputs[0])]
    for shape in shapes:
        while shape and shape[0] == 1:
            shape.pop(0)
    return shapes[0] == shapes[1]


def is_cut_at_zero(graph: Graph, node: Node) -> bool:
    """Whether a Relu behind a product stores numbers below zero that it never has.

    The product then is that of a gate that is always open.
    """
    value, kind = node.outputs[0], graph.types[node.outputs[0]]
    if not graph.is_used_once(value) or not is_byte(kind) or kind.encoding is None:
        return False
    (reader,) = graph.consumers(value)
    is_relu = reader.op.is_clamp and reader.op.value_range() == (0, np.inf)
    is_same = graph.types[reader.outputs[0]].encoding == kind.encoding
    return is_relu and is_same and any(kind.encoding.offsets)


def cut_gated(factor: Multiplier, offset: int) -> Array:
    """The units of cut sums, as powers of two of the sums' own; ``offset`` is that of the output."""
    return cut_reach(factor.exact, LAST + offset)


def cut_reach(exact: Array, largest: Array | int) -> Array:
    """The same for sums that go as far as a step; ``exact`` are steps for a sum."""
    finest = np.maximum(LEAST_CUT, np.ceil(np.log2(np.maximum(largest, 1) / MOST_UNITS / exact)))
    return np.asarray(np.exp2(-np.minimum(-np.floor(np.log2(exact)) - PARTS_BITS, finest)))


def pass_sums(factor: Multiplier, units: Array) -> tuple[Step, ...]:
    """Cut sums, in their middles, times an open gate."""
    whole = np.floor(factor.exact / units * 2.0**GATE_BITS + 0.5)
    middle = (Step("Floor"), Step("Cast", to=DType.FLOAT_64), Step("Add", np.asarray(0.5)))
    last = (Step("Add", np.asarray(0.5)), Step("Floor"), Step("Cast", to=DType.FLOAT_32))
    return (*middle, Step("Mul", whole / 2.0**GATE_BITS), *last)


@dataclass(frozen=True)
class Gate:
    """How sums are cut for a gate, and its slope for a unit of what remains: all whole numbers."""

    # Units of cut sums; those that the gate reads are so many times as fine.
    units: Array
    fineness: Array
    # Of a gate that is open.
    height: Array
    slope: Array


def find_gate(factor: Multiplier, x: Encoding, y: Encoding, scales: Array) -> Gate:
    """A steep gate reads finer sums, and its slope loses as many bits; scales are those of the weights.

    Height and slope come from float32; halves of slopes go to the even neighbour.
    """
    f = np.float32
    units, given, weights = cut_gated(factor, y.offsets[0]), f(x.scales[0]), scales.astype(f)
    height = given / f(y.scales[0]) * weights / units.astype(f) * f(1 << GATE_BITS)
    slope = height * (given * weights / units.astype(f)) / f(STEEPNESS) * f(1 << SLOPE_BITS)
    bits = np.maximum(np.floor(np.log2(slope.astype(np.float64))) - SLOPE_BITS, 0)
    whole = np.floor(np.rint(slope.astype(np.float64)) * np.exp2(-bits))
    return Gate(units, np.exp2(bits), height.astype(np.float64), whole)


def gate_sums(gate: Gate, largest: Array) -> tuple[Step, ...]:
    """Cut sums, in their middles, times their gate; they come in the units that it reads."""
    middle = (Step("Floor"), Step("Add", np.asarray(0.5)))
    opened = (
        *middle,
        Step("Mul", gate.slope / 2.0**SLOPE_BITS),
        Step("Floor"),
        Step("Add", np.floor(gate.height * REACH + 0.5)),
        Step("Max", np.asarray(0.0)),
        Step("Min", np.floor(gate.height + 0.5)),
    )
    wrapped = gate.fineness * WRAPPED
    return (
        Step("Cast", to=DType.FLOAT_64),
        *(_wrap_sums(wrapped) if np.any(largest >= 2 * wrapped) else ()),
        Step("Mul", trunk=(Step("Mul", 1 / gate.fineness), *middle), branch=opened),
        Step("Mul", np.asarray(2.0**-GATE_BITS)),
        Step("Add", np.asarray(0.5)),
        Step("Floor"),
        Step("Cast", to=DType.FLOAT_32),
    )


def _wrap_sums(units: Array) -> tuple[Step, ...]:
    """Sums that leave the range from -2 to 2 of so many units come back to its outer halves."""
    parts = (Step("Mul", 1 / units), Step("Floor"))
    below = (*parts, Step("Add", np.asarray(2.0)), Step("Min", np.asarray(0.0)), Step("Mul", -units))
    above = (*parts, Step("Add", np.asarray(-1.0)), Step("Max", np.asarray(0.0)), Step("Mul", -units))
    return Step("Add", branch=below), Step("Add", branch=above)
