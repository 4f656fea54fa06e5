"""Images in samples: read as they are, and what a function makes of each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import Array
from edgewright.data.images import is_image, read_colours
from edgewright.data.numpy_files import read_numpy_array
from edgewright.evaluate.plugins.sample import Sample, Value

# What an image was before anything was done to it: height and width.
ORIGINAL_SIZE = "original_size"


def change_images(sample: Sample, change: Callable[[Array], Array]) -> Sample:
    """The sample with its images changed: image files and arrays; anything else stays as it is."""
    if not any(has_image(value) for value in sample.values):
        raise BadInput(
            "the sample has neither an image file nor an array", do="give .jpg, .png or .npy files"
        )
    facts: dict[str, Any] = {}
    values = list(sample.values)
    for place, value in enumerate(values):
        if has_image(value):
            image = take_image(value)
            facts.setdefault(ORIGINAL_SIZE, find_size(image))
            values[place] = change(image)
    return sample.make_next(values, **{**facts, **sample.facts})


def take_image(value: Value) -> Array:
    """Height, width and three channels of a file's pixels; arrays are themselves."""
    if isinstance(value, Path) and value.suffix != ".npy":
        return read_colours(value)
    image = read_numpy_array(value) if isinstance(value, Path) else np.asarray(value)
    if image.dtype.kind not in "iufb" or image.ndim > 4 or not image.size:
        raise BadInput(
            f"an image is {image.dtype} {list(image.shape)}, expected numbers of height, width and channels"
        )
    plain = image.astype(np.uint8) if image.dtype.kind == "b" else image
    return plain[..., None] if plain.ndim == 2 else plain


def take_colours(image: Array) -> Array:
    """Height, width and three channels, which a grey image repeats."""
    plain = image[0] if image.ndim == 4 and len(image) == 1 else image
    if plain.ndim != 3 or plain.shape[-1] not in {1, 3}:
        raise ShapeMismatch(f"an image has the shape {list(image.shape)}, expected HWC with 3 channels or 1")
    return plain if plain.shape[-1] == 3 else plain.repeat(3, -1)


def find_size(image: Array) -> tuple[int, int]:
    """Height and width of an array, whose channels are last."""
    if image.ndim < 3 or 0 in image.shape:
        raise BadInput(f"an image has the shape {list(image.shape)}, expected height, width and channels")
    plain = image[0] if image.ndim == 4 else image
    return int(plain.shape[0]), int(plain.shape[1])


def has_image(value: Value) -> bool:
    if isinstance(value, Path):
        return is_image(value) or value.suffix == ".npy"
    return isinstance(value, np.ndarray)
