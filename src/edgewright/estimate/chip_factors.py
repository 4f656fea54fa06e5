"""From a time on one chip to the time on another: factors of pairs that networks were measured on."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cache

import numpy as np

from edgewright.estimate.public_data import list_chips, read_measurements
from edgewright.estimate.validation import find_bounds
from edgewright.estimate.work import Vector

# Fewer networks than this on both chips tell nothing.
FEWEST_NETWORKS = 19


@dataclass(frozen=True)
class PairFactor:
    """How times on one chip relate to times on another, with the interval of 80 % of networks."""

    source: str
    target: str
    precision: str
    networks: int
    factor: float
    low: float
    high: float
    # Errors of scaling with the factor, as shares.
    median_error: float
    p90_error: float


@cache
def find_pair_factor(source: int, target: int, precision: str) -> PairFactor | None:
    """The factor of two chips by their SoC numbers; None where too few networks were measured on both."""
    ratios = _list_ratios(source, target, precision)
    if len(ratios) < FEWEST_NETWORKS:
        return None
    center = float(np.median(ratios))
    bounds = find_bounds(ratios[:, None])
    assert bounds is not None
    errors = np.abs(np.exp(center - ratios) - 1)
    chips = list_chips()
    return PairFactor(
        *(chips[source].name, chips[target].name, precision, len(ratios)),
        float(np.exp(center)),
        *(float(np.exp(end)) for end in bounds),
        *(float(np.quantile(errors, share)) for share in (0.5, 0.9)),
    )


def _list_ratios(source: int, target: int, precision: str) -> Vector:
    """One logarithm of a ratio for each network: the median over runtimes."""
    times = _group_times(precision)
    both = times[source].keys() & times[target].keys()
    ratios = defaultdict(list)
    for network, runtime in both:
        key = (network, runtime)
        ratios[network].append(np.log(times[target][key] / times[source][key]))
    return np.array([np.median(ratios[network]) for network in sorted(ratios)])


@cache
def _group_times(precision: str) -> dict[int, dict[tuple[str, str], float]]:
    times: dict[int, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in read_measurements():
        if row.precision == precision:
            times[row.soc_model][row.network, row.runtime] = row.microseconds
    return times
