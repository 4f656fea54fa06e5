"""Fits the constants of kinds and the factors of chips to public times: `make fit-latency`.

The logarithm of a time is fitted to that of a sum of amounts times constants: constants of kinds are shared
by all chips, those of a precision stay near those of the others, and each chip has a factor for each group of
amounts. What the data does not tell stays near where it starts. Networks count alike, whatever the number of
chips.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewright.estimate.public_data import read_networks, read_times
from edgewright.estimate.work import AMOUNTS, GROUPS, count_all

PRECISIONS = ("float", "w8a8", "w8a16")
# A chip with fewer networks than this has no factors of its own.
FEWEST_NETWORKS = 10
# Where constants start, in amounts a second: rough figures of an NPU of the middle class.
_STARTS = {
    "product_macs": 20e12,
    "grouped_macs": 10e12,
    "depthwise_macs": 1e12,
    "attention_macs": 10e12,
    "attention_elements": 3e10,
    "elements": 1e11,
    "statistics_elements": 3e10,
    "transposed_elements": 1.5e10,
    "weight_bytes": 4e10,
    "spilled_bytes": 1e11,
    "io_bytes": 1e10,
    "ops": 1e6 / 3,
    "runs": 1e4,
}
# How far (in e-folds) a constant may be from its start, that of a precision from the shared one, the factor
# of a chip from 1, and that of a chip in a precision from the chip's own; STRENGTH says how much that weighs.
_SPREAD_KIND, _SPREAD_PRECISION, _SPREAD_CHIP, _SPREAD_BOTH = 1.0, 0.5, 0.7, 0.3
STRENGTH = 0.15
_SPREAD_SAME = 0.05
# Residuals beyond this (of a network on one of fifteen chips) count less and less: compilers have cliffs.
_KNEE = 0.05
_MOST_STEPS = 100
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Dataset:
    """Networks in a precision: their amounts, and logarithms of their times on chips (NaN where unknown)."""

    names: tuple[str, ...]
    precisions: NDArray[np.int64]
    amounts: Matrix
    log_times: Matrix
    chips: tuple[int, ...]

    def choose(self, rows: NDArray[np.bool_]) -> "Dataset":
        """Some of the rows."""
        names = tuple(name for name, is_kept in zip(self.names, rows, strict=True) if is_kept)
        return Dataset(names, self.precisions[rows], self.amounts[rows], self.log_times[rows], self.chips)


def load_dataset() -> Dataset:
    """All networks whose layers and times are known, on chips with enough of them."""
    networks, times = read_networks(), read_times()
    known = {key: row for key, row in times.items() if key[0] in networks and key[1] in PRECISIONS}
    chips = sorted({key[2] for key in known})
    counts = {chip: len({key[0] for key in known if key[2] == chip}) for chip in chips}
    chips = [chip for chip in chips if counts[chip] >= FEWEST_NETWORKS]
    rows = sorted({(PRECISIONS.index(key[1]), key[0]) for key in known if key[2] in chips})
    log_times = [[_log_time(known.get((name, PRECISIONS[p], chip))) for chip in chips] for p, name in rows]
    return Dataset(
        tuple(name for _, name in rows),
        np.array([p for p, _ in rows]),
        np.array([count_all(networks[name], PRECISIONS[p]) for p, name in rows]),
        np.array(log_times),
        tuple(chips),
    )


def _log_time(row: object) -> float:
    return math.nan if row is None else math.log(row.microseconds)  # type: ignore[attr-defined]


class LatencyFit:
    """The parameters as one vector, and how times follow from them."""

    def __init__(self, chips: Sequence[int]) -> None:
        kinds, groups, count = len(AMOUNTS), len(GROUPS), len(PRECISIONS)
        self.shapes = ((kinds,), (count, kinds), (len(chips), groups), (count, len(chips), groups))
        self.ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        self.group_of = np.array([GROUPS.index(group) for group in AMOUNTS.values()])
        self.start = np.zeros(self.ends[-1])
        self.start[:kinds] = [math.log(1e6 / _STARTS[name]) for name in AMOUNTS]
        # Whatever a network computes in, to start a run takes as long.
        by_precision = [_SPREAD_SAME if name == "runs" else _SPREAD_PRECISION for name in AMOUNTS]
        spreads: tuple[float | list[float], ...] = (
            _SPREAD_KIND,
            by_precision,
            _SPREAD_CHIP,
            _SPREAD_BOTH,
        )
        parts = [np.broadcast_to(each, shape) for shape, each in zip(self.shapes, spreads, strict=True)]
        self.spread = np.concatenate([part.ravel() for part in parts])

    def split(self, vector: Matrix) -> list[Matrix]:
        """Constants of kinds, of precisions, factors of chips, of chips in a precision: logarithms."""
        parts = np.split(vector, self.ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def make_constants(self, vector: Matrix) -> Matrix:
        """Microseconds for each amount, by precision and chip."""
        kinds, by_precision, chips, both = self.split(vector)
        return np.asarray(np.exp((kinds + by_precision)[:, None, :] + (chips + both)[:, :, self.group_of]))

    def predict(self, vector: Matrix, data: Dataset) -> Matrix:
        """Logarithms of times of the rows on all chips."""
        table = self.make_constants(vector)[data.precisions]
        return np.asarray(np.log(np.einsum("nj,ncj->nc", data.amounts, table)))

    def fit(self, data: Dataset, vector: Matrix | None = None) -> Matrix:
        """The vector that fits best: damped Gauss-Newton steps on a loss that forgives outliers."""
        vector = self.start.copy() if vector is None else vector.copy()
        problem = _Problem(self, data)
        damping, cost = 1e-3, problem.compute_cost(vector)
        for _ in range(_MOST_STEPS):
            gradient, hessian = problem.compute_derivatives(vector)
            step = np.linalg.solve(hessian + damping * np.diag(np.diag(hessian)), gradient)
            new_cost = problem.compute_cost(vector - step)
            if new_cost < cost:
                is_settled = cost - new_cost < 1e-7 * cost
                vector, cost, damping = vector - step, new_cost, damping / 5
                if is_settled:
                    break
            else:
                damping *= 5
                if damping > 1e6:
                    break
        return vector


class _Problem:
    """The loss of a dataset: pseudo-Huber of weighted residuals, squares of distances from the start."""

    def __init__(self, model: LatencyFit, data: Dataset) -> None:
        self.model, self.data = model, data
        self.rows, self.chips = np.nonzero(~np.isnan(data.log_times))
        self.precisions = data.precisions[self.rows]
        counts = (~np.isnan(data.log_times)).sum(1)
        self.weights = np.sqrt(1 / counts[self.rows])
        self.targets = data.log_times[self.rows, self.chips]
        self.pull = (STRENGTH / model.spread) ** 2

    def compute_parts(self, vector: Matrix) -> Matrix:
        table = self.model.make_constants(vector)[self.precisions, self.chips]
        return np.asarray(self.data.amounts[self.rows] * table)

    def compute_cost(self, vector: Matrix) -> float:
        residuals = (np.log(self.compute_parts(vector).sum(1)) - self.targets) * self.weights
        loss = 2 * _KNEE**2 * (np.sqrt(1 + (residuals / _KNEE) ** 2) - 1)
        return float(loss.sum() + (self.pull * (vector - self.model.start) ** 2).sum())

    def compute_derivatives(self, vector: Matrix) -> tuple[Matrix, Matrix]:
        parts = self.compute_parts(vector)
        residuals = (np.log(parts.sum(1)) - self.targets) * self.weights
        slopes = self._compute_slopes(parts * (self.weights / parts.sum(1))[:, None])
        trust = 1 / np.sqrt(1 + (residuals / _KNEE) ** 2)
        gradient = slopes.T @ (trust * residuals) + self.pull * (vector - self.model.start)
        return gradient, slopes.T @ (trust[:, None] * slopes) + np.diag(self.pull)

    def _compute_slopes(self, shares: Matrix) -> Matrix:
        """Derivatives of weighted residuals by the parameters."""
        kinds, by_precision, chips, _ = self.model.ends
        groups, all_chips = len(GROUPS), len(self.data.chips)
        slopes = np.zeros((len(shares), self.model.ends[-1]))
        places = np.arange(len(shares))
        slopes[:, :kinds] = shares
        for kind in range(kinds):
            slopes[places, kinds + self.precisions * kinds + kind] = shares[:, kind]
        for group in range(groups):
            share = shares[:, self.model.group_of == group].sum(1)
            slopes[places, by_precision + self.chips * groups + group] = share
            slopes[places, chips + (self.precisions * all_chips + self.chips) * groups + group] = share
        return slopes
