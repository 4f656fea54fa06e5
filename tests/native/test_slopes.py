"""Prelu with slopes of up to one, zero included."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.ops.activation import Prelu
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet


def assert_alike(nets):
    """The same integers from simulation and emulator."""
    found = emulate([graph for graph, _ in nets], [feed for _, feed in nets])
    for (graph, feed), emulated in zip(nets, found, strict=True):
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
        np.testing.assert_array_equal(simulated[graph.outputs[0]], emulated[graph.outputs[0]])


def list_integers(feed):
    """Every integer in every channel, in place of what inputs are fed with."""
    places = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    return {name: np.broadcast_to(places, x.shape).copy() for name, x in feed.items()}


@pytest.mark.parametrize("slopes", [[0.0], [0.25], [-0.5], [0.0, 0.3]])
def test_simulation_and_emulator_agree(slopes):
    finished = []
    for number in range(4):
        net = RandomNet("w8a8", np.random.default_rng(number))
        value = net.add_input(1, 12, 12, 32)
        finished.append(net.finish(net.add(Prelu(), value, net.add_constant(np.resize(slopes, 32)))))
    assert_alike(finished)


@pytest.mark.parametrize("steepest", [1.1, 1.6, 3.4])
def test_steep_slopes_are_multiplied_with_all_bits_of_the_ratio(steepest):
    """Each integer with each of 64 slopes: those that are not steep count as well."""
    finished = []
    for number in range(6):
        net = RandomNet("w8a8", np.random.default_rng(number))
        value = net.add_input(1, 16, 16, 64, spread=2.0)
        slopes = net.random.uniform(-0.8 * steepest, steepest, 64)
        slopes[0] = steepest
        graph, feed = net.finish(net.add(Prelu(), value, net.add_constant(slopes)))
        finished.append((graph, list_integers(feed)))
    assert_alike(finished)


@pytest.mark.parametrize("slope", [0.01, 0.1, 0.25])
def test_one_slope_for_all_channels_is_a_table(slope):
    finished = []
    for number in range(6):
        net = RandomNet("w8a8", np.random.default_rng(number))
        value = net.add_input(1, 16, 16, 32, spread=1.0 + number)
        graph, feed = net.finish(net.add(Prelu(), value, net.add_constant(np.full(1, slope))))
        finished.append((graph, list_integers(feed)))
    assert_alike(finished)
