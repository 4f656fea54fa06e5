"""Products of matrices whose columns are made to fit a signed byte, each by itself, for the engine."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Node

if TYPE_CHECKING:
    from edgewright.backends.cpu.writer import Writer
    from edgewright.ops.matmul import MatMul

FLOAT_32 = DType.FLOAT_32
HIGHEST, LOWEST = 127, -128


@dataclass(frozen=True)
class ColumnProduct:
    """Columns of the second matrix are divided by scales of their own, in whole units from one on.

    Tables have a number for each of these scales.
    """

    # The integers that stand for zero.
    zeros: tuple[int, int]
    # So many of them are one.
    units: int
    reciprocals: Array
    # What sums are multiplied with before they are cut, and what their middles are multiplied with.
    cuts: Array
    factors: Array


def write_column_sums(w: "Writer", node: Node, product: ColumnProduct) -> str:
    """Sums in steps of the output."""
    op = cast("MatMul", node.op)
    left = _write_matrix(w, node.inputs[0], op.transpose_in0, product.zeros[0])
    right = _write_matrix(w, node.inputs[1], op.transpose_in1, product.zeros[1])
    scales = _find_scales(w, right, product.units)
    reciprocals, cuts, factors = (
        w.node("Gather", w.constant(table.astype(np.float32)), scales)
        for table in (product.reciprocals, product.cuts, product.factors)
    )
    half = w.scalar(0.5, FLOAT_32)
    bytes_of_right = w.node("Floor", w.node("Add", w.node("Mul", right, reciprocals), half))
    sums = w.node("Mul", w.node("MatMul", left, bytes_of_right), cuts)
    return w.node("Mul", w.node("Add", w.node("Floor", sums), half), factors)


def _find_scales(w: "Writer", matrix: str, units: int) -> str:
    """Places in the tables: the least scale at which each column fits, rounded to a unit."""
    rows = w.ints((-2,))
    high, low = (w.node(op, matrix, rows, keepdims=1) for op in ("ReduceMax", "ReduceMin"))
    needed = w.node(
        "Max",
        w.node("Mul", high, w.scalar(units / HIGHEST, FLOAT_32)),
        w.node("Mul", low, w.scalar(units / LOWEST, FLOAT_32)),
        w.scalar(units, FLOAT_32),
    )
    place = w.node("Floor", w.node("Add", needed, w.scalar(0.5 - units, FLOAT_32)))
    return w.node("Cast", place, to=w.code(DType.INT_64))


def _write_matrix(w: "Writer", value: str, is_turned: bool, zero: int) -> str:
    """Distances from zero, in float32."""
    real = w.node("Cast", w.value(value), to=w.code(FLOAT_32))
    whole = w.node("Sub", real, w.scalar(zero, FLOAT_32))
    rank = w.graph.types[value].rank
    return w.node("Transpose", whole, perm=[*range(rank - 2), rank - 1, rank - 2]) if is_turned else whole
