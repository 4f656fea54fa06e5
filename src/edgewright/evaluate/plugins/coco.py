"""Mean average precision of detections as COCO counts it."""

import contextlib
import io
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.optional import require
from edgewright.data.coco_labels import LARGEST_FILE
from edgewright.evaluate.plugins.boxes import Detection, take_detections
from edgewright.evaluate.plugins.parameters import FLAG, choose_from, declare
from edgewright.evaluate.plugins.plugin import MetricPlugin, register
from edgewright.evaluate.plugins.sample import Context, Sample

log = logging.getLogger(__name__)

FORM = "give images (id, file_name), categories (id) and annotations (image_id, category_id, bbox)"


@register
class MapCoco(MetricPlugin):
    """Evaluates mAP at an overlap of 0.5, and over 0.5 to 0.95, for data with annotations in COCO's JSON."""

    name = "map_coco"

    map_80_to_90: bool = declare(FLAG, "labels count the categories from 0, and are not their ids", False)
    segm: bool = declare(FLAG, "the figures of masks too", False)
    keypoint_map: bool = declare(FLAG, "the figures of keypoints too", False)
    data: str = declare(
        choose_from("coco", "openimages"), "the data set, whose annotations have COCO's form", "coco"
    )

    def measure(self, results: Iterable[Sample], context: Context) -> dict[str, float]:
        """Shares from 0 to 1, over the images that were evaluated."""
        path = context.dataset.require_annotations(self.name)
        truth = _read_truth(path)
        images = _number_images(truth["images"])
        ids = sorted(category["id"] for category in truth["categories"])
        rows: list[dict[str, Any]] = []
        evaluated: list[Any] = []
        for sample in results:
            image = _find_image(sample, images, path)
            evaluated.append(image)
            rows += [
                {**detection, "image_id": image, "category_id": self._find_category(detection, ids)}
                for detection in take_detections(sample, self.name)
            ]
        _check_categories(rows, ids, path)
        kinds = ["bbox", *(["segm"] if self.segm else []), *(["keypoints"] if self.keypoint_map else [])]
        figures: dict[str, float] = {}
        for kind in kinds:
            prefix = "" if kind == "bbox" else f"{kind}_"
            both, half = _evaluate(truth, rows, evaluated, kind)
            figures |= {f"{prefix}mAP": both, f"{prefix}mAP50": half}
        return figures

    def _find_category(self, detection: Detection, ids: list[Any]) -> Any:
        label = detection["category"]
        if not self.map_80_to_90:
            return label
        return ids[label] if 0 <= label < len(ids) else -1


def _check_categories(rows: list[dict[str, Any]], ids: list[Any], path: Path) -> None:
    """Detections of categories that the annotations do not have would count as nothing at all."""
    labels = Counter(row["category"] for row in rows if row["category_id"] not in ids)
    if not labels:
        return
    listed = ", ".join(str(label) for label in sorted(labels)[:5])
    text = f"{labels.total()} of {len(rows)} detections have labels ({listed}) of no category in "
    text += f"'{shown(path.name)}'"
    if labels.total() < len(rows):
        log.warning("%s", text)
        return
    raise BadInput(
        f"{text}, whose ids are {', '.join(shown(each) for each in ids[:5])}{' ...' if len(ids) > 5 else ''}",
        Where(file=str(path)),
        do="give map_coco map_80_to_90: True where labels count the categories from 0, or object_detection "
        "a label_offset",
    )


def _read_truth(path: Path) -> dict[str, Any]:
    """COCO's JSON, with what its own code would miss."""
    try:
        document = parse_json(read_limited(path, LARGEST_FILE))
        for image in document["images"]:
            _ = image["id"], image["file_name"]
        for item in document["annotations"]:
            _, _, width, height = (float(value) for value in item["bbox"])
            item.setdefault("area", width * height)
            item.setdefault("iscrowd", 0)
            _ = item["image_id"], item["category_id"]
        _ = [category["id"] for category in document["categories"]]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise BadInput(
            f"the file has no annotations in COCO's form: {shown(repr(problem), 120)}",
            Where(file=str(path)),
            do=FORM,
        ) from None
    document.setdefault("info", {})
    for place, item in enumerate(document["annotations"], 1):
        item.setdefault("id", place)
    return dict(document)


def _number_images(images: list[dict[str, Any]]) -> dict[str, Any]:
    """The id of each image by its name, and by its stem where that is of one image only."""
    names = [Path(str(image["file_name"])) for image in images]
    stems = Counter(name.stem for name in names)
    ids = {name.name: image["id"] for name, image in zip(names, images, strict=True)}
    return ids | {
        name.stem: image["id"] for name, image in zip(names, images, strict=True) if stems[name.stem] == 1
    }


def _find_image(sample: Sample, images: Mapping[str, Any], path: Path) -> Any:
    for source in sample.sources:
        for name in (source.name, source.stem):
            if name in images:
                return images[name]
    missing = sample.sources[0].name if sample.sources else sample.number
    raise BadInput(
        f"the annotations have no image '{shown(missing, 60)}'",
        Where(file=str(path)),
        do="give the annotations of these files: file_name is the image's",
    )


def _evaluate(
    truth: Mapping[str, Any], rows: list[dict[str, Any]], images: list[Any], kind: str
) -> tuple[float, float]:
    """The mAP over overlaps of 0.5 to 0.95, and at 0.5."""
    coco = require("pycocotools.coco", to="measure average precision")
    evaluation = require("pycocotools.cocoeval", to="measure average precision")
    _check_kind(rows, kind)
    # It tells of every step on the standard output.
    with contextlib.redirect_stdout(io.StringIO()):
        right = coco.COCO()
        right.dataset = truth
        right.createIndex()
        detected = coco.COCO()
        if rows:
            # It writes into the rows.
            detected = right.loadRes([dict(row) for row in rows])
        else:
            detected.dataset = {**truth, "annotations": []}
            detected.createIndex()
        judge = evaluation.COCOeval(right, detected, kind)
        judge.params.__dict__.update(imgIds=sorted(set(images)))
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return max(0.0, float(judge.stats[0])), max(0.0, float(judge.stats[1]))


def _check_kind(rows: list[dict[str, Any]], kind: str) -> None:
    needed = {"segm": "segmentation", "keypoints": "keypoints"}.get(kind)
    if needed and not all(needed in row for row in rows):
        raise UsageError(
            f"the detections have no {needed}",
            do="set 'mask' of object_detection" if kind == "segm" else "leave 'keypoint_map' out",
        )
