"""GroupNorm of one group of 16 bits, for small images with many channels."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.norm_channel import GroupNorm
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet

SIZES = [(1, 8), (2, 2), (4, 4), (7, 9), (8, 4), (8, 8), (12, 12)]


def make_net(size: tuple[int, int], channels: int, *, is_layer: bool):
    net = RandomNet("w8a16", np.random.default_rng(channels))
    value = net.add_input(1, *size, 16 if is_layer else channels)
    if is_layer:
        point = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))
        value = net.add(point, value, net.add_weights(1, 1, 16, channels, axis=3))
    else:
        value = net.add(ElementWiseAdd(), value, net.add_input(1, *size, channels))
    weights, bias = (
        net.add_constant(np.linspace(0.2, 1, channels)),
        net.add_number(np.linspace(-1, 1, channels)),
    )
    return net.finish(net.add(GroupNorm(epsilon=1e-5, group=1), value, weights, bias))


@pytest.mark.parametrize("is_layer", [False, True])
@pytest.mark.parametrize("channels", [192, 256, 320, 1024])
def test_simulation_and_emulator_agree_but_for_a_step(channels, is_layer):
    nets = [make_net(size, channels, is_layer=is_layer) for size in SIZES]
    found = emulate([graph for graph, _ in nets], [feed for _, feed in nets])
    for (graph, feed), emulated in zip(nets, found, strict=True):
        name = graph.outputs[0]
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)[name].astype(int)
        assert np.abs(simulated - emulated[name].astype(int)).max() <= 2
