"""Resizing along one axis: where each output element looks, and how much each input element weighs."""

from collections.abc import Callable
from enum import IntEnum

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array

Weights = Callable[[Array], Array]


class Transformation(IntEnum):
    """How an output coordinate becomes an input coordinate."""

    HALF_PIXEL = 0
    PYTORCH_HALF_PIXEL = 1
    ALIGN_CORNERS = 2
    ASYMMETRIC = 3


class Interpolation(IntEnum):
    """How values between elements are made."""

    NEAREST = 0
    LINEAR = 1
    CUBIC = 2


class Nearest(IntEnum):
    """Which element is nearest."""

    ROUND_PREFER_FLOOR = 0
    ROUND_PREFER_CEIL = 1
    FLOOR = 2
    CEIL = 3


def positions(length: int, wanted: int, mode: Transformation, scale: float | None = None) -> Array:
    """The input coordinate of each output element; the scale is that of the sizes where none is given.

    In float32, as engines compute it: a coordinate that lies just beside a half rounds as theirs does.
    """
    if not length:
        raise ShapeMismatch(
            f"an axis of no elements is resized to {wanted}", do="resize axes that have elements"
        )
    x = np.arange(wanted, dtype=np.float32)
    factor = np.float32(wanted / length if scale is None else scale)
    if mode == Transformation.ALIGN_CORNERS:
        # ONNX measures with the size before it was cut to whole elements where a scale says it.
        resized = wanted if scale is None or wanted == 1 else float(factor) * length
        return x * np.float32(length - 1) / np.float32(max(resized - 1, 1))
    if mode == Transformation.ASYMMETRIC:
        return x / factor
    if mode == Transformation.PYTORCH_HALF_PIXEL and wanted == 1:
        return np.zeros(1, np.float32)
    half = np.float32(0.5)
    return (x + half) / factor - half


def nearest_places(at: Array, mode: Nearest, length: int) -> Array:
    """The element that each coordinate takes."""
    rounded = {
        Nearest.ROUND_PREFER_FLOOR: lambda: np.ceil(at - 0.5),
        Nearest.ROUND_PREFER_CEIL: lambda: np.floor(at + 0.5),
        Nearest.FLOOR: lambda: np.floor(at),
        Nearest.CEIL: lambda: np.ceil(at),
    }[mode]()
    places: Array = np.clip(rounded.astype(np.int64), 0, length - 1)
    return places


def linear_weights(distance: Array) -> Array:
    """The triangle."""
    triangle: Array = np.maximum(0, 1 - np.abs(distance))
    return triangle


def cubic_weights(distance: Array, coefficient: float) -> Array:
    """Keys' cubic."""
    a, d = coefficient, np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def antialias_weights(weights: Weights, scale: float) -> tuple[Weights, float]:
    """The filter stretched for a scale below 1, and how much wider it is."""
    factor = min(float(scale), 1.0)
    return (lambda distance: weights(distance * factor)), 1 / factor


def weight_matrix(
    at: Array, length: int, weights: Weights, reach: float, *, exclude_outside: bool = False
) -> Array:
    """A matrix [outputs, inputs] that interpolates at the coordinates with a filter of the given reach.

    Elements outside are those at the edge, unless they are excluded.
    """
    taps = np.arange(int(np.floor(-reach)) + 1, int(np.ceil(reach)) + 1)
    base = np.ceil(at.astype(np.float64)) - 1
    places = base[:, None] + taps
    parts = weights(places - at[:, None])
    if exclude_outside:
        parts = np.where((places >= 0) & (places < length), parts, 0)
    parts = parts / parts.sum(1, keepdims=True)
    matrix = np.zeros((len(at), length))
    rows = np.broadcast_to(np.arange(len(at))[:, None], places.shape)
    np.add.at(matrix, (rows, np.clip(places, 0, length - 1).astype(np.int64)), parts)
    return matrix
