"""Scales of blocks: from the largest value, or searched so that the error that matters is least."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.arrays import find_library, invert, load_kernels, move_like
from edgewright.llm.rounding.codes import Codes, Grid, Nested, join_codes, pack_codes, round_to_half
from edgewright.llm.rounding.rows import quantize_by_rows

# How far a searched scale may be from the one that reaches the largest value, in steps of codes.
REACH, TRIES = 1.2, 13
# Multiples of a unit that are tried around the one that is nearest to a searched scale.
NEIGHBOURS = (-1, 0, 1)
# Values for which a GPU takes all tries at once: 13 copies in single precision are 220 MB.
AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Units:
    """What the scales and minima of a span are multiples of, [rows]."""

    scales: Array
    minima: Array | None = None


@dataclass(frozen=True)
class Scales:
    """Of blocks [...]: value = scale x (code - zero), and the multiples of units where the grid has such."""

    scales: Array
    zeros: Array | None = None
    steps: Array | None = None
    minimum_steps: Array | None = None


def quantize_to_nearest(weights: Array, grid: Grid) -> Codes:
    """Each weight at the nearest code, with scales that reach the largest value; for plain grids."""
    blocks = _cut(weights, grid.find_block(weights.shape[1]))
    chosen = next(_list_scales(blocks, grid, np.zeros(1)))
    codes = choose_codes(blocks, chosen, grid).reshape(weights.shape)
    return pack_codes(codes, chosen.scales, chosen.zeros, grid)


def quantize_with_search(weights: Array, grid: Grid, importance: Array | None = None) -> Codes:
    """Each weight at the nearest code, with the scales that leave the least weighted error.

    Args:
        weights: a matrix [rows, columns].
        grid: what values they may take.
        importance: how much an error in each column matters; None: all alike.
    """
    if importance is None:
        importance = move_like(np.ones(weights.shape[1], np.float32), weights)

    def quantize_rows(part: Array) -> Codes:
        columns = part.shape[1]
        span = columns if grid.nesting is None else grid.find_span(columns)
        places = [slice(start, start + span) for start in range(0, columns, span)]
        parts = [_quantize_span(part[:, place], grid, importance[place]) for place in places]
        return join_codes(parts, axis=1)

    return quantize_by_rows(weights, quantize_rows)


def search_scales(blocks: Array, importance: Array, grid: Grid, units: Units | None = None) -> Scales:
    """The scales with the least error of those near the ones that reach the largest value.

    Args:
        blocks: values [rows, blocks, values].
        importance: how much an error in each of them matters, [blocks, values].
        grid: what values they may take.
        units: what scales must be multiples of, where the grid has such.
    """
    if units is None:
        return _search_plain_scales(blocks, importance, grid)
    return _search_steps(blocks, importance, grid, units)


def choose_units(blocks: Array, importance: Array, grid: Grid) -> Units | None:
    """Units of the blocks of a span, such that the largest scale is the largest multiple."""
    if grid.nesting is None:
        return None
    library = find_library(blocks)
    free = _search_plain_scales(blocks, importance, replace(grid, nesting=None))
    scales, most = _choose_signs(free.scales, grid), grid.nesting.highest
    if grid.nesting.lowest < 0:
        low, high = library.amin(scales, axis=-1), library.amax(scales, axis=-1)
        return Units(_round_unit(library.where(high > -low, high, low) / grid.nesting.lowest, grid))
    units = _round_unit(library.amax(scales, axis=-1) / most, grid)
    if free.zeros is None:
        return Units(units)
    return Units(units, _round_unit(library.amax(free.scales * free.zeros, axis=-1) / most, grid))


def choose_codes(values: Array, chosen: Scales, grid: Grid) -> Array:
    """The nearest codes of values [..., block] with scales [...]."""
    steps = values * invert(chosen.scales)[..., None]
    if chosen.zeros is not None:
        steps = steps + chosen.zeros[..., None]
    library = find_library(values)
    codes: Array = library.clip(library.round(steps), grid.lowest, grid.highest)
    return codes


def make_nested_scales(units: Units, steps: Array, minimum_steps: Array | None) -> Scales:
    """Scales [rows, blocks] that are these multiples of their units [rows]."""
    scales = steps * units.scales[:, None]
    if units.minima is None or minimum_steps is None:
        return Scales(scales, None, steps)
    return Scales(scales, minimum_steps * units.minima[:, None] * invert(scales), steps, minimum_steps)


def pack_span(codes: Array, chosen: Scales, units: Units | None, grid: Grid) -> Codes:
    """The codes of one span and all that its scales are made of."""
    nested = None
    if units is not None:
        assert chosen.steps is not None
        minima = None if units.minima is None else units.minima[:, None]
        nested = Nested(units.scales[:, None], chosen.steps, minima, chosen.minimum_steps)
    return pack_codes(codes, chosen.scales, chosen.zeros, grid, nested)


def _quantize_span(values: Array, grid: Grid, importance: Array) -> Codes:
    block = grid.find_block(values.shape[1])
    blocks, matters = _cut(values, block), importance.reshape(-1, block)
    units = choose_units(blocks, matters, grid)
    chosen = search_scales(blocks, matters, grid, units)
    return pack_span(_choose_nearest(blocks, chosen, grid).reshape(values.shape), chosen, units, grid)


def find_grid_kernels(values: Array, grid: Grid) -> Any:
    """The compiled loops where they take these values: scales of either sign, that are not nested."""
    is_plain = grid.nesting is None and not grid.is_positive
    return load_kernels() if is_plain and isinstance(values, np.ndarray) else None


def list_shifts() -> Array:
    """Steps of codes by which tried scales are away from those that reach the largest value."""
    return np.linspace(-REACH, REACH, TRIES).astype(np.float32)


def _search_plain_scales(blocks: Array, importance: Array, grid: Grid) -> Scales:
    shifts, kernels = list_shifts(), find_grid_kernels(blocks, grid)
    if kernels is not None:
        return _search_compiled(kernels, blocks, importance, grid, shifts)
    candidates = _list_scales(blocks, grid, shifts)
    if not isinstance(blocks, np.ndarray) and math.prod(blocks.shape) <= AT_ONCE:
        return _try_at_once(list(candidates), blocks, importance, grid)
    best: tuple[Scales, Array] | None = None
    for first in candidates:
        scales = _fit_scales(blocks, choose_codes(blocks, first, grid), first, importance)
        best = _keep_better(best, replace(first, scales=scales), blocks, importance, grid)
    assert best is not None
    return best[0]


def _search_compiled(kernels: Any, blocks: Array, importance: Array, grid: Grid, shifts: Array) -> Scales:
    """The same search in loops over values that stay in the fastest memory."""
    chosen = np.empty((2, *blocks.shape[:2]), np.float32)
    costs = np.ascontiguousarray(importance, np.float32)
    limits = np.array([grid.lowest, grid.highest], np.float32)
    kernels.search_blocks(
        *(np.asarray(blocks, np.float32), costs, shifts),
        *(limits, grid.is_symmetric, chosen),
    )
    return Scales(chosen[0], None if grid.is_symmetric else chosen[1])


def _choose_nearest(blocks: Array, chosen: Scales, grid: Grid) -> Array:
    """The nearest codes, in one loop where that is compiled."""
    kernels = find_grid_kernels(blocks, grid)
    if kernels is None:
        return choose_codes(blocks, chosen, grid)
    codes = np.empty(blocks.shape, np.uint8)
    zeros = np.zeros_like(chosen.scales) if chosen.zeros is None else chosen.zeros
    limits = np.array([grid.lowest, grid.highest], np.float32)
    kernels.code_blocks(np.asarray(blocks, np.float32), chosen.scales, zeros, limits, codes)
    return codes.view(np.int8) if grid.is_symmetric else codes


def _try_at_once(candidates: list[Scales], blocks: Array, importance: Array, grid: Grid) -> Scales:
    """The same search for a GPU, which spends its time on starting work: all candidates in one array."""
    library = find_library(blocks)
    zeros = [candidate.zeros for candidate in candidates if candidate.zeros is not None]
    stacked = library.stack(zeros) if zeros else None
    first = Scales(library.stack([candidate.scales for candidate in candidates]), stacked)
    scales = _fit_scales(blocks, choose_codes(blocks, first, grid), first, importance)
    _, errors = _keep_better(None, replace(first, scales=scales), blocks, importance, grid)
    # The first of equal ones, as the search one by one keeps it.
    best = library.argmin(errors, 0)[None]
    kept = None if stacked is None else library.take_along_dim(stacked, best, 0)[0]
    return Scales(library.take_along_dim(scales, best, 0)[0], kept)


def _search_steps(blocks: Array, importance: Array, grid: Grid, units: Units) -> Scales:
    """Multiples of the units near the scales that would be best without them."""
    nesting = grid.nesting
    assert nesting is not None
    library = find_library(blocks)
    free = _search_plain_scales(blocks, importance, replace(grid, nesting=None))
    nearest = library.round(_choose_signs(free.scales, grid) * invert(units.scales)[:, None])
    minima = None
    if free.zeros is not None and units.minima is not None:
        minima = _round_minima(free.scales * free.zeros, units)
    best: tuple[Scales, Array] | None = None
    for shift in NEIGHBOURS:
        steps = library.clip(nearest + shift, nesting.lowest, nesting.highest)
        chosen = make_nested_scales(units, steps, minima)
        best = _keep_better(best, chosen, blocks, importance, grid)
        if minima is not None:
            fitted = _fit_minima(blocks, choose_codes(blocks, chosen, grid), chosen, importance)
            moved = make_nested_scales(units, steps, _round_minima(fitted, units))
            best = _keep_better(best, moved, blocks, importance, grid)
    assert best is not None
    return best[0]


def _choose_signs(scales: Array, grid: Grid) -> Array:
    """Where multiples are positive, scales are: the sign that reaches farthest is given up."""
    is_signed = grid.nesting is None or grid.nesting.lowest < 0
    oriented: Array = scales if is_signed else find_library(scales).abs(scales)
    return oriented


def _round_unit(units: Array, grid: Grid) -> Array:
    return round_to_half(units) if grid.nesting is not None and grid.nesting.is_half else units


def _round_minima(minima: Array, units: Units) -> Array:
    assert units.minima is not None
    library = find_library(minima)
    steps: Array = library.clip(library.round(minima * invert(units.minima)[:, None]), 0, 63)
    return steps


def _list_scales(blocks: Array, grid: Grid, shifts: Array) -> Iterator[Scales]:
    library = find_library(blocks)
    low, high = library.amin(blocks, axis=-1), library.amax(blocks, axis=-1)
    if not grid.is_symmetric:
        yield from _list_ranges(library.clip(low, None, 0), library.clip(high, 0, None), grid, shifts)
        return
    # The code that is farthest from 0 takes the value that is, whatever its sign.
    farthest = library.where(high > -low, high, low)
    if grid.is_positive:
        farthest = -library.abs(farthest)
    for shift in shifts.tolist():
        yield Scales(round_to_half(farthest / (grid.lowest - shift)))


def _list_ranges(low: Array, high: Array, grid: Grid, shifts: Array) -> Iterator[Scales]:
    """From the smallest value to the largest, 0 among them, and somewhat less or more."""
    library = find_library(low)
    for shift in shifts.tolist():
        scales = round_to_half((high - low) / (grid.highest + shift))
        yield Scales(scales, library.clip(library.round(-low * invert(scales)), grid.lowest, grid.highest))


def _fit_scales(blocks: Array, codes: Array, chosen: Scales, importance: Array) -> Array:
    """The scales at which these codes are nearest to the values, by least squares."""
    steps = codes if chosen.zeros is None else codes - chosen.zeros[..., None]
    weighted = steps * importance
    above, below = (weighted * blocks).sum(axis=-1), (weighted * steps).sum(axis=-1)
    library = find_library(blocks)
    return round_to_half(library.where(below > 0, above * invert(below), chosen.scales))


def _fit_minima(blocks: Array, codes: Array, chosen: Scales, importance: Array) -> Array:
    """The minima at which these codes are nearest to the values."""
    gaps = (codes * chosen.scales[..., None] - blocks) * importance
    fitted: Array = gaps.sum(axis=-1) / importance.sum(axis=-1)
    return fitted


def _keep_better(
    best: tuple[Scales, Array] | None, other: Scales, blocks: Array, importance: Array, grid: Grid
) -> tuple[Scales, Array]:
    """Of each block, the scales that leave less error."""
    codes = choose_codes(blocks, other, grid)
    steps = codes if other.zeros is None else codes - other.zeros[..., None]
    gap = blocks - steps * other.scales[..., None]
    error = (gap * gap * importance).sum(axis=-1)
    if best is None:
        return other, error
    library, (kept, least) = find_library(blocks), best
    is_better = error < least

    def choose(name: str) -> Array | None:
        first, second = getattr(kept, name), getattr(other, name)
        merged: Array | None = None if first is None else library.where(is_better, second, first)
        return merged

    scales = choose("scales")
    assert scales is not None
    merged = Scales(scales, choose("zeros"), choose("steps"), choose("minimum_steps"))
    return merged, library.where(is_better, error, least)


def _cut(weights: Array, block: int) -> Array:
    rows, columns = weights.shape
    return weights.reshape(rows, columns // block, block)
