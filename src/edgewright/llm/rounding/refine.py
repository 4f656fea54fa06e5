"""Codes and scales made better in turns: each is chosen anew for what the others are."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.rounding.codes import Codes, choose_codes, round_scales

TURNS = 3
# Against blocks of codes that are all 0.
RIDGE = 1e-6


def refine_codes(weights: Array, codes: Codes, moments: Array, turns: int = TURNS) -> Codes:
    """Symmetric codes with less error in the products with the inputs; what is not better is not taken."""
    if not codes.grid.is_symmetric:
        return codes
    matrix = moments.astype(np.float32)
    best, least = codes, measure_product_error(weights, codes, matrix)
    for _ in range(turns):
        codes = _choose_codes_anew(weights, _fit_scales(weights, codes, matrix), matrix)
        error = measure_product_error(weights, codes, matrix)
        if error < least:
            best, least = codes, error
    return best


def measure_product_error(weights: Array, codes: Codes, moments: Array) -> float:
    """The sum of squared errors of all products with the inputs."""
    gap = weights - codes.decode()
    return float(np.vdot(gap @ moments, gap))


def _fit_scales(weights: Array, codes: Codes, matrix: Array) -> Codes:
    """The scales of each row that are best together: one small system of equations."""
    rows, blocks = codes.scales.shape
    steps = codes.codes.reshape(rows, blocks, -1).astype(np.float32)
    size = steps.shape[2]
    system = np.empty((rows, blocks, blocks), np.float64)
    for block in range(blocks):
        part = (steps[:, block] @ matrix[block * size : (block + 1) * size]).reshape(steps.shape)
        system[:, block] = np.einsum("rbk,rbk->rb", part, steps)
    targets = ((weights @ matrix).reshape(steps.shape) * steps).sum(axis=2, dtype=np.float64)
    every = np.arange(blocks)
    system[:, every, every] += RIDGE * np.trace(system, axis1=1, axis2=2)[:, None] / blocks + 1e-20
    scales = np.linalg.solve(system, targets[..., None])[..., 0]
    return Codes(codes.grid, codes.codes, round_scales(scales))


def _choose_codes_anew(weights: Array, codes: Codes, matrix: Array) -> Codes:
    """Column by column: the best code of each while all others stay."""
    values = codes.decode()
    slopes = (weights - values) @ matrix
    size = weights.shape[1] // codes.scales.shape[1]
    chosen = codes.codes.copy()
    for column in range(weights.shape[1]):
        scales = codes.scales[:, column // size]
        best = values[:, column] + slopes[:, column] / matrix[column, column]
        chosen[:, column] = choose_codes(best[:, None], scales, None, codes.grid)[:, 0]
        change = chosen[:, column] * scales - values[:, column]
        changed = np.nonzero(change)[0]
        slopes[changed] -= np.outer(change[changed], matrix[column])
    return Codes(codes.grid, chosen, codes.scales)
