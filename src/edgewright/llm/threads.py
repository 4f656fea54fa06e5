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

Part = TypeVar("Part")
Result = TypeVar("Result")
# Values below which a second thread takes longer to start than it saves.
WORTH_SHARING = 1 << 21


def map_in_threads(function: Callable[[Array], Result], parts: Sequence[Array]) -> list[Result]:
    """What a function makes of each part; tensors of torch, which has threads of its own, come in turn."""
    if not all(isinstance(part, np.ndarray) for part in parts[:1]):
        return [function(part) for part in parts]
    return share_among_cores(function, parts)


def share_among_cores(function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """What a function, which computes with numpy, makes of each part."""
    if len(parts) < 2:
        return [function(part) for part in parts]
    # numpy leaves the other threads alone while it computes.
    with keep_products_single(), ThreadPoolExecutor(read_thread_limit() or count_cores()) as pool:
        return list(pool.map(function, parts))


def cut_among_cores(rows: int, values: int) -> list[slice]:
    """Rows for each core, where there are values enough."""
    cores = (read_thread_limit() or count_cores()) if values >= WORTH_SHARING else 1
    step = max(1, -(-rows // cores))
    return [slice(start, start + step) for start in range(0, rows, step)]


def keep_products_single() -> AbstractContextManager[Any]:
    """Products of matrices have one thread: those of several would wait for each other."""
    libraries = _find_libraries()
    return nullcontext() if libraries is None else libraries.limit(limits=1, user_api="blas")


@cache
def _find_libraries() -> Any:
    return import_module("threadpoolctl").ThreadpoolController() if find_spec("threadpoolctl") else None
