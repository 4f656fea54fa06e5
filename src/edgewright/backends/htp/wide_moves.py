"""Values of 16 bits that only get another scale, as HTP rounds them: a table for each."""

from dataclasses import replace

import numpy as np

from edgewright.backends.cpu.sums import SumForm
from edgewright.backends.htp.flat_values import is_made_in_blocks
from edgewright.backends.htp.requantize import is_wide
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType

INTEGERS = 1 << 16
# Bits of a factor below a step, and how many of them products and offsets lose before they are added.
FACTOR_BITS, LOST_BITS = 18, 15
# Bits of the factor of values in blocks; below this ratio they are rounded to parts first.
COARSE_BITS, LARGEST_PARTED, PARTS = 15, 0.5, 128


def move_wide(graph: Graph, node: Node) -> SumForm | None:
    """Each value gets the scale of the output from its own; None where all have it."""
    y = graph.types[node.outputs[0]].encoding
    given = {value: graph.types[value] for value in node.inputs if value}
    if y is None or not all(map(is_wide, given.values())) or not _has_scales(given, y):
        return None
    # Values that are compared are rounded once.
    is_copied = node.op.keeps_encoding
    tables = {
        value: rescale_wide(kind.encoding, y, is_rounded_twice=is_copied)
        for value, kind in given.items()
        if kind.encoding
    }
    constants = {value: tables[value][graph.constants[value]] for value in tables if value in graph.constants}
    return SumForm({}, constants, tables=tables)


def clamp_wide(graph: Graph, node: Node) -> SumForm | None:
    """A value that is moved, within bounds that are the nearest steps; in blocks, coarsely."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None or (x.scales == y.scales and x.offsets == y.offsets):
        return None
    low, high = (np.rint(bound / y.scales[0]) for bound in node.op.value_range())
    is_coarse = is_made_in_blocks(graph, node.inputs[0])
    moved = rescale_coarsely(x, y) if is_coarse else rescale_wide(x, y, is_clamped=True)
    steps = np.clip(moved, low, high) - y.offsets[0]
    return SumForm({node.inputs[0]: x}, table=np.clip(steps, 0, INTEGERS - 1).astype(np.uint16))


def negate_wide(graph: Graph, node: Node) -> SumForm | None:
    """A value that is moved by a factor below zero."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None or node.inputs[0] in graph.constants:
        return None
    steps = rescale_wide(x, y, sign=-1) - y.offsets[0]
    return SumForm({node.inputs[0]: x}, table=np.clip(steps, 0, INTEGERS - 1).astype(np.uint16))


def rescale_wide(
    x: Encoding, y: Encoding, *, sign: int = 1, is_rounded_twice: bool = True, is_clamped: bool = False
) -> Array:
    """The steps of the output, counted from its zero, that each integer stands for."""
    ratio = float(np.float32(x.scales[0]) / np.float32(y.scales[0]))
    factor = sign * np.rint(ratio * (1 << FACTOR_BITS))
    # What the offset takes away passes through float32; of what is compared or clamped halves of it go down.
    taken = np.asarray(-x.offsets[0] * factor / (1 << LOST_BITS), np.float32).astype(np.float64)
    added = -_round_up(taken) if is_rounded_twice and not is_clamped else _round_up(-taken)
    products = np.arange(INTEGERS) * factor / (1 << LOST_BITS)
    parts = (_round_up(products) if is_rounded_twice else products) + added
    return _round_up(parts / (1 << (FACTOR_BITS - LOST_BITS))).astype(np.float32)


def rescale_coarsely(x: Encoding, y: Encoding) -> Array:
    """The same by a factor of 15 bits, as in blocks."""
    factor, added = find_coarse_factor(x, y)
    return np.asarray(np.floor((np.arange(INTEGERS) + float(x.offsets[0])) * factor + added))


def find_coarse_factor(x: Encoding, y: Encoding) -> tuple[float, float]:
    """What steps are multiplied with, and what is added before they are cut."""
    ratio = float(np.float32(x.scales[0]) / np.float32(y.scales[0]))
    bits = COARSE_BITS - 1 - int(np.floor(np.log2(ratio)))
    half_part = 0.5 / PARTS if ratio < LARGEST_PARTED else 0.0
    return float(np.floor(ratio * 2.0**bits + 0.5) / 2.0**bits), 0.5 + half_part


def find_positive(graph: Graph, value: str) -> float:
    """The number that a constant holds, where it is a single one above zero; else 0."""
    constant, encoding = graph.constants.get(value), graph.types[value].encoding
    if constant is None or constant.size != 1 or encoding is None:
        return 0.0
    return max(0.0, (float(constant.reshape(-1)[0]) + encoding.offsets[0]) * encoding.scales[0])


def scale_coarsely(value: str, x: Encoding, number: float, y: Encoding) -> SumForm:
    """A value in blocks times a number: it only gets another scale."""
    steps = rescale_coarsely(replace(x, scales=(x.scales[0] * number,)), y) - y.offsets[0]
    return SumForm({value: x}, table=np.clip(steps, 0, INTEGERS - 1).astype(np.uint16))


def _round_up(numbers: Array) -> Array:
    """The nearest whole numbers, halves up."""
    return np.asarray(np.floor(numbers + 0.5))


def _has_scales(given: dict[str, TensorType], y: Encoding) -> bool:
    """Whether a value has another scale or offset than the output."""
    encodings = [kind.encoding for kind in given.values() if kind.encoding is not None]
    return any(x.scales != y.scales or x.offsets != y.offsets for x in encodings)
