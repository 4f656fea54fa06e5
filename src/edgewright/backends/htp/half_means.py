"""Means of whole images in half precision, as HTP adds up their places."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from edgewright.backends.cpu.compiled import DOMAIN, find_kernels
from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import Writer
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.odd_floats import WIDE_BITS, find_unit, round_half, settle
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType

if TYPE_CHECKING:
    from edgewright.ops.pool import PoolAvg2d
    from edgewright.ops.reduce import ReduceMean, ReduceSum

IMAGE_RANK, IMAGE_AXES = 4, (1, 2)
# Rows that are added together, column after column; of those left over, sums have all their bits again after
# each column.
ROWS = 4
# What stands for nothing is still half a unit.
LEAST_EXPONENT = -150


@dataclass(frozen=True)
class Held:
    """Numbers as vectors hold them, and the exponents of their units, of which they may have few."""

    numbers: Array
    units: Array

    def __add__(self, other: "Held") -> "Held":
        """In the finer of two units, or that of the larger number where it is coarser."""
        own, others = _find_wide_unit(self.numbers), _find_wide_unit(other.numbers)
        units = np.maximum(np.minimum(self.units, other.units), np.maximum(own, others))
        return hold(self.numbers + other.numbers, units)

    def fill(self) -> "Held":
        """With all bits that a number may have."""
        return hold(self.numbers, _find_wide_unit(self.numbers))


# One, without half a unit.
WHOLE = Held(np.ones(()), np.asarray(1 - WIDE_BITS))


def hold(numbers: Array, units: Array) -> Held:
    """The nearest that can be held."""
    held, coarser = settle(numbers, units, WIDE_BITS)
    is_nothing = numbers == 0
    nothing = 2.0 ** (LEAST_EXPONENT - 1)
    return Held(np.where(is_nothing, nothing, held), np.where(is_nothing, LEAST_EXPONENT, coarser))


def is_whole_pool(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether a window of floats sees all of an image."""
    pool = cast("PoolAvg2d", op)
    is_one = _is_image(given[0], made[0]) and pool.filter_size == given[0].static_shape()[1:3]
    return is_one and not any(map(any, pool.pad_amount))


def is_whole_mean(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether a mean or a sum of floats is that of all places of an image."""
    return _is_image(given[0], made[0]) and tuple(cast("ReduceMean | ReduceSum", op).axes) == IMAGE_AXES


def _is_image(given: TensorType, made: TensorType) -> bool:
    is_half = given.dtype.is_float and made.dtype.is_float
    return is_half and given.is_static and given.rank == IMAGE_RANK and 0 not in given.shape


def average_halves(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Each place counts for its share."""
    return _add_places(op, arrays[0].astype(np.float64), _find_mean_share(op))


def add_halves(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Each place counts as it is."""
    return _add_places(op, arrays[0].astype(np.float64), WHOLE)


def _add_places(op: LibraryOp, image: Array, share: Held) -> list[Array]:
    """Even and odd columns have sums of their own."""
    even = _sum_columns(image, 0)
    total = even + _sum_columns(image, 1) if image.shape[2] > 1 else even.fill()
    mean = hold(total.numbers * share.numbers, total.units + share.units + WIDE_BITS - 1)
    return [round_half(mean.numbers).reshape(op.made[0].static_shape())]


def _find_mean_share(op: LibraryOp) -> Held:
    return find_share(prod(op.given[0].static_shape()[1:3]))


def find_share(places: int) -> Held:
    """What each place counts for."""
    share = np.full((), np.float32(1) / np.float32(places), np.float64)
    return hold(share, _find_wide_unit(share))


def write_half_means(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    """With the share of each place."""
    return _write_places(w, op, inputs, node, _find_mean_share(op))


def write_half_sums(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    """Without."""
    return _write_places(w, op, inputs, node, WHOLE)


def _write_places(w: Writer, op: LibraryOp, inputs: list[str], node: Node, share: Held) -> str:
    """Our kernel has a channel in each lane."""
    if find_kernels() is None or w.graph.types[node.inputs[0]].dtype != DType.FLOAT_32:
        raise NotOnEngine
    numbers = w.constant(np.asarray([share.numbers, np.exp2(share.units)], np.float64))
    means = w.node("MeanHalves", inputs[0], numbers, domain=DOMAIN)
    return w.node("Reshape", means, w.ints(op.made[0].static_shape()))


def _sum_columns(image: Array, first: int) -> Held:
    """Of every other column."""
    total = None
    rows, columns = image.shape[1:3]
    for places, is_filled in _list_places(rows, columns, first):
        for row, column in places:
            number = widen(image[:, row, column])
            total = number if total is None else total + number
        if is_filled and total is not None:
            total = total.fill()
    assert total is not None
    return total


def _list_places(rows: int, columns: int, first: int) -> Iterator[tuple[list[tuple[int, int]], bool]]:
    """Places that are added one after the other, and whether their sum has all its bits again."""
    whole = rows - rows % ROWS
    sides = range(first, columns, 2)
    for top in range(0, whole, ROWS):
        yield [(row, column) for column in sides for row in range(top, top + ROWS)], False
    for column in sides if whole < rows else ():
        yield [(row, column) for row in range(whole, rows)], True


def widen(numbers: Array) -> Held:
    """Numbers of an image, which are half a unit farther from zero."""
    units = _find_wide_unit(numbers)
    half = np.exp2(units - 1.0)
    return Held(np.where(numbers < 0, numbers - half, numbers + half), units)


def _find_wide_unit(numbers: Array) -> Array:
    return find_unit(numbers, WIDE_BITS, LEAST_EXPONENT)
