"""Sizes that a stranger's file may declare for six stored numbers, and what must come of it."""

import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from edgewright.core.errors import EdgewrightError

SIX = np.arange(1, 7, dtype=np.float32)
# Nothing that is refused may have taken more than this; every size below asks for more, or for bytes that
# are not there.
MOST_BYTES = 32 << 20


def _multiply_around(modulus: int) -> tuple[int, int]:
    """Two sizes whose product is six where whole numbers wrap around."""
    for odd in range(modulus // 8 + 3, modulus // 8 + 99, 2):
        other = 6 * pow(odd, -1, modulus) % modulus
        if 2 < other < modulus // 2:
            return odd, other
    raise AssertionError("there are many")


# Shapes of formats that count in 32 bits.
NARROW = {
    "shorter": (5,),
    "longer": (7,),
    "none": (0,),
    "one": (1,),
    "another axis": (6, 2),
    "no elements": (6, 0),
    "2^31-1": (2**31 - 1,),
    "wraps around 2^32": _multiply_around(2**32),
    "wraps around 2^64": (2**31 - 1,) * 3,
    "nothing times much": (0, 2**31 - 1, 2**31 - 1, 2**31 - 1),
    "many axes": (6, *(1,) * 69),
}
# Of those that have signs, too.
SIGNED = NARROW | {
    "negative": (-6,),
    "negative twice": (-2, -3),
    "-1": (-1,),
    "-2^31": (-(2**31),),
    "open twice": (-1, -1),
}
WIDE = SIGNED | {
    "2^31": (2**31,),
    "2^32": (2**32,),
    "2^63-1": (2**63 - 1,),
    "-2^63": (-(2**63),),
    "2^64": (2**32, 2**32),
    "2^66 in four": (2**16, 2**16, 2**16, 2**18),
    "wraps around 2^64 in two": _multiply_around(2**64),
    "nothing times 2^94": (0, 2**47, 2**47),
}


def each(table: dict[str, Any]) -> pytest.MarkDecorator:
    """A test for every entry."""
    return pytest.mark.parametrize("size", list(table.values()), ids=list(table))


def check_refused(read: Callable[[], object], values: int = 2) -> EdgewrightError:
    """One error that says what, where, both values and what to do, before memory is taken."""
    tracemalloc.start()
    try:
        with pytest.raises(EdgewrightError) as caught:
            read()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    problem = getattr(caught.value, "errors", (caught.value,))[0]
    assert problem.exit_code == 3, str(problem)
    assert problem.where is not None, str(problem)
    assert problem.where.file, str(problem)
    assert problem.do, str(problem)
    assert len(re.findall(r"-?\d+", problem.what)) >= values, str(problem)
    assert "Error" not in problem.what, str(problem)
    assert peak < MOST_BYTES, f"{peak} bytes: {problem}"
    return problem
