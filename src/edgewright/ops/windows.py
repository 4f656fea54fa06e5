"""Sliding windows: output sizes, and a view of the input's windows for reference computations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from edgewright.core.errors import LimitExceeded, ShapeMismatch
from edgewright.core.numbers import Array
from edgewright.ir.dims import Dim, ceil_div, element_count, maximum
from edgewright.ir.types import TensorType

Pair = tuple[int, ...]
# Amounts of padding may be symbolic: "same" padding of a strided window depends on the size.
Pairs = tuple[tuple[Dim, Dim], ...]

LARGEST_COUNT = 1 << 32
# Of one window, stride, dilation or side of padding: a window over minutes of sound is far below.
LARGEST_STEP = 1 << 24


@dataclass(frozen=True)
class Geometry:
    """How windows slide, one entry for each spatial axis."""

    stride: Pair
    pads: Pairs
    dilation: Pair
    group: int = 1


def output_size(size: Dim, window: int, stride: int, pads: tuple[Dim, Dim], *, is_ceil: bool = False) -> Dim:
    """Number of windows along one axis (``window`` counts dilation).

    Rounded up, a last window that would start in the padding behind the data is left out.
    """
    room = size + pads[0] + pads[1] - window
    if isinstance(room, int) and room < 0:
        raise ShapeMismatch(
            f"window {window} is larger than the padded axis ({room + window})",
            do="lower the window or raise the padding",
        )
    if not is_ceil:
        return room // stride + 1
    count, starts = ceil_div(room, stride) + 1, ceil_div(size + pads[0], stride)
    if isinstance(pads[1], int) and pads[1] + stride <= window:
        return count
    return count + starts - maximum(count, starts)


def make_same_pads(
    spatial: Sequence[Dim], reach: Sequence[int], stride: Sequence[int], *, is_upper: bool
) -> Pairs:
    """Padding that makes ceil(size / stride) windows; an odd element of it stands behind, or before."""
    totals = [
        maximum(0, (ceil_div(size, step) - 1) * step + window - size)
        for size, window, step in zip(spatial, reach, stride, strict=True)
    ]
    halves = [(total // 2, total - total // 2) for total in totals]
    return tuple(halves if is_upper else [(large, small) for small, large in halves])


def check_geometry(x: TensorType, window: Sequence[int], geometry: Geometry) -> None:
    """Refuses windows that do not slide: wrong lengths, strides below 1, negative padding."""
    axes = x.rank - 2
    lists = (window, geometry.stride, geometry.dilation, geometry.pads)
    if axes < 1 or any(len(item) != axes for item in lists):
        raise ShapeMismatch(
            f"windows of {len(window)} axes (strides {list(geometry.stride)}, dilations "
            f"{list(geometry.dilation)}, pads {list(geometry.pads)}) do not fit {x}",
            do="give one window size, stride, dilation and pair of pads for each spatial axis",
        )
    _check_least(1, "window", window)
    _check_least(1, "stride", geometry.stride)
    _check_least(1, "dilation", geometry.dilation)
    _check_least(1, "group", [geometry.group])
    sides = [side for pair in geometry.pads for side in pair]
    _check_least(0, "padding", sides)
    for what, numbers in (("window", window), ("stride", geometry.stride), ("dilation", geometry.dilation)):
        _check_most(LARGEST_STEP, what, numbers)
    _check_most(LARGEST_STEP, "padding", sides)


def fixed_dims(dims: Sequence[Dim], of: str) -> tuple[int, ...]:
    """Dimensions that must be numbers, such as a filter's."""
    if any(not isinstance(dim, int) for dim in dims):
        raise ShapeMismatch(
            f"{of} have the symbolic shape [{','.join(str(dim) for dim in dims)}], expected numbers",
            do="fix the dimensions",
        )
    return tuple(int(dim) for dim in dims)


def spatial_sizes(
    x: TensorType, window: Sequence[int], geometry: Geometry, *, is_ceil: bool = False
) -> list[Dim]:
    """Number of windows along each spatial axis of a channel-last input."""
    check_geometry(x, window, geometry)
    reach = [(size - 1) * step + 1 for size, step in zip(window, geometry.dilation, strict=True)]
    sizes = [
        output_size(size, reach[axis], geometry.stride[axis], geometry.pads[axis], is_ceil=is_ceil)
        for axis, size in enumerate(x.shape[1:-1])
    ]
    check_count(sizes)
    # What windows slide over must be possible too, however few of them there are.
    check_count([size + sum(pair) for size, pair in zip(x.shape[1:-1], geometry.pads, strict=True)])
    return sizes


def check_count(sizes: Sequence[Dim]) -> None:
    """Refuses sizes that no machine can hold: a few bytes of padding or stride can ask for them."""
    count = element_count(sizes)
    if isinstance(count, int) and count > LARGEST_COUNT:
        raise LimitExceeded(
            f"sizes {list(sizes)} make {count} elements, expected at most {LARGEST_COUNT}",
            do="lower the padding, the stride or the scale",
        )


def padded(array: Array, pads: Sequence[tuple[Dim, Dim]], value: float) -> Array:
    """The array with its spatial axes (all but the first and last) padded."""
    amounts = [(int(before), int(after)) for before, after in pads]
    return np.pad(array, [(0, 0), *amounts, (0, 0)], constant_values=value)


def windows(
    array: Array, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int], count: Sequence[int]
) -> Array:
    """A view [batch, *count, *size, channel] of a padded channel-last array."""
    step = array.strides
    spatial = range(1, array.ndim - 1)
    moves = tuple(step[axis] * stride[axis - 1] for axis in spatial)
    inside = tuple(step[axis] * dilation[axis - 1] for axis in spatial)
    shape = (array.shape[0], *count, *size, array.shape[-1])
    return as_strided(array, shape, (step[0], *moves, *inside, step[-1]), writeable=False)


def _check_most(most: int, what: str, numbers: Sequence[Dim]) -> None:
    if any(isinstance(number, int) and number > most for number in numbers):
        raise LimitExceeded(
            f"{what} {list(numbers)} is above {most}", do=f"use at most {most}, or export the model again"
        )


def _check_least(least: int, what: str, numbers: Sequence[Dim]) -> None:
    if any(isinstance(number, int) and number < least for number in numbers):
        raise ShapeMismatch(f"{what} {list(numbers)} is below {least}", do=f"use at least {least}")
