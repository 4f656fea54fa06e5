"""HardSwish of 16 bits behind a convolution, with steps from very fine to coarse."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import HardSwish
from edgewright.ops.conv import Conv2d
from tests.native.equality import emulate

INPUTS, CHANNELS, SIDE = 16, 32, 48
POINT = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))


def make_net(seed: int, step: float) -> tuple[Graph, dict[str, np.ndarray]]:
    """Sums of each channel reach some way beyond where a gate is shut or open."""
    random = np.random.default_rng(seed)
    image, made = (1, SIDE, SIDE, INPUTS), (1, SIDE, SIDE, CHANNELS)
    graph = Graph("g")
    x = Encoding((1.0,), (-int(random.integers(0, 65535)),), bitwidth=16)
    graph.add_input("x", TensorType(image, DType.UFIXED_POINT_16, None, x))
    weights = random.integers(-127, 128, (1, 1, INPUTS, CHANNELS)).astype(np.int8)
    scales = 4 / (73 * 75000) * np.exp2(random.uniform(-1.5, 1.5, CHANNELS))
    kind = Encoding(tuple(scales.astype(np.float32).astype(float).tolist()), (0,) * CHANNELS, 3, 8)
    graph.add_constant("w", weights, TensorType(weights.shape, DType.SFIXED_POINT_8, None, kind))
    between = Encoding((step * 1.1,), (-20000,), bitwidth=16)
    y = Encoding((step,), (-int(0.375 / step) - int(random.integers(1, 30)),), bitwidth=16)
    wide = DType.UFIXED_POINT_16
    graph.add(Node("c", POINT, ["x", "w"], ["c"]), [TensorType(made, wide, None, between)])
    graph.add(Node("y", HardSwish(), ["c"], ["y"]), [TensorType(made, wide, None, y)])
    graph.outputs = ["y"]
    return graph, {"x": random.integers(0, 65536, image).astype(np.uint16)}


@pytest.mark.parametrize("bits", range(6, 16))
def test_simulation_and_emulator_agree(bits):
    nets = [make_net(seed, float(np.float32(1.3 * 2.0**-bits))) for seed in range(3)]
    found = emulate([graph for graph, _ in nets], [feed for _, feed in nets])
    for (graph, feed), emulated in zip(nets, found, strict=True):
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
        np.testing.assert_array_equal(simulated["y"], emulated["y"])
