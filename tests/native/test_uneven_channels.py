"""Depthwise convolutions of 16 bits that halve an image, with channels of very different scales."""

from dataclasses import replace

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ops import reference
from edgewright.ops.conv import DepthWiseConv2d
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet

PADS = ((1, 1), (1, 1))


def make_net(apart: float, bias: bool, size: int = 3, channels: int = 32, form: str = "w8a16"):
    """Half of the channels have scales of so many bits less."""
    net = RandomNet(form, np.random.default_rng(3))
    value = net.add_input(1, 16, 16, channels)
    real = net.random.uniform(-1, 1, (size, size, 1, channels))
    real *= np.repeat([1.0, 2.0**-apart], channels // 2) / np.abs(real).max(axis=(0, 1, 2))
    weights = net.add_weights_of(real, axis=3)
    inputs = [value, weights, *([net.add_bias(value, weights)] if bias else [])]
    return net.finish(net.add(DepthWiseConv2d(stride=(2, 2), pad_amount=PADS), *inputs))


def assert_alike(graph: Graph, feed, found):
    """A step in two of a thousand elements may differ, where biases have more bits than sums."""
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)[graph.outputs[0]]
    steps = np.abs(simulated.astype(int) - found)
    assert steps.max() <= 1
    assert (steps == 0).mean() >= 0.998


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("apart", [4, 7, 7.5, 8, 8.5, 11])
def test_simulation_and_emulator_agree_and_are_right(apart, bias):
    graph, feed = make_net(apart, bias)
    (found,) = emulate([graph], [feed])
    name = graph.outputs[0]
    assert_alike(graph, feed, found[name])
    exact = reference.run(graph, dict(feed))[name].astype(int)
    # The narrow channels keep 6 bits of their weights, which is little of the range of the wide ones.
    assert np.abs(found[name].astype(int) - exact)[..., :16].max() <= 4
    assert np.abs(found[name].astype(int) - exact)[..., 16:].max() <= 40


@pytest.mark.parametrize("size", [3, 4, 5, 7])
@pytest.mark.parametrize("apart", [5, 7, 9])
def test_more_channels_have_rules_of_their_own(apart, size):
    graph, feed = make_net(apart, True, size, 48)
    (found,) = emulate([graph], [feed])
    assert_alike(graph, feed, found[graph.outputs[0]])


def test_weights_of_unsigned_bytes_stand_for_the_same():
    graph, feed = make_net(7.5, True)
    weights, name = graph.nodes[0].inputs[1], graph.outputs[0]
    expected = reference.run(graph, dict(feed))[name].astype(int)
    kind = graph.types[weights]
    unsigned = replace(kind.encoding, offsets=(-128,) * len(kind.encoding.scales))
    graph.types[weights] = replace(kind, dtype=DType.UFIXED_POINT_8, encoding=unsigned)
    graph.constants[weights] = (graph.constants[weights].astype(int) + 128).astype(np.uint8)
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    for result in (found, simulated):
        assert np.abs(result[name].astype(int) - expected).max() <= 40


def test_one_small_scale_of_all_channels_stays_one():
    """The sums lie far below zero, which is the largest integer of the output."""
    graph, feed = make_net(0, False)
    node, name = graph.nodes[0], graph.outputs[0]
    x, weights, y = (graph.types[value] for value in (*node.inputs, name))
    scale = max(weights.encoding.scales)
    graph.types[node.inputs[1]] = replace(weights, encoding=Encoding((scale,), (0,)))
    steps = x.encoding.scales[0] * scale * 2**15.7
    graph.types[name] = replace(y, encoding=Encoding((steps,), (-65535,), bitwidth=16))
    expected = reference.run(graph, dict(feed))[name].astype(int)
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    for result in (found, simulated):
        assert np.abs(result[name].astype(int) - expected).max() <= 40


def test_weights_of_16_bits_are_raised_before_the_library_cuts_the_largest():
    graph, feed = make_net(0, False, form="w16a16")
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    name = graph.outputs[0]
    assert np.abs(simulated[name].astype(int) - found[name]).max() <= 16


@pytest.mark.parametrize("bias", [False, True])
def test_sums_that_wrap_do_so_in_the_simulation(bias, monkeypatch):
    """Without the pass; the emulator gives 0 for the largest sums of the wide channels."""
    graph, feed = make_net(7.5, bias)
    for place in ("backends.htp.with_raised_scales", "backends.qnn.backend.run_passes"):
        monkeypatch.setattr(f"edgewright.{place}", lambda graph, names=(): graph)
    (found,) = emulate([graph], [feed])
    name = graph.outputs[0]
    assert (found[name][..., :16] == 0).mean() > 0.02
    assert_alike(graph, feed, found[name])
