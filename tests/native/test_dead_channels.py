"""Channels of 16 bits with weights so small that the library itself gives noise for them."""

from dataclasses import replace

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.ops import reference
from edgewright.ops.activation import Prelu, Relu
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.passes.pipeline import PASSES
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet

CHANNELS, SIZE = 32, (1, 8, 8, 32)
# Each channel's weights are half of those of the one before it.
FALLING = 2.0 ** -np.arange(CHANNELS)
NO_PADS, TWO = ((0, 0), (0, 0)), (2, 2)
PRODUCTS = {
    "Conv2d": (Conv2d(stride=(1, 1), pad_amount=NO_PADS), (3, 3, CHANNELS, CHANNELS)),
    "DepthWiseConv2d": (DepthWiseConv2d(stride=(1, 1), pad_amount=NO_PADS), (3, 3, 1, CHANNELS)),
    "TransposeConv2d": (TransposeConv2d(stride=TWO, pad_amount=NO_PADS), (2, 2, CHANNELS, CHANNELS)),
    "FullyConnected": (FullyConnected(), (CHANNELS, CHANNELS)),
}


def make_net(kind, behind="", form="w8a16"):
    """Channels whose factors go down to 2^-40, and a Relu or Prelu behind them where that is asked for."""
    net, (op, shape) = RandomNet(form, np.random.default_rng(5)), PRODUCTS[kind]
    value = net.add_input(*(SIZE if len(shape) > 2 else (7, CHANNELS)))
    axis = 0 if kind == "FullyConnected" else 3
    falling = FALLING.reshape([CHANNELS if place == axis else 1 for place in range(len(shape))])
    weights = net.add_weights_of(net.random.uniform(-1, 1, shape) * falling, axis)
    result = net.add(op, value, weights, net.add_bias(value, weights, axis))
    if behind in {"Relu", "wide Relu"}:
        result = net.add(Relu(), result)
        kind, times = net.graph.types[result], 1 if behind == "Relu" else 50
        coarse = replace(kind.encoding, scales=(times * kind.encoding.scales[0],))
        net.graph.types[result] = replace(kind, encoding=coarse)
    elif behind:
        slopes = {"steep": 3.0, "flat": 0.002, "falling": -0.3, "even": 0.0}[behind]
        result = net.add(Prelu(), result, net.add_constant(np.full(CHANNELS, slopes)))
    return net.finish(result)


def run_both(graph, feed):
    """What the emulator gives, which the simulation gives as well."""
    name = graph.outputs[0]
    (found,) = emulate([graph], [feed])
    emulated = found[name].astype(int)
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)[name]
    steps = np.abs(simulated.astype(int) - emulated)
    assert steps.max() <= 1
    assert (steps == 0).mean() >= 0.98
    return emulated


def assert_meant(graph, feed, emulated):
    """Dead channels lose a few steps; the library by itself is up to 65,535 beside."""
    exact = reference.run(graph, dict(feed))[graph.outputs[0]].astype(int)
    assert np.abs(emulated - exact).max() <= 4


# Transposed convolutions store their results before a Prelu.
CASES = [
    (kind, behind)
    for kind in PRODUCTS
    for behind in ("", "Relu", "wide Relu", "steep", "flat", "falling", "even")
    if kind != "TransposeConv2d" or behind in {"", "Relu", "wide Relu"}
]


@pytest.mark.parametrize(("kind", "behind"), CASES)
def test_the_library_is_given_weights_that_it_can_use(kind, behind):
    graph, feed = make_net(kind, behind)
    emulated = run_both(graph, feed)
    if not behind:
        # Activations read sums that were not clamped before.
        assert_meant(graph, feed, emulated)
    assert PASSES["raise_faint_channels"].function(graph.copy()) == 1


@pytest.mark.parametrize("form", ["w8a8", "w16a16"])
def test_only_8_bits_times_16_need_that(form):
    graph, _ = make_net("Conv2d", form=form)
    assert PASSES["raise_faint_channels"].function(graph) == 0


def test_one_scale_for_all_is_raised_as_well():
    net = RandomNet("w8a16", np.random.default_rng(5))
    factors = net.add_weights_of(net.random.normal(0, 2.0**-22, (32, 1)), axis=1)
    values = [net.add_input(1, 6, 32), factors]
    small = net.add(MatMul(), *values)
    kind = net.graph.types[small]
    net.graph.types[small] = replace(kind, encoding=net.graph.types[values[0]].encoding)
    graph, feed = net.finish(small)
    assert_meant(graph, feed, run_both(graph, feed))
    assert PASSES["raise_faint_channels"].function(graph) == 1
