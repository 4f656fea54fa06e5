"""LayerNorm in half precision along any axis, and of short rows."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.norm import LayerNorm
from tests.native.equality import emulate

SHAPES = (
    *(((1, 16, 50, 12), 3), ((1, 16, 50, 31), 3)),
    *(((1, 96, 21), 1), ((1, 256, 16), 1), ((1, 16, 64, 16), 2)),
)


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_rows_are_normalized_as_the_emulator_does(shape: tuple[int, ...], axis: int) -> None:
    random = np.random.default_rng(0)
    kind, graph, row = TensorType(shape, DType.FLOAT_16), Graph("g"), (shape[axis],)
    graph.add_input("x", kind)
    for name, numbers in (("weights", random.uniform(1, 2, row)), ("bias", random.normal(size=row))):
        graph.add_constant(name, numbers.astype(np.float16), TensorType(row, DType.FLOAT_16))
    op = LayerNorm(axes=(axis,), epsilon=1e-5)
    graph.add(Node("n", op, ["x", "weights", "bias"], ["y"]), [kind])
    graph.outputs = ["y"]
    feed = {"x": random.normal(0.3, 1, shape).astype(np.float16)}
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)["y"]
    (found,) = emulate([graph], [feed])
    assert np.array_equal(simulated, found["y"])
