"""GPTQ: the error of each column is made up for by the columns that are not rounded yet."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.rounding.codes import Codes, Grid, choose_codes
from edgewright.llm.rounding.scales import Scales, find_reaching_scales, pack_codes, search_scales

# Added to the diagonal as a share of its mean, so that the inverse exists.
DAMPING = 0.01
# Columns that are corrected at once.
STRIDE = 128


class Compensation:
    """What rounding needs to know of a matrix's inputs; rows of the matrix come piece by piece."""

    def __init__(self, moments: Array) -> None:
        # Sums over tokens of the products of inputs, [columns, columns].
        self.moments = damp_moments(moments)
        inverse = np.linalg.inv(self.moments)
        # The upper triangle whose square is the inverse.
        self._factor = np.linalg.cholesky((inverse + inverse.T) / 2).T.astype(np.float32)

    def quantize(self, weights: Array, grid: Grid, *, is_searched: bool = True) -> Codes:
        """Codes whose products with the inputs, not the weights themselves, are near to the float ones.

        Args:
            weights: rows of the matrix.
            grid: what values they may take.
            is_searched: whether scales are searched; else they reach the largest value.
        """
        work = np.array(weights, np.float32)
        columns, block = work.shape[1], grid.find_block(work.shape[1])
        codes = np.empty(work.shape, np.float32)
        chosen: list[Scales] = []
        stride = max(block, STRIDE // block * block)
        for start in range(0, columns, stride):
            stop = min(start + stride, columns)
            errors = np.empty((len(work), stop - start), np.float32)
            for first in range(start, stop, block):
                chosen.append(self._choose_scales(work[:, first : first + block], first, grid, is_searched))
                places = (first, first + block, start, stop)
                self._round_columns(work, codes, errors, chosen[-1], places, grid)
            work[:, stop:] -= errors @ self._factor[start:stop, stop:]
        scales = np.stack([scale for scale, _ in chosen], axis=1)
        zeros = [zero for _, zero in chosen if zero is not None]
        return pack_codes(codes, scales, np.stack(zeros, axis=1) if zeros else None, grid)

    def _choose_scales(self, values: Array, first: int, grid: Grid, is_searched: bool) -> Scales:
        """For the columns as they are now, corrected for the errors of those before."""
        blocks = np.ascontiguousarray(values)
        if not is_searched:
            return find_reaching_scales(blocks, grid)
        # What an error costs after all that later columns make up for.
        costs = 1 / np.square(np.diag(self._factor)[first : first + values.shape[1]])
        return search_scales(blocks, costs, grid)

    def _round_columns(
        self,
        work: Array,
        codes: Array,
        errors: Array,
        chosen: Scales,
        places: tuple[int, int, int, int],
        grid: Grid,
    ) -> None:
        first, last, start, stop = places
        scales, zeros = chosen
        for column in range(first, last):
            values = work[:, column]
            codes[:, column] = choose_codes(values[:, None], scales, zeros, grid)[:, 0]
            steps = codes[:, column] if zeros is None else codes[:, column] - zeros
            error = (values - steps * scales) / self._factor[column, column]
            errors[:, column - start] = error
            work[:, column:stop] -= np.outer(error, self._factor[column, column:stop])


def damp_moments(moments: Array) -> Array:
    """Moments whose inverse exists: inputs that are always 0 count as independent ones."""
    matrix = np.array(moments, np.float64)
    dead = np.diag(matrix) <= 0
    matrix[dead, dead] = 1.0
    matrix[np.diag_indices_from(matrix)] += DAMPING * np.mean(np.diag(matrix))
    return matrix
