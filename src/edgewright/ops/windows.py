"""Sliding windows: output sizes, and a view of the input's windows for reference computations."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array
from edgewright.ir.dims import Dim, ceil_div

__all__ = ["Pair", "Pairs", "output_size", "padded", "windows"]

Pair = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


def output_size(size: Dim, window: int, stride: int, pads: tuple[int, int], *, is_ceil: bool = False) -> Dim:
    """Number of windows along one axis (``window`` counts dilation)."""
    room = size + (pads[0] + pads[1] - window)
    if isinstance(room, int) and room < 0:
        raise ShapeMismatch(
            f"window {window} is larger than the padded axis ({room + window})",
            do="lower the window or raise the padding",
        )
    if stride < 1:
        raise ShapeMismatch(f"stride {stride} is not positive", do="use a stride of at least 1")
    return (ceil_div(room, stride) if is_ceil else room // stride) + 1


def padded(array: Array, pads: Sequence[tuple[int, int]], value: float) -> Array:
    """The array with its spatial axes (all but the first and last) padded."""
    return np.pad(array, [(0, 0), *pads, (0, 0)], constant_values=value)


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
