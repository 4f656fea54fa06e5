"""SiLU behind layers, for images of all heights and widths that kernels take otherwise."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.ops.activation import Relu, Sigmoid
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.passes.pipeline import PASSES
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet

CHANNELS = 24
PADS = ((1, 1), (1, 1))
SIZES = [(8, 12), (9, 3), (10, 16), (12, 12), (13, 8), (13, 9), (16, 8), (24, 7)]


def make_net(form: str, size: tuple[int, int], *, is_depthwise: bool = False, batch: int = 1):
    net = RandomNet(form, np.random.default_rng(sum(size)))
    value = net.add_input(batch, *size, CHANNELS)
    if is_depthwise:
        weights = net.add_weights(3, 3, 1, CHANNELS, axis=3)
        sums = net.add(Relu(), net.add(DepthWiseConv2d(stride=(1, 1), pad_amount=PADS), value, weights))
    else:
        weights = net.add_weights(3, 3, CHANNELS, CHANNELS, axis=3)
        sums = net.add(Conv2d(stride=(1, 1), pad_amount=PADS), value, weights)
    return net.finish(net.add(ElementWiseMultiply(), sums, net.add(Sigmoid(), sums)))


def assert_alike(nets):
    found = emulate([graph for graph, _ in nets], [feed for _, feed in nets])
    for (graph, feed), emulated in zip(nets, found, strict=True):
        name = graph.outputs[0]
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
        np.testing.assert_array_equal(simulated[name], emulated[name])


@pytest.mark.parametrize("form", ["w8a8", "w8a16", "fp16"])
def test_simulation_and_emulator_agree(form):
    assert_alike([make_net(form, size) for size in SIZES])


@pytest.mark.parametrize("batch", [1, 2])
def test_other_layers_and_batches_do_so_too(batch):
    assert_alike([make_net("w8a16", size, is_depthwise=True, batch=batch) for size in SIZES])


def test_only_sizes_that_the_library_has_wrong_are_written_otherwise():
    counts = [PASSES["flatten_silus"](make_net("w8a16", size)[0]) for size in SIZES]
    assert counts == [0, 1, 1, 1, 1, 0, 1, 1]
    assert PASSES["flatten_silus"](make_net("w8a8", (12, 12))[0]) == 0
