"""Ranges of weights chosen by what they do to the output of their layer, layer after layer (sequential MSE).

The range that has the smallest error of the weights themselves is not the one whose output is closest: inputs
weigh differently, and errors of several weights cancel or add up.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array
from edgewright.quantize.weights.adaround import Steps, compute_error

# Parts of the full range that are tried.
FACTORS = np.linspace(0.4, 1.0, 25)
# Where each trial costs a whole rounding.
FEW_FACTORS = np.linspace(0.4, 1.0, 13)

Rounding = Callable[[Array, Steps], Array]


def choose_factors(
    weights: Array, second: Array, steps: Steps, slices: int, rounding: Rounding | None = None
) -> Array:
    """The part of its range that each slice of the weights shall cover: the one with the smallest error.

    Args:
        weights: [groups, inner, columns].
        second: moments of the inputs.
        steps: the integers over the full range.
        slices: how many ranges there are: one for all, or one for each of so many channels.
        rounding: how weights become integers; to the nearest ones where nothing is said.
    """
    best, least = np.ones(slices), np.full(slices, np.inf)
    for factor in (FACTORS if rounding is None else FEW_FACTORS)[::-1]:
        tried = replace(steps, scale=steps.scale * factor)
        integers = tried.round_nearest(weights) if rounding is None else rounding(weights, tried)
        errors = compute_error(weights, integers * tried.scale, second).reshape(-1, slices).sum(0)
        best, least = np.where(errors < least, factor, best), np.minimum(errors, least)
    return best


def refine_factors(weights: Array, second: Array, integers: Array, steps: Steps, slices: int) -> Array:
    """How much larger or smaller the ranges of weights that are rounded already would better be."""
    real = integers * steps.scale
    moved = second @ real
    shared = np.einsum("gkn,gkn->gn", weights, moved).reshape(-1, slices).sum(0)
    own = np.einsum("gkn,gkn->gn", real, moved).reshape(-1, slices).sum(0)
    is_sound = (own > 0) & (shared > 0)
    return np.asarray(np.divide(shared, own, out=np.ones_like(own), where=is_sound))
