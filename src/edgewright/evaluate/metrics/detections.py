"""Mean average precision of detectors, as COCO counts it."""

import contextlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, UsageError, shown
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.data.coco_labels import ImageBoxes
from edgewright.data.labels import BOXES
from edgewright.evaluate.metrics.boxes import FORMS, check_form, place_corners, suppress_overlaps
from edgewright.evaluate.metrics.measure import Answer, Measure, Sums

# Boxes within this are shares of the image, others are pixels of the model's input.
LARGEST_SHARE = 2.0
# How far quantization moves the number of a class.
LARGEST_ROUNDING = 0.05
# COCO's: thresholds of overlap, places of recall.
THRESHOLDS, RECALLS = 10, np.linspace(0, 1, 101)
# Draws for the interval: each sorts all detections again.
MOST_DRAWS = 200
EXPECTED = (
    "expected what is left after non-maximum suppression: boxes [1,N,4], scores [1,N] and classes [1,N], "
    "or boxes [1,N,4] and scores [1,N,classes], or one output [1,N,6] of boxes, score and class; before it, "
    "with map:FORM:OVERLAP (map:cxcywh:0.5), also one of 4+classes or 5+classes (objectness) for each box"
)


@dataclass(frozen=True)
class Detections:
    """What a model saw in one image: left, top, width, height in pixels of the annotated image."""

    boxes: Array
    scores: Array
    classes: Array


class MeanAveragePrecision(Measure):
    """Over overlaps from 0.5 to 0.95, of up to 100 detections of an image."""

    label_kind = BOXES
    lowest_usual = 5.0
    needs_labels = True
    is_joint = True
    package = "pycocotools"

    def __init__(self, form: str = "", overlap: str = "") -> None:
        self._form = form or FORMS[0]
        self.name = ":".join(
            ["map", *([self._form] if form or overlap else []), *([overlap] if overlap else [])]
        )
        self.text = "mean average precision over overlaps of 0.5 to 0.95, as COCO counts it"
        check_form("map", self._form)
        # From which overlap on the better one of two boxes is kept; None: that was done before.
        self._overlap = _read_overlap(overlap) if overlap else None

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """For each class how many there are, and each detection with what it matches."""
        right = answer.label
        if not isinstance(right, ImageBoxes):
            return ()
        sizes = _find_input_size(answer.inputs)
        detected = read_detections(answer.results, self._form, right, sizes, is_raw=self._overlap is not None)
        return _match(right, detected if self._overlap is None else _suppress(detected, self._overlap))

    def compute_score(self, sums: Array, span: Array) -> Array:
        """It is no ratio of sums: see ``score_draws``."""
        raise NotImplementedError

    def score_draws(self, parts: Sums, times: Array, span: Array) -> Array:
        """The figure of each draw; with many draws, that of the first ones."""
        del span
        rows = [np.reshape(part, (-1, ROW)) for part in parts]
        samples = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        table = np.concatenate(rows) if rows else np.zeros((0, ROW))
        return np.array([_average_precision(table, draw[samples]) for draw in times[:MOST_DRAWS]])

    def find_misfit(self, shapes: Mapping[str, Sequence[int]], output: str) -> str:
        """Which outputs are boxes, scores and classes must be seen from their shapes."""
        del output
        roles = _find_roles(shapes)
        return "" if roles and ("raw" not in roles or self._overlap is not None) else EXPECTED


# A row of evidence: class, number of objects (0 for a detection), score, matches and ignored by threshold.
ROW = 3 + 2 * THRESHOLDS


def _find_roles(shapes: Mapping[str, Sequence[int]]) -> dict[str, str]:
    """Which output is what: from the shapes, and from the names where shapes are alike."""
    plain = {name: list(shape[1:]) for name, shape in shapes.items()}
    joined = [name for name, shape in plain.items() if len(shape) == 2 and shape[1] == 6]
    boxes = [name for name, shape in plain.items() if len(shape) == 2 and shape[1] == 4]
    if len(joined) == 1 and not boxes:
        return {"joined": joined[0]}
    if len(plain) == 1 and not boxes and all(len(s) == 2 and min(s) > 4 for s in plain.values()):
        return {"raw": next(iter(plain))}
    if len(boxes) != 1:
        return {}
    count = plain[boxes[0]][0]
    others = {name: shape for name, shape in plain.items() if name not in boxes}
    grids = [name for name, shape in others.items() if len(shape) == 2 and shape[0] == count]
    lists = [name for name, shape in plain.items() if shape == [count]]
    if len(grids) == 1 and not lists:
        return {"boxes": boxes[0], "grid": grids[0]}
    classes = [name for name in lists if "class" in name.lower() or "label" in name.lower()]
    scores = [name for name in lists if "score" in name.lower() or "conf" in name.lower()]
    if len(classes) == 1 and len(scores) == 1:
        return {"boxes": boxes[0], "scores": scores[0], "classes": classes[0]}
    return {}


