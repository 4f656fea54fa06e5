"""Sums and means of 16 bits along any axes: the simulation gives what the genuine emulator gives."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.reduce import ReduceMean, ReduceSum
from tests.native.equality import emulate

DRAWS = 4
CASES = [
    ((1, 16, 16, 32), (3,)),
    ((1, 16, 16, 3), (3,)),
    ((1, 16, 16, 8), (1,)),
    ((1, 16, 16, 32), (2, 3)),
    ((1, 4, 32, 16), (3,)),
    ((1, 17, 192), (2,)),
    ((64, 96), (0,)),
]


@pytest.mark.parametrize("op", [ReduceSum, ReduceMean])
@pytest.mark.parametrize(("shape", "axes"), CASES)
def test_sums_and_means_are_the_emulators(
    op: type[ReduceSum | ReduceMean], shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    nets = [reduce_random(op, shape, axes, seed) for seed in range(DRAWS)]
    emulated = emulate([graph for graph, _ in nets], [feed for _, feed in nets])
    for (graph, feed), found in zip(nets, emulated, strict=True):
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)["y"]
        assert len(np.unique(found["y"])) > 10
        np.testing.assert_array_equal(simulated, found["y"])


def reduce_random(
    op: type[ReduceSum | ReduceMean], shape: tuple[int, ...], axes: tuple[int, ...], seed: int
) -> tuple[Graph, dict[str, Array]]:
    """Numbers around the middle of their range; the output has the range of the results."""
    random, scale = np.random.default_rng(seed), 1.3e-4
    offset = -int(random.integers(0, 1 << 16))
    stored = np.clip(random.normal(30000, 3000 * (seed + 1), shape), 0, 65535).astype(np.uint16)
    (real,) = op(axes=axes, keep_dims=True).compute(((stored + float(offset)) * scale).astype(np.float32))
    low, high = min(0.0, float(real.min())), max(0.0, float(real.max()))
    step = (high - low) / 65535 * 1.02
    graph = Graph("g")
    graph.add_input("x", describe(shape, scale, offset))
    result = describe(real.shape, step, max(-65535, round(low / step)))
    graph.add(Node("n", op(axes=axes, keep_dims=True), ["x"], ["y"]), [result])
    graph.outputs = ["y"]
    return graph, {"x": stored}


def describe(shape: tuple[int, ...], scale: float, offset: int) -> TensorType:
    return TensorType(shape, DType.UFIXED_POINT_16, None, Encoding((scale,), (offset,), bitwidth=16))
