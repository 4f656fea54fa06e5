"""What a text says of the inputs of a matrix: how they go together, and how far they have drifted."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.arrays import cast, find_library
from edgewright.llm.rounding.codes import Codes, Grid, join_codes
from edgewright.llm.rounding.gptq import DAMPING, Compensation, damp_moments
from edgewright.llm.threads import keep_products_single, share_among_cores

# Texts whose products are summed at once.
TEXTS = 16
# Windows of columns are multiples of it, and so of all usual blocks.
WINDOW = 256
# Of few tokens, moments are partly chance: so much more damping where columns are as many as tokens.
CHANCE = 0.05
# Tokens for each column of a window, where there are not as many as columns.
NEEDED = 1.5
# Tokens for each column at which half of a drift is taken to be more than chance.
CAUTION = 2

Multiply = Callable[[Array, Array], Array]


class Moments:
    """What a matrix is multiplied with.

    Where there are fewer tokens than columns, which say little of how all of these go together, columns make
    up for each other's errors in windows.

    Args:
        inputs: of each text, [tokens, columns], as rounded layers give them.
        floats: the same as the float layers give them; none: nobody knows.
        span: columns that must not be parted; 0: all.
    """

    def __init__(self, inputs: Sequence[Array], floats: Sequence[Array] = (), span: int = WINDOW) -> None:
        tokens, columns = sum(map(len, inputs)), inputs[0].shape[1]
        is_parted = columns > tokens and span > 0 and WINDOW % span == 0
        parts = math.ceil(columns * NEEDED / tokens) if is_parted else 1
        width = min(columns, WINDOW * math.ceil(columns / parts / WINDOW))
        places = [slice(start, start + width) for start in range(0, columns, width)]
        self._has_floats = bool(floats)
        multiply = _multiply_columns if len(places) == 1 else _multiply_plainly
        # torch has threads of its own.
        share = share_among_cores if isinstance(inputs[0], np.ndarray) else map
        self._windows = list(share(lambda place: Window(place, inputs, floats, multiply), places))

    def quantize(self, weights: Array, grid: Grid, turns: int) -> Codes:
        """Codes whose products with the inputs are near to the float ones."""
        if isinstance(weights, np.ndarray):
            share_among_cores(lambda window: window.compensation, self._windows)
        parts = [
            window.compensation.quantize(weights[:, window.place], grid, turns) for window in self._windows
        ]
        return join_codes(parts, axis=1)

    def correct(self, weights: Array) -> Array:
        """Weights that make of these inputs what the float ones make of the float inputs, nearly."""
        if not self._has_floats:
            return weights
        parts = [window.correct(weights[:, window.place]) for window in self._windows]
        corrected: Array = find_library(weights).concatenate(parts, axis=1)
        return corrected

    def measure(self, rows: Array) -> float:
        """The sum of squares of the products of rows with all inputs."""
        return sum(window.measure(rows[:, window.place]) for window in self._windows)


class Window:
    """Some columns: sums over tokens of the products of inputs, and what GPTQ makes of them.

    Args:
        place: of the columns.
        inputs: of each text.
        floats: the same without rounding, or none.
        multiply: gives the products of all columns of two arrays.
    """

    def __init__(
        self, place: slice, inputs: Sequence[Array], floats: Sequence[Array], multiply: Multiply
    ) -> None:
        self.place, self._tokens = place, sum(map(len, inputs))
        inputs = [text[:, place] for text in inputs]
        self._products = _sum_products(inputs, inputs, multiply)
        gaps = [exact[:, place] - text for exact, text in zip(floats, inputs, strict=bool(floats))]
        self._drift = _sum_products(gaps, inputs, multiply) if gaps else None

    @cached_property
    def compensation(self) -> Compensation:
        """Made once for matrices that take the same inputs."""
        return Compensation(self._products, self._damping)

    def correct(self, weights: Array) -> Array:
        """Weights that make up for the drift of inputs, by least squares."""
        corrected: Array = weights + weights @ self._correction
        return corrected

    def measure(self, rows: Array) -> float:
        """The sum of squares of products."""
        # A second thread would wait in a loop for more of them, and keep a core from what comes next.
        with keep_products_single():
            return float(((rows @ self._products) * rows).sum())

    @cached_property
    def _correction(self) -> Array:
        """Of few tokens, much of what seems to be a drift is chance."""
        assert self._drift is not None
        share = self._tokens / (self._tokens + CAUTION * len(self._drift))
        system = cast(damp_moments(self._products, self._damping), "float64")
        solved: Array = find_library(system).linalg.solve(system, cast(self._drift, "float64").T)
        return cast(share * solved.T, "float32")

    @property
    def _damping(self) -> float:
        return DAMPING + CHANCE * len(self._products) / self._tokens


def _sum_products(left: Sequence[Array], right: Sequence[Array], multiply: Multiply) -> Array:
    """Of all tokens, many texts at a time."""
    library = find_library(left[0])
    products: Array | None = None
    for start in range(0, len(left), TEXTS):
        first = library.concatenate(left[start : start + TEXTS], axis=0)
        second = first if left is right else library.concatenate(right[start : start + TEXTS], axis=0)
        part = multiply(first, second)
        products = part if products is None else products + part
    assert products is not None
    return products


def _multiply_plainly(first: Array, second: Array) -> Array:
    """Of all columns with all."""
    products: Array = first.T @ second
    return products


def _multiply_columns(first: Array, second: Array) -> Array:
    """The same in squares that cores share."""
    if not isinstance(first, np.ndarray):
        return _multiply_plainly(first, second)
    sums, is_same = np.empty((first.shape[1], second.shape[1]), np.float32), first is second
    parts = [slice(start, start + WINDOW) for start in range(0, first.shape[1], WINDOW)]

    def fill(pair: tuple[slice, slice]) -> None:
        above, below = pair
        sums[above, below] = first[:, above].T @ second[:, below]
        if is_same:
            sums[below, above] = sums[above, below].T

    pairs = [(left, right) for left in parts for right in parts if not is_same or left.start <= right.start]
    share_among_cores(fill, pairs)
    return sums
