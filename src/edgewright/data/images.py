"""Images as samples: read, turned upright, stretched to an input's size and normalised."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.config.preprocessing import Preprocessing
from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, EdgewrightError, ShapeMismatch, UsageError, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.ir.types import TensorType

IMAGES = (".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
CHANNELS_FIRST, CHANNELS_LAST = "NCHW", "NHWC"
MODES = {1: "L", 3: "RGB"}


def is_image(path: Path) -> bool:
    """Whether the name is that of an image."""
    return path.suffix.lower() in IMAGES


@dataclass(frozen=True)
class ImageReader:
    """Reads images for one input of a model."""

    name: str
    height: int
    width: int
    channels: int
    layout: str
    preprocessing: Preprocessing

    @classmethod
    def of(cls, name: str, expected: TensorType, preprocessing: Preprocessing) -> "ImageReader":
        """A reader for an input of a static shape; one that no image fits is an error."""
        shape = expected.static_shape()
        layout = preprocessing.layout or expected.layout or _guess_layout(name, shape)
        if len(shape) != 4 or layout not in {CHANNELS_FIRST, CHANNELS_LAST}:
            raise _make_shape_error(name, shape)
        _, *rest = shape
        channels = rest.pop(0 if layout == CHANNELS_FIRST else -1)
        if channels not in MODES:
            raise _make_shape_error(name, shape, f"; with the layout {layout} it has {channels} channels")
        for flag, values in (("mean", preprocessing.mean), ("std", preprocessing.std)):
            if len(values) > 1 and len(values) != channels:
                raise UsageError(
                    f"'{flag}' has {len(values)} numbers, the input has {channels} channels",
                    Where(tensor=name),
                    do=f"give one number, or {channels}",
                )
        return cls(name, rest[0], rest[1], channels, layout, preprocessing)

    def check(self, path: Path) -> None:
        """Looks at the header: a file that is no image is an error."""
        with self._open_image(path):
            pass

    def read(self, path: Path) -> Array:
        """One element of a batch, of float32."""
        with self._open_image(path) as image:
            pixels = self._read_pixels(image)
        if self.preprocessing.color == "bgr":
            pixels = pixels[..., ::-1]
        mean, std = (np.array(values, np.float32) for values in self.preprocessing.mean_and_std)
        scaled = (pixels.astype(np.float32) * np.float32(self.preprocessing.factor) - mean) / std
        if self.layout == CHANNELS_FIRST:
            scaled = scaled.transpose(2, 0, 1)
        return np.ascontiguousarray(scaled[None])

    def describe(self) -> str:
        """How images are preprocessed, for the user to compare with the training of the model."""
        mean, std = (" ".join(f"{value:g}" for value in values) for values in self.preprocessing.mean_and_std)
        colour = "grey" if self.channels == 1 else self.preprocessing.color
        return (
            f"images for '{shown(self.name, 60)}': stretched to {self.height} high and {self.width} wide, "
            f"{colour}, {self.layout}, (pixel{self._describe_scale()} - mean) / std with pixels 0 to 255, "
            f"mean {mean}, std {std}"
        )

    def find_mistake(self) -> str:
        """What looks like a mistake; nothing where all is well."""
        mean, std = self.preprocessing.mean_and_std
        if max(std) < 1 and max(mean) <= 1 and self.preprocessing.scale is None:
            values = " ".join(map(str, std))
            option = spell_option("scale", "1/255")
            return f"std {values} looks as if pixels were 0 to 1, not 0 to 255: add {option}"
        return ""

    def _describe_scale(self) -> str:
        return "" if self.preprocessing.scale is None else f" * {self.preprocessing.factor:g}"

    def _read_pixels(self, image: Any) -> Array:
        """Height, width, channels; 0 to 255."""
        upright = _turn_upright(image)
        sized = upright.convert(MODES[self.channels]).resize((self.width, self.height), BILINEAR)
        pixels: Array = np.asarray(sized)
        return pixels.reshape(self.height, self.width, self.channels)

    @contextmanager
    def _open_image(self, path: Path) -> Iterator[Any]:
        with open_image(path, self.name) as image:
            yield image


@contextmanager
def open_image(path: Path, tensor: str | None = None) -> Iterator[Any]:
    """Pillow's image of a file; a damaged one is an error, for which the input is named."""
    pillow = require("PIL.Image", to="read images")
    measure_file(path)
    try:
        with pillow.open(path) as image:
            yield image
    except (EdgewrightError, MemoryError):
        raise
    # Its decoders raise whatever a damaged file makes them stumble over.
    except Exception as problem:
        raise BadInput(
            f"the file is no readable image: {shown(problem)}",
            Where(file=str(path), tensor=tensor),
            do="write it again, or take it out of the data",
        ) from None


def read_colours(path: Path) -> Array:
    """Height, width and red, green, blue of 0 to 255, turned upright."""
    with open_image(path) as image:
        return np.asarray(_turn_upright(image).convert("RGB"))


def _turn_upright(image: Any) -> Any:
    upright = require("PIL.ImageOps", to="read images").exif_transpose(image)
    if not upright.mode.startswith("I"):
        return upright
    # 16 bits a pixel: Pillow would cut all above 255 off.
    deep = np.clip(np.asarray(upright, np.float32) / 257, 0, 255)
    return require("PIL.Image", to="read images").fromarray(deep.round().astype(np.uint8))


def read_class_map(path: Path) -> Array:
    """The pixels of an image as they are stored: numbers of classes, of a palette too."""
    with open_image(path) as image:
        pixels: Array = np.asarray(image)
    if pixels.ndim != 2:
        raise BadInput(
            f"the image has {pixels.shape[-1]} channels, expected one that holds numbers of classes",
            Where(file=str(path)),
            do="save masks as grey or palette images, or as .npy",
        )
    return pixels.astype(np.int64)


# Of PIL.Image.Resampling; the number is part of Pillow's interface.
BILINEAR = 2


def _guess_layout(name: str, shape: tuple[int, ...]) -> str:
    first, last = (shape[1], shape[-1]) if len(shape) == 4 else (0, 0)
    if (first in MODES) == (last in MODES):
        raise _make_shape_error(name, shape)
    return CHANNELS_FIRST if first in MODES else CHANNELS_LAST


def _make_shape_error(name: str, shape: tuple[int, ...], more: str = "") -> ShapeMismatch:
    advice = "say where the channels are with layout (--layout NCHW or NHWC)"
    is_four = len(shape) == 4 and prod(shape) > 0
    expected = f"4 dimensions with 1 or 3 channels for an image{more}"
    return ShapeMismatch(
        f"the input has the shape {list(shape)}, expected {expected}",
        Where(tensor=name),
        do=advice if is_four else "save samples for this model with numpy.save in place of images",
    )
