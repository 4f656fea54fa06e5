"""GPTQ: the error of each column is made up for by the columns that are not rounded yet."""

import math
from typing import Any

from edgewright.core.numbers import Array
from edgewright.llm.arrays import cast, find_library, invert, run_recorded
from edgewright.llm.rounding.codes import Codes, Grid, join_codes
from edgewright.llm.rounding.refine import refine_codes
from edgewright.llm.rounding.rows import quantize_by_rows
from edgewright.llm.rounding.scales import Scales, choose_units, pack_span, search_scales

# Added to the diagonal as a share of its mean, so that the inverse exists.
DAMPING = 0.01
# Columns that are corrected at once.
STRIDE = 128
# Weights that one thread works on at a time: columns of rows that are long enough for numpy.
ROWS_PIECE = 1 << 21


class Compensation:
    """What rounding needs to know of a matrix's inputs; rows of the matrix come piece by piece."""

    def __init__(self, moments: Array) -> None:
        library = find_library(moments)
        # Sums over tokens of the products of inputs, [columns, columns].
        damped = damp_moments(moments)
        self.moments = cast(damped, "float32")
        inverse = library.linalg.inv(damped)
        # The upper triangle whose square is the inverse.
        factor = library.linalg.cholesky((inverse + inverse.T) / 2).T
        self._factor = cast(factor, "float32")
        diagonal = library.diagonal(self._factor)
        # What an error costs after all that later columns make up for.
        self._costs = 1 / (diagonal * diagonal)

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
        # Columns lie side by side in memory: each is taken by itself.
        work = cast(weights, "float32").T + 0.0
        columns = len(work)
        span = grid.find_span(columns)
        stride = span * max(1, STRIDE // span)
        parts = []
        for start in range(0, columns, stride):
            stop = min(start + stride, columns)
            local = work[start:stop]
            errors = find_library(work).zeros_like(local)
            for first in range(0, stop - start, span):
                places = range(start + first, start + first + span)
                parts.append(self._quantize_span(local, errors, places, start, grid))
            work[stop:] -= self._factor[start:stop, stop:].T @ errors
        return join_codes(parts, axis=1)

    def _quantize_span(self, local: Array, errors: Array, places: range, start: int, grid: Grid) -> Codes:
        """Columns whose scales are made of the same units; local and errors hold columns as rows."""
        library, stop = find_library(local), start + len(local)
        block = grid.find_block(len(places))
        costs = self._costs[places.start : places.stop].reshape(-1, block)
        values = local[places.start - start : places.stop - start].T.reshape(local.shape[1], -1, block)
        units = choose_units(values, costs, grid) if grid.nesting is not None else None
        codes, chosen = [], []
        for number in range(len(costs)):
            first = places.start + number * block
            last, now = first + block, local[first - start : first - start + block]
            # For the columns as they are now, corrected for the errors of those before.
            chosen.append(search_scales(now.T[:, None], costs[number : number + 1], grid, units))
            code, error = _round_block(now, self._factor[first:last, first:last], chosen[-1], grid)
            codes.append(code.T)
            errors[first - start : last - start] = error
            local[last - start :] -= self._factor[first:last, last:stop].T @ error
        return pack_span(library.concatenate(codes, axis=1), _stack_scales(chosen), units, grid)


def _round_block(values: Array, factor: Array, chosen: Scales, grid: Grid) -> tuple[Array, Array]:
    """Codes and errors of a block, whose columns are rows here."""
    scales = chosen.scales[:, 0]
    zeros = 0.0 * scales if chosen.zeros is None else chosen.zeros[:, 0]
    codes, errors = run_recorded(round_columns, (values, factor, scales, zeros), (grid.lowest, grid.highest))
    return codes, errors


def round_columns(
    values: Array, factor: Array, scales: Array, zeros: Array, lowest: int, highest: int
) -> tuple[Array, Array]:
    """Column by column, each corrected for the errors of those before it."""
    library, inverse = find_library(values), invert(scales)
    work = values + 0.0
    codes, errors = library.zeros_like(work), library.zeros_like(work)
    for column in range(len(work)):
        code = library.clip(library.round(work[column] * inverse + zeros), lowest, highest)
        error = (work[column] - (code - zeros) * scales) / factor[column, column]
        codes[column], errors[column] = code, error
        work[column + 1 :] -= library.outer(factor[column, column + 1 :], error)
    return codes, errors


def damp_moments(moments: Array) -> Array:
    """Moments whose inverse exists: inputs that are always 0 count as independent ones."""
    matrix = cast(moments, "float64")
    library = find_library(matrix)
    diagonal = library.diagonal(matrix)
    dead = cast(diagonal <= 0, "float64")
    mean = float((diagonal + dead).mean())
    damped: Array = matrix + library.diag(dead + (DAMPING * mean if math.isfinite(mean) else 1.0))
    return damped


def _stack_scales(chosen: list[Scales]) -> Scales:
    library = find_library(chosen[0].scales)

    def join(name: str) -> Any:
        parts = [getattr(scales, name) for scales in chosen]
        return None if parts[0] is None else library.concatenate(parts, axis=1)

    return Scales(join("scales"), join("zeros"), join("steps"), join("minimum_steps"))
