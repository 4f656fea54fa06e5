"""Images in another size, by the rules of the libraries that models were trained with."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.core.optional import require

OPENCV, PILLOW, TORCHVISION, TENSORFLOW = "opencv", "pillow", "torchvision", "tensorflow"
# Which interpolations each library has, its default first.
INTERPOLATIONS = {
    OPENCV: ("bilinear", "area", "nearest"),
    PILLOW: ("bicubic", "bilinear", "nearest", "box", "hamming", "lanczos"),
    TORCHVISION: ("bilinear", "nearest", "bicubic"),
    TENSORFLOW: ("bilinear", "nearest"),
}
# Of PIL.Image.Resampling; the numbers are part of Pillow's interface.
PILLOW_NUMBERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
# OpenCV's weights of bytes are whole numbers of this many parts.
PARTS = 2048


def resize_image(image: Array, size: tuple[int, int], library: str, interpolation: str | None) -> Array:
    """An image (height, width, channels), or several, in another height and width; of its own type."""
    known = INTERPOLATIONS[library]
    kind = interpolation or known[0]
    if kind not in known:
        raise UsageError(
            f"the library {library} has no interpolation '{kind}', it has {', '.join(known)}",
            do="set 'interp' to one of these, or 'library' to another",
        )
    if image.ndim == 4:
        return np.stack([resize_image(each, size, library, kind) for each in image])
    if library in {PILLOW, TORCHVISION}:
        return _resize_with_pillow(image, size, PILLOW_NUMBERS[kind])
    if library == TENSORFLOW:
        values = image.astype(np.float32)
        return _take_nearest(values, size, 0.5) if kind == "nearest" else _mix(values, size, _find_linear)
    return _resize_like_opencv(image, size, kind)


def _resize_like_opencv(image: Array, size: tuple[int, int], kind: str) -> Array:
    """The same numbers as OpenCV 5.0, whose way of rounding bytes is its own."""
    if kind == "nearest":
        return _take_nearest(image, size, 0.0)
    if kind == "area" and size[0] <= image.shape[0] and size[1] <= image.shape[1]:
        return _average(image, size)
    find = _find_linear if kind == "bilinear" else _find_enlarged_area
    if image.dtype == np.uint8:
        return _mix_bytes(image, size, find)
    return _fit_type(_mix(image, size, find), image.dtype)


def _resize_with_pillow(image: Array, size: tuple[int, int], kind: int) -> Array:
    """Bytes as an image of three channels, real numbers channel by channel; both smooth what they shrink."""
    pillow = require("PIL.Image", to="resize images")
    target = (size[1], size[0])
    if image.dtype == np.uint8 and image.shape[2] == 3:
        pixels: Array = np.asarray(pillow.fromarray(np.ascontiguousarray(image)).resize(target, kind))
        return pixels
    channels = [
        np.asarray(pillow.fromarray(np.ascontiguousarray(image[..., c], np.float32)).resize(target, kind))
        for c in range(image.shape[2])
    ]
    return _fit_type(np.stack(channels, -1), image.dtype)


def _take_nearest(image: Array, size: tuple[int, int], center: float) -> Array:
    rows, columns = (
        np.minimum(np.floor((np.arange(new) + center) * (old / new)).astype(np.int64), old - 1)
        for old, new in zip(image.shape, size, strict=False)
    )
    return np.asarray(image[rows][:, columns])


@dataclass(frozen=True)
class _Neighbours:
    """Two old places for each new one, and how much the second counts."""

    first: Array
    second: Array
    share: Array


Find = Callable[[int, int], _Neighbours]


def _mix(image: Array, size: tuple[int, int], find: Find) -> Array:
    """Two neighbours along each axis, weighed."""
    down, across = find(image.shape[0], size[0]), find(image.shape[1], size[1])
    values = image.astype(np.float64)
    share = down.share[:, None, None]
    rows = values[down.first] * (1 - share) + values[down.second] * share
    share = across.share[None, :, None]
    mixed = rows[:, across.first] * (1 - share) + rows[:, across.second] * share
    return np.asarray(mixed, np.float32)


def _mix_bytes(image: Array, size: tuple[int, int], find: Find) -> Array:
    """The same in OpenCV's arithmetic of whole numbers."""
    down, across = find(image.shape[0], size[0]), find(image.shape[1], size[1])
    values = image.astype(np.int64)
    first, second = (weights[None, :, None] for weights in _weigh_in_parts(across))
    mixed = values[:, across.first] * first + values[:, across.second] * second
    # Each of two rows is cut on its own: first 4 bits, after its weight 16, 2 at the end, rounded.
    first, second = (weights[:, None, None] for weights in _weigh_in_parts(down))
    parts = ((mixed[down.first] >> 4) * first >> 16) + ((mixed[down.second] >> 4) * second >> 16)
    return np.asarray(np.clip((parts + 2) >> 2, 0, 255), np.uint8)


def _weigh_in_parts(neighbours: _Neighbours) -> tuple[Array, Array]:
    shares = neighbours.share.astype(np.float32)
    first, second = (np.rint(share * np.float32(PARTS)).astype(np.int64) for share in (1 - shares, shares))
    return first, second


def _find_linear(old: int, new: int) -> _Neighbours:
    """Middles of pixels are at halves; beyond the ends the last pixel counts twice."""
    places = (np.arange(new) + 0.5) * (old / new) - 0.5
    first = np.floor(places).astype(np.int64)
    return _Neighbours(np.clip(first, 0, old - 1), np.clip(first + 1, 0, old - 1), places - first)


def _find_enlarged_area(old: int, new: int) -> _Neighbours:
    """OpenCV's area where an image grows: a neighbour counts as far as a new pixel reaches into it."""
    first = np.floor(np.arange(new) * (old / new)).astype(np.int64)
    reach = (np.arange(new) + 1) - (first + 1) * (new / old)
    share = np.where(reach <= 0, 0.0, reach - np.floor(reach))
    return _Neighbours(first, np.minimum(first + 1, old - 1), share)


def _average(image: Array, size: tuple[int, int]) -> Array:
    """The mean of what each new pixel covers."""
    down, across = _weigh_area(image.shape[0], size[0]), _weigh_area(image.shape[1], size[1])
    mixed = np.tensordot(down, image.astype(np.float64), (1, 0))
    mixed = np.tensordot(across, mixed, (1, 1)).transpose(1, 0, 2)
    if image.dtype == np.uint8 and image.shape[:2] == (2 * size[0], 2 * size[1]):
        # OpenCV's own way for this factor rounds halves up.
        return np.floor(mixed + 0.5).astype(np.uint8)
    return _fit_type(mixed.astype(np.float32), image.dtype)


def _weigh_area(old: int, new: int) -> Array:
    """The part of each old pixel that a new one covers."""
    edges = np.arange(new + 1) * (old / new)
    lows, highs = edges[:-1, None], edges[1:, None]
    covered = np.minimum(highs, np.arange(1, old + 1)) - np.maximum(lows, np.arange(old))
    return np.asarray(np.maximum(covered, 0) * (new / old))


def _fit_type(values: Array, dtype: np.dtype[np.generic]) -> Array:
    """Real numbers stay; whole ones are rounded within their limits."""
    if dtype.kind == "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype.name)
    return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)
