"""Pictures of a tensor beside its golden one, drawn by matplotlib."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.sdk.debugger.tensor_inspection import InspectedTensor

BINS, POINTS = 128, 2000
GOLDEN, TARGET = "tab:orange", "tab:blue"


class TensorPlots:
    """Draws a tensor's histograms, its distribution, its differences and the range of its encoding."""

    def __init__(self) -> None:
        """Fails where matplotlib is not installed."""
        self._figure: Any = require("matplotlib.figure", to="draw tensors").Figure

    def __call__(self, tensor: InspectedTensor) -> dict[str, bytes]:
        """Files by name."""
        parts: dict[str, Callable[[Any, InspectedTensor], None]] = {
            "Histograms.png": _draw_histograms,
            "CDF_plots.png": _draw_cumulated,
            "Diff_plots.png": _draw_differences,
        }
        if tensor.calibrated is not None:
            parts["Distribution_min-max.png"] = _draw_density
        return {name: self._draw(part, tensor) for name, part in parts.items()}

    def _draw(self, part: Callable[[Any, InspectedTensor], None], tensor: InspectedTensor) -> bytes:
        figure = self._figure(figsize=(8, 4.5), dpi=100)
        axes = figure.subplots()
        # A dollar sign would start a formula.
        axes.set_title(tensor.name.replace("$", r"\$")[:100], fontsize=9)
        part(axes, tensor)
        axes.legend(loc="best", fontsize=8)
        figure.tight_layout()
        buffer = BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})
        return buffer.getvalue()


def _draw_histograms(axes: Any, tensor: InspectedTensor) -> None:
    golden, target = _take_finite(tensor.golden), _take_finite(tensor.target)
    edges = np.histogram_bin_edges(np.concatenate([golden, target]), BINS)
    axes.hist(golden, edges, color=GOLDEN, alpha=0.6, label="golden")
    axes.hist(target, edges, color=TARGET, alpha=0.6, label="target")
    axes.set_xlabel("value")
    axes.set_ylabel("elements")


def _draw_cumulated(axes: Any, tensor: InspectedTensor) -> None:
    for array, colour, label in ((tensor.golden, GOLDEN, "golden"), (tensor.target, TARGET, "target")):
        values = np.sort(_take_finite(array))
        chosen = np.unique(np.linspace(0, len(values) - 1, POINTS).astype(int))
        axes.plot(values[chosen], (chosen + 1) / len(values), color=colour, label=label)
    axes.set_xlabel("value")
    axes.set_ylabel("share of elements up to it")


def _draw_differences(axes: Any, tensor: InspectedTensor) -> None:
    golden, target = (array.reshape(-1).astype(np.float64) for array in (tensor.golden, tensor.target))
    chosen = np.unique(np.linspace(0, len(golden) - 1, POINTS).astype(int))
    axes.scatter(golden[chosen], target[chosen] - golden[chosen], s=4, color=TARGET, label="target - golden")
    axes.axhline(0.0, color="grey", linewidth=0.8)
    axes.set_xlabel("golden value")
    axes.set_ylabel("difference")


def _draw_density(axes: Any, tensor: InspectedTensor) -> None:
    values = _take_finite(tensor.target)
    places, density = _estimate_density(values)
    axes.plot(places, density, color=TARGET, label="target density")
    low, high = tensor.calibrated or (0.0, 0.0)
    for place, colour, label in (
        (float(values.min()), TARGET, "target min"),
        (float(values.max()), TARGET, "target max"),
        (low, GOLDEN, "calibrated min"),
        (high, GOLDEN, "calibrated max"),
    ):
        axes.axvline(place, color=colour, linestyle="--", linewidth=1, label=f"{label} {place:.4g}")
    axes.set_xlabel("value")
    axes.set_ylabel("density")


def _take_finite(array: Array) -> Array:
    values = array.reshape(-1).astype(np.float64)
    finite = values[np.isfinite(values)]
    return finite if finite.size else np.zeros(1)


def _estimate_density(values: Array) -> tuple[Array, Array]:
    """A Gaussian kernel over a fine histogram, as wide as Silverman's rule says."""
    counts, edges = np.histogram(values, 512)
    places, step = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    width = 1.06 * float(values.std()) * len(values) ** -0.2 or step
    reach = np.arange(-255, 256) * step
    kernel = np.exp(-0.5 * (reach / max(width, step)) ** 2)
    smooth = np.convolve(counts, kernel / kernel.sum(), mode="same")
    return places, smooth / (len(values) * step)
