"""Images in samples: read as they are, and what a function makes of each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.data.images import is_image
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
    values = [change(take_image(value)) if has_image(value) else value for value in sample.values]
    if ORIGINAL_SIZE not in sample.facts:
        first = next(value for value in sample.values if has_image(value))
        facts[ORIGINAL_SIZE] = measure_image(first)
    return sample.make_next(values, **facts)


def take_image(value: Value) -> Array:
    """Height, width and three channels of a file's pixels; arrays are themselves."""
    if not isinstance(value, Path):
        return np.asarray(value)
    if value.suffix == ".npy":
        from edgewright.data.numpy_files import read_numpy_array

        return read_numpy_array(value)
    with_pillow = require("PIL.Image", to="read images")
    measure_file(value)
    damage = (OSError, SyntaxError, ValueError, EOFError, IndexError, with_pillow.DecompressionBombError)
    try:
        with with_pillow.open(value) as image:
            return np.asarray(image.convert("RGB"))
    except damage as problem:
        raise BadInput(
            f"the file is no readable image: {shown(problem)}",
            Where(file=str(value)),
            do="write it again, or take it out of the input list",
        ) from None


def measure_image(value: Value) -> tuple[int, int]:
    """Height and width."""
    if not isinstance(value, Path) or value.suffix == ".npy":
        return find_size(take_image(value))
    with_pillow = require("PIL.Image", to="read images")
    with with_pillow.open(value) as image:
        return int(image.height), int(image.width)


def find_size(image: Array) -> tuple[int, int]:
    """Height and width of an array, whose channels are last."""
    if image.ndim < 2 or 0 in image.shape:
        raise BadInput(f"an image has the shape {list(image.shape)}, expected height, width and channels")
    plain = image[0] if image.ndim == 4 else image
    return int(plain.shape[0]), int(plain.shape[1])


def has_image(value: Value) -> bool:
    if isinstance(value, Path):
        return is_image(value) or value.suffix == ".npy"
    return isinstance(value, np.ndarray)
