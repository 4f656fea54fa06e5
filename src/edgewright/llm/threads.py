"""Work on arrays of numpy that is shared among cores: by parts that know nothing of each other."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from edgewright.core.machine_use import count_cores, read_thread_limit
from edgewright.core.numbers import Array

Result = TypeVar("Result")


def map_in_threads(function: Callable[[Array], Result], parts: Sequence[Array]) -> list[Result]:
    """What a function makes of each part; tensors of torch, which has threads of its own, come in turn."""
    if len(parts) < 2 or not isinstance(parts[0], np.ndarray):
        return [function(part) for part in parts]
    # numpy leaves the other threads alone while it computes.
    with keep_products_single(), ThreadPoolExecutor(read_thread_limit() or count_cores()) as pool:
        return list(pool.map(function, parts))


def keep_products_single() -> AbstractContextManager[Any]:
    """Products of matrices have one thread: those of several would wait for each other."""
    libraries = _find_libraries()
    return nullcontext() if libraries is None else libraries.limit(limits=1, user_api="blas")


@cache
def _find_libraries() -> Any:
    return import_module("threadpoolctl").ThreadpoolController() if find_spec("threadpoolctl") else None