def read_detections(
    outputs: Mapping[str, Array],
    form: str,
    image: ImageBoxes,
    size: tuple[int, int] | None,
    *,
    is_raw: bool = False,
) -> Detections:
    """Boxes, scores and classes of one image."""
    roles = _find_roles({name: array.shape for name, array in outputs.items()})
    if is_raw and "joined" in roles and _has_scores_last(outputs[roles["joined"]][0], image.count):
        roles = {"raw": roles["joined"]}
    arrays = {role: outputs[name][0] for role, name in roles.items()}
    if "joined" in arrays:
        rows = arrays["joined"]
        boxes, scores, classes = rows[:, :4], rows[:, 4], rows[:, 5]
    elif "raw" in arrays:
        boxes, grid = _split_raw(arrays["raw"], image.count)
        scores, classes = grid.max(1), grid.argmax(1)
    elif "grid" in arrays:
        grid = arrays["grid"]
        # One class more than the annotations have: the first is the background.
        grid = grid[:, 1:] if grid.shape[1] == image.count + 1 else grid
        boxes, scores, classes = arrays["boxes"], grid.max(1), grid.argmax(1)
    else:
        boxes, scores, classes = arrays["boxes"], arrays["scores"], arrays["classes"]
    is_good = np.isfinite(boxes).all(1) & np.isfinite(scores) & (scores > 0)
    placed = _place_boxes(boxes[is_good].astype(np.float64), form, image, size)
    return Detections(placed, scores[is_good].astype(np.float64), np.rint(classes[is_good]).astype(np.int64))


def _has_scores_last(rows: Array, count: int) -> bool:
    """Whether six numbers are a box and scores of one or two classes: a class is a whole number."""
    return count in {1, 2} and bool((np.abs(rows[:, 5] - np.rint(rows[:, 5])) > LARGEST_ROUNDING).any())


def _split_raw(array: Array, count: int) -> tuple[Array, Array]:
    """Boxes and scores of one output with a row or a column for each: box, objectness or not, classes."""
    rows = array if array.shape[1] in {4 + count, 5 + count} else array.T
    if rows.shape[1] == 5 + count:
        return rows[:, :4], rows[:, 4:5] * rows[:, 5:]
    if rows.shape[1] == 4 + count:
        return rows[:, :4], rows[:, 4:]
    raise BadInput(
        f"the output has the shape {list(array.shape)}, expected {4 + count} numbers for each box (or "
        f"{5 + count} with objectness): the annotations have {count} categories",
        do="give annotations with all categories of the model",
    )


def _place_boxes(boxes: Array, form: str, image: ImageBoxes, size: tuple[int, int] | None) -> Array:
    """Left, top, width, height in pixels of the annotated image."""
    corners = place_corners(boxes, form)
    first, second = corners[:, :2], corners[:, 2:] - corners[:, :2]
    scale = np.array([image.width, image.height])
    if np.abs(boxes).max(initial=0) > LARGEST_SHARE:
        if size is None:
            raise BadInput(
                "boxes are pixels of an input whose height and width cannot be told",
                do="give boxes as shares of the image",
            )
        scale = scale / np.array(size[::-1])
    return np.concatenate([first * scale, second * scale], 1)


def _suppress(detected: Detections, overlap: float) -> Detections:
    corners = place_corners(detected.boxes, "xywh")
    kept = suppress_overlaps(corners, detected.scores, detected.classes, overlap)
    return Detections(detected.boxes[kept], detected.scores[kept], detected.classes[kept])


def _read_overlap(text: str) -> float:
    try:
        overlap = float(text)
    except ValueError:
        overlap = 0.0
    if not 0 < overlap < 1:
        raise UsageError(
            f"the overlap of the metric 'map' is '{shown(text, 60)}', expected a number between 0 and 1",
            do="give the share from which boxes suppress each other, as in "
            f"{spell_option('metric', 'map:cxcywh:0.5')}",
        )
    return overlap


