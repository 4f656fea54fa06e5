"""Asks the emulator for functions of 16 bits: `python -m tests.native.wide_functions` keeps them."""

from pathlib import Path

import numpy as np

import edgewright
from edgewright.backends.htp.wide_functions import FILE, UNITS
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Sigmoid
from tests.native.equality import emulate

SHAPE = (1, 32, 64, 32)


def build_function(op: Op, x: Encoding, y: Encoding) -> tuple[Graph, dict[str, Array]]:
    """A network of one op that is fed with every integer."""
    graph = Graph("g")
    kinds = [TensorType(SHAPE, DType.UFIXED_POINT_16, None, encoding) for encoding in (x, y)]
    graph.add_input("x", kinds[0])
    graph.add(Node("n", op, ["x"], ["y"]), [kinds[1]])
    graph.outputs = ["y"]
    return graph, {"x": np.arange(1 << 16, dtype=np.uint16).reshape(SHAPE)}


def measure_sigmoid() -> Array:
    """Half of the results from zero up, as differences."""
    graph, feed = build_function(
        Sigmoid(), Encoding((1 / UNITS,), (0,), bitwidth=16), Encoding((2.0**-16,), (0,), bitwidth=16)
    )
    (found,) = emulate([graph], [feed])
    results = found["y"].reshape(-1).astype(np.int32) // 2
    differences = np.diff(results, prepend=0)
    return np.concatenate([differences[:1], differences[1:].astype(np.int16)]).astype(np.int16)


def main() -> None:
    """Writes what is read by the simulation."""
    file = Path(edgewright.__file__).parent / "_data" / FILE
    np.savez_compressed(file, Sigmoid=measure_sigmoid())


if __name__ == "__main__":
    main()
