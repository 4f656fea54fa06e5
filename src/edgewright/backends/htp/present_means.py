"""Average pools of integers whose padding does not count, as HTP rounds them: means of what is there."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import cast

import numpy as np

from edgewright.backends.cpu.compiled import DOMAIN, find_kernels
from edgewright.backends.cpu.fused_products import describe_window
from edgewright.backends.cpu.windows import flatten_pads
from edgewright.backends.cpu.writer import Writer
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.requantize import FINE_BITS, is_byte, is_wide
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.pool import PoolAvg2d

# Sizes and strides that are known; of 16 bits those of an image that is no smaller than the window.
BYTE_KINDS = frozenset({((2, 2), (2, 2)), ((3, 3), (1, 1)), ((3, 3), (2, 2)), ((5, 5), (1, 1))})
TILE, SMOOTHED = ((2, 2), (2, 2)), ((3, 3), (1, 1))
# Bits of a share below the power of two of the ratio of scales, and of a part of a step, to which a mean is
# rounded first where that ratio is less than two.
SHARE_BITS, PART_BITS, MOST_PARTED = 16, 4, 2.0
# Of 16 bits a row's last columns, two by two, are only rounded once.
COLUMNS = 2


def is_present_mean(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether such a pool is known."""
    pool, (x,), (y,) = cast("PoolAvg2d", op), given, made
    is_padded = any(map(any, pool.pad_amount)) and not pool.count_pad_for_edges
    if not is_padded or pool.is_ceil() or not (x.is_static and y.is_static):
        return False
    kind = (pool.filter_size, pool.stride)
    if is_byte(x) and is_byte(y):
        return kind in BYTE_KINDS
    has_room = all(n >= size for n, size in zip(x.static_shape()[1:3], pool.filter_size, strict=True))
    return is_wide(x) and is_wide(y) and has_room and kind in {TILE, SMOOTHED}


def average_present(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Whole sums times a share for each place."""
    x, y = _read_encodings(op)
    counts = _count_places(op)
    (means,) = op.op.compute(arrays[0].astype(np.float64) + x.offsets[0])
    steps = np.floor(np.rint(means * counts) * _find_shares(op, counts) + _find_added(op))
    return [np.clip(steps - y.offsets[0], 0, (1 << y.bitwidth) - 1)]


def write_present_means(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    """By a kernel of ours, or by the engine's own ops where it is not there."""
    del node
    if find_kernels() is None:
        return _write_steps(w, op, inputs[0])
    (x, y), pool, counts = _read_encodings(op), cast("PoolAvg2d", op.op), _count_places(op)
    rows, columns = pool.filter_size
    numbers = np.stack([x.offsets[0] * counts, _find_shares(op, counts), _find_added(op) - y.offsets[0]])
    return w.node(
        f"AveragePresent{op.results[0].dtype.bits}",
        inputs[0],
        w.constant(numbers.reshape(len(numbers), *counts.shape[1:3])),
        domain=DOMAIN,
        **describe_window(pool.geometry()),
        rows=rows,
        columns=columns,
    )


def _write_steps(w: Writer, op: LibraryOp, value: str) -> str:
    """The engine's means times the number of places are whole sums again."""
    (x, y), pool, counts = _read_encodings(op), cast("PoolAvg2d", op.op), _count_places(op)
    whole = w.node("Cast", w.channel_first(value, counts.ndim), to=w.code(DType.FLOAT_32))
    means = w.node(
        "AveragePool",
        w.node("Add", whole, w.scalar(x.offsets[0], DType.FLOAT_32)),
        kernel_shape=list(pool.filter_size),
        strides=list(pool.stride),
        pads=flatten_pads(pool.pad_amount),
        count_include_pad=0,
    )
    sums = w.node("Round", w.node("Mul", means, _write_places(w, counts.astype(np.float32))))
    shares = _write_places(w, _find_shares(op, counts))
    steps = w.node("Mul", w.node("Cast", sums, to=w.code(DType.FLOAT_64)), shares)
    added = _write_places(w, _find_added(op) - y.offsets[0])
    # Cast cuts: what is below zero is clamped first.
    stored = w.node("Floor", w.node("Add", steps, added))
    limits = (w.scalar(limit, DType.FLOAT_64) for limit in (0, (1 << y.bitwidth) - 1))
    stored = w.node("Clip", stored, *limits)
    return w.channel_last(w.node("Cast", stored, to=w.code(op.results[0].dtype)), counts.ndim)


def _write_places(w: Writer, places: Array) -> str:
    return w.constant(np.moveaxis(places, -1, 1))


def _read_encodings(op: LibraryOp) -> tuple[Encoding, Encoding]:
    x, y = op.given[0].encoding, op.made[0].encoding
    assert x is not None
    assert y is not None
    return x, y


def _count_places(op: LibraryOp) -> Array:
    """How many places of a window lie in the image: [1, height, width, 1]."""
    pool = replace(cast("PoolAvg2d", op.op), count_pad_for_edges=True)
    (shares,) = pool.compute(np.ones((1, *op.given[0].static_shape()[1:3], 1)))
    return np.asarray(np.rint(shares * prod(pool.filter_size)))


def _find_ratio(op: LibraryOp) -> float:
    x, y = _read_encodings(op)
    return float(np.float32(x.scales[0]) / np.float32(y.scales[0]))


def _find_shares(op: LibraryOp, counts: Array) -> Array:
    """Steps of the output for a unit of a sum of so many places: the ratio of scales has 15 bits."""
    ratio = _find_ratio(op)
    exponent = np.floor(np.log2(ratio))
    unit, last = 2.0 ** (exponent - SHARE_BITS), 2.0 ** (exponent - FINE_BITS + 1)
    return np.asarray(np.rint(np.rint(ratio / last) * last / counts / unit) * unit)


def _find_added(op: LibraryOp) -> Array:
    """Half a step, and half a part of one; what is rounded once has the least of both less."""
    ratio = _find_ratio(op)
    part = 2.0 ** (np.floor(np.log2(ratio)) - PART_BITS - 1) if ratio < MOST_PARTED else 0.0
    added = np.full((1, *op.made[0].static_shape()[1:3], 1), 0.5 + part)
    pool = cast("PoolAvg2d", op.op)
    if is_wide(op.given[0]) and (pool.filter_size, pool.stride) == SMOOTHED:
        last = (added.shape[2] - 1) // COLUMNS * COLUMNS
        added[:, :, last:] -= part or 0.5
    return added
