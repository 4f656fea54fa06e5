"""Asks the emulator for functions of every float16: `python -m tests.native.half_functions` keeps them."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import edgewright
from edgewright.backends.htp.half_functions import FILE, FUNCTIONS, count_places, list_halves
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.passes.htp.replace_reciprocals import replace_reciprocals
from tests.native.equality import emulate

SHAPE = (1, 16, 64, 64)


def measure(op: Op) -> Array:
    """The results for all floats, in the order of their bits; 0 stands in for what is no number."""
    halves = list_halves()
    given = np.where(np.isfinite(halves), halves, 0).astype(np.float16).reshape(SHAPE)
    graph, kind = Graph("g"), TensorType(SHAPE, DType.FLOAT_16)
    graph.add_input("x", kind)
    graph.add(Node("n", op, ["x"], ["y"]), [replace(kind)])
    graph.outputs = ["y"]
    replace_reciprocals(graph)
    return emulate([graph], [{"x": given}])[0]["y"].reshape(-1)


def find_differences(op: Op) -> Array:
    """The number of floats from one result to the next."""
    return np.diff(count_places(measure(op)).astype(np.int16), prepend=np.int16(0))


def main() -> None:
    """Writes what is read by the simulation."""
    found = {op.qnn_name(): find_differences(op) for op in FUNCTIONS}
    np.savez_compressed(Path(edgewright.__file__).parent / "_data" / FILE, **found)


if __name__ == "__main__":
    main()
