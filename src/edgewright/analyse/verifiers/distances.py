"""Verifiers that measure a distance or a likeness."""

import math
from dataclasses import dataclass

import numpy as np

from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.core.numbers import Array


@dataclass(frozen=True)
class L1Error(Verifier):
    """The sum of absolute differences, times ``multiplier``, divided by ``scale``."""

    name = "L1Error"
    is_higher_better = False
    perfect, worst, threshold = 0.0, math.inf, 0.01

    multiplier: float = 1.0
    scale: float = 1.0

    @property
    def limit(self) -> float:
        """Another unit of scores does not change what is called different."""
        return self.threshold * self.multiplier / self.scale

    def _compare(self, golden: Array, target: Array) -> float:
        return float(np.sum(np.abs(golden - target))) * self.multiplier / self.scale


@dataclass(frozen=True)
class CosineSimilarity(Verifier):
    """The cosine of the angle between the two, times ``multiplier``, divided by ``scale``."""

    name = "CosineSimilarity"
    is_higher_better = True
    perfect, worst, threshold = 1.0, -1.0, 0.99

    multiplier: float = 1.0
    scale: float = 1.0

    @property
    def limit(self) -> float:
        """Another unit of scores does not change what is called different."""
        return self.threshold * self.multiplier / self.scale

    def _compare(self, golden: Array, target: Array) -> float:
        # Scaled first: squares of large numbers overflow.
        peak = max(float(np.max(np.abs(golden))), float(np.max(np.abs(target))))
        # Rounding must not make equal tensors differ.
        if not peak or np.array_equal(golden, target):
            return self.perfect * self.multiplier / self.scale
        first, second = golden.reshape(-1) / peak, target.reshape(-1) / peak
        size = math.sqrt(float(first @ first)) * math.sqrt(float(second @ second))
        # Zeros against something else point nowhere.
        cosine = float(first @ second) / size if size else 0.0
        return min(max(cosine, -1.0), 1.0) * self.multiplier / self.scale


@dataclass(frozen=True)
class MeanSquaredError(Verifier):
    """The mean of squared differences."""

    name = "MSE"
    is_higher_better = False
    perfect, worst, threshold = 0.0, math.inf, 0.01

    def _compare(self, golden: Array, target: Array) -> float:
        return float(np.mean((golden - target) ** 2))


@dataclass(frozen=True)
class MeanAbsoluteError(Verifier):
    """The mean of absolute differences."""

    name = "MAE"
    is_higher_better = False
    perfect, worst, threshold = 0.0, math.inf, 0.01

    def _compare(self, golden: Array, target: Array) -> float:
        return float(np.mean(np.abs(golden - target)))


@dataclass(frozen=True)
class SignalToNoise(Verifier):
    """The power of the golden tensor over that of the difference, in decibels."""

    name = "SQNR"
    is_higher_better = True
    perfect, worst, threshold = math.inf, -math.inf, 20.0

    def _compare(self, golden: Array, target: Array) -> float:
        noise, signal = float(np.sum((golden - target) ** 2)), float(np.sum(golden**2))
        if not noise:
            return self.perfect
        return 10 * math.log10(signal / noise) if signal else self.worst


@dataclass(frozen=True)
class ScaledDiff(Verifier):
    """The largest difference, as a share of the golden tensor's largest magnitude."""

    name = "ScaledDiff"
    is_higher_better = False
    perfect, worst, threshold = 0.0, math.inf, 0.01

    def _compare(self, golden: Array, target: Array) -> float:
        largest, peak = float(np.max(np.abs(golden - target))), float(np.max(np.abs(golden)))
        if not largest:
            return self.perfect
        return largest / peak if peak else self.worst
