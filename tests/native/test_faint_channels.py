"""Products of 16 bits with channels that hardly count, alone and before a Prelu."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Prelu
from edgewright.ops.conv import Conv2d
from tests.native.equality import emulate

INPUTS, CHANNELS = 48, 64
POINT = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))


def draw_encoding(random, scale: float) -> Encoding:
    return Encoding((scale,), (-int(random.integers(200, 65000)),), bitwidth=16)


def make_net(random, *, is_bent: bool) -> tuple[Graph, dict[str, np.ndarray], np.ndarray]:
    """Also real results; a sum of each channel is 2^-8 to 2^-26 steps of the output."""
    image, filters = (1, 8, 8, INPUTS), (1, 1, INPUTS, CHANNELS)
    x, y = draw_encoding(random, 1.0), draw_encoding(random, 5.0)
    sums = draw_encoding(random, 5.0 * float(np.exp2(random.uniform(-2, 2)))) if is_bent else y
    scales = 5.0 * np.exp2(-np.linspace(8, 26, CHANNELS))
    scales = tuple(scales.astype(np.float32).astype(float).tolist())
    graph = Graph("g")
    graph.add_input("x", TensorType(image, DType.UFIXED_POINT_16, None, x))
    weights = random.integers(-127, 128, filters).astype(np.int8)
    kind = TensorType(filters, DType.SFIXED_POINT_8, None, Encoding(scales, (0,) * CHANNELS, 3, 8))
    graph.add_constant("w", weights, kind)
    made = (*image[:3], CHANNELS)
    graph.add(Node("c", POINT, ["x", "w"], ["c"]), [TensorType(made, DType.UFIXED_POINT_16, None, sums)])
    given = random.integers(0, 65536, image).astype(np.uint16)
    real = ((given.astype(np.int64) + x.offsets[0]) @ weights[0, 0].astype(np.int64)) * np.array(scales)
    if is_bent:
        slopes = random.choice([-1, 1], CHANNELS) * np.exp2(random.uniform(-14, 0, CHANNELS))
        slopes[::9] = 0
        fine = Encoding((1 / 32767,), (-32768,), bitwidth=16)
        stored = fine.encode(slopes.reshape(1, 1, -1).astype(np.float32), DType.UFIXED_POINT_16)
        graph.add_constant("s", stored, TensorType(stored.shape, DType.UFIXED_POINT_16, None, fine))
        graph.add(Node("p", Prelu(), ["c", "s"], ["p"]), [TensorType(made, DType.UFIXED_POINT_16, None, y)])
        real = np.where(real < 0, real * fine.decode(stored).reshape(-1), real)
    graph.outputs = ["p" if is_bent else "c"]
    return graph, {"x": given}, y.encode(real.astype(np.float32), DType.UFIXED_POINT_16)


@pytest.mark.parametrize("is_bent", [False, True])
def test_simulation_and_emulator_agree_and_are_right(is_bent):
    nets = [make_net(np.random.default_rng(seed), is_bent=is_bent) for seed in range(6)]
    found = emulate([graph for graph, _, _ in nets], [feed for _, feed, _ in nets])
    for (graph, feed, real), emulated in zip(nets, found, strict=True):
        name = graph.outputs[0]
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)[name].astype(int)
        steps = np.abs(simulated - emulated[name].astype(int))
        assert steps.max() <= 1
        assert (steps == 0).mean() >= 0.999
        # Some weights are rounded to a few steps more, and sums of low bytes are cut.
        assert np.abs(emulated[name].astype(int) - real).max() <= 24


@pytest.mark.parametrize("count", [1, CHANNELS])
@pytest.mark.parametrize("steepest", [0.8, 3.0])
def test_slopes_of_both_signs_are_cut_alike(steepest, count):
    shape, nets = (1, 8, 8, CHANNELS), []
    for seed in range(6):
        random = np.random.default_rng(seed)
        x, y = draw_encoding(random, 1.0), draw_encoding(random, float(np.exp2(random.uniform(-3, 3))))
        fine = Encoding((steepest / 32767,), (-32768,), bitwidth=16)
        graph = Graph("g")
        graph.add_input("x", TensorType(shape, DType.UFIXED_POINT_16, None, x))
        slopes = random.integers(0, 65536, (1, 1, count)).astype(np.uint16)
        graph.add_constant("s", slopes, TensorType(slopes.shape, DType.UFIXED_POINT_16, None, fine))
        graph.add(Node("p", Prelu(), ["x", "s"], ["p"]), [TensorType(shape, DType.UFIXED_POINT_16, None, y)])
        graph.outputs = ["p"]
        nets.append((graph, {"x": random.integers(0, 65536, shape).astype(np.uint16)}))
    found = emulate([graph for graph, _ in nets], [feed for _, feed in nets])
    for (graph, feed), emulated in zip(nets, found, strict=True):
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
        np.testing.assert_array_equal(simulated["p"], emulated["p"])
