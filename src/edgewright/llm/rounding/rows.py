"""Rows of a matrix know nothing of each other: they are quantized some at a time, by all cores."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from edgewright.core.machine_use import count_cores, read_thread_limit
from edgewright.core.numbers import Array
from edgewright.llm.rounding.codes import Codes, join_codes

# Weights that one thread works on at a time: what it needs stays in the cache.
PIECE = 1 << 19
# On a GPU, which is quick with much at once.
TENSOR_PIECE = 1 << 26


def quantize_by_rows(weights: Array, quantize: Callable[[Array], Codes], piece: int = PIECE) -> Codes:
    """The codes of all rows; pieces do not depend on the number of cores, so neither do the codes."""
    if not isinstance(weights, np.ndarray):
        return join_codes([quantize(part) for part in _cut(weights, TENSOR_PIECE)])
    # numpy leaves the other threads alone while it computes.
    with _keep_products_single(), ThreadPoolExecutor(read_thread_limit() or count_cores()) as pool:
        return join_codes(list(pool.map(quantize, _cut(weights, piece))))


def _keep_products_single() -> AbstractContextManager[Any]:
    """Products of matrices within a thread have one thread: theirs would wait for each other."""
    libraries = _find_libraries()
    return nullcontext() if libraries is None else libraries.limit(limits=1, user_api="blas")


@cache
def _find_libraries() -> Any:
    return import_module("threadpoolctl").ThreadpoolController() if find_spec("threadpoolctl") else None


def _cut(weights: Array, piece: int) -> list[Array]:
    rows = max(1, piece // weights.shape[1])
    return [weights[at : at + rows] for at in range(0, len(weights), rows)]
