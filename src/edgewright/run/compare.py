"""How far results are from a reference."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import ShapeMismatch, Where
from edgewright.core.numbers import Array


@dataclass(frozen=True)
class TensorError:
    """The error of one tensor; ``share`` is the largest difference divided by the range of the reference."""

    tensor: str
    max_abs: float
    share: float
    sqnr_db: float
    is_close: bool


def compare_tensors(
    outputs: Mapping[str, Array], references: Mapping[str, Array], tolerance: float
) -> list[TensorError]:
    """The error of each tensor of the reference."""
    return [_measure_error(name, outputs[name], array, tolerance) for name, array in references.items()]


def keep_worst_errors(errors: Iterable[TensorError]) -> list[TensorError]:
    """The largest error of each tensor."""
    worst_by_tensor: dict[str, TensorError] = {}
    for error in errors:
        if error.tensor not in worst_by_tensor or error.share > worst_by_tensor[error.tensor].share:
            worst_by_tensor[error.tensor] = error
    return list(worst_by_tensor.values())


def _measure_error(name: str, output: Array, reference: Array, tolerance: float) -> TensorError:
    if output.shape != reference.shape:
        raise ShapeMismatch(
            f"the result has the shape {list(output.shape)}, the reference {list(reference.shape)}",
            Where(tensor=name),
        )
    if reference.dtype == object or reference.dtype.kind in "US":
        is_same = bool(np.array_equal(output, reference))
        return TensorError(name, 0.0 if is_same else np.inf, 0.0 if is_same else np.inf, np.inf, is_same)
    with np.errstate(all="ignore"):
        a, b = output.astype(np.float64), reference.astype(np.float64)
        # Equal infinities and equal not-a-numbers are equal.
        gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        # A number is infinitely far from not-a-number.
        largest = float(np.max(np.nan_to_num(gap, nan=np.inf), initial=0.0))
        finite = b[np.isfinite(b)]
        width = float(finite.max() - finite.min()) if finite.size > 1 else 0.0
        scale = width or float(np.max(np.abs(finite), initial=0.0)) or 1.0
        share = largest / scale
        noise = float(np.sum(gap**2))
        sqnr = 10 * np.log10(float(np.sum(finite**2)) / noise) if noise else np.inf
    return TensorError(name, largest, share, float(sqnr), share <= tolerance)
