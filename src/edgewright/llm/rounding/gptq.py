"""GPTQ: the error of each column is made up for by the columns that are not rounded yet."""

import math
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput
from edgewright.core.numbers import Array
from edgewright.llm.arrays import cast, find_library, invert, load_kernels, run_recorded, turn
from edgewright.llm.rounding.codes import Codes, Grid, join_codes, pack_codes
from edgewright.llm.rounding.refine import refine_codes
from edgewright.llm.rounding.rows import quantize_by_rows
from edgewright.llm.rounding.scales import (
    Scales,
    choose_units,
    find_grid_kernels,
    list_shifts,
    pack_span,
    search_scales,
)
from edgewright.llm.threads import keep_products_single

# Added to the diagonal as a share of its mean, so that the inverse exists.
DAMPING = 0.01
# Columns that are corrected at once.
STRIDE = 128
# Weights that one thread works on at a time: columns of rows that are long enough for numpy.
ROWS_PIECE = 1 << 18
# Columns of moments that are factored at once.
PANEL = 64


class Compensation:
    """What rounding needs to know of a matrix's inputs; rows of the matrix come piece by piece."""

    def __init__(self, moments: Array, damping: float = DAMPING) -> None:
        library = find_library(moments)
        # Sums over tokens of the products of inputs, [columns, columns].
        damped = damp_moments(moments, damping)
        self.moments = cast(damped, "float32")
        # The upper triangle whose product with its transpose is the moments.
        factor = library.flip(find_triangle(library.flip(damped, (0, 1))), (0, 1))
        diagonal = library.diagonal(factor)
        # Of a column's error, what each later column takes on.
        self._shares = cast(factor * (1 / diagonal), "float32")
        # What an error costs after all that later columns make up for.
        self._costs = cast(diagonal * diagonal, "float32")

    def quantize(self, weights: Array, grid: Grid, turns: int = 0) -> Codes:
        """Codes whose products with the inputs, not the weights themselves, are near to the float ones.

        Args:
            weights: rows of the matrix.
            grid: what values they may take.
            turns: how often codes and scales are then chosen anew.
        """
        grid.find_span(weights.shape[1])

        def quantize_rows(part: Array) -> Codes:
            codes = self._quantize_rows(part, grid)
            return refine_codes(part, codes, self.moments, turns) if turns else codes

        return quantize_by_rows(weights, quantize_rows, ROWS_PIECE)

    def _quantize_rows(self, weights: Array, grid: Grid) -> Codes:
        kernels = find_grid_kernels(weights, grid)
        if kernels is not None and grid.find_block(weights.shape[1]) % 4 == 0:
            return self._quantize_compiled(kernels, weights, grid)
        # Each column is taken by itself.
        columns = turn(cast(weights, "float32"))
        errors = find_library(columns).zeros_like(columns)
        count = len(columns)
        span = grid.find_span(count)
        stride = span * max(1, STRIDE // span)
        parts = []
        for start in range(0, count, stride):
            stop = min(start + stride, count)
            targets = columns[start:stop] + self._shares[:start, start:stop].T @ errors[:start]
            for first in range(start, stop, span):
                places = range(first, first + span)
                parts.append(self._quantize_span(columns, targets, errors, places, stop, grid))
        return join_codes(parts, axis=1)

    def _quantize_compiled(self, kernels: Any, weights: Array, grid: Grid) -> Codes:
        """The same in loops over values that stay in the fastest memory."""
        (rows, columns), block = weights.shape, grid.find_block(weights.shape[1])
        codes = np.empty((rows, columns), np.uint8)
        chosen = np.empty((2, rows, columns // block), np.float32)
        kernels.round_rows(
            *(cast(weights, "float32"), self._taken, self._costs.reshape(-1, block)),
            *(list_shifts(), np.array([grid.lowest, grid.highest], np.float32)),
            *(grid.is_symmetric, codes, chosen),
        )
        codes = codes.view(np.int8) if grid.is_symmetric else codes
        return pack_codes(codes, chosen[0], None if grid.is_symmetric else chosen[1], grid)

    @cached_property
    def _taken(self) -> Array:
        """Of each column, what it takes on of the errors of those before it."""
        return turn(self._shares)

    def _quantize_span(
        self, columns: Array, targets: Array, errors: Array, places: range, stop: int, grid: Grid
    ) -> Codes:
        """Columns whose scales are made of the same units; targets are those of the stride, up to stop."""
        library, start = find_library(columns), stop - len(targets)
        block = grid.find_block(len(places))
        costs = self._costs[places.start : places.stop].reshape(-1, block)
        values = targets[places.start - start : places.stop - start].T.reshape(targets.shape[1], -1, block)
        units = choose_units(values, costs, grid) if grid.nesting is not None else None
        codes, chosen = [], []
        for number in range(len(costs)):
            first = places.start + number * block
            here, now = slice(first, first + block), targets[first - start : first - start + block]
            # For the columns as they are now, corrected for the errors of those before.
            chosen.append(search_scales(now.T[:, None], costs[number : number + 1], grid, units))
            code, errors[here] = _round_block(now, columns[here], self._shares[here, here], chosen[-1], grid)
            codes.append(code)
            rest = slice(first + block, stop)
            targets[first - start + block :] += self._shares[here, rest].T @ errors[here]
        return pack_span(turn(library.concatenate(codes, axis=0)), _stack_scales(chosen), units, grid)


def _round_block(
    targets: Array, values: Array, shares: Array, chosen: Scales, grid: Grid
) -> tuple[Array, Array]:
    """Codes and errors of a block, whose columns are rows here."""
    scales = chosen.scales[:, 0]
    zeros = 0.0 * scales if chosen.zeros is None else chosen.zeros[:, 0]
    kernels = load_kernels() if isinstance(targets, np.ndarray) else None
    if kernels is None:
        arrays = (targets, values, shares, scales, zeros)
        codes, errors = run_recorded(round_columns, arrays, (grid.lowest, grid.highest))
        return codes, errors
    inputs = (np.ascontiguousarray(array) for array in (targets, values, shares, scales, zeros))
    codes, errors = np.empty(targets.shape, np.float32), np.empty(targets.shape, np.float32)
    kernels.round_columns(*inputs, grid.lowest, grid.highest, codes, errors)
    return codes, errors


def round_columns(  # noqa: PLR0913, PLR0917 - recorded by position
    targets: Array, values: Array, shares: Array, scales: Array, zeros: Array, lowest: int, highest: int
) -> tuple[Array, Array]:
    """Column by column, each corrected for the errors of those before it."""
    library, inverse = find_library(targets), invert(scales)
    work = targets + 0.0
    codes, errors = library.zeros_like(work), library.zeros_like(work)
    for column in range(len(work)):
        code = library.clip(library.round(work[column] * inverse + zeros), lowest, highest)
        error = values[column] - (code - zeros) * scales
        codes[column], errors[column] = code, error
        work[column + 1 :] += library.outer(shares[column, column + 1 :], error)
    return codes, errors


def damp_moments(moments: Array, damping: float = DAMPING) -> Array:
    """Moments whose inverse exists: inputs that are always 0 count as independent ones."""
    # Products of large matrices in double precision take numpy twice as long.
    matrix = moments + 0.0 if isinstance(moments, np.ndarray) else cast(moments, "float64") + 0.0
    diagonal = cast(find_library(matrix).diagonal(matrix), "float64")
    dead = cast(diagonal <= 0, "float64")
    mean = float((diagonal + dead).mean())
    every = list(range(len(matrix)))
    matrix[every, every] += dead + (damping * mean if math.isfinite(mean) else 1.0)
    return matrix


def find_triangle(moments: Array) -> Array:
    """The lower triangle whose product with its transpose is the moments."""
    if not isinstance(moments, np.ndarray):
        triangle: Array = find_library(moments).linalg.cholesky(moments)
        return triangle
    # Threads gain nothing on many small products, and lose much where other programs run.
    with keep_products_single():
        # Inputs that are nearly the same need more digits.
        for dtype in (np.float32, np.float64):
            with suppress(np.linalg.LinAlgError):
                lower = _find_triangle_by_panels(moments.astype(dtype, copy=False))
                if np.isfinite(np.diagonal(lower)).all():
                    return lower
    raise BadInput(
        "what the text makes of the inputs of a matrix are no numbers that can be computed with",
        do="look at the checkpoint's weights, or choose --recipe fast, which needs no text",
    )


def _find_triangle_by_panels(moments: Array) -> Array:
    """Cholesky's, some columns at a time: nearly all of it are products of large matrices."""
    lower = np.zeros_like(moments)
    for start in range(0, len(moments), PANEL):
        here, below = slice(start, start + PANEL), slice(start + PANEL, None)
        rest = moments[start:, here] - lower[start:, :start] @ lower[here, :start].T
        top = np.linalg.cholesky(rest[:PANEL].astype(np.float64))
        lower[here, here] = top
        lower[below, here] = rest[PANEL:] @ np.linalg.inv(top).T.astype(moments.dtype)
    return lower


def _stack_scales(chosen: list[Scales]) -> Scales:
    library = find_library(chosen[0].scales)

    def join(name: str) -> Any:
        parts = [getattr(scales, name) for scales in chosen]
        return None if parts[0] is None else library.concatenate(parts, axis=1)

    return Scales(join("scales"), join("zeros"), join("steps"), join("minimum_steps"))
