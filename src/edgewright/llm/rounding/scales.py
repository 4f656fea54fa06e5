"""Scales of blocks: from the largest value, or searched so that the error that matters is least."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from edgewright.core.machine_use import count_cores, read_thread_limit
from edgewright.core.numbers import Array
from edgewright.llm.rounding.codes import Codes, Grid, choose_codes, round_scales

# How far a searched scale may be from the one that reaches the largest value, in steps of codes.
REACH, TRIES = 1.2, 25
# Weights that one thread searches at a time: what it needs stays in the cache.
PIECE = 1 << 19
Scales = tuple[Array, Array | None]


def quantize_to_nearest(weights: Array, grid: Grid) -> Codes:
    """Each weight at the nearest code, with scales that reach the largest value."""
    blocks = _cut(weights, grid)
    return _join(weights, blocks, find_reaching_scales(blocks, grid), grid)


def quantize_with_search(weights: Array, grid: Grid, importance: Array | None = None) -> Codes:
    """Each weight at the nearest code, with the scales that leave the least weighted error.

    Args:
        weights: a matrix [rows, columns].
        grid: what values they may take.
        importance: how much an error in each column matters; None: all alike.
    """
    matters = np.ones(weights.shape[1], np.float32) if importance is None else importance

    def quantize_rows(part: Array) -> Codes:
        blocks = _cut(part, grid)
        return _join(part, blocks, search_scales(blocks, matters.reshape(blocks.shape[1:]), grid), grid)

    rows = max(1, PIECE // weights.shape[1])
    parts = [weights[at : at + rows] for at in range(0, len(weights), rows)]
    # Rows know nothing of each other, and numpy leaves the other threads alone while it computes.
    with ThreadPoolExecutor(read_thread_limit() or count_cores()) as pool:
        return join_codes(list(pool.map(quantize_rows, parts)))


def find_reaching_scales(blocks: Array, grid: Grid) -> Scales:
    """Scales [...] for blocks [..., values] whose codes just reach the value that is farthest from 0."""
    return next(_list_scales(blocks, grid, np.zeros(1)))


def search_scales(blocks: Array, importance: Array, grid: Grid) -> Scales:
    """The scales with the least error of those near the ones that reach the largest value."""
    best: Scales | None = None
    least = np.full(blocks.shape[:-1], np.inf, np.float32)
    for first, zeros in _list_scales(blocks, grid, np.linspace(-REACH, REACH, TRIES)):
        codes = choose_codes(blocks, first, zeros, grid)
        scales = _fit_scales(blocks, codes, zeros, first, importance)
        codes = choose_codes(blocks, scales, zeros, grid)
        error = _measure_error(blocks, codes, scales, zeros, importance)
        is_better = error < least
        least = np.where(is_better, error, least)
        best = (scales, zeros) if best is None else _merge(best, (scales, zeros), is_better)
    assert best is not None
    return best


def _list_scales(blocks: Array, grid: Grid, shifts: Array) -> Iterator[Scales]:
    if not grid.is_symmetric:
        yield from _list_ranges(blocks, grid, shifts)
        return
    # The code that is farthest from 0 takes the value that is, whatever its sign.
    places = np.abs(blocks).argmax(axis=-1)[..., None]
    farthest = np.take_along_axis(blocks, places, axis=-1)[..., 0]
    for shift in shifts.tolist():
        yield round_scales(farthest / (grid.lowest - shift)), None


def _list_ranges(blocks: Array, grid: Grid, shifts: Array) -> Iterator[Scales]:
    """From the smallest value to the largest, 0 among them, and somewhat less or more."""
    low, high = np.minimum(blocks.min(axis=-1), 0), np.maximum(blocks.max(axis=-1), 0)
    for shift in shifts.tolist():
        scales = round_scales((high - low) / (grid.highest + shift))
        inverse = np.divide(1.0, scales, out=np.zeros_like(scales), where=scales != 0)
        yield scales, np.clip(np.rint(-low * inverse), grid.lowest, grid.highest)


def _fit_scales(blocks: Array, codes: Array, zeros: Array | None, scales: Array, importance: Array) -> Array:
    """The scales at which these codes are nearest to the values, by least squares."""
    steps = codes if zeros is None else codes - zeros[..., None]
    weighted = steps * importance
    above, below = (weighted * blocks).sum(axis=-1), (weighted * steps).sum(axis=-1)
    return round_scales(np.divide(above, below, out=scales.copy(), where=below > 0))


def _measure_error(
    blocks: Array, codes: Array, scales: Array, zeros: Array | None, importance: Array
) -> Array:
    steps = codes if zeros is None else codes - zeros[..., None]
    gap = blocks - steps * scales[..., None]
    return np.asarray((gap * gap * importance).sum(axis=-1))


def _merge(best: Scales, other: Scales, is_better: Array) -> Scales:
    scales = np.where(is_better, other[0], best[0])
    if best[1] is None or other[1] is None:
        return scales, None
    return scales, np.where(is_better, other[1], best[1])


def _cut(weights: Array, grid: Grid) -> Array:
    rows, columns = weights.shape
    block = grid.find_block(columns)
    return np.asarray(weights, np.float32).reshape(rows, columns // block, block)


def _join(weights: Array, blocks: Array, chosen: Scales, grid: Grid) -> Codes:
    scales, zeros = chosen
    return pack_codes(choose_codes(blocks, scales, zeros, grid).reshape(weights.shape), scales, zeros, grid)


def join_codes(parts: Sequence[Codes]) -> Codes:
    """The codes of all rows."""
    zeros = [part.zeros for part in parts if part.zeros is not None]
    return Codes(
        parts[0].grid,
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.scales for part in parts]),
        np.concatenate(zeros) if zeros else None,
    )


def pack_codes(codes: Array, scales: Array, zeros: Array | None, grid: Grid) -> Codes:
    """Codes in their smallest datatypes."""
    kind = np.int8 if grid.is_symmetric else np.uint8
    return Codes(grid, codes.astype(kind), scales, None if zeros is None else zeros.astype(np.uint8))
