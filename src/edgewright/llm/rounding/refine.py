"""Codes and scales made better in turns: each is chosen anew for what the others are."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.arrays import cast, find_library, invert, load_kernels, run_recorded, turn
from edgewright.llm.rounding.codes import Codes, Grid, Nested, choose_rows, pack_codes, round_to_half

TURNS = 3
# Against blocks of codes that are all 0.
RIDGE = 1e-6
# Columns whose changes reach the other ones at once.
STRIDE = 128


def refine_codes(weights: Array, codes: Codes, moments: Array, turns: int = TURNS) -> Codes:
    """Codes with less error in the products with the inputs; of each row, what is not better is not taken.

    Args:
        weights: rows of a matrix.
        codes: what they are now.
        moments: sums over tokens of the products of inputs.
        turns: how often.
    """
    targets = weights @ moments
    best, least = codes, measure_row_errors(weights, codes, moments)
    for _ in range(turns):
        fitted = _fit_scales(weights, targets, codes, moments)
        codes, slopes = _choose_codes_anew(weights, fitted, moments)
        errors = ((weights - codes.decode()) * slopes).sum(axis=-1)
        library, is_better = find_library(errors), errors < least
        best, least = choose_rows(is_better, best, codes), library.where(is_better, errors, least)
    return best


def measure_row_errors(weights: Array, codes: Codes, moments: Array) -> Array:
    """Of each row, the sum of squared errors of its products with all inputs."""
    gap = weights - codes.decode()
    errors: Array = ((gap @ moments) * gap).sum(axis=-1)
    return errors


def _fit_scales(weights: Array, targets: Array, codes: Codes, moments: Array) -> Codes:
    """The scales of each row that are best together, then its minima where they are free."""
    rows, blocks = codes.scales.shape
    steps = cast(codes.codes, "float32").reshape(rows, blocks, -1)
    if codes.nested is None:
        if codes.zeros is not None:
            steps = steps - cast(codes.zeros, "float32")[..., None]
        scales = round_to_half(_find_factors(steps, targets, moments))
        return Codes(codes.grid, codes.codes, scales, codes.zeros)
    return _fit_multiples(weights, steps, codes, codes.nested, moments)


def _fit_multiples(weights: Array, steps: Array, codes: Codes, nested: Nested, moments: Array) -> Codes:
    """Scales that are multiples of units, which stay."""
    nesting = codes.grid.nesting
    assert nesting is not None
    library = find_library(weights)
    repeats = nested.steps.shape[1] // nested.units.shape[1]
    units = _spread(nested.units, repeats)
    if nested.minimum_units is None or nested.minimum_steps is None:
        free = _find_factors(steps, weights @ moments, moments)
        multiples = library.clip(library.round(free * invert(units)), nesting.lowest, nesting.highest)
        return Codes(codes.grid, codes.codes, multiples * units, None, Nested(nested.units, multiples))
    minimum_units = _spread(nested.minimum_units, repeats)
    minima = (minimum_units * nested.minimum_steps)[..., None]
    raised = (weights.reshape(steps.shape) + minima).reshape(weights.shape)
    free = _find_factors(steps, raised @ moments, moments)
    multiples = library.clip(library.round(free * invert(units)), nesting.lowest, nesting.highest)
    scales = multiples * units
    excess = (steps * scales[..., None]).reshape(weights.shape) - weights
    lows = _find_factors(library.ones_like(steps), excess @ moments, moments)
    lows = library.clip(library.round(lows * invert(minimum_units)), 0, nesting.highest)
    zeros = lows * minimum_units * invert(scales)
    return Codes(
        codes.grid, codes.codes, scales, zeros, Nested(nested.units, multiples, nested.minimum_units, lows)
    )


def _spread(units: Array, repeats: int) -> Array:
    """Of each span, as often as it has blocks."""
    rows, spans = units.shape
    spread: Array = find_library(units).broadcast_to(units[..., None], (rows, spans, repeats))
    return spread.reshape(rows, -1)


def _find_factors(parts: Array, targets: Array, moments: Array) -> Array:
    """Factors of the parts [rows, blocks, values] that are best together: a system of equations a row."""
    library = find_library(parts)
    blocks, size = parts.shape[1:]
    columns = []
    for block in range(blocks):
        products = (parts[:, block] @ moments[block * size : (block + 1) * size]).reshape(parts.shape)
        columns.append(_sum_products(products, parts))
    system = cast(library.stack(columns, axis=1), "float64")
    right = cast(_sum_products(targets.reshape(parts.shape), parts), "float64")
    diagonal = library.diagonal(system, 0, 1, 2)
    ridge = RIDGE * diagonal.mean(axis=-1) + 1e-20
    every = list(range(blocks))
    system[:, every, every] += ridge[:, None]
    return cast(library.linalg.solve(system, right[..., None])[..., 0], "float32")


def _sum_products(first: Array, second: Array) -> Array:
    """Over the values of each block [rows, blocks, values]."""
    kernels = load_kernels() if isinstance(first, np.ndarray) else None
    if kernels is None:
        total: Array = (first * second).sum(axis=-1)
        return total
    rows, blocks, _ = first.shape
    left, right = (np.ascontiguousarray(part, np.float32).reshape(rows, -1) for part in (first, second))
    sums = np.empty((rows, blocks), np.float32)
    kernels.sum_block_products(left, right, sums)
    return sums


def _choose_codes_anew(weights: Array, codes: Codes, moments: Array) -> tuple[Codes, Array]:
    """Column by column: the best code of each while all others stay; and the error's slopes after it."""
    library, grid = find_library(weights), codes.grid
    # Each column is taken by itself.
    decoded = codes.decode()
    values, slopes = turn(decoded), turn((weights - decoded) @ moments)
    scales = turn(codes.scales)
    zeros = 0.0 * scales if codes.zeros is None else turn(cast(codes.zeros, "float32"))
    size, parts = len(values) // len(scales), []
    for start in range(0, len(values), STRIDE):
        stop = min(start + STRIDE, len(values))
        blocks, here = [column // size for column in range(start, stop)], slice(start, stop)
        arrays = (values[here], slopes[here], moments[here, here], scales[blocks], zeros[blocks])
        chosen, changes, slopes[here] = _choose_columns(arrays, grid)
        parts.append(chosen)
        for rest in (slice(0, start), slice(stop, None)):
            slopes[rest] -= moments[rest, here] @ changes
    chosen = turn(library.concatenate(parts, axis=0))
    return pack_codes(chosen, codes.scales, codes.zeros, grid, codes.nested), slopes.T


def _choose_columns(arrays: tuple[Array, ...], grid: Grid) -> tuple[Array, ...]:
    kernels = load_kernels() if isinstance(arrays[0], np.ndarray) else None
    if kernels is None:
        return run_recorded(choose_columns, arrays, (grid.lowest, grid.highest))
    values, slopes, *others = (np.ascontiguousarray(array, np.float32) for array in arrays)
    codes, changes, slopes = np.empty_like(values), np.empty_like(values), slopes + 0
    limits = np.array([grid.lowest, grid.highest], np.float32)
    kernels.choose_columns(values, slopes, *others, limits, codes, changes)
    return codes, changes, slopes


def choose_columns(  # noqa: PLR0913, PLR0917 - recorded by position
    values: Array, slopes: Array, moments: Array, scales: Array, zeros: Array, lowest: int, highest: int
) -> tuple[Array, Array, Array]:
    """Codes of some columns, each the best while all others stay, how values change, and the slopes then."""
    library, inverse = find_library(values), invert(scales)
    slopes = slopes + 0.0
    codes, changes = library.zeros_like(values), library.zeros_like(values)
    for column in range(len(values)):
        zero = zeros[column]
        best = values[column] + slopes[column] / moments[column, column]
        code = library.clip(library.round(best * inverse[column] + zero), lowest, highest)
        codes[column], changes[column] = code, (code - zero) * scales[column] - values[column]
        slopes -= library.outer(moments[:, column], changes[column])
    return codes, changes, slopes
