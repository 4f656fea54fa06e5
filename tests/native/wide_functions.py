"""Asks the emulator for functions of 16 bits: `python -m tests.native.wide_functions` keeps them."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import edgewright
from edgewright.backends.htp.share_powers import PLACES as SHARE_PLACES
from edgewright.backends.htp.wide_functions import BOTH_SIDES, CURVE_ONE, CURVE_UNITS, FILE, UNITS
from edgewright.backends.htp.wide_powers import PLACE_BITS, POWER_BITS
from edgewright.backends.htp.wide_quotients import DIVISOR_BITS, RECIPROCAL_BITS
from edgewright.backends.htp.wide_roots import FIRST, ROOT_UNIT
from edgewright.core.numbers import Array
from edgewright.ir.op import Op
from edgewright.ops.activation import Gelu, Tanh
from edgewright.ops.elementwise_unary import ElementWiseExp, ElementWiseSquareRoot
from edgewright.ops.reduce_softmax import Softmax
from tests.native.equality import emulate
from tests.native.wide_cases import build_function, build_quotient

# Inputs are repeated with so many bits more, so that gates near zero can be told apart.
FINER_BITS = (0, 4, 8, 11)


def measure_tangent() -> Array:
    """The results from zero up, a unit of the input after the other; a sigmoid is made of the same."""
    (found,) = _measure(Tanh(), [1 / UNITS / 2], (BOTH_SIDES.scales[0], BOTH_SIDES.offsets[0]))
    return found + BOTH_SIDES.offsets[0]


def measure_exponential() -> Array:
    """Powers of two from one down; the first is taken for the largest number of 15 bits."""
    places, one = 1 << PLACE_BITS, (1 << POWER_BITS) - 1
    graph, feed = build_function(ElementWiseExp(), (np.log(2) / places, 1 - places), (1 / one, 0))
    found = emulate([graph], [feed])[0]["y"].reshape(-1)[::-1].astype(np.int64) + 1
    assert found[0] == one, "one is stored as a number less"
    return found


def measure_gelu() -> Array:
    """The gate of each unit of the input: what all inputs that are rounded to this unit allow."""
    low, high = np.zeros(1 << 16, np.int64), np.full(1 << 16, 2 * CURVE_ONE)
    whole = np.arange(1, 1 << 16)
    found = _measure(Gelu(), [1 / CURVE_UNITS / (1 << bits) for bits in FINER_BITS])
    for bits, results in zip(FINER_BITS, found, strict=True):
        units = np.minimum((whole + (1 << bits >> 1)) >> bits, (1 << 16) - 1)
        lower, upper = ((results[1:] + half) * CURVE_ONE / whole for half in (-0.5, 0.5))
        np.maximum.at(low, units, np.ceil(lower).astype(np.int64))
        np.minimum.at(high, units, np.ceil(upper).astype(np.int64) - 1)
    assert np.all(low <= high), "the emulator's Gelu is no gate of 12 bits"
    return low


def measure_powers() -> Array:
    """Powers of two from the largest down, read off rows of one largest number and three others each."""
    distances = np.arange(SHARE_PLACES)
    rows = np.repeat((1 << 16) - 1 - distances, 4).reshape(1, 1, -1, 4)
    rows[..., 0] = (1 << 16) - 1
    # A step is one place of the table, and results are so fine that their largest just fit into 16 bits.
    scale = (1 + 1e-4) / SHARE_PLACES / np.log2(np.e)
    graph, _ = build_function(Softmax(), (scale, 0), (2.0**-17, 0), rows.shape)
    graph.types["x"] = replace(graph.types["x"], shape=rows.shape)
    found = emulate([graph], [{"x": rows.astype(np.uint16)}])[0]["y"].reshape(-1, 4).astype(np.int64)
    # The share of the largest number, whose power is known, is the reciprocal of the sum.
    reciprocals = (found[:, 0] + 2) // 2
    return np.asarray(-(-found[:, 1] * (1 << 14) // reciprocals))


def measure_reciprocals() -> Array:
    """One over what has 16 bits, from the least on: what a power of two is divided by them."""
    divisors = np.arange(1 << (DIVISOR_BITS - 1), 1 << DIVISOR_BITS)
    one = 1 << RECIPROCAL_BITS
    dividends, lowest = np.full(divisors.shape, one), float(divisors[0])
    graph, feed = build_quotient(dividends, divisors, ((1.0, 0), (1 / lowest, 0), (1.0, 0)))
    (found,) = emulate([graph], [feed])
    return found["y"].reshape(-1).astype(np.int64)


def measure_roots() -> Array:
    """One over the root of each number that is not brought to another one."""
    (found,) = _measure(ElementWiseSquareRoot(), [1.0], (1 / 256, 0))
    numbers = np.arange(FIRST, 1 << 16)
    return np.rint(found[FIRST:] / 256 / numbers / ROOT_UNIT).astype(np.int64)


def _measure(op: Op, scales: list[float], stored: tuple[float, int] | None = None) -> list[Array]:
    """Results of inputs from zero up; in steps of the input where no others are asked for."""
    pairs = [build_function(op, (scale, 0), stored or (scale, 0)) for scale in scales]
    found = emulate([graph for graph, _ in pairs], [feed for _, feed in pairs])
    return [outputs["y"].reshape(-1).astype(np.int64) for outputs in found]


def find_differences(results: Array) -> Array:
    """From one result to the next."""
    return np.diff(results, prepend=0).astype(np.int16)


def main() -> None:
    """Writes what is read by the simulation."""
    file = Path(edgewright.__file__).parent / "_data" / FILE
    results = {
        "Tanh": measure_tangent(),
        "Gelu": measure_gelu(),
        "Exp": measure_exponential(),
        "Reciprocal": measure_reciprocals(),
        "Root": measure_roots(),
    }
    np.savez_compressed(file, **{name: find_differences(found) for name, found in results.items()})


if __name__ == "__main__":
    main()
