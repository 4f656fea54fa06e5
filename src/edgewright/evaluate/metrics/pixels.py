"""Intersection over union of classes of pixels: what segmentation is measured by."""

from collections.abc import Mapping, Sequence

import numpy as np

from edgewright.core.errors import BadInput
from edgewright.core.numbers import Array
from edgewright.data.labels import ARRAYS
from edgewright.evaluate.metrics.measure import Answer, Measure, Sums
from edgewright.evaluate.statistics import is_distribution

# Class maps of whole numbers do not say how many classes there are: as many as a byte tells apart.
MOST_CLASSES = 256
# Probabilities of a mask are of it from here on; scores from zero.
HALF = 0.5


class IntersectionOverUnion(Measure):
    """Of each class the pixels that both have over those that either has; the mean over classes."""

    name = "iou"
    text = "intersection over union of each class's pixels with the right ones (or the float model's), mean"
    label_kind = ARRAYS
    lowest_usual = 25.0

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Intersection and union of each class; labels beyond the classes are left out, as 255 often is."""
        result = answer.result.reshape(answer.reference.shape)
        classes, count = find_classes(result, answer.reference, answer.axis)
        if isinstance(answer.label, np.ndarray):
            right = _fit_label(answer.label, classes)
        else:
            right, _ = find_classes(answer.reference, answer.reference, answer.axis)
        is_known = (right >= 0) & (right < count)
        first, second = right[is_known].reshape(-1), classes[is_known].reshape(-1)
        both = np.bincount(first[first == second], minlength=count)
        either = np.bincount(first, minlength=count) + np.bincount(second, minlength=count + 1)[:count] - both
        return (*map(float, both), *map(float, either))

    def compute_score(self, sums: Array, span: Array) -> Array:
        """The mean over the classes that are there."""
        del span
        both, either = np.split(sums, 2, -1)
        shares = np.where(either > 0, both / np.maximum(either, 1), 0.0)
        return np.asarray(100 * shares.sum(-1) / np.maximum((either > 0).sum(-1), 1))

    def describe_float_model(self, sums: Sums) -> str:
        """Pixels that are all of one class are found by anyone."""
        _, either = np.split(np.sum(np.array(sums, np.float64), 0), 2)
        return "" if (either > 0).sum() > 1 else "all pixels of all samples are of one class"

    def find_misfit(self, shapes: Mapping[str, Sequence[int]], output: str) -> str:
        """Pixels have two axes at least."""
        if sum(size > 1 for size in shapes[output]) >= 2:
            return ""
        return "expected classes of pixels: scores [1,classes,height,width], a mask or whole numbers"


def find_classes(values: Array, reference: Array, axis: int) -> tuple[Array, int]:
    """The class of each pixel, and how many there are; pixels that are no number are of none."""
    if values.dtype.kind in "iub":
        return np.clip(values.astype(np.int64), -1, MOST_CLASSES), MOST_CLASSES
    broken = np.isnan(values)
    if not _is_mask(reference, axis):
        return np.where(broken.any(axis), values.shape[axis], values.argmax(axis)), values.shape[axis]
    # A mask of probabilities, or of scores below and above zero: the float model's values tell which.
    level = 0.0 if reference.min(initial=0) < 0 else HALF
    return np.where(broken, 2, (values > level).astype(np.int64)), 2


def _is_mask(values: Array, axis: int) -> bool:
    """Whether there is no axis of classes: [1,1,height,width], [1,height,width,1] or [1,height,width]."""
    if values.ndim == 4:
        return 1 in {values.shape[1], values.shape[3]}
    return not is_distribution(np.moveaxis(values, axis, -1))


def _fit_label(label: Array, classes: Array) -> Array:
    plain, shape = np.squeeze(label), np.squeeze(classes).shape
    if plain.shape != shape or plain.dtype.kind not in "iub":
        raise BadInput(
            f"a label is {plain.dtype} {list(plain.shape)}, expected whole numbers {list(shape)}: the class "
            "of each pixel",
            do="save the class of each pixel in the size of the output",
        )
    return plain.astype(np.int64).reshape(classes.shape)
