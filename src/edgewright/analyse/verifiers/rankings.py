"""Verifiers of answers: the best classes, and detected boxes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array


@dataclass(frozen=True)
class TopK(Verifier):
    """The share of the golden ``k`` best along the last axis that are among the target's ``k`` best.

    With ``ordered`` each must have its place too.
    """

    name = "TopK"
    is_higher_better = True
    perfect, worst, threshold = 1.0, 0.0, 0.99

    k: int = 1
    ordered: bool = False

    def _compare(self, golden: Array, target: Array) -> float:
        first, second = (self._find_best(np.atleast_1d(array)) for array in (golden, target))
        if self.ordered:
            return float(np.mean(first == second))
        return float(np.mean((first[..., None] == second[..., None, :]).any(-1)))

    def _find_best(self, array: Array) -> Array:
        # Stable: of equal values the first one comes first, in both tensors.
        return np.argsort(-array, axis=-1, kind="stable")[..., : self.k]


@dataclass(frozen=True)
class MeanIou(Verifier):
    """The mean over golden boxes of the best overlap with a target box of the same class.

    It reads two tensors, boxes and their classes; boxes of the class ``background_classification`` do not
    count. Boxes alone are of one class.
    """

    name = "MeanIOU"
    is_higher_better = True
    perfect, worst, threshold = 1.0, 0.0, 0.99
    arity = 2

    background_classification: float = 1.0

    def score_pair(self, golden: Sequence[Array], target: Sequence[Array]) -> float:
        """The score of boxes with their classes."""
        (boxes, classes), (other_boxes, other_classes) = (
            (_list_boxes(part[0]), np.asarray(part[1]).reshape(-1)) for part in (golden, target)
        )
        if len(boxes) != len(classes) or len(other_boxes) != len(other_classes):
            raise ShapeMismatch(
                f"there are {len(boxes)} golden boxes with {len(classes)} classes, and {len(other_boxes)} "
                f"boxes with {len(other_classes)} classes, expected one class for each box"
            )
        overlaps = _compute_overlaps(boxes, other_boxes) * (classes[:, None] == other_classes[None])
        counted = overlaps[classes != self.background_classification]
        if not len(counted):
            return self.perfect
        return float(np.mean(np.max(np.nan_to_num(counted), axis=1, initial=0.0)))

    def _compare(self, golden: Array, target: Array) -> float:
        overlaps = _compute_overlaps(_list_boxes(golden), _list_boxes(target))
        return float(np.mean(np.max(overlaps, axis=1, initial=0.0)))


def _list_boxes(array: Array) -> Array:
    """Boxes with their lower corner first."""
    if array.size % 4 or not array.size:
        raise ShapeMismatch(f"the tensor has the shape {list(array.shape)}, expected boxes of 4 numbers")
    boxes = np.asarray(array, np.float64).reshape(-1, 2, 2)
    return np.sort(boxes, axis=1)


def _compute_overlaps(boxes: Array, others: Array) -> Array:
    """Intersection over union of each box with each other one; equal boxes without area overlap fully."""
    low = np.maximum(boxes[:, None, 0], others[None, :, 0])
    high = np.minimum(boxes[:, None, 1], others[None, :, 1])
    shared = np.prod(np.maximum(high - low, 0.0), axis=-1)
    areas = [np.prod(item[:, 1] - item[:, 0], axis=-1) for item in (boxes, others)]
    union = areas[0][:, None] + areas[1][None] - shared
    same = (boxes[:, None] == others[None]).all(axis=(-1, -2))
    overlaps: Array = np.where(union > 0, shared / np.where(union > 0, union, 1.0), same.astype(np.float64))
    return overlaps
