"""Boxes of detections: from the model's input to the image, the best of those that overlap, masks in them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.evaluate.plugins.pictures import ORIGINAL_SIZE, find_size, take_image
from edgewright.evaluate.plugins.sample import Sample

# What a postprocessor leaves for metrics: bbox (left, top, width, height), score, category, and what is more.
Detection = dict[str, Any]


@dataclass(frozen=True)
class Placement:
    """Where the image lies in the model's input: a pixel of it is (a pixel of the image) * ratio + offset."""

    # Height and width of the image.
    size: tuple[int, int]
    # Horizontal, vertical.
    ratio: tuple[float, float]
    offset: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def make_stretched(cls, size: tuple[int, int], dims: tuple[int, int]) -> "Placement":
        """All of the image fills the input."""
        return cls(size, (dims[1] / size[1], dims[0] / size[0]))

    @classmethod
    def make_letterboxed(
        cls, size: tuple[int, int], dims: tuple[int, int], *, is_padded: bool
    ) -> "Placement":
        """The image keeps its ratio, in the middle of padding or at the top left."""
        ratio = min(dims[0] / size[0], dims[1] / size[1])
        left, top = (dims[1] - size[1] * ratio) / 2, (dims[0] - size[0] * ratio) / 2
        return cls(size, (ratio, ratio), (left, top) if is_padded else (0.0, 0.0))

    def place_in_image(self, corners: Array) -> Array:
        """Corners (x, y, x, y) in pixels of the image, none outside of it."""
        offset, ratio = np.array(self.offset * 2), np.array(self.ratio * 2)
        limits = np.array([self.size[1], self.size[0]] * 2)
        return np.asarray(np.clip((corners - offset) / ratio, 0, limits))


def find_original_size(sample: Sample, column: int = 0) -> tuple[int, int]:
    """Height and width of the image that a sample began as."""
    known = sample.facts.get(ORIGINAL_SIZE)
    if known is not None:
        return int(known[0]), int(known[1])
    if column >= len(sample.sources):
        raise BadInput("the size of the image is not known", sample.where, do="give images in the input list")
    return find_size(take_image(sample.sources[column]))


def keep_best(corners: Array, scores: Array, overlap: float) -> Array:
    """Places of boxes that no better one overlaps by more than that share, the best first."""
    order = np.argsort(-scores, kind="stable")
    kept: list[int] = []
    while len(order):
        best, *_ = order
        kept.append(int(best))
        rest = order[1:]
        order = rest[find_overlaps(corners[best], corners[rest]) <= overlap]
    return np.array(kept, np.int64)


def find_overlaps(corners: Array, others: Array) -> Array:
    """The share that a box has in common with each of the others, of what both cover."""
    low, high = np.maximum(corners[:2], others[:, :2]), np.minimum(corners[2:], others[:, 2:])
    common = np.prod(np.maximum(high - low, 0), 1)
    whole = np.prod(corners[2:] - corners[:2]) + np.prod(others[:, 2:] - others[:, :2], 1) - common
    return np.asarray(common / np.maximum(whole, 1e-12))


def list_detections(corners: Array, scores: Array, categories: Array) -> list[Detection]:
    """As plain data, in the form of COCO's results."""
    sized = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], 1).astype(float)
    return [
        {"bbox": box, "score": float(score), "category": int(category)}
        for box, score, category in zip(sized.tolist(), scores, categories, strict=True)
    ]


def draw_mask(mask: Array, corners: Array, size: tuple[int, int]) -> Detection:
    """A small mask stretched over its box, in COCO's code of runs."""
    pillow = require("PIL.Image", to="draw masks")
    coder = require("pycocotools.mask", to="code masks")
    left, top, right, bottom = (int(value) for value in np.rint(corners))
    canvas = np.zeros(size, np.uint8)
    if right > left and bottom > top:
        small = pillow.fromarray(np.ascontiguousarray(mask, np.float32))
        drawn = np.asarray(small.resize((right - left, bottom - top), 2)) >= 0.5
        canvas[top:bottom, left:right] = drawn[: size[0] - top, : size[1] - left]
    coded = coder.encode(np.asfortranarray(canvas))
    return {"size": list(size), "counts": coded["counts"].decode("ascii")}


def take_detections(sample: Sample, plugin: str) -> list[Detection]:
    """What a postprocessor of detections gave."""
    value = sample.values[0] if sample.values else None
    if isinstance(value, list) and all(isinstance(item, dict) and "bbox" in item for item in value):
        return value
    raise BadInput(
        f"the metric '{shown(plugin, 60)}' needs detections, found {type(value).__name__}",
        Where(detail=f"sample {sample.number}"),
        do="add a postprocessing plugin, such as object_detection",
    )
