"""Sums and means of channels in half precision, as HTP adds them up in vectors of single precision."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from edgewright.backends.htp.half_means import widen
from edgewright.backends.htp.half_norms import multiply_stored, read_stored
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.odd_floats import round_half
from edgewright.core.numbers import Array
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.reduce import ReduceSum

# Channels that are added side by side; before there are any there is as good as nothing.
LANES, NOTHING = 64, 2.0**-151
MOST_EXACT = 4


def is_channel_sum(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether the numbers of a row are added up."""
    (x,), (y,) = given, made
    is_half = x.dtype.is_float and y.dtype.is_float and isinstance(x.shape[-1], int) and x.shape[-1] > 1
    return is_half and tuple(cast("ReduceSum", op).axes) == (x.rank - 1,)


def is_channel_mean(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether rows are averaged; longer ones that are no power of two are not known."""
    count = given[0].shape[-1]
    is_known = isinstance(count, int) and (count <= LANES or count & (count - 1) == 0)
    return is_known and is_channel_sum(op, given, made)


def add_channels(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """As they are; few of them, whose axis goes away, are added up exactly."""
    rows = arrays[0].astype(np.float64)
    if rows.shape[-1] <= MOST_EXACT and not cast("ReduceSum", op.op).keep_dims:
        return [round_half(rows.sum(axis=-1))]
    return [_store_total(op, widen(rows).numbers)]


def average_channels(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Each number is shared out before."""
    rows = widen(arrays[0].astype(np.float64)).numbers
    share = read_stored(np.float32(1 / rows.shape[-1]))
    return [_store_total(op, multiply_stored(read_stored(rows), share).numbers)]


def _store_total(op: LibraryOp, rows: Array) -> Array:
    return round_half(_add_rows(rows)).reshape(*rows.shape[:-1], *op.made[0].shape[len(rows.shape) - 1 :])


def _add_rows(rows: Array) -> Array:
    """Lane by lane first, then neighbours; sums are stored in between."""
    count = rows.shape[-1]
    lanes = min(LANES, 1 << (count - 1).bit_length())
    padding = [(0, 0)] * (rows.ndim - 1) + [(0, -count % lanes)]
    padded = np.pad(rows, padding, constant_values=NOTHING)
    total = padded[..., :lanes]
    for at in range(lanes, padded.shape[-1], lanes):
        total = (read_stored(total) + read_stored(padded[..., at : at + lanes])).numbers
    while total.shape[-1] > 1:
        total = (read_stored(total[..., ::2]) + read_stored(total[..., 1::2])).numbers
    return total
