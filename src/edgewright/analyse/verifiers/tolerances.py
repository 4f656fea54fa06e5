"""Verifiers that count the elements within a tolerance."""

from dataclasses import dataclass

import numpy as np

from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.core.numbers import Array

# Levels of 8 bits: what most tensors on the NPU have.
LEVELS = 255


@dataclass(frozen=True)
class RtolAtol(Verifier):
    """The share of elements with |target - golden| <= atolmargin + rtolmargin * |golden|."""

    name = "RtolAtol"
    is_higher_better = True
    perfect, worst, threshold = 1.0, 0.0, 0.99

    rtolmargin: float = 0.01
    atolmargin: float = 0.01

    def _compare(self, golden: Array, target: Array) -> float:
        allowed = self.atolmargin + self.rtolmargin * np.abs(golden)
        return float(np.mean(np.abs(target - golden) <= allowed))


@dataclass(frozen=True)
class AdjustedRtolAtol(Verifier):
    """The share of elements within so many of the 256 levels that 8 bits give the golden tensor's range.

    The SDK does not publish its formula; this is ours.
    """

    name = "AdjustedRtolAtol"
    is_higher_better = True
    perfect, worst, threshold = 1.0, 0.0, 0.99

    # One step of 8 bits is what rounding may do twice over.
    levels: float = 1

    def _compare(self, golden: Array, target: Array) -> float:
        reach = max(float(golden.max()), 0.0) - min(float(golden.min()), 0.0)
        return float(np.mean(np.abs(target - golden) <= self.levels * reach / LEVELS))
