"""Preprocessing that gives images the size that a model takes."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch, UsageError, Where
from edgewright.core.numbers import Array
from edgewright.data.numpy_files import read_numpy_array
from edgewright.evaluate.plugins.arrays import cut_middle, normalize_values, pad_image
from edgewright.evaluate.plugins.parameters import (
    COUNT,
    DIMS,
    FLAG,
    NUMBER,
    RGB,
    SIZE,
    choose_from,
    declare,
)
from edgewright.evaluate.plugins.pictures import change_images, find_size, has_image, take_colours, take_image
from edgewright.evaluate.plugins.plugin import PreprocessingPlugin, register
from edgewright.evaluate.plugins.resizing import (
    INTERPOLATIONS,
    OPENCV,
    PILLOW,
    TENSORFLOW,
    TORCHVISION,
    resize_image,
)
from edgewright.evaluate.plugins.sample import Context, Sample, Value

LETTERBOX, IMAGENET, ASPECT_RATIO = "letterbox", "imagenet", "aspect_ratio"
# What YOLO pads with, and the share of ImageNet's images that is left after cropping.
GREY, IMAGENET_SHARE = 114, 0.875
NO_COLOURS = {"R": 0.0, "G": 0.0, "B": 0.0}
ONLY_TENSORFLOW = "of the library tensorflow: "
# What CenterNet was trained with, in the order blue, green, red.
CENTERNET_MEAN, CENTERNET_STD = (0.408, 0.447, 0.470), (0.289, 0.274, 0.278)
# CLIP's, in the order red, green, blue.
CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


@register
class Resize(PreprocessingPlugin):
    """Resizes an image as OpenCV (the default), Pillow, torchvision or TensorFlow does."""

    name = "resize"

    dims: tuple[int, int] = declare(SIZE, "height and width, as in 640,640")
    library: str = declare(
        choose_from(*INTERPOLATIONS), "whose rule holds: opencv, pillow, torchvision or tensorflow", OPENCV
    )
    channel_order: str = declare(choose_from("RGB"), "the order of the channels; only RGB", "RGB")
    interp: str | None = declare(
        choose_from("bilinear", "area", "nearest", "bicubic", "box", "hamming", "lanczos"),
        "; ".join(f"{library}: {', '.join(kinds)}" for library, kinds in INTERPOLATIONS.items()),
        None,
        otherwise="bicubic for pillow, bilinear for the others",
    )
    type: str | None = declare(
        choose_from(LETTERBOX, IMAGENET, ASPECT_RATIO, "auto-resize"),
        "letterbox: all of the image within dims, padded with grey, as for YOLO; imagenet: the shorter side "
        "becomes 8/7 of dims, to be cropped; aspect_ratio: all of the image within dims; not of torchvision",
        None,
        otherwise="stretched to dims",
    )
    resize_before_typecast: bool = declare(FLAG, "resizes bytes, and not the real numbers made of them", True)
    typecasting_required: bool = declare(
        FLAG, "of the library torchvision; arrays are numpy's either way", True
    )
    mean: dict[str, float] = declare(RGB, f"{ONLY_TENSORFLOW}what is subtracted", NO_COLOURS)
    std: dict[str, float] = declare(RGB, f"{ONLY_TENSORFLOW}what is divided by; 0 stands for 1", NO_COLOURS)
    normalize_before_resize: bool = declare(FLAG, f"{ONLY_TENSORFLOW}normalises before it resizes", False)
    crop_before_resize: bool = declare(
        FLAG, f"{ONLY_TENSORFLOW}takes the central 87.5 % before it resizes", False
    )
    norm: float = declare(
        NUMBER, f"{ONLY_TENSORFLOW}what all values are divided by, where mean or std is given", 255.0
    )
    normalize_first: bool = declare(
        FLAG, f"{ONLY_TENSORFLOW}divides by norm before mean and deviation, or after", True
    )

    def check(self) -> None:
        """Which library has which interpolation, and whose parameters are given."""
        if self.interp is not None and self.interp not in INTERPOLATIONS[self.library]:
            known = ", ".join(INTERPOLATIONS[self.library])
            raise UsageError(
                f"the plugin 'resize' with the library {self.library} has no interpolation '{self.interp}'",
                do=f"set 'interp' to one of: {known}, or 'library' to another",
            )
        if self.library != TENSORFLOW and (self._has_normalization or self.crop_before_resize):
            raise UsageError(
                "'mean', 'std' and 'crop_before_resize' of the plugin 'resize' need the library tensorflow; "
                f"it is {self.library}",
                do="set 'library' to tensorflow, or use the plugins 'normalize' and 'crop'",
            )

    def compute(self, sample: Sample, context: Context) -> Sample:
        """All images."""
        return change_images(sample, self.resize)

    def resize(self, image: Array) -> Array:
        """One image: float32, or bytes with torchvision, whose next steps expect them."""
        if self.library == TENSORFLOW:
            return self._resize_like_tensorflow(image)
        values = image if self.resize_before_typecast else image.astype(np.float32)
        sized = self._fit(values)
        return sized if self.library == TORCHVISION else sized.astype(np.float32)

    def _fit(self, image: Array) -> Array:
        size = find_size(image)
        if self.library == TORCHVISION or self.type in {None, "auto-resize"}:
            return self._stretch(image, self.dims)
        if self.type == IMAGENET:
            return self._stretch(image, enlarge_for_crop(size, self.dims))
        inside = fit_inside(size, self.dims, is_rounded=self.type == LETTERBOX)
        sized = self._stretch(image, inside)
        return pad_image(sized, self.dims, GREY) if self.type == LETTERBOX else sized

    def _stretch(self, image: Array, size: tuple[int, int]) -> Array:
        return resize_image(image, size, self.library, self.interp)

    @property
    def _has_normalization(self) -> bool:
        return any(self.mean.values()) or any(self.std.values())

    def _resize_like_tensorflow(self, image: Array) -> Array:
        if self.crop_before_resize:
            image = _cut_central_share(image)
        if self._has_normalization and self.normalize_before_resize:
            return self._fit(self._normalize(image))
        sized = self._fit(image)
        return self._normalize(sized) if self._has_normalization else sized

    def _normalize(self, image: Array) -> Array:
        means, deviations = (_list_colours(values) for values in (self.mean, self.std))
        return normalize_values(
            image,
            self.norm,
            means,
            np.where(deviations == 0, np.float32(1), deviations),
            is_divided_first=self.normalize_first,
        )


@register
class CenternetPreprocessing(PreprocessingPlugin):
    """Preprocesses images as CenterNet does: moved to the middle, normalised, blue first, NCHW."""

    name = "centernet_preproc"

    dims: tuple[int, int] = declare(SIZE, "height and width, as in 416,416")
    scale: float = declare(NUMBER, "what the size of the image is multiplied by", 1.0)
    fix_res: bool = declare(FLAG, "whether the result has the size dims, or the image's own, padded", True)
    pad: int = declare(COUNT, "without fix_res: sizes become a multiple of this plus 1, a power of 2", 0)

    def check(self) -> None:
        """A scale of nothing leaves nothing."""
        if self.scale <= 0:
            raise UsageError(
                f"'scale' of the plugin 'centernet_preproc' is {self.scale:g}, expected more than 0"
            )

    def compute(self, sample: Sample, context: Context) -> Sample:
        """All images; what was moved where is left for centernet_postprocess."""
        first = next((value for value in sample.values if has_image(value)), None)
        if first is None:
            raise BadInput("the sample has no image")
        size = find_size(take_image(first))
        center, reach, target = self._place(size)
        changed = change_images(sample, lambda image: self._prepare(image, target))
        facts = {"center": center, "reach": reach, "scale": self.scale}
        return changed.make_next(changed.values, centernet=facts)

    def _place(self, size: tuple[int, int]) -> tuple[tuple[float, float], float, tuple[int, int]]:
        """The middle (x, y) and the width of the scaled image that are shown, and the result's size."""
        height, width = (int(length * self.scale) for length in size)
        if self.fix_res:
            return (width / 2, height / 2), float(max(size)), self.dims
        target = ((height | self.pad) + 1, (width | self.pad) + 1)
        return (float(width // 2), float(height // 2)), float(target[1]), target

    def _prepare(self, image: Array, target: tuple[int, int]) -> Array:
        height, width = find_size(image)
        center, reach, _ = self._place((height, width))
        scaled = (max(1, int(height * self.scale)), max(1, int(width * self.scale)))
        moved = move_image(resize_image(take_colours(image), scaled, OPENCV, None), center, reach, target)
        values = np.rint(moved)[..., ::-1]
        means, deviations = np.array(CENTERNET_MEAN, np.float32), np.array(CENTERNET_STD, np.float32)
        normal = normalize_values(values, 255.0, means, deviations, is_divided_first=True)
        return np.ascontiguousarray(normal.transpose(2, 0, 1)[None])


@register
class ImageTransformersInput(PreprocessingPlugin):
    """Makes inputs of image transformers such as ViT and CLIP: an image, and tokens of texts where wanted."""

    name = "image_transformers_input"

    dims: tuple[int, ...] = declare(DIMS, "channels, height and width of the result, as in 3,224,224")
    num_base_class: int | None = declare(
        COUNT, "how many classes have texts", None, otherwise="all that are there"
    )
    num_prompt: int | None = declare(
        COUNT, "how many texts each class has", None, otherwise="all that are there"
    )
    image_only: bool = declare(FLAG, "whether only the image is taken", False, in_memory=True)

    def check(self) -> None:
        """Three dimensions, three channels."""
        if len(self.dims) != 3 or self.dims[0] != 3:
            raise UsageError("'dims' of the plugin 'image_transformers_input' are CHW, as in 3,224,224")

    def compute(self, sample: Sample, context: Context) -> Sample:
        """The first column is the image, others hold tokens: an .npy file [classes, prompts, length]."""
        image = sample.make_next(sample.values[:1])
        changed = change_images(image, self._prepare)
        if self.image_only:
            return changed
        return changed.make_next([*changed.values, *map(self._choose_tokens, sample.values[1:])])

    def _prepare(self, image: Array) -> Array:
        """CLIP's: the shorter side resized, the middle cropped, normalised."""
        size = (self.dims[1], self.dims[2])
        colours = take_colours(image)
        sized = resize_image(colours, cover_size(find_size(colours), size), PILLOW, "bicubic")
        middle = cut_middle(sized, size, is_rounded=True)
        means, deviations = np.array(CLIP_MEAN, np.float32), np.array(CLIP_STD, np.float32)
        normal = normalize_values(middle, 255.0, means, deviations, is_divided_first=True)
        return np.ascontiguousarray(normal.transpose(2, 0, 1)[None])

    def _choose_tokens(self, value: Value) -> Array:
        if isinstance(value, Path) and value.suffix != ".npy":
            raise BadInput(
                "texts of an image transformer are tokens, expected an .npy file",
                Where(file=str(value)),
                do="save numpy.array [classes, prompts, length] of tokens, or set image_only to True",
            )
        tokens = read_numpy_array(value) if isinstance(value, Path) else np.asarray(value)
        if tokens.ndim != 3 or tokens.dtype.kind not in "iu":
            shape = f"{tokens.dtype} {list(tokens.shape)}"
            raise ShapeMismatch(f"tokens are {shape}, expected whole numbers [classes, prompts, length]")
        chosen = tokens[: self.num_base_class, : self.num_prompt]
        return np.ascontiguousarray(chosen.reshape(-1, tokens.shape[-1]))


def fit_inside(size: tuple[int, int], dims: tuple[int, int], *, is_rounded: bool) -> tuple[int, int]:
    """The largest height and width of the same ratio within dims."""
    ratio = min(dims[0] / size[0], dims[1] / size[1])
    made = [length * ratio for length in size]
    high, wide = (max(1, round(length) if is_rounded else int(length + 1e-6)) for length in made)
    return high, wide


def enlarge_for_crop(size: tuple[int, int], dims: tuple[int, int]) -> tuple[int, int]:
    """ImageNet's: the shorter side is what dims are 87.5 % of."""
    return cover_size(size, (int(dims[0] / IMAGENET_SHARE), int(dims[1] / IMAGENET_SHARE)))


def cover_size(size: tuple[int, int], dims: tuple[int, int]) -> tuple[int, int]:
    """The shorter side becomes that of dims, the other one follows, cut to whole pixels."""
    height, width = size
    if height > width:
        return int(dims[0] * height / width), dims[1]
    return dims[0], int(dims[1] * width / height)


def move_image(image: Array, center: tuple[float, float], reach: float, size: tuple[int, int]) -> Array:
    """What is around a point, as wide as reach, in another size; black beyond the image."""
    ratio = reach / size[1]
    rows = (np.arange(size[0]) - size[0] / 2) * ratio + center[1]
    columns = (np.arange(size[1]) - size[1] / 2) * ratio + center[0]
    down = _take_between(image.astype(np.float32), rows)
    return _take_between(down.transpose(1, 0, 2), columns).transpose(1, 0, 2)


def _take_between(values: Array, places: Array) -> Array:
    """Rows at places between them; nothing beyond the first and the last."""
    padded = np.pad(values, [(1, 1), (0, 0), (0, 0)])
    bounded = np.clip(places + 1, 0, len(values) + 1)
    first = np.minimum(np.floor(bounded).astype(np.int64), len(values))
    share = (bounded - first).astype(np.float32)[:, None, None]
    return np.asarray(padded[first] * (1 - share) + padded[first + 1] * share)


def _cut_central_share(image: Array) -> Array:
    """TensorFlow's central_crop: what is left out at each side is cut to whole pixels."""
    height, width = find_size(image)
    top, left = (int((length - length * IMAGENET_SHARE) / 2) for length in (height, width))
    return image[top : height - top, left : width - left]


def _list_colours(values: Mapping[str, float]) -> Array:
    return np.array(list(values.values()), np.float32)