def _find_input_size(inputs: Mapping[str, Array]) -> tuple[int, int] | None:
    """Height and width of the only image among the inputs."""
    shapes = [array.shape for array in inputs.values() if array.ndim == 4]
    if len(shapes) != 1:
        return None
    _, first, second, third = shapes[0]
    return (second, third) if first in {1, 3} else (first, second)


def _match(image: ImageBoxes, detected: Detections) -> tuple[float, ...]:
    """Rows of evidence, by COCO's own matching."""
    coco_module = require("pycocotools.coco", to="measure average precision")
    evaluation = require("pycocotools.cocoeval", to="measure average precision")
    # It tells of every step on the standard output.
    with contextlib.redirect_stdout(io.StringIO()):
        truth = coco_module.COCO()
        truth.dataset = _list_truth(image)
        truth.createIndex()
        results = _list_results(detected)
        held = truth.loadRes(results) if results else coco_module.COCO()
        if not results:
            held.dataset = {**truth.dataset, "annotations": []}
            held.createIndex()
        judge = evaluation.COCOeval(truth, held, "bbox")
        judge.params.__dict__.update(areaRng=[[0, 1e10]], areaRngLbl=["all"])
        judge.evaluate()
    rows: list[Array] = []
    for item in judge.evalImgs:
        if item is not None:
            rows += _list_evidence(item)
    return tuple(np.concatenate(rows).tolist()) if rows else ()


def _list_truth(image: ImageBoxes) -> dict[str, Any]:
    items = zip(image.boxes, image.classes, image.areas, image.crowds, strict=True)
    return {
        "info": {},
        "images": [{"id": 1, "width": image.width, "height": image.height}],
        "categories": [{"id": place + 1} for place in range(image.count)],
        "annotations": [
            {"id": n, "image_id": 1, "category_id": c + 1, "bbox": list(b), "area": a, "iscrowd": int(crowd)}
            for n, (b, c, a, crowd) in enumerate(items, 1)
        ],
    }


def _list_results(detected: Detections) -> list[dict[str, Any]]:
    return [
        {"image_id": 1, "category_id": int(c) + 1, "bbox": box.tolist(), "score": float(score)}
        for box, score, c in zip(detected.boxes, detected.scores, detected.classes, strict=True)
    ]


def _list_evidence(item: Mapping[str, Any]) -> list[Array]:
    """One row for the objects of a class, one for each detection."""
    objects = np.zeros(ROW)
    objects[0], objects[1] = item["category_id"], float((np.asarray(item["gtIgnore"]) == 0).sum())
    rows = [objects]
    matches, ignored = np.asarray(item["dtMatches"]) > 0, np.asarray(item["dtIgnore"]).astype(bool)
    for place, score in enumerate(item["dtScores"]):
        row = np.zeros(ROW)
        row[0], row[2] = item["category_id"], score
        row[3 : 3 + THRESHOLDS] = matches[:, place] & ~ignored[:, place]
        row[3 + THRESHOLDS :] = ignored[:, place]
        rows.append(row)
    return rows


def _average_precision(table: Array, weights: Array) -> float:
    """In percent: the mean over classes and thresholds of precision at every recall."""
    precisions = []
    for number in np.unique(table[:, 0]):
        rows, times = table[table[:, 0] == number], weights[table[:, 0] == number]
        is_seen = rows[:, 1] == 0
        is_seen &= rows[:, 2] > 0
        objects = float((rows[:, 1] * times).sum())
        if objects:
            precisions.append(_sum_precision(rows[is_seen], times[is_seen], objects))
    return 100 * float(np.mean(precisions)) if precisions else 0.0


def _sum_precision(rows: Array, times: Array, objects: float) -> float:
    """COCO's: precision that no later one exceeds, at 101 places of recall; the mean over thresholds."""
    order = np.argsort(-rows[:, 2], kind="mergesort")
    hits = rows[order, 3 : 3 + THRESHOLDS].T * times[order]
    misses = (1 - rows[order, 3 : 3 + THRESHOLDS] - rows[order, 3 + THRESHOLDS :]).T * times[order]
    right, wrong = hits.cumsum(1), np.maximum(misses, 0).cumsum(1)
    precision = right / np.maximum(right + wrong, np.spacing(1))
    precision = np.maximum.accumulate(precision[:, ::-1], 1)[:, ::-1]
    total = 0.0
    for threshold in range(THRESHOLDS):
        places = np.searchsorted(right[threshold] / objects, RECALLS, side="left")
        kept = places[places < len(order)]
        total += float(precision[threshold, kept].sum()) / len(RECALLS)
    return total / THRESHOLDS
