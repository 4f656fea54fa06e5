"""Rows of a matrix know nothing of each other: they are quantized some at a time, by all cores."""

from collections.abc import Callable

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.rounding.codes import Codes, join_codes
from edgewright.llm.threads import map_in_threads

# Weights that one thread works on at a time: what it needs stays in the cache.
PIECE = 1 << 19
# Rows come in multiples of what compiled loops take at once.
ROWS = 128
# On a GPU, which is quick with much at once.
TENSOR_PIECE = 1 << 26


def quantize_by_rows(weights: Array, quantize: Callable[[Array], Codes], piece: int = PIECE) -> Codes:
    """The codes of all rows; pieces do not depend on the number of cores, so neither do the codes."""
    size = piece if isinstance(weights, np.ndarray) else TENSOR_PIECE
    return join_codes(map_in_threads(quantize, _cut(weights, size)))


def _cut(weights: Array, piece: int) -> list[Array]:
    rows = ROWS * max(1, piece // weights.shape[1] // ROWS)
    return [weights[at : at + rows] for at in range(0, len(weights), rows)]
