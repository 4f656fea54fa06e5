"""Functions of one number in half precision, as HTP approximates them: a result for each float16.

`python -m tests.native.half_functions` asks the genuine emulator for all of them; what it gave is kept as the
number of floats from one result to the next.
"""

from functools import cache
from importlib.resources import files

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.op import Op
from edgewright.ops.activation import ElementWiseSoftplus, Elu, Gelu, HardSwish, Sigmoid, Tanh
from edgewright.ops.elementwise_unary import (
    ElementWiseCos,
    ElementWiseExp,
    ElementWiseLog,
    ElementWiseRsqrt,
    ElementWiseSin,
    ElementWiseSquareRoot,
    Reciprocal,
)

FUNCTIONS: tuple[Op, ...] = (
    ElementWiseCos(),
    ElementWiseExp(),
    ElementWiseLog(),
    ElementWiseRsqrt(),
    ElementWiseSin(),
    ElementWiseSoftplus(),
    ElementWiseSquareRoot(),
    Elu(),
    Gelu(),
    HardSwish(),
    Reciprocal(),
    Sigmoid(),
    Tanh(),
)
FILE = "half_functions.npz"
LARGEST = 2 * 65504.0


def list_halves() -> Array:
    """Every float16, in the order of their bits."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def count_places(halves: Array) -> Array:
    """How many floats lie between zero and each; negative ones count down."""
    bits = halves.view(np.int16).astype(np.int32)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


@cache
def find_half_table(op: Op) -> Array | None:
    """The results of an op, as float32; None where it is no function that was measured."""
    if op not in FUNCTIONS:
        return None
    # They are kept in 16 bits, which go round.
    places = np.cumsum(read_differences()[op.qnn_name()], dtype=np.int16).astype(np.int32)
    bits = np.where(places < 0, 0x8000 - places, places).astype(np.uint16)
    found = bits.view(np.float16).astype(np.float32)
    # What is no float16 goes on to twice as much inside the NPU, and functions of no number are none.
    halves = list_halves()
    with np.errstate(all="ignore"):
        real = np.asarray(op.compute(halves.astype(np.float32))[0])
    is_known = np.isfinite(found) & np.isfinite(halves)
    return np.where(is_known, found, np.clip(real, -LARGEST, LARGEST)).astype(np.float32)


@cache
def read_differences() -> dict[str, Array]:
    """The number of floats from one result to the next, by the names of functions."""
    with files("edgewright").joinpath("_data", FILE).open("rb") as file, np.load(file) as stored:
        return dict(stored)
