"""Intervals of shares and of differences, and what arrays of probabilities look like."""

import math
from statistics import NormalDist

import numpy as np

from edgewright.core.numbers import Array

# Of a normal distribution, 95 % lie within so many standard deviations.
NORMAL_95 = 1.959964


def compute_wilson_interval(same: float, count: float) -> tuple[float, float]:
    """The 95 % interval of a share."""
    if not count:
        return 0.0, 1.0
    share, spread = same / count, NORMAL_95**2 / count
    centre = (share + spread / 2) / (1 + spread)
    reach = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, centre - reach), min(1.0, centre + reach)


def compute_paired_interval(lost: float, won: float, count: float, looks: int = 1) -> tuple[float, float]:
    """The 95 % interval of (lost - won) / count, after Bonett and Price: honest where both are zero.

    With several looks at the same samples all of their intervals hold in 95 % of cases (Bonferroni).
    """
    deviations = NORMAL_95 if looks == 1 else NormalDist().inv_cdf(1 - 0.025 / looks)
    more, less, total = (lost + 1) / (count + 2), (won + 1) / (count + 2), count + 2
    reach = deviations * math.sqrt(max(more + less - (more - less) ** 2, 0.0) / total)
    return max(-1.0, more - less - reach), min(1.0, more - less + reach)


def is_distribution(rows: Array) -> bool:
    """Whether the rows along the last axis are probabilities."""
    return bool((rows >= 0).all() and np.allclose(rows.sum(-1), 1.0, atol=1e-3))
