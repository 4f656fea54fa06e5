"""Postprocessing of detectors: boxes, scores and classes in pixels of the images."""

from collections.abc import Mapping, Sequence

import numpy as np

from edgewright.core.errors import ShapeMismatch, UsageError
from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.detections import LARGEST_SHARE
from edgewright.evaluate.plugins.boxes import Placement, draw_mask, find_original_size, list_detections
from edgewright.evaluate.plugins.classification import take_output
from edgewright.evaluate.plugins.parameters import (
    DIMS,
    FLAG,
    INTEGER,
    NUMBER,
    NUMBERS,
    SIZE,
    TEXT,
    WORDS,
    declare,
)
from edgewright.evaluate.plugins.plugin import PostprocessingPlugin, register
from edgewright.evaluate.plugins.sample import Context, Sample

LETTERBOX, ASPECT_RATIO = "letterbox", "aspect_ratio"
TYPES = (LETTERBOX, "stretch", ASPECT_RATIO)
DTYPES = "the types of boxes, scores and labels, as in [float32, float32, int64]"


@register
class ObjectDetection(PostprocessingPlugin):
    """Makes detections in pixels of the image of boxes, scores and labels."""

    name = "object_detection"

    dims: tuple[int, int] = declare(SIZE, "height and width of the model's input, as in 640,640")
    type: str | None = declare(
        TEXT, "how images were resized: letterbox, stretch or aspect_ratio", None, otherwise="stretch"
    )
    label_offset: int = declare(INTEGER, "what is added to labels", 0)
    score_threshold: float = declare(NUMBER, "detections of a lower score are left out", 0.001)
    xywh_to_xyxy: bool = declare(FLAG, "boxes are middle, width and height, and not corners", False)
    xy_swap: bool = declare(FLAG, "boxes have y before x", False)
    dtypes: tuple[str, ...] | None = declare(WORDS, DTYPES, None, otherwise="those of outputs_info")
    mask: bool = declare(FLAG, "the output after boxes, scores and labels holds masks", False)
    mask_dims: tuple[int, ...] | None = declare(
        DIMS, "with mask: detections, classes, height and width of masks, as in 100,80,28,28", None
    )
    padded_outputs: bool = declare(
        FLAG,
        "rows that only fill the outputs up are left out: those after the count in the last output, "
        "those with a label below 0",
        False,
    )
    scale: tuple[float, ...] = declare(NUMBERS, "what boxes are multiplied by, one number or four", (1.0,))
    skip_padding: bool = declare(
        FLAG, "letterbox: the image is at the top left, and not in the middle", False
    )

    def check(self) -> None:
        """What belongs together."""
        if self.type not in {None, *TYPES}:
            raise UsageError(
                f"'type' of 'object_detection' is '{self.type}', expected one of: {', '.join(TYPES)}"
            )
        if self.mask and (self.mask_dims is None or len(self.mask_dims) != 4):
            raise UsageError("'object_detection' with mask needs 'mask_dims', as in 100,80,28,28")
        if len(self.scale) not in {1, 4}:
            raise UsageError(f"'scale' of 'object_detection' has {len(self.scale)} numbers, expected 1 or 4")

    def compute(self, sample: Sample, context: Context) -> Sample:
        """One value: a list of detections."""
        outputs = cast_outputs(sample, self.dtypes)
        boxes, scores, labels = self._take_rows(outputs, [output.name for output in context.outputs])
        is_good = np.isfinite(boxes).all(1) & np.isfinite(scores) & (scores >= self.score_threshold)
        if self.padded_outputs:
            is_good &= labels >= 0
            is_good[self._count_rows(outputs, len(labels)) :] = False
        chosen = np.flatnonzero(is_good)
        size = find_original_size(sample)
        corners = self._find_placement(size).place_in_image(self._find_corners(boxes[chosen]))
        kept_labels = np.rint(labels[chosen]).astype(np.int64)
        detections = list_detections(corners, scores[chosen], kept_labels + self.label_offset)
        if self.mask:
            masks = self._take_masks(outputs)
            for place, detection in enumerate(detections):
                mask = self._choose_mask(masks, int(chosen[place]), int(kept_labels[place]))
                detection["segmentation"] = draw_mask(mask, corners[place], size)
        return sample.make_next([detections])

    def _take_rows(self, outputs: Sequence[Array], names: Sequence[str]) -> tuple[Array, Array, Array]:
        """Boxes, scores and labels: three outputs, or boxes and the scores of all classes, or one of six."""
        plain = [
            output.reshape(output.shape[1:]) if output.ndim > 1 and output.shape[0] == 1 else output
            for output in outputs
        ]
        first = plain[0]
        if first.ndim == 2 and first.shape[1] == 6:
            return first[:, :4].astype(float), first[:, 4].astype(float), first[:, 5].astype(float)
        if first.ndim != 2 or first.shape[1] != 4 or len(plain) < 2:
            raise ShapeMismatch(
                f"the outputs are {[list(output.shape) for output in outputs]}, expected boxes [N,4], "
                "scores [N] and labels [N] in this order, or one output [N,6]",
                do="order outputs_info like this, or cut the graph after its non-maximum suppression",
            )
        second = plain[1]
        if second.ndim == 2 and second.shape[1] > 1:
            return first.astype(float), second.max(1).astype(float), second.argmax(1).astype(float)
        if len(plain) < 3 or plain[2].size != len(first) or second.size != len(first):
            raise ShapeMismatch(
                f"there are {len(first)} boxes and {second.size} scores, expected one of each and a label"
            )
        scores, labels = (plain[2], second) if _has_labels_first(names) else (second, plain[2])
        return first.astype(float), scores.reshape(-1).astype(float), labels.reshape(-1).astype(float)

    def _count_rows(self, outputs: Sequence[Array], count: int) -> int:
        return int(outputs[-1].reshape(-1)[0]) if outputs[-1].size == 1 and len(outputs) > 3 else count

    def _find_corners(self, boxes: Array) -> Array:
        """Left, top, right, bottom in pixels of the model's input."""
        if self.xy_swap:
            boxes = boxes[:, [1, 0, 3, 2]]
        if self.xywh_to_xyxy:
            boxes = np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)
        if self.scale == (1.0,) and np.abs(boxes).max(initial=0) <= LARGEST_SHARE:
            return np.asarray(boxes * np.array([self.dims[1], self.dims[0]] * 2))
        return np.asarray(boxes * np.array(self.scale))

    def _find_placement(self, size: tuple[int, int]) -> Placement:
        if self.type in {LETTERBOX, ASPECT_RATIO}:
            is_padded = self.type == LETTERBOX and not self.skip_padding
            return Placement.make_letterboxed(size, self.dims, is_padded=is_padded)
        return Placement.make_stretched(size, self.dims)

    def _take_masks(self, outputs: Sequence[Array]) -> Array:
        assert self.mask_dims is not None
        expected = int(np.prod(self.mask_dims))
        fitting = [output for output in outputs if output.size == expected]
        if not fitting:
            raise ShapeMismatch(
                f"no output has the size of masks, {list(self.mask_dims)}", do="correct 'mask_dims'"
            )
        return fitting[-1].reshape(self.mask_dims)

    @staticmethod
    def _choose_mask(masks: Array, place: int, label: int) -> Array:
        """The mask of the detection's class, or the only one."""
        return np.asarray(masks[place, label if 0 <= label < masks.shape[1] else 0])


def cast_outputs(sample: Sample, dtypes: Sequence[str] | None) -> list[Array]:
    """The model's outputs in the types that a configuration says."""
    outputs = [take_output(sample, n, is_empty_good=True) for n in range(len(sample.values))]
    for place, name in enumerate((dtypes or ())[: len(outputs)]):
        try:
            outputs[place] = outputs[place].astype(np.dtype(ALIASES.get(name, name)))
        except TypeError:
            raise UsageError(f"'dtypes' has '{name}', expected a type of numpy, such as float32") from None
    return outputs


ALIASES: Mapping[str, str] = {"int": "int32", "float": "float32"}


def _has_labels_first(names: Sequence[str]) -> bool:
    """Whether the names of outputs say that labels come before scores."""
    if len(names) < 3:
        return False
    second, third = names[1].lower(), names[2].lower()
    return ("class" in second or "label" in second) and "score" in third
