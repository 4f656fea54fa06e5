"""LayerNorm of 16 bits, as HTP rounds it: a factor of 16 bits for each row, whole weights of 15 bits."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from edgewright.backends.htp.library_op import LibraryOp, decode_stored
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ops.norm import LayerNorm

# The largest weight of a row, and what stands for one of its steps' factor.
LARGEST_WEIGHT, WEIGHT_ONE = 0x7FFF, 1 << 15
FACTOR_BITS = 16
# Means are float32, one more than what their bits hold.
MEAN_BITS = 24
LAST = (1 << 16) - 1
TINY = float(np.finfo(np.float32).tiny)


def normalize_wide(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Distances from the mean, times the factor of the row and the weight, plus a whole number of steps."""
    norm, x, y = cast("LayerNorm", op.op), op.given[0].encoding, op.made[0].encoding
    assert x is not None
    assert y is not None
    weights, bias = (
        _spread(decode_stored(array, kind), norm.axes, arrays[0].ndim)
        for array, kind in zip(arrays[1:], op.given[1:], strict=True)
    )
    step = max(float(np.abs(weights).max(initial=0.0)), TINY) / LARGEST_WEIGHT
    whole, added = np.rint(weights / step) / WEIGHT_ONE, np.rint(bias / y.scales[0]) + 0.5
    stored = arrays[0].astype(np.float64)
    factor = _find_factor(stored, norm, x, step * WEIGHT_ONE / y.scales[0])
    steps = np.floor((stored - _find_mean(stored, norm.axes)) * (factor * whole) + added)
    return [np.clip(steps - y.offsets[0], 0, LAST)]


def _find_factor(stored: Array, norm: LayerNorm, x: Encoding, scale: float) -> Array:
    """One over the root of each row's variance, times a scale, to 16 bits."""
    variance = stored.var(axis=norm.axes, keepdims=True) * x.scales[0] ** 2 + norm.epsilon
    exact = x.scales[0] * scale / np.sqrt(np.maximum(variance, TINY))
    unit = np.exp2(np.floor(np.log2(exact)) - FACTOR_BITS + 1)
    return np.asarray(np.rint(exact / unit) * unit)


def _find_mean(stored: Array, axes: tuple[int, ...]) -> Array:
    """The float32 behind the mean of each row: the library's is one unit larger than what it is cut to."""
    mean = stored.mean(axis=axes, keepdims=True)
    unit = np.exp2(np.floor(np.log2(np.maximum(mean, 1.0))) - MEAN_BITS + 1)
    return np.asarray((np.floor(mean / unit) + 1) * unit)


def _spread(numbers: Array, axes: tuple[int, ...], rank: int) -> Array:
    """Numbers of the normalized axes in the rank of the input."""
    shape = [1] * rank
    for axis, length in zip(axes, numbers.shape, strict=True):
        shape[axis] = length
    return numbers.astype(np.float64).reshape(shape)
