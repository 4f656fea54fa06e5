"""Right answers of detectors: the annotations of images in COCO's JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json

LARGEST_FILE = 1 << 30


@dataclass(frozen=True)
class ImageBoxes:
    """What is in one image; classes are the places of categories, by their ids, from 0."""

    width: float
    height: float
    # Left, top, width and height in pixels of the image.
    boxes: tuple[tuple[float, float, float, float], ...]
    classes: tuple[int, ...]
    areas: tuple[float, ...]
    # Crowds are neither right nor wrong.
    crowds: tuple[bool, ...]
    # How many categories there are.
    count: int


def read_coco_boxes(path: Path, files: Sequence[Path], count: int) -> list[ImageBoxes]:
    """The boxes of each sample: images by the names of the samples' files, in their order without files."""
    where = Where(file=str(path))
    try:
        document = parse_json(read_limited(path, LARGEST_FILE))
        images, places = _read_images(document)
        boxes: dict[Any, list[Mapping[str, Any]]] = {image: [] for image in images}
        for item in document["annotations"]:
            boxes[item["image_id"]].append(item)
        read = {
            images[image]["file_name"]: _make_boxes(images[image], items, places)
            for image, items in boxes.items()
        }
    except (ValueError, KeyError, TypeError, IndexError) as problem:
        raise BadInput(
            f"the file has no annotations in COCO's form: {shown(repr(problem), 120)}",
            where,
            do="give images (id, file_name, width, height), categories (id) and annotations (image_id, "
            "category_id, bbox)",
        ) from None
    if not files:
        return list(read.values()) if len(read) == count else []
    named = {Path(str(name)).name: value for name, value in read.items()}
    missing = [file.name for file in files if file.name not in named]
    if missing:
        what = f"{len(missing)} of {len(files)} samples are not in it, the first is '{shown(missing[0], 60)}'"
        raise BadInput(what, where, do="give the annotations of these files: file_name is the sample's")
    return [named[file.name] for file in files]


def _read_images(document: Any) -> tuple[dict[Any, Mapping[str, Any]], dict[Any, int]]:
    ids = sorted(category["id"] for category in document["categories"])
    return {image["id"]: image for image in document["images"]}, {name: n for n, name in enumerate(ids)}


def _make_boxes(
    image: Mapping[str, Any], items: Sequence[Mapping[str, Any]], places: Mapping[Any, int]
) -> ImageBoxes:
    corners = tuple(tuple(map(float, item["bbox"])) for item in items)
    if any(len(corner) != 4 for corner in corners):
        raise ValueError("a bbox has not four numbers")
    boxes = tuple((left, top, width, height) for left, top, width, height in corners)
    return ImageBoxes(
        float(image["width"]),
        float(image["height"]),
        boxes,
        tuple(places[item["category_id"]] for item in items),
        tuple(float(item.get("area", box[2] * box[3])) for item, box in zip(items, boxes, strict=True)),
        tuple(bool(item.get("iscrowd", 0)) for item in items),
        len(places),
    )
