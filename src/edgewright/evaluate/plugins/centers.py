"""Postprocessing of detectors that see the centers of objects in a map: CenterNet and CenterFace."""

from collections.abc import Sequence

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import Array
from edgewright.evaluate.plugins.boxes import Placement, find_original_size, keep_best, list_detections
from edgewright.evaluate.plugins.detection import DTYPES, cast_outputs
from edgewright.evaluate.plugins.parameters import COUNT, NUMBER, SIZE, WORDS, declare
from edgewright.evaluate.plugins.plugin import PostprocessingPlugin, register
from edgewright.evaluate.plugins.poses import JOINTS, find_keypoints, list_keypoints
from edgewright.evaluate.plugins.sample import Context, Sample

# A place of CenterFace's maps is so many pixels of its input.
STRIDE = 4


@register
class CenterfacePostprocessing(PostprocessingPlugin):
    """Makes faces of CenterFace's maps: the centers, the sizes, and what the centers are off by."""

    name = "centerface_postproc"

    dims: tuple[int, int] = declare(SIZE, "height and width of the model's input, as in 640,640")
    dtypes: tuple[str, ...] | None = declare(WORDS, DTYPES, None, otherwise="those of outputs_info")
    heatmap_threshold: float = declare(NUMBER, "centers of a lower score are left out", 0.05)
    nms_threshold: float = declare(NUMBER, "faces that overlap a better one by more are left out", 0.3)

    def compute(self, sample: Sample, context: Context) -> Sample:
        """One value: a list of detections."""
        heat, sizes, offsets = find_maps(cast_outputs(sample, self.dtypes), 1)
        rows, columns = np.nonzero(heat[0] > self.heatmap_threshold)
        scores = heat[0][rows, columns].astype(float)
        heights, widths = (np.exp(sizes[n][rows, columns].astype(float)) * STRIDE for n in (0, 1))
        shifts_y, shifts_x = (offsets[n][rows, columns].astype(float) for n in (0, 1))
        lefts = np.clip((columns + shifts_x + 0.5) * STRIDE - widths / 2, 0, self.dims[1])
        tops = np.clip((rows + shifts_y + 0.5) * STRIDE - heights / 2, 0, self.dims[0])
        rights = np.minimum(lefts + widths, self.dims[1])
        bottoms = np.minimum(tops + heights, self.dims[0])
        corners = np.stack([lefts, tops, rights, bottoms], 1)
        best = keep_best(corners, scores, self.nms_threshold)
        placement = Placement.make_stretched(find_original_size(sample), self.dims)
        placed = placement.place_in_image(corners[best])
        return sample.make_next([list_detections(placed, scores[best], np.zeros(len(best)))])


@register
class CenternetPostprocessing(PostprocessingPlugin):
    """Makes detections of CenterNet's maps: centers, sizes, offsets, and joints where it has them."""

    name = "centernet_postprocess"

    dtypes: tuple[str, ...] | None = declare(
        WORDS,
        "the types of the three outputs",
        in_memory=None,
        otherwise="mandatory; in memory those of outputs_info",
    )
    output_dims: tuple[int, int] = declare(SIZE, "height and width of the maps, as in 128,128")
    top_k: int = declare(COUNT, "how many detections are taken at most", 100)
    num_classes: int = declare(COUNT, "number of classes", 1)
    score: float = declare(NUMBER, "detections of a lower score are left out; from 1 on it is in percent", 1)

    def compute(self, sample: Sample, context: Context) -> Sample:
        """One value: a list of detections."""
        outputs = cast_outputs(sample, self.dtypes)
        heat, sizes, offsets = find_maps(outputs, self.num_classes)
        if heat.shape[1:] != self.output_dims:
            raise ShapeMismatch(
                f"maps are {list(heat.shape[1:])}, expected {list(self.output_dims)}",
                do="correct 'output_dims'",
            )
        classes, rows, columns, scores = find_peaks(_to_share(heat), self.top_k)
        middles = np.stack([columns + offsets[0][rows, columns], rows + offsets[1][rows, columns]], 1)
        halves = np.stack([sizes[0][rows, columns], sizes[1][rows, columns]], 1) / 2
        corners = np.concatenate([middles - halves, middles + halves], 1).astype(float)
        is_good = scores >= (self.score / 100 if self.score >= 1 else self.score)
        placement = self._find_placement(sample)
        placed = placement.place_in_image(corners)[is_good]
        detections = list_detections(placed, scores[is_good], classes[is_good])
        maps = [
            _put_channels_first(output, {2 * JOINTS, JOINTS, 2}) for output in outputs if output.ndim >= 3
        ]
        points = find_keypoints(maps, rows[is_good], columns[is_good], corners[is_good])
        for detection, joints in zip(detections, () if points is None else points, strict=False):
            detection["keypoints"] = list_keypoints(joints, placement)
        return sample.make_next([detections])

    def _find_placement(self, sample: Sample) -> Placement:
        """As centernet_preproc moved the image, or stretched where that was not run."""
        size = find_original_size(sample)
        moved = sample.facts.get("centernet")
        if moved is None:
            return Placement.make_stretched(size, self.output_dims)
        (x, y), ratio = moved["center"], self.output_dims[1] / moved["reach"]
        offset = (self.output_dims[1] / 2 - x * ratio, self.output_dims[0] / 2 - y * ratio)
        return Placement(size, (ratio * moved["scale"],) * 2, offset)


def find_maps(outputs: Sequence[Array], classes: int) -> tuple[Array, Array, Array]:
    """Scores of classes, sizes and offsets, [channels, height, width]: found by their channels, in order."""
    maps = [
        _put_channels_first(output, {classes, 2}) for output in outputs if output.ndim >= 3 and output.size
    ]
    heats = [each for each in maps if each.shape[0] == classes]
    pairs = [each for each in maps if each.shape[0] == 2 and each is not (heats[0] if heats else None)]
    if not heats or len(pairs) < 2:
        shapes = [list(output.shape) for output in outputs]
        raise BadInput(
            f"the outputs have the shapes {shapes}, expected {classes} classes, 2 sizes, 2 offsets",
            do="name the outputs in this order in outputs_info, and the right number of classes",
        )
    if len({each.shape[1:] for each in (heats[0], pairs[0], pairs[1])}) != 1:
        raise ShapeMismatch("the maps of classes, sizes and offsets have different heights or widths")
    return heats[0], pairs[0], pairs[1]


def find_peaks(heat: Array, count: int) -> tuple[Array, Array, Array, Array]:
    """Class, row, column and score of the largest values that none of their eight neighbours exceeds."""
    padded = np.pad(heat, [(0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    height, width = heat.shape[1:]
    around = [padded[:, y : y + height, x : x + width] for y in range(3) for x in range(3)]
    peaks = np.where(heat == np.max(around, 0), heat, 0.0).reshape(-1)
    order = np.argsort(-peaks, kind="stable")[:count]
    classes, rows, columns = np.unravel_index(order, heat.shape)
    return classes, rows, columns, peaks[order].astype(float)


def _put_channels_first(output: Array, channels: set[int]) -> Array:
    plain = output[0] if output.ndim == 4 else output
    if plain.shape[0] not in channels and plain.shape[-1] in channels:
        return plain.transpose(2, 0, 1)
    return plain


def _to_share(heat: Array) -> Array:
    """Scores from 0 to 1; a model that ends before its sigmoid gives negative ones too."""
    if heat.min(initial=0) >= 0 and heat.max(initial=0) <= 1:
        return heat
    return np.asarray(1 / (1 + np.exp(-heat.astype(np.float64))))
