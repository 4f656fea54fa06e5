"""How a tensor is compared with what its encoding leaves of it: one declaration for each algorithm."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgewright.analyse.noise import Noise
from edgewright.core.numbers import Array
from edgewright.quantize.encodings import SMALLEST_RANGE

# Values are sorted for a median and counted for a mode: of large tensors, evenly chosen ones.
MOST_SORTED = 1 << 16
# Where no threshold is given.
RANGE_SHARE, NOISE_DB, LEVEL_SHARE, MOST_SKEW = 0.1, 26.0, 0.6, 2.0


@dataclass(frozen=True)
class Stored:
    """A float tensor, the stored integers, what they stand for, and the bits that they have."""

    real: Array
    codes: Array
    decoded: Array
    bits: int


@dataclass(frozen=True)
class Outcome:
    """Whether a tensor passes, and the figures as the guide writes them."""

    is_passed: bool
    text: str


@dataclass(frozen=True)
class Algorithm:
    """One algorithm: the column of the page, what it tells, its threshold, and how it is computed."""

    name: str
    title: str
    meaning: str
    # Where no threshold is given, in words; those of the guide are absolute, these follow the data.
    default: str
    judge: Callable[[Stored, float | None], Outcome]
    # Whether a tensor that fails it fails as a whole.
    is_decisive: bool = True


def _judge_ends(stored: Stored, threshold: float | None) -> Outcome:
    low = abs(float(stored.real.min()) - float(stored.decoded.min()))
    high = abs(float(stored.real.max()) - float(stored.decoded.max()))
    limit = _find_limit(stored) if threshold is None else threshold
    return Outcome(max(low, high) <= limit, f"min: {low:.9g} max: {high:.9g}")


def _judge_largest(stored: Stored, threshold: float | None) -> Outcome:
    gap = float(np.abs(stored.real - stored.decoded).max())
    limit = _find_limit(stored) if threshold is None else threshold
    return Outcome(gap <= limit, f"{gap:.9g}")


def _find_limit(stored: Stored) -> float:
    """A part of the range, which rounding alone cannot reach; nothing is smaller than QNN's least range."""
    spread = float(stored.real.max()) - float(stored.real.min())
    return max(RANGE_SHARE * spread, SMALLEST_RANGE)


def _judge_noise(stored: Stored, threshold: float | None) -> Outcome:
    noise = Noise()
    noise.add(stored.real, stored.decoded)
    decibels = noise.sqnr_db()
    # A tensor of zeros has nothing that could be lost.
    least = NOISE_DB if threshold is None else threshold
    return Outcome(decibels is None or decibels >= least, "N/A" if decibels is None else f"{decibels:.6g}")


def _judge_range(stored: Stored, threshold: float | None) -> Outcome:
    spread = float(stored.real.max()) - float(stored.real.min())
    step = spread / ((1 << stored.bits) - 1)
    places = max(math.ceil(-math.log10(step)), 0) if step > 0 else 0
    limit = float(stored.real.std()) if threshold is None else threshold
    return Outcome(step <= limit, f"unique dec places: {places} data range: {spread:.9g}")


def _judge_clusters(stored: Stored, threshold: float | None) -> Outcome:
    """The share of different values that lie in levels which hold more than the threshold of them."""
    share = LEVEL_SHARE if threshold is None else threshold
    values, places = np.unique(_choose_some(stored.real), return_index=True)
    codes = _choose_some(stored.codes)[places]
    _, counts = np.unique(codes, return_counts=True)
    crowded = counts[counts > share * max(len(values), 1)].sum() if len(values) > 1 else 0
    above = float(crowded) / max(len(values), 1)
    return Outcome(above == 0.0, f"Distribution of pixels above threshold: {above:.6g}")


def _judge_statistics(stored: Stored, threshold: float | None) -> Outcome:
    some = _choose_some(stored.real).astype(np.float64)
    mean, deviation = float(some.mean()), float(some.std())
    skew = float(((some - mean) ** 3).mean() / deviation**3) if deviation > 0 else 0.0
    values, counts = np.unique(some, return_counts=True)
    figures = {
        "skew": skew,
        "min": float(stored.real.min()),
        "max": float(stored.real.max()),
        "median": float(np.median(some)),
        "variance": deviation**2,
        "stdDev": deviation,
        "mode": float(values[counts.argmax()]),
    }
    text = " ".join(f"{name}: {figure:.6g}" for name, figure in figures.items())
    return Outcome(abs(skew) <= (MOST_SKEW if threshold is None else threshold), text)


def _choose_some(array: Array) -> Array:
    flat = array.reshape(-1)
    return flat[:: max(flat.size // MOST_SORTED, 1)]


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "stats",
            "Symmetry",
            "Indicates whether the data is symmetric or not.",
            "a skew of 2",
            _judge_statistics,
            is_decisive=False,
        ),
        Algorithm(
            "data_range_analyzer",
            "Quantization Bit-Width Range",
            "Indicates whether the data can be reasonably quantized within the given bit-width range.",
            "a step of the standard deviation",
            _judge_range,
        ),
        Algorithm(
            "data_distribution_analyzer",
            "Clustering of Unquantized Data",
            "Indicates whether a large number of unique unquantized values are quantized to the same value "
            "or not. It does not fail a tensor by itself.",
            "0.6 of the values in one level",
            _judge_clusters,
            is_decisive=False,
        ),
        Algorithm(
            "minmax",
            "Minimum/Maximum Difference Value",
            "Indicates how different the minimum and maximum values are between the unquantized and "
            "dequantized data.",
            "10 % of the range",
            _judge_ends,
        ),
        Algorithm(
            "maxdiff",
            "Maximum Absolute Difference",
            "Indicates whether the maximum discrepancy between the unquantized and dequantized data is too "
            "large or not.",
            "10 % of the range",
            _judge_largest,
        ),
        Algorithm(
            "sqnr",
            "Signal to Quantization Noise Ratio",
            "Indicates whether the signal to quantized noise ratio of the data is too low or not.",
            "26 dB",
            _judge_noise,
        ),
    )
}
# Other spellings in the guide's samples.
SPELLINGS = {"data_range": "data_range_analyzer", "data_range_a": "data_range_analyzer", "sqr": "sqnr"}
# Of a weight or bias, the same about the result of its op.
OF_RESULT = "act_"
