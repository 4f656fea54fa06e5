"""LayerNorm in half precision, as HTP computes it in vectors of single precision.

Between its steps a vector is stored as floats, which have all their bits: what was held stands for itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from edgewright.backends.cpu.compiled import DOMAIN, find_kernels
from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import Writer
from edgewright.backends.htp.half_means import Held, hold, widen
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.odd_floats import WIDE_BITS, find_unit, round_half
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.graph import Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.norm import LayerNorm

# Numbers that are measured side by side, and those of a row that are measured together.
LANES, BLOCK = 32, 256
# What half the bits of a number are taken from for a guess at one over its root; turns of Newton's method.
GUESS, TURNS = 0x5F375A86, 3
OPERANDS = 3
LEAST_EXPONENT = -150


@dataclass(frozen=True)
class Moments:
    """Of as many numbers as counted: their means, and the squares of their distances from these, added up."""

    means: Array
    squares: Array
    counts: Array

    def take(self, lanes: slice) -> "Moments":
        """Those of some lanes."""
        return Moments(self.means[..., lanes], self.squares[..., lanes], self.counts[lanes])

    def extend(self, other: "Moments") -> "Moments":
        """With those of more lanes."""
        means = np.concatenate([self.means, other.means], axis=-1)
        squares = np.concatenate([self.squares, other.squares], axis=-1)
        return Moments(means, squares, np.concatenate([self.counts, other.counts]))


def is_row_norm(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether rows of floats are normalized, weighed and moved."""
    x, axes = given[0], cast("LayerNorm", op).axes
    is_half = all(kind.dtype.is_float for kind in (*given, *made)) and len(given) == OPERANDS
    return is_half and len(axes) == 1 and _is_known_length(x.shape[axes[0]])


def _is_known_length(count: Dim) -> bool:
    """Short rows whose length is a power of two are measured in another way."""
    return isinstance(count, int) and (count >= LANES or count & (count - 1) != 0)


def normalize_halves(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """What a number is more than the mean, times one over the root with the weight, plus the bias."""
    given, weights, bias = (array.astype(np.float64) for array in arrays)
    norm = cast("LayerNorm", op.op)
    rows = np.moveaxis(given, norm.axes[0], -1)
    moments = measure_rows(rows)
    epsilon = read_stored(np.float32(norm.epsilon))
    share = read_stored(np.float32(1) / moments.counts)
    variances = multiply_stored(read_stored(moments.squares), share) + epsilon
    factors = multiply_held(read_stored(invert_roots(variances.numbers)), widen(weights))
    distances = widen(rows) + read_stored(-moments.means)
    normalized = round_half((multiply_held(distances, factors) + widen(bias)).numbers)
    return [np.moveaxis(normalized, -1, norm.axes[0])]


def write_half_norm(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    """A kernel of ours has a row of the last axis at a time."""
    if find_kernels() is None or any(w.graph.types[value].dtype != DType.FLOAT_32 for value in node.inputs):
        raise NotOnEngine
    norm, rank = cast("LayerNorm", op.op), op.given[0].rank
    order = [*(axis for axis in range(rank) if axis != norm.axes[0]), norm.axes[0]]
    epsilon = w.constant(np.asarray([np.float32(norm.epsilon)], np.float64))
    rows = w.transpose(inputs[0], order)
    normalized = w.node("NormalizeHalves", rows, *inputs[1:], epsilon, domain=DOMAIN)
    return w.transpose(normalized, [order.index(place) for place in range(rank)])


def measure_rows(rows: Array) -> Moments:
    """Block by block; the moments of a block join those of all before it."""
    first, *others = (_measure_block(rows[..., at : at + BLOCK]) for at in range(0, rows.shape[-1], BLOCK))
    for other in others:
        first = _join(first, other, is_stored=True)
    return first


def _measure_block(rows: Array) -> Moments:
    """Lane by lane first, then neighbours together."""
    numbers = widen(rows).numbers
    first = numbers[..., :LANES]
    moments = Moments(first, np.zeros_like(first), np.ones(first.shape[-1], np.float32))
    for at in range(LANES, rows.shape[-1], LANES):
        more = numbers[..., at : at + LANES]
        count = more.shape[-1]
        added = _add_numbers(moments.take(slice(count)), more)
        moments = added.extend(moments.take(slice(count, None)))
    while moments.counts.size > 1:
        paired = moments.counts.size // 2 * 2
        pairs = _join(moments.take(slice(0, paired, 2)), moments.take(slice(1, paired, 2)))
        moments = pairs.extend(moments.take(slice(paired, None)))
    return moments


def _add_numbers(moments: Moments, numbers: Array) -> Moments:
    """One more in each lane."""
    counts = moments.counts + 1
    gaps = read_stored(_add_stored(numbers, -moments.means).numbers)
    means = (read_stored(moments.means) + multiply_stored(gaps, read_stored(1 / counts))).numbers
    rest = read_stored(_add_stored(numbers, -means).numbers)
    return Moments(means, (read_stored(moments.squares) + multiply_stored(gaps, rest)).numbers, counts)


def _join(first: Moments, second: Moments, *, is_stored: bool = False) -> Moments:
    """The moments of both; those of blocks were stored, and so is the gap between their means."""
    counts = first.counts + second.counts
    gaps = _add_stored(second.means, -first.means)
    share = multiply_held(read_stored(second.counts), read_stored(1 / counts))
    if is_stored:
        gaps, share = read_stored(gaps.numbers), read_stored(second.counts / counts)
    part = (multiply_stored if is_stored else multiply_held)(gaps, share)
    means = read_stored(first.means) + part
    between = multiply_held(multiply_held(gaps, gaps), multiply_held(share, read_stored(first.counts)))
    squares = read_stored(first.squares) + read_stored(second.squares) + between
    return Moments(means.numbers, squares.numbers, counts)


def invert_roots(numbers: Array, turns: int = TURNS) -> Array:
    """One over the roots: a guess at the bits, then Newton's method."""
    guess = (GUESS - (numbers.astype(np.float32).view(np.int32) >> 1)).astype(np.int32)
    inverse = guess.view(np.float32).astype(np.float64)
    half = multiply_held(read_stored(numbers), read_stored(np.float32(0.5)))
    for _ in range(turns):
        product = multiply_held(read_stored(half.numbers), read_stored(inverse))
        product = multiply_held(read_stored(product.numbers), read_stored(inverse))
        factor = read_stored(np.float32(1.5)) + Held(-product.numbers, product.units)
        inverse = multiply_held(read_stored(inverse), read_stored(factor.numbers)).numbers
    return inverse


def read_stored(numbers: Array | np.float32) -> Held:
    """As they were stored."""
    exact = np.asarray(numbers, np.float64)
    return Held(exact, find_unit(exact, WIDE_BITS, LEAST_EXPONENT))


def _add_stored(numbers: Array, others: Array) -> Held:
    """The sum of two below zero is that of what they are without their signs."""
    signs = np.where((numbers < 0) & (others < 0), -1.0, 1.0)
    total = read_stored(numbers * signs) + read_stored(others * signs)
    return Held(total.numbers * signs, total.units)


def multiply_stored(first: Held, second: Held) -> Held:
    """A product below zero is that of what its factors are without their signs."""
    signs = np.where(first.numbers * second.numbers < 0, -1.0, 1.0)
    product = multiply_held(Held(first.numbers * signs, first.units), second)
    return Held(product.numbers * signs, product.units)


def multiply_held(first: Held, second: Held) -> Held:
    """A product has the unit that both of its factors give it."""
    return hold(first.numbers * second.numbers, first.units + second.units + WIDE_BITS - 1)
