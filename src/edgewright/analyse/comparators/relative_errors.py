"""Formulas that only comparators have: differences as a share of the golden tensor, and divergences.

All of them are scores in the sense of a verifier, 1 for equal tensors where they are shares.
"""

import math
from dataclasses import dataclass

import numpy as np

from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.core.numbers import Array

# Probabilities below this count as this much: a logarithm needs something.
SMALLEST_PROBABILITY = 1e-12


@dataclass(frozen=True)
class _Share(Verifier):
    """1 for no error, 0 for an error as large as what it is measured by, or larger."""

    is_higher_better = True
    perfect, worst, threshold = 1.0, 0.0, 0.99

    def _compare(self, golden: Array, target: Array) -> float:
        error, whole = self._measure(golden, target)
        if not error:
            return self.perfect
        return max(0.0, 1.0 - error / whole) if whole else self.worst

    def _measure(self, golden: Array, target: Array) -> tuple[float, float]:
        """The error, and what it is a share of."""
        raise NotImplementedError


@dataclass(frozen=True)
class AverageMatch(_Share):
    """The mean difference against the mean magnitude; what is within ``tolerance`` counts as equal."""

    name = "avg"

    tolerance: float = 0.0

    def _measure(self, golden: Array, target: Array) -> tuple[float, float]:
        gap, size = np.abs(golden - target), np.abs(golden)
        return float(np.mean(np.where(gap <= self.tolerance * size, 0.0, gap))), float(np.mean(size))


@dataclass(frozen=True)
class NormMatch(_Share):
    """The norm of the difference against the norm of the golden tensor."""

    name = "norm"

    order: int = 1

    def _measure(self, golden: Array, target: Array) -> tuple[float, float]:
        first, second = (golden - target).reshape(-1), golden.reshape(-1)
        return float(np.linalg.norm(first, self.order)), float(np.linalg.norm(second, self.order))


@dataclass(frozen=True)
class SpreadMatch(_Share):
    """The difference of the standard deviations against the golden one."""

    name = "std"

    def _measure(self, golden: Array, target: Array) -> tuple[float, float]:
        spread = float(np.std(golden))
        return abs(spread - float(np.std(target))), spread


@dataclass(frozen=True)
class RootMeanMatch(_Share):
    """The root of the mean squared difference against the range of the golden tensor."""

    name = "rme"

    def _measure(self, golden: Array, target: Array) -> tuple[float, float]:
        reach = float(golden.max()) - float(golden.min())
        # A tensor of one value has no range of its own.
        return float(np.sqrt(np.mean((golden - target) ** 2))), reach or float(np.max(np.abs(golden)))


@dataclass(frozen=True)
class LargestError(Verifier):
    """The largest difference."""

    name = "maxerror"
    is_higher_better = False
    perfect, worst, threshold = 0.0, math.inf, 0.01

    def _compare(self, golden: Array, target: Array) -> float:
        return float(np.max(np.abs(golden - target)))


@dataclass(frozen=True)
class Divergence(Verifier):
    """The mean Kullback-Leibler divergence from the golden distributions along the last axis, in nats.

    Rows without negative numbers are probabilities once they are divided by their sum; others are logits.
    """

    name = "kld"
    is_higher_better = False
    perfect, worst, threshold = 0.0, math.inf, 0.01

    def _compare(self, golden: Array, target: Array) -> float:
        first, second = np.atleast_1d(golden), np.atleast_1d(target)
        are_logits = bool((first < 0).any() or (second < 0).any())
        first, second = (_to_probabilities(array, are_logits=are_logits) for array in (first, second))
        # Rounding may leave the sum a little below 0, which no divergence is.
        return max(0.0, float(np.mean(np.sum(first * np.log(first / second), axis=-1))))


def _to_probabilities(array: Array, *, are_logits: bool) -> Array:
    weights = np.exp(array - array.max(axis=-1, keepdims=True)) if are_logits else array
    floored: Array = np.maximum(weights, SMALLEST_PROBABILITY * max(float(weights.max()), 1.0))
    shares: Array = floored / floored.sum(axis=-1, keepdims=True)
    return shares
