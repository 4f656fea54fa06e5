"""Preprocessing of images as arrays: cropped, padded, normalised, transposed, put together as batches."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch, UsageError
from edgewright.core.numbers import Array
from edgewright.evaluate.plugins.parameters import (
    COUNT,
    FLAG,
    INTEGER,
    NUMBER,
    RGB,
    SIZE,
    choose_from,
    declare,
)
from edgewright.evaluate.plugins.pictures import change_images, find_size
from edgewright.evaluate.plugins.plugin import PreprocessingPlugin, register
from edgewright.evaluate.plugins.sample import Context, Sample

NUMPY, TORCHVISION = "numpy", "torchvision"
CHANNELS = frozenset({1, 3, 4})
LIBRARY = choose_from(NUMPY, TORCHVISION)
ONLY_TORCHVISION = "of the library torchvision; arrays are numpy's either way"


@register
class Crop(PreprocessingPlugin):
    """Crops the middle of an image to the given dimensions."""

    name = "crop"

    dims: tuple[int, int] = declare(SIZE, "height and width, as in 640,640")
    library: str = declare(LIBRARY, "whose rule of the middle holds: numpy or torchvision", NUMPY)
    typecasting_required: bool = declare(FLAG, ONLY_TORCHVISION, True)

    def compute(self, sample: Sample, context: Context) -> Sample:
        """Images of every layout whose channels are last."""
        is_rounded = self.library == TORCHVISION
        return change_images(sample, lambda image: cut_middle(image, self.dims, is_rounded=is_rounded))


@register
class Pad(PreprocessingPlugin):
    """Pads an image by a constant size, or to the given dimensions."""

    name = "pad"

    type: str = declare(
        choose_from("constant", "target_dims"),
        "constant: pad_size pixels at each of the four sides; target_dims: up to dims",
    )
    dims: tuple[int, int] | None = declare(
        SIZE,
        "height and width, as in 416,416, of type target_dims",
        None,
        otherwise="mandatory for target_dims",
    )
    pad_size: int | None = declare(COUNT, "pixels at each side, of type constant", None)
    img_position: str = declare(
        choose_from("center", "corner"),
        "where the image is, of type target_dims; corner: at the top left",
        "center",
    )
    color: int = declare(INTEGER, "the value of padded pixels in all channels", 114)

    def check(self) -> None:
        """Each type needs its own size."""
        needed = "pad_size" if self.type == "constant" else "dims"
        if getattr(self, needed) is None:
            raise UsageError(f"the plugin 'pad' of the type '{self.type}' needs the parameter '{needed}'")

    def compute(self, sample: Sample, context: Context) -> Sample:
        """All images."""
        return change_images(sample, self.pad)

    def pad(self, image: Array) -> Array:
        """One image."""
        if self.pad_size is not None and self.type == "constant":
            height, width = find_size(image)
            size = (height + 2 * self.pad_size, width + 2 * self.pad_size)
            return pad_image(image, size, self.color)
        assert self.dims is not None
        return pad_image(image, self.dims, self.color, is_centered=self.img_position == "center")


@register
class Normalize(PreprocessingPlugin):
    """Normalises values: divided by norm, less the means, divided by the deviations; channels are last."""

    name = "normalize"

    library: str = declare(LIBRARY, "whose rule holds: torchvision divides by 255 and gives CHW", NUMPY)
    norm: float = declare(NUMBER, "what all values are divided by", 255.0)
    means: dict[str, float] = declare(RGB, "what is subtracted from each channel", {"R": 0, "G": 0, "B": 0})
    std: dict[str, float] = declare(RGB, "what each channel is divided by", {"R": 1, "G": 1, "B": 1})
    channel_order: str = declare(choose_from("RGB", "BGR"), "which channel is which", "RGB")
    normalize_first: bool = declare(
        FLAG,
        "whether values are divided by norm before means and deviations, or after; not of torchvision",
        True,
    )
    typecasting_required: bool = declare(FLAG, ONLY_TORCHVISION, True)
    pil_to_tensor_input: bool = declare(
        FLAG,
        "of the library torchvision: HWC becomes CHW, and bytes are divided by 255, before all else",
        True,
    )

    def check(self) -> None:
        """Nothing is divided by zero."""
        if not self.norm or not all(self.std.values()):
            raise UsageError("'norm' and 'std' of the plugin 'normalize' are divisors, expected no 0")

    def compute(self, sample: Sample, context: Context) -> Sample:
        """All images."""
        return change_images(sample, self.normalize)

    def normalize(self, image: Array) -> Array:
        """One image, of float32."""
        if self.library == TORCHVISION:
            return self._normalize_tensor(image)
        means, deviations = (self._order(values, image.shape[-1]) for values in (self.means, self.std))
        return normalize_values(image, self.norm, means, deviations, is_divided_first=self.normalize_first)

    def _normalize_tensor(self, image: Array) -> Array:
        if self.pil_to_tensor_input:
            scale = np.float32(255) if image.dtype == np.uint8 else np.float32(1)
            image = np.moveaxis(image, -1, -3).astype(np.float32) / scale
        shape = (-1, 1, 1)
        means, deviations = (
            self._order(values, image.shape[-3]).reshape(shape) for values in (self.means, self.std)
        )
        return (image.astype(np.float32) - means) / deviations

    def _order(self, values: Mapping[str, float], channels: int) -> Array:
        """Numbers in the order of the channels; a grey image takes those of R."""
        numbers = np.array([values[name] for name in self.channel_order], np.float32)
        if channels not in {1, 3}:
            raise ShapeMismatch(f"an image has {channels} channels, expected 3 for colours, or 1 for grey")
        return numbers if channels == 3 else np.array([values["R"]], np.float32)


@register
class ConvertNchw(PreprocessingPlugin):
    """Transposes HWC to CHW, or CHW to HWC, and adds the axis N."""

    name = "convert_nchw"

    expand_dims: bool = declare(FLAG, "adds the axis N", True, spelled="expand-dims")

    def compute(self, sample: Sample, context: Context) -> Sample:
        """All images."""
        return change_images(sample, self.convert)

    def convert(self, image: Array) -> Array:
        """One image; where both ends could be channels, they are last."""
        plain = image[0] if image.ndim == 4 and image.shape[0] == 1 else image
        if plain.ndim != 3 or not ({plain.shape[0], plain.shape[-1]} & CHANNELS):
            raise ShapeMismatch(f"an image has the shape {list(image.shape)}, expected HWC or CHW")
        order = (2, 0, 1) if plain.shape[-1] in CHANNELS else (1, 2, 0)
        turned = np.ascontiguousarray(plain.transpose(order))
        return turned[None] if self.expand_dims else turned


@register
class ExpandDims(PreprocessingPlugin):
    """Adds the axis N to images: HWC becomes NHWC."""

    name = "expand_dims"

    def compute(self, sample: Sample, context: Context) -> Sample:
        """All images."""
        return change_images(sample, lambda image: image[None])


@register
class CreateBatch(PreprocessingPlugin):
    """Concatenates samples to batches of the model's batch size."""

    name = "create_batch"

    delete_prior: bool = declare(FLAG, "deletes the files of the single samples", True)
    truncate: bool = declare(
        FLAG,
        "leaves out samples that fill no batch; otherwise the last one is repeated, and not counted",
        False,
    )

    def process(self, samples: Iterable[Sample], context: Context) -> Iterator[Sample]:
        """A sample for each batch, which knows its members."""
        group: list[Sample] = []
        for sample in samples:
            group.append(sample)
            if len(group) == context.batch_size:
                yield self._join(group, context)
                group = []
        if group and not self.truncate:
            yield self._join(group, context)

    def _join(self, group: Sequence[Sample], context: Context) -> Sample:
        count = context.batch_size
        filled = [*group, *[group[-1]] * (count - len(group))]
        columns = list(zip(*(sample.values for sample in filled), strict=False))
        for column in columns:
            shapes = {tuple(np.shape(value)) for value in column}
            if len(shapes) != 1 or () in shapes:
                raise BadInput(
                    f"samples of a batch have {len(shapes)} shapes, expected arrays of one shape",
                    group[0].where,
                    do="resize them first",
                )
        values = [np.concatenate([np.asarray(value) for value in column]) for column in columns]
        for file in {file for sample in group for file in sample.files if self.delete_prior}:
            file.unlink(missing_ok=True)
        members = tuple(replace(sample, values=()) for sample in group)
        return replace(group[0].make_next(values, batch=count), members=members)


