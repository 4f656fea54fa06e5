"""Boxes: their overlap, and which of many that overlap is kept."""

from collections.abc import Mapping, Sequence

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, UsageError, shown
from edgewright.core.numbers import Array
from edgewright.data.labels import ARRAYS
from edgewright.evaluate.metrics.measure import Answer, MeanMeasure

FORMS = ("xyxy", "yxyx", "xywh", "cxcywh")
# Candidates that suppression looks at: those with the best scores.
MOST_CANDIDATES = 2000


def place_corners(boxes: Array, form: str) -> Array:
    """Left, top, right, bottom of boxes [N,4] in any order of their numbers."""
    if form == "yxyx":
        boxes = boxes[:, [1, 0, 3, 2]]
    first, second = boxes[:, :2], boxes[:, 2:]
    if form == "cxcywh":
        first = first - second / 2
    return np.concatenate([first, second if form in {"xyxy", "yxyx"} else first + second], 1)


def compute_overlaps(first: Array, second: Array) -> Array:
    """Intersection over union of corners [...,4] with corners that fit."""
    low, high = np.maximum(first[..., :2], second[..., :2]), np.minimum(first[..., 2:], second[..., 2:])
    common = np.clip(high - low, 0, None).prod(-1)
    areas = [np.clip(each[..., 2:] - each[..., :2], 0, None).prod(-1) for each in (first, second)]
    either = areas[0] + areas[1] - common
    return np.asarray(np.divide(common, either, out=np.zeros_like(common), where=either > 0))


def suppress_overlaps(corners: Array, scores: Array, classes: Array, overlap: float) -> Array:
    """The places that are left, best first: of two boxes of a class that overlap more, the better one."""
    order = np.argsort(-scores, kind="stable")[:MOST_CANDIDATES]
    kept: list[int] = []
    while len(order):
        best, order = order[0], order[1:]
        kept.append(int(best))
        is_apart = compute_overlaps(corners[best], corners[order]) <= overlap
        order = order[is_apart | (classes[order] != classes[best])]
    return np.array(kept, np.int64)


class BoxOverlap(MeanMeasure):
    """Intersection over union of each box with the right one in its place, or with the float model's."""

    label_kind = ARRAYS
    lowest_usual = 25.0

    def __init__(self, form: str = "") -> None:
        self._form = form or FORMS[0]
        self.name = f"box-iou:{form}" if form else "box-iou"
        self.text = "intersection over union of each box with the right one (or the float model's), mean"
        check_form("box-iou", self._form)

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Overlaps, and how many boxes there are; boxes that are no numbers overlap with nothing."""
        right = answer.label if isinstance(answer.label, np.ndarray) else answer.reference
        if right.size != answer.result.size:
            raise BadInput(
                f"a label has {right.size} numbers, the output {list(answer.result.shape)}",
                do="give the four numbers of each box, in the output's order",
            )
        boxes, right = (
            np.nan_to_num(np.asarray(a, np.float64).reshape(-1, 4), posinf=0.0, neginf=0.0)
            for a in (answer.result, right)
        )
        overlaps = compute_overlaps(place_corners(boxes, self._form), place_corners(right, self._form))
        return float(overlaps.sum()), float(len(overlaps))

    def find_misfit(self, shapes: Mapping[str, Sequence[int]], output: str) -> str:
        """Four numbers are a box."""
        is_boxes = bool(shapes[output]) and shapes[output][-1] == 4
        return "" if is_boxes else "expected boxes: four numbers along the last axis"


def check_form(metric: str, form: str) -> None:
    """Refuses an order of the four numbers that is not known."""
    if form not in FORMS:
        raise UsageError(
            f"boxes of the metric '{metric}' are '{shown(form, 60)}', expected one of {', '.join(FORMS)}",
            do=f"name the order of their four numbers, as in {spell_option('metric', f'{metric}:yxyx')}",
        )
