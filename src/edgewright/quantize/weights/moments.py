"""Second moments of what a product reads: with them, the cost of an error of weights needs no data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.quantize.weights.products import Product

# Rows of one sample: neighbours on an image tell little more.
ROWS = 48
# Moments of more inputs would need gigabytes.
LARGEST_INNER = 4608
# Inverses need a diagonal; the fewer rows there are for each input, the less their moments mean.
DAMPING, SPARSE = 0.01, 1.0
# How much of what earlier layers got wrong a layer makes up for: all of it fits the samples too closely.
MADE_UP = 0.5
# A channel that is always zero has no moments at all.
TINY = 1e-10


@dataclass(frozen=True)
class Moments:
    """Moments of a product's inputs, about their means: [groups, inner, inner] and [groups, inner].

    ``second`` is of what the inputs are once earlier weights are rounded, ``cross`` of that with what they
    are in the float graph.
    """

    second: Array
    cross: Array
    mean: Array
    float_mean: Array

    def find_target(self, weights: Array) -> Array:
        """The weights that, read with the rounded inputs, come closest to the float output."""
        drift = np.linalg.solve(self.second, self.cross @ weights) - weights
        return np.asarray(weights + MADE_UP * drift)

    def shift(self, weights: Array, rounded: Array) -> Array:
        """What a bias must add so that the mean of each output stays what it was: [groups * columns]."""
        before = np.einsum("gk,gkn->gn", self.float_mean, weights)
        return np.asarray(before - np.einsum("gk,gkn->gn", self.mean, rounded)).reshape(-1)


def measure_moments(
    product: Product, values: Sequence[Array], float_values: Sequence[Array], *, is_centred: bool
) -> Moments:
    """The moments of a product's inputs in two graphs: the float one, and one with earlier weights rounded.

    Args:
        product: of the float graph.
        values: its input for each sample, with earlier weights rounded.
        float_values: the same in the float graph.
        is_centred: whether a bias takes care of the means.
    """
    sums = _Sums(product)
    for number, pair in enumerate(zip(values, float_values, strict=True)):
        rows = [product.sample_rows(each.astype(np.float32, copy=False), ROWS, number) for each in pair]
        sums.add(rows[0], rows[0] if pair[0] is pair[1] else rows[1])
    return sums.compute_moments(is_centred=is_centred)


class _Sums:
    def __init__(self, product: Product) -> None:
        groups, inner = product.groups, product.inner
        self._count = 0
        self._second, self._cross = np.zeros((2, groups, inner, inner))
        self._sums = np.zeros((2, groups, inner))

    def add(self, rows: Array, float_rows: Array) -> None:
        self._count += len(rows)
        turned = rows.transpose(1, 2, 0)
        second = turned @ rows.transpose(1, 0, 2)
        self._second += second
        self._cross += second if rows is float_rows else turned @ float_rows.transpose(1, 0, 2)
        self._sums += np.stack([each.sum(0, dtype=np.float64) for each in (rows, float_rows)])

    def compute_moments(self, *, is_centred: bool) -> Moments:
        count = max(self._count, 1)
        mean, float_mean = self._sums / count
        second, cross = self._second / count, self._cross / count
        if is_centred:
            second -= mean[:, :, None] * mean[:, None]
            cross -= mean[:, :, None] * float_mean[:, None]
        inner = second.shape[-1]
        sizes = np.einsum("gkk->gk", second).mean(1)[:, None, None]
        part = min(DAMPING + SPARSE * inner / count, 1.0)
        damped = np.eye(inner) * (part * sizes + TINY)
        return Moments(second + damped, cross + damped, mean, float_mean)