def normalize_values(
    image: Array, norm: float, means: Array, deviations: Array, *, is_divided_first: bool
) -> Array:
    """Values of float32: over norm, less the means, over the deviations; or over norm at the end."""
    values = image.astype(np.float32)
    if is_divided_first:
        return (values / np.float32(norm) - means) / deviations
    return (values - means) / deviations / np.float32(norm)


def pad_image(image: Array, size: tuple[int, int], color: int, *, is_centered: bool = True) -> Array:
    """An image in the middle of a larger one, or at its top left; a larger image is an error."""
    (height, width), (high, wide) = find_size(image), size
    if height > high or width > wide:
        raise ShapeMismatch(
            f"an image is {height} high and {width} wide, more than the {high} and {wide} to pad to",
            do="resize it first, with type aspect_ratio",
        )
    top, left = ((high - height) // 2, (wide - width) // 2) if is_centered else (0, 0)
    sides = [(0, 0)] * (image.ndim - 3) + [(top, high - height - top), (left, wide - width - left), (0, 0)]
    return np.pad(image, sides, constant_values=color)


def cut_middle(image: Array, size: tuple[int, int], *, is_rounded: bool) -> Array:
    """The middle of an image; torchvision's is rounded, and what is smaller is padded with zeros first."""
    (height, width), (high, wide) = find_size(image), size
    if is_rounded:
        image = pad_image(image, (max(height, high), max(width, wide)), 0)
        height, width = find_size(image)
        top, left = round((height - high) / 2), round((width - wide) / 2)
    else:
        top, left = (height - high) // 2, (width - wide) // 2
    if top < 0 or left < 0:
        raise ShapeMismatch(
            f"an image is {height} high and {width} wide, expected at least {high} and {wide} to crop",
            do="resize it first",
        )
    return image[..., top : top + high, left : left + wide, :]
