"""Where 8 and 16 bits meet, and weights of 16 bits: the simulation gives what the genuine emulator gives."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.conv import DepthWiseConv2d
from edgewright.ops.norm import Batchnorm
from edgewright.ops.quant import Convert
from tests.native.equality import emulate, read
from tests.native.equality_cases import NONE, connect, convolve, convolve_depthwise
from tests.native.random_nets import RandomNet

Net = tuple[Graph, dict[str, Array]]


def compare(nets: list[Net]) -> list[tuple[Array, Array]]:
    """Simulated and emulated outputs, as stored."""
    emulated = emulate([graph for graph, _ in nets], [feed for _, feed in nets])
    simulated = [HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed) for graph, feed in nets]
    return [
        (ours[graph.outputs[0]], theirs[graph.outputs[0]])
        for (graph, _), ours, theirs in zip(nets, simulated, emulated, strict=True)
    ]


def make_type(shape: tuple[int, ...], bits: int, scale: float, offset: int) -> TensorType:
    encoding = Encoding((scale,), (offset,), bitwidth=bits)
    return TensorType(shape, DType[f"UFIXED_POINT_{bits}"], None, encoding)


def convert(bits: int, seed: int) -> Net:
    """Every integer of a width, brought to 8 bits of about the same range."""
    random, side = np.random.default_rng(seed), 1 << (bits // 2)
    x = np.arange(1 << bits).astype(f"uint{bits}").reshape(1, 1, side, side)
    scale, offset = random.uniform(1e-4, 1e-2), -int(random.integers(0, 1 << bits))
    narrow = scale * (1 << (bits - 8)) * float(np.exp(random.uniform(-1, 1)))
    before = make_type(x.shape, bits, scale, offset)
    after = make_type(x.shape, 8, narrow, max(-255, round(offset * scale / narrow)))
    graph = Graph("g")
    graph.add_input("x", before)
    op = Convert(dtype=after.dtype, encoding=after.encoding, source=before.encoding)
    graph.add(Node("n", op, ["x"], ["y"]), [after])
    graph.outputs = ["y"]
    return graph, {"x": x}


@pytest.mark.parametrize("bits", [8, 16])
def test_conversions_to_8_bits_are_the_same_for_every_integer(bits: int) -> None:
    for simulated, emulated in compare([convert(bits, seed) for seed in range(16)]):
        assert len(np.unique(emulated)) > 10
        np.testing.assert_array_equal(simulated, emulated)


def test_depthwise_convolutions_of_one_place_with_a_stride_are_the_same() -> None:
    nets = []
    for seed in range(4):
        net = RandomNet("w8a8", np.random.default_rng(seed))
        value, weights = net.add_input(1, 12, 12, 32), net.add_weights(1, 1, 1, 32, axis=3)
        op = DepthWiseConv2d(stride=(2, 2), pad_amount=NONE)
        nets.append(net.finish(net.add(op, value, weights, net.add_bias(value, weights))))
    for simulated, emulated in compare(nets):
        np.testing.assert_array_equal(simulated, emulated)


@pytest.mark.parametrize("draw", [convolve, convolve_depthwise, connect])
def test_weights_of_16_bits_lose_what_two_signed_bytes_cannot_hold(draw) -> None:  # type: ignore[no-untyped-def]
    net = RandomNet("w16a16", np.random.default_rng(3))
    graph, feed = net.finish(draw(net))
    ((simulated, emulated),) = compare([(graph, feed)])
    real = read(graph, graph.outputs[0], emulated)
    noise = real - read(graph, graph.outputs[0], simulated)
    # Without the rule they are 57 to 66 dB apart.
    assert 10 * np.log10(np.square(real).sum() / np.square(noise).sum()) > 75


@pytest.mark.parametrize("dtype", [DType.SFIXED_POINT_16, DType.UFIXED_POINT_16])
def test_factors_of_a_batch_norm_lose_as_much(dtype: DType) -> None:
    x, most = np.arange(0, 65536, 8, dtype=np.uint16).reshape(1, 32, 32, 8), np.iinfo(dtype.numpy).max
    graph, kind = Graph("g"), make_type(x.shape, 16, 1e-4, -32768)
    graph.add_input("x", kind)
    factors = np.linspace(most * 0.98, most, 8).astype(dtype.numpy)
    graph.add_constant(
        "w", factors, TensorType((8,), dtype, None, Encoding((0.9 / most,), (0,), bitwidth=16))
    )
    bias = TensorType((8,), DType.SFIXED_POINT_32, None, Encoding((1e-9,), (0,), bitwidth=32))
    graph.add_constant("b", np.zeros(8, np.int32), bias)
    graph.add(Node("n", Batchnorm(), ["x", "w", "b"], ["y"]), [kind])
    graph.outputs = ["y"]
    ((simulated, emulated),) = compare([(graph, {"x": x})])
    assert np.abs(simulated.astype(int) - emulated.astype(int)).max() <= 4
