"""What the emulator computes wrongly or refuses as it stands comes out right after the passes for HTP."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.model.model import Model
from edgewright.ops.activation import Gelu, HardSwish, Relu, Sigmoid, Tanh
from edgewright.ops.cast import Cast
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.elementwise import (
    ElementWiseGreater,
    ElementWiseMaximum,
    ElementWiseMultiply,
    ElementWisePower,
)
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.gather import Gather, GatherNd
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.norm import LayerNorm, RmsNorm
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.ops.rearrange_fill import Pad, Scheme

ENOUGH = {None: 55, 8: 25, 16: 40}


class Chain:
    """A graph that grows; values are random numbers of a fixed seed."""

    def __init__(self, *shape):
        self.random = np.random.default_rng(1)
        self.graph = Graph("g")
        self.graph.add_input("x", TensorType(shape))
        self.feed = {"x": self.draw(*shape)}

    def draw(self, *shape):
        return self.random.normal(size=shape).astype(np.float32)

    def add(self, op, *values):
        names = [
            value if isinstance(value, str) else self.graph.add_constant(self.graph.fresh_name("w"), value)
            for value in values
        ]
        name = self.graph.fresh_name(op.qnn_name())
        self.graph.add(Node(name, op, names, [name]))
        return name


def windows():
    """Six axes, as window attention has them."""
    net = Chain(1, 8, 8, 12)
    parts = net.add(Reshape(shape=(1, 2, 4, 2, 4, 12)), "x")
    return net, [net.add(Reshape(shape=(4, 16, 12)), net.add(Transpose(perm=(0, 1, 3, 2, 4, 5)), parts))]


def overlapping_windows():
    """Indices that add an axis."""
    net = Chain(1, 8, 3, 8, 4)
    indices = np.asarray([[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]], np.int32)
    six = net.add(Gather(axis=1), "x", indices)
    return net, [net.add(Reshape(shape=(9, 4, 32)), net.add(Transpose(perm=(0, 3, 1, 2, 4, 5)), six))]


def five_axes(op, count):
    """A volume, as video networks have it."""
    net = Chain(2, 3, 4, 5, 6)
    return net, [net.add(op, *["x", net.add(Relu(), "x")][:count])]


def padded_channels():
    """Another reader of what is padded."""
    net = Chain(1, 8, 16, 16)
    turned = net.add(Transpose(perm=(0, 1, 3, 2)), "x")
    amounts = ((0, 0), (0, 0), (0, 0), (0, 1))
    padded = net.add(Pad(scheme=Scheme.CONSTANT, pad_amount=amounts, pad_constant_value=1.0), turned)
    return net, [net.add(ElementWiseNeg(), padded), net.add(ElementWiseNeg(), net.add(Relu(), turned))]


def repeated_edge():
    net = Chain(1, 32, 8, 4)
    amounts = ((0, 0), (2, 1), (3, 2), (0, 1))
    return net, [net.add(Pad(scheme=Scheme.EDGE, pad_amount=amounts), net.add(ElementWiseNeg(), "x"))]


def convolution(kind, size, pad):
    net = Chain(1, 12, 12, 32)
    op = kind(stride=(2, 2), pad_amount=((pad, pad), (pad, pad)))
    return net, [net.add(op, "x", net.draw(size, size, 1 if kind is DepthWiseConv2d else 32, 32))]


def activation(op):
    net = Chain(1, 8, 8, 20)
    point = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))
    total = net.add(point, "x", net.draw(1, 1, 20, 20) / 4, net.draw(20) / 10)
    gate = net.add(op, total)
    return net, [net.add(ElementWiseMultiply(), total, gate) if isinstance(op, Sigmoid) else gate]


def small_pool(height, width, size):
    net = Chain(1, height, width, 32)
    pads = (size // 2, size // 2)
    op = PoolAvg2d(
        filter_size=(size, size), stride=(1, 1), pad_amount=(pads, pads), count_pad_for_edges=False
    )
    return net, [net.add(op, "x")]


def pool(size, stride, pads, *, is_counted=False):
    net = Chain(1, 24, 20, 32)
    sides = tuple((side, side) if isinstance(side, int) else side for side in pads)
    op = PoolAvg2d(filter_size=size, stride=stride, pad_amount=sides, count_pad_for_edges=is_counted)
    return net, [net.add(op, "x")]


def as_many_heads_as_tokens():
    """The end of an attention: heads are joined and projected."""
    net = Chain(4, 4, 4, 20)
    joined = net.add(Reshape(shape=(4, 4, 80)), net.add(Transpose(perm=(0, 2, 1, 3)), "x"))
    return net, [net.add(FullyConnected(keep_dims=True), joined, net.draw(80, 80) / 9)]


def norm(kind, axes):
    net = Chain(2, 6, 5, 7)
    shape = [(2, 6, 5, 7)[axis] for axis in axes]
    return net, [net.add(kind(axes=axes), "x", net.draw(*shape), net.draw(*shape))]


def folded_rows(*shape):
    """Rows that are put together across images, as heads that are joined are where there is one token."""
    net = Chain(*shape)
    count, height, width, depth = shape
    rows = net.add(Reshape(shape=(height * width, count * depth)), net.add(Relu(), "x"))
    made = net.add(FullyConnected(), rows, net.draw(10, count * depth) / 8, net.draw(10))
    return net, [net.add(Reshape(shape=(height, width, 10)), made)]


def turned_norm(kind, *shape):
    """Heads that are normalized and turned by tables that all of them share, as Qwen 3 has it."""
    net = Chain(*shape)
    table = (*[1] * (len(shape) - 2), *shape[-2:])
    net.graph.add_input("table", TensorType(table))
    net.feed["table"] = net.draw(*table)
    normal = net.add(kind(axes=(len(shape) - 1,)), "x", np.abs(net.draw(shape[-1])) + 0.5)
    return net, [net.add(ElementWiseMultiply(), normal, "table")]


def picked_mask():
    """A mask that is picked by tuples, as transformers do it, and then multiplied."""
    net = Chain(1, 16)
    mask = net.add(ElementWiseGreater(), "x", np.zeros((1, 1), np.float32))
    tuples = np.stack(np.broadcast_arrays(0, np.arange(16).reshape(1, 1, 1, 16), np.zeros((1, 1, 4, 1))), -1)
    picked = net.add(GatherNd(), mask, tuples[..., :2].astype(np.int32))
    return net, [net.add(ElementWiseMultiply(), net.add(Cast(dtype=DType.FLOAT_32), picked), "x")]


CASES = {
    "windows": windows,
    "overlapping_windows": overlapping_windows,
    "hard_swish_of_a_volume": lambda: five_axes(HardSwish(), 1),
    "maximum_of_volumes": lambda: five_axes(ElementWiseMaximum(), 2),
    "padded_channels": padded_channels,
    "repeated_edge": repeated_edge,
    "conv_9x9": lambda: convolution(Conv2d, 9, 4),
    "depthwise_9x9": lambda: convolution(DepthWiseConv2d, 9, 4),
    "padded_1x1": lambda: convolution(Conv2d, 1, 1),
    "as_many_heads_as_tokens": as_many_heads_as_tokens,
    "pool_of_one_element": lambda: small_pool(1, 1, 3),
    "pool_of_a_row": lambda: small_pool(1, 4, 3),
    "pool_of_less_than_its_window": lambda: small_pool(4, 4, 5),
    "pool_of_tiles": lambda: pool((4, 4), (4, 4), (0, 0)),
    "pool_of_tiles_with_a_rest": lambda: pool((8, 8), (8, 8), (0, 0)),
    "pool_of_long_tiles": lambda: pool((6, 10), (6, 10), (0, 0)),
    "pool_of_9x9_places": lambda: pool((9, 9), (2, 2), (0, 0)),
    "pool_padded_around": lambda: pool((5, 5), (2, 2), (2, 2)),
    "pool_padded_behind": lambda: pool((2, 2), (1, 1), ((0, 1), (0, 1))),
    "pool_of_counted_padding": lambda: pool((2, 2), (2, 2), (1, 1), is_counted=True),
    "pool_padded_above_and_below": lambda: pool((3, 1), (1, 1), (1, 0)),
    "layer_norm_of_rows": lambda: norm(LayerNorm, (1,)),
    "layer_norm_of_planes": lambda: norm(LayerNorm, (2, 3)),
    "turned_layer_norm": lambda: turned_norm(LayerNorm, 1, 4, 8, 16),
    "turned_rms_norm": lambda: turned_norm(RmsNorm, 1, 4, 8, 16),
    "turned_rms_norm_of_three_axes": lambda: turned_norm(RmsNorm, 4, 8, 16),
}
IN_FLOATS = {
    "swish": lambda: activation(Sigmoid()),
    "tanh": lambda: activation(Tanh()),
    "gelu": lambda: activation(Gelu()),
    "picked_mask": picked_mask,
    "rms_norm_with_beta": lambda: norm(RmsNorm, (3,)),
    "joined_heads_of_one_token": lambda: folded_rows(4, 4, 1, 24),
    "rows_of_two_images": lambda: folded_rows(2, 3, 5, 16),
}


def assert_close(case, bits):
    net, outputs = case()
    net.graph.outputs = outputs
    model = Model.of(net.graph)
    narrow = ew.quantize(model, float_bw=16) if bits is None else ew.quantize(model, [net.feed], act_bw=bits)
    real, found = model.run(net.feed), narrow.run(net.feed, backend="htp-native")
    for name in outputs:
        noise = np.square(real[name] - found[name].astype(np.float64)).sum()
        assert 10 * np.log10(np.square(real[name]).sum() / max(noise, 1e-12)) > ENOUGH[bits], name


@pytest.mark.parametrize("bits", ENOUGH)
@pytest.mark.parametrize("case", CASES)
def test_the_emulator_is_right_in_every_precision(case, bits):
    assert_close(CASES[case], bits)


@pytest.mark.parametrize("case", IN_FLOATS)
def test_the_emulator_is_right_in_half_precision(case):
    assert_close(IN_FLOATS[case], None)


def test_hard_swish_of_floats_is_not_too_small_on_the_emulator():
    net = Chain(1, 16, 16, 32)
    value = net.add(HardSwish(), net.add(ElementWiseMultiply(), "x", np.full((1,), 0.5, np.float32)))
    net.graph.outputs = [value]
    model = Model.of(net.graph)
    expected = model.run(net.feed)[value].astype(np.float64)
    computed = ew.quantize(model, float_bw=16).run(net.feed, backend="htp-native")[value]
    # The factor that brings one as near as possible to the other.
    factor = float((computed * expected).sum() / np.square(expected).sum())
    assert factor == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("exponent", [0.5, 2, 3, 4])
def test_powers_of_zeros_of_both_signs_are_right_on_the_emulator(exponent):
    net = Chain(1, 64)
    value = net.add(ElementWisePower(), "x", np.full((1,), exponent, np.float32))
    net.graph.outputs = [value]
    feed = {"x": np.concatenate([[0.0, -0.0], np.linspace(0.1, 3, 62)]).astype(np.float32)[None]}
    half = ew.quantize(Model.of(net.graph), float_bw=16)
    computed = half.run(feed, backend="htp-native")[value]
    np.testing.assert_allclose(computed, feed["x"] ** exponent, rtol=5e-3, atol=1e-6)
