"""Non-maximum suppression: what the ops that choose boxes share."""

from collections.abc import Callable

import numpy as np

from edgewright.core.numbers import Array

# How a score falls by its overlap with a better box: overlaps -> factors.
Decay = Callable[[Array], Array]


def suppress_boxes(boxes: Array, scores: Array, iou: float, threshold: float, limit: int) -> list[int]:
    """Indices of the boxes kept, best first: each suppresses what overlaps it more than ``iou``."""
    order = np.argsort(-scores.astype(np.float64), kind="stable")
    kept: list[int] = []
    for index in order:
        if len(kept) >= limit or not scores[index] > threshold:
            break
        if not kept or measure_overlaps(boxes[index], boxes[kept]).max() <= iou:
            kept.append(int(index))
    return kept


def lower_scores_softly(
    boxes: Array, scores: Array, decay: Decay, threshold: float, limit: int
) -> list[tuple[int, float]]:
    """Indices and new scores of the boxes kept: each lowers the scores of what overlaps it."""
    left, alive = scores.astype(np.float64), np.ones(len(scores), np.bool_)
    kept: list[tuple[int, float]] = []
    while alive.any() and len(kept) < limit:
        best = int(np.where(alive, left, -np.inf).argmax())
        if not left[best] > threshold:
            break
        alive[best] = False
        kept.append((best, float(left[best])))
        others = np.flatnonzero(alive)
        left[others] *= decay(measure_overlaps(boxes[best], boxes[others]))
    return kept


def measure_overlaps(box: Array, others: Array) -> Array:
    """Intersection over union; corners may come in any order."""
    corners = np.concatenate([box[None], others]).astype(np.float64)
    low = np.minimum(corners[:, :2], corners[:, 2:])
    high = np.maximum(corners[:, :2], corners[:, 2:])
    areas = (high - low).prod(1)
    common = np.maximum(0, np.minimum(high[0], high[1:]) - np.maximum(low[0], low[1:])).prod(1)
    union = areas[0] + areas[1:] - common
    ratio: Array = np.where(union > 0, common / np.where(union > 0, union, 1), 0.0)
    return ratio


def fill_rows(rows: Array, count: int) -> Array:
    """The first ``count`` rows; what is missing is zero."""
    filled: Array = np.zeros((count, *rows.shape[1:]), rows.dtype)
    filled[: min(count, len(rows))] = rows[:count]
    return filled
