"""Sparse tensors of TFLite with their zeros written out."""

from math import prod
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, Where
from edgewright.core.flatbuffer import Table
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.stored import LARGEST_FILLED, LARGEST_RANK, read_stored_array

# Every place of the stored tree is a value or leads to some: a byte of the file holds so many at most.
PLACES_PER_BYTE = 8
SPARSE_CSR = 1
# What kind of vector holds segments and indices, by the schema's code.
VECTORS = {1: "i4", 2: "u2", 3: "u1"}


def read_dense(data: Any, dtype: DType, shape: tuple[int, ...], table: Table, where: Where) -> Array:
    """Walks the levels of the stored tree from the root to the values and puts these into their places."""
    order = table.numbers(0, "i4").tolist()
    blocks = table.numbers(1, "i4").tolist()
    levels = list(table.children(2))
    _check(shape, order, blocks, levels, where)
    sizes = _list_level_sizes(shape, order, blocks, levels, where)
    places: Array = np.zeros(1, np.int64)
    paths = np.zeros((1, 0), np.int64)
    for level, size in zip(levels, sizes, strict=True):
        places, paths = _descend(level, size, places, paths, where)
    values = read_stored_array(data, dtype, (data.nbytes * 8 // dtype.bits,), where)
    if len(places) and int(places.max()) >= values.size:
        raise _make_damage_error(f"value {int(places.max())} is named, {values.size} are stored", where)
    result: Array = np.zeros(shape, dtype.numpy)
    result[tuple(_list_indices(paths, order, blocks, sizes, len(shape)))] = values[places]
    return result


def _check(
    shape: tuple[int, ...], order: list[int], blocks: list[int], levels: list[Table], where: Where
) -> None:
    rank = len(shape)
    if prod(shape) > LARGEST_FILLED:
        raise LimitExceeded(
            f"a sparse tensor of shape {list(shape)} has {prod(shape)} elements, at most {LARGEST_FILLED} "
            "are written out",
            where,
            do="store it as a dense tensor",
        )
    is_whole = sorted(order) == list(range(rank + len(blocks))) and len(levels) == len(order)
    if not is_whole or len(order) > LARGEST_RANK or any(not 0 <= axis < rank for axis in blocks):
        raise _make_damage_error(
            f"order {order}, blocks {blocks} and {len(levels)} levels do not fit rank {rank}", where
        )
    if order[rank:] != list(range(rank, len(order))):
        raise _make_damage_error(
            f"blocks come in the order {order[rank:]}, expected them last and as they are", where
        )


def _list_level_sizes(
    shape: tuple[int, ...], order: list[int], blocks: list[int], levels: list[Table], where: Where
) -> list[int]:
    """The length of the axis that each level stands for: of blocks, or inside a block."""
    rank = len(shape)
    inner = [level.integer(1, "i") for level in levels[rank:]]
    if any(size < 1 for size in inner):
        raise _make_damage_error(f"blocks have sizes {inner}, expected 1 or more", where)
    outer = list(shape)
    for axis, size in zip(blocks, inner, strict=True):
        if outer[axis] % size:
            raise _make_damage_error(
                f"axis {axis} of {list(shape)} is no multiple of a block's {size}", where
            )
        outer[axis] //= size
    return [outer[axis] for axis in order[:rank]] + inner


def _descend(level: Table, size: int, places: Array, paths: Array, where: Where) -> tuple[Array, Array]:
    """One level down: the children of each node, all of them or those that are listed."""
    if level.integer(0, "b") != SPARSE_CSR:
        if level.integer(1, "i") != size:
            raise _make_damage_error(
                f"a dense level has size {level.integer(1, 'i')}, expected {size}", where
            )
        _check_count(len(places) * size, level, where)
        children = (places[:, None] * size + np.arange(size)).reshape(-1)
        steps = np.tile(np.arange(size), len(places))
        return children, np.column_stack([np.repeat(paths, size, axis=0), steps])
    segments, indices = _read_vector(level, 2, where), _read_vector(level, 4, where)
    if len(segments) and (int(segments[0]) or bool((np.diff(segments) < 0).any())):
        raise _make_damage_error("segments do not rise from 0", where)
    if len(segments) and int(segments[-1]) > len(indices):
        raise _make_damage_error(f"index {int(segments[-1]) - 1} is named, {len(indices)} are listed", where)
    if len(places) and int(places.max()) + 1 >= len(segments):
        raise _make_damage_error(
            f"{len(segments)} segments are listed, expected {int(places.max()) + 2}", where
        )
    starts, ends = segments[places], segments[places + 1]
    counts = ends - starts
    children = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(
        counts.sum()
    )
    steps = indices[children]
    if len(steps) and (int(steps.min()) < 0 or int(steps.max()) >= size):
        raise _make_damage_error(f"an index lies outside an axis of {size}", where)
    return children, np.column_stack([np.repeat(paths, counts, axis=0), steps])


def _list_indices(
    paths: Array, order: list[int], blocks: list[int], sizes: list[int], rank: int
) -> list[Array]:
    """Where each value lies along each axis of the dense tensor."""
    found: list[Array] = [np.zeros(len(paths), np.int64)] * rank
    for column, axis in enumerate(order[:rank]):
        found[axis] = paths[:, column]
    for column, axis in enumerate(blocks, start=rank):
        found[axis] = found[axis] * sizes[column] + paths[:, column]
    return found


def _read_vector(level: Table, slot: int, where: Where) -> Array:
    kind, table = level.integer(slot, "B"), level.child(slot + 1)
    if kind not in VECTORS or table is None:
        raise _make_damage_error(
            f"a level keeps a vector of kind {kind}, expected one of {list(VECTORS)}", where
        )
    return table.numbers(0, VECTORS[kind]).astype(np.int64)


def _check_count(count: int, level: Table, where: Where) -> None:
    most = PLACES_PER_BYTE * len(level.buffer.content)
    if count > most:
        raise _make_damage_error(f"it has {count} values, the file has room for {most}", where)


def _make_damage_error(found: str, where: Where) -> BadInput:
    return BadInput(f"a sparse tensor is damaged: {found}", where, do="export the model again")
