"""How the elements of a weight are distributed, as a whole and channel by channel."""

from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.view.records import ViewTensor

BINS = 48
MOST_CHANNELS = 512
# Larger tensors are sampled evenly: a picture of 48 bars does not show more.
_MOST_ELEMENTS = 1 << 24


def summarise(tensor: ViewTensor) -> dict[str, Any]:
    """Counts, range and moments of the real numbers behind a tensor, and the range of each channel."""
    if tensor.load is None:
        assert tensor.values is not None
        return tensor.values
    stored = tensor.load()
    if stored.dtype.kind not in "biuf" and stored.dtype.kind != "V":
        return {"count": int(stored.size), "text": f"{stored.dtype} has no histogram"}
    summary = summarise_array(_decode(tensor, stored))
    if "text" in summary:
        return summary
    return {**summary, "count": int(stored.size), "channels": _summarise_channels(tensor, stored)}


def summarise_array(real: Array) -> dict[str, Any]:
    """The same of an array as a whole."""
    finite = np.asarray(real, np.float64)[np.isfinite(real)]
    if not finite.size:
        return {"count": int(real.size), "text": "no finite elements"}
    low, high = float(finite.min()), float(finite.max())
    # Squares of the largest numbers have no number.
    unit = max(abs(low), abs(high)) or 1.0
    return {
        "count": int(real.size),
        "counts": _count(finite, (low, high), BINS),
        "min": low,
        "max": high,
        "mean": float((finite / unit).mean() * unit),
        "std": float((finite / unit).std() * unit),
        "zeros": int(np.count_nonzero(finite == 0)),
        "notFinite": int(real.size - finite.size),
    }


def round_number(value: float) -> float:
    """Seven digits: what single precision holds."""
    return float(f"{value:.7g}")


def _decode(tensor: ViewTensor, stored: Array) -> Array:
    if tensor.encoding is not None and stored.dtype.kind in "iu":
        return tensor.encoding.decode(stored)
    step = max(1, -(-stored.size // _MOST_ELEMENTS))
    flat = stored.reshape(-1)[::step] if step > 1 else stored
    real: Array = flat.astype(np.float64)
    return real


def _summarise_channels(tensor: ViewTensor, stored: Array) -> dict[str, Any] | None:
    """The lowest and highest element of each channel; None where there are no channels, or too many."""
    axis = tensor.channel_axis if tensor.encoding is None else tensor.encoding.axis
    if axis is None:
        axis = tensor.channel_axis
    if stored.ndim < 2 or not 1 < stored.shape[axis] <= MOST_CHANNELS or stored.size > _MOST_ELEMENTS:
        return None
    rows = np.moveaxis(_decode(tensor, stored), axis, 0).reshape(stored.shape[axis], -1)
    low, high = np.nan_to_num(rows.min(1)), np.nan_to_num(rows.max(1))
    span = (float(low.min()), float(high.max()))
    return {
        "axis": axis % stored.ndim,
        "low": [round_number(value) for value in low],
        "high": [round_number(value) for value in high],
        # Each row of the picture: how the channel's elements spread over the range of all.
        "counts": [_count(row, span, BINS // 2) for row in rows] if len(rows) <= 128 else None,
    }


def _count(values: Array, span: tuple[float, float], bins: int) -> list[int]:
    """How many values fall into each of so many equal parts of a span."""
    # Halves: the distance between the largest and the smallest number has none.
    low, half = span[0] / 2, span[1] / 2 - span[0] / 2
    if not half > 0:
        return [int(values.size) if place == bins // 2 else 0 for place in range(bins)]
    places = np.clip((values / 2 - low) / half * bins, 0, bins - 1)
    counts: list[int] = np.bincount(places.astype(np.intp).reshape(-1), minlength=bins).tolist()
    return counts
