"""Average precision of faces as WIDER FACE counts it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.evaluate.plugins.boxes import take_detections
from edgewright.evaluate.plugins.parameters import NUMBER, declare
from edgewright.evaluate.plugins.plugin import MetricPlugin, register
from edgewright.evaluate.plugins.sample import Context, Sample

LEVELS = ("easy", "medium", "hard")
THRESHOLDS = 1000


@dataclass(frozen=True)
class _Faces:
    """Boxes (left, top, width, height) of one image, and the places of those that count at each level."""

    boxes: Array
    counted: Mapping[str, Array]


@register
class WiderfaceAp(MetricPlugin):
    """Computes average precision for easy, medium and hard faces; annotations: WIDER FACE's .mat files."""

    name = "widerface_AP"

    overlap: float = declare(NUMBER, "how much a detection must overlap a face", 0.4, spelled="IoU_threshold")

    def measure(self, results: Iterable[Sample], context: Context) -> dict[str, float]:
        """Shares from 0 to 1."""
        truth = _read_truth(context.dataset.require_annotations(self.name))
        pairs = [(_find_faces(sample, truth), _list_rows(sample, self.name)) for sample in results]
        scores = np.concatenate([rows[:, 4] for _, rows in pairs]) if pairs else np.zeros(0)
        low, high = (float(scores.min()), float(scores.max())) if len(scores) else (0.0, 1.0)
        span = high - low or 1.0
        scaled = [(faces, np.column_stack([rows[:, :4], (rows[:, 4] - low) / span])) for faces, rows in pairs]
        return {level: round(self._measure_level(scaled, level), 6) for level in LEVELS}

    def _measure_level(self, pairs: list[tuple[_Faces, Array]], level: str) -> float:
        sums, count = np.zeros((THRESHOLDS, 2)), 0
        for faces, rows in pairs:
            counted = faces.counted[level]
            count += len(counted)
            if len(rows) and len(faces.boxes):
                sums += _count_matches(faces.boxes, counted, rows, self.overlap)
        precision = sums[:, 1] / np.maximum(sums[:, 0], 1)
        return _sum_area(sums[:, 1] / max(count, 1), precision)


def _count_matches(boxes: Array, counted: Array, rows: Array, overlap: float) -> Array:
    """Detections and faces found, at each threshold of the score; faces that do not count are no mistakes."""
    is_counted = np.zeros(len(boxes), bool)
    is_counted[counted] = True
    order = np.argsort(-rows[:, 4], kind="stable")
    shares = _find_shares(rows[order, :4], boxes)
    best = shares.argmax(1)
    is_proposal, has_match, totals = (
        np.ones(len(order), bool),
        np.zeros(len(boxes), bool),
        np.zeros(len(order)),
    )
    for place, face in enumerate(best):
        if shares[place, face] >= overlap:
            if is_counted[face]:
                has_match[face] = True
            else:
                is_proposal[place] = False
        totals[place] = has_match.sum()
    levels = 1 - (np.arange(THRESHOLDS) + 1) / THRESHOLDS
    # Scores fall: how many are at least each threshold.
    kept = np.searchsorted(-rows[order, 4], -levels, side="right")
    sums = np.zeros((THRESHOLDS, 2))
    has_any = kept > 0
    sums[has_any, 0] = is_proposal.cumsum()[kept[has_any] - 1]
    sums[has_any, 1] = totals[kept[has_any] - 1]
    return sums


def _find_shares(rows: Array, boxes: Array) -> Array:
    """Overlaps of detections and faces, whose last pixels are part of them."""
    first = np.column_stack([rows[:, :2], rows[:, :2] + rows[:, 2:]])[:, None]
    second = np.column_stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])[None]
    low, high = np.maximum(first[..., :2], second[..., :2]), np.minimum(first[..., 2:], second[..., 2:])
    common = np.prod(np.maximum(high - low + 1, 0), -1)
    areas = [np.prod(each[..., 2:] - each[..., :2] + 1, -1) for each in (first, second)]
    return np.asarray(common / np.maximum(areas[0] + areas[1] - common, 1e-12))


def _sum_area(recall: Array, precision: Array) -> float:
    """The area below precision over recall, where precision never rises."""
    places = np.concatenate([[0.0], recall, [1.0]])
    heights = np.maximum.accumulate(np.concatenate([[0.0], precision, [0.0]])[::-1])[::-1]
    steps = np.flatnonzero(places[1:] != places[:-1])
    return float(((places[steps + 1] - places[steps]) * heights[steps + 1]).sum())


def _read_truth(path: Path) -> dict[str, _Faces]:
    """By names of images; the folder holds wider_face_val.mat and one .mat for each level."""
    folder = path if path.is_dir() else path.parent
    files = {level: folder / f"wider_{level}_val.mat" for level in LEVELS}
    whole = path if path.is_file() and path.suffix == ".mat" else folder / "wider_face_val.mat"
    missing = [file.name for file in (whole, *files.values()) if not file.is_file()]
    if missing:
        raise UsageError(
            f"easy, medium and hard faces are defined by .mat files; there is no {', '.join(missing)}",
            Where(file=str(folder)),
            do="set annotation_file to the folder 'ground_truth' of WIDER FACE's evaluation tools",
        )
    named = _read_mat(whole)
    levels = {level: _read_mat(file) for level, file in files.items()}
    faces: dict[str, _Faces] = {}
    try:
        for event, names in enumerate(named["file_list"]):
            for place, name in enumerate(names[0]):
                boxes = np.asarray(named["face_bbx_list"][event][0][place][0], float).reshape(-1, 4)
                counted = {
                    level: _read_places(held["gt_list"][event][0][place][0], len(boxes))
                    for level, held in levels.items()
                }
                faces[str(name[0][0])] = _Faces(boxes, counted)
    except (KeyError, IndexError, ValueError, TypeError) as problem:
        raise BadInput(
            f"the file is none of WIDER FACE's: {shown(repr(problem), 120)}", Where(file=str(whole))
        ) from None
    return faces


def _read_places(numbers: Any, count: int) -> Array:
    """Numbers of faces from 1, as places from 0."""
    places = np.asarray(numbers, np.int64).reshape(-1) - 1
    if len(places) and (places.min() < 0 or places.max() >= count):
        raise ValueError(f"a face of {count} has the number {places.max() + 1}")
    return places


def _read_mat(path: Path) -> dict[str, Any]:
    matlab = require("scipy.io", to="read WIDER FACE's .mat files")
    measure_file(path)
    try:
        return dict(matlab.loadmat(str(path)))
    # A damaged file raises nearly anything.
    except Exception as problem:
        raise BadInput(f"the file is no .mat file: {shown(problem)}", Where(file=str(path))) from None


def _find_faces(sample: Sample, truth: Mapping[str, _Faces]) -> _Faces:
    stem = sample.sources[0].stem if sample.sources else ""
    if stem not in truth:
        raise BadInput(f"the annotations have no image '{shown(stem, 60)}'", sample.where)
    return truth[stem]


def _list_rows(sample: Sample, plugin: str) -> Array:
    """Left, top, width, height, score."""
    rows = [[*detection["bbox"], detection["score"]] for detection in take_detections(sample, plugin)]
    return np.array(rows, float).reshape(-1, 5)
