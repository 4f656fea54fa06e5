"""What a verifier is: a score of two arrays, which way is better, and from where on they count as equal."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array


@dataclass(frozen=True)
class Verifier(ABC):
    """The base of all verifiers; the fields of a class are its hyper-parameters."""

    # As the guide spells it; reports write it in lower case.
    name: ClassVar[str]
    is_higher_better: ClassVar[bool]
    # The score of two equal tensors, that of numbers against NaN, and where a mismatch begins.
    perfect: ClassVar[float]
    worst: ClassVar[float]
    threshold: ClassVar[float]
    # How many tensors it reads at a time.
    arity: ClassVar[int] = 1

    @property
    def column(self) -> str:
        """Its name in tables and folders."""
        return self.name.lower()

    @property
    def limit(self) -> float:
        """Where a mismatch begins, in the unit of the scores."""
        return self.threshold

    def score(self, golden: Array, target: Array) -> float:
        """How far a tensor is from its reference, which has the same number of elements.

        Equal infinities and NaNs are equal; a number against one of them is as bad as can be.
        """
        first, second = (np.asarray(array, np.float64).reshape(-1) for array in (golden, target))
        if first.size != second.size:
            raise ShapeMismatch(
                f"the reference has {first.size} elements, the tensor that is compared {second.size}"
            )
        if not first.size:
            return self.perfect
        odd = ~(np.isfinite(first) & np.isfinite(second))
        if not odd.any():
            return self._compare(first.reshape(golden.shape), second.reshape(golden.shape))
        same = (first == second) | (np.isnan(first) & np.isnan(second))
        if (odd & ~same).any():
            return self.worst
        first, second = np.where(odd, 0.0, first), np.where(odd, 0.0, second)
        return self._compare(first.reshape(golden.shape), second.reshape(golden.shape))

    def is_match(self, score: float) -> bool:
        """Whether a score counts as equal."""
        if math.isnan(score):
            return False
        return score >= self.limit if self.is_higher_better else score <= self.limit

    @abstractmethod
    def _compare(self, golden: Array, target: Array) -> float:
        """The score of finite numbers of the same shape, at least one."""
