"""Prelu with slopes of up to one, zero included."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.ops.activation import Prelu
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet


@pytest.mark.parametrize("slopes", [[0.0], [0.25], [-0.5], [0.0, 0.3]])
def test_simulation_and_emulator_agree(slopes):
    finished = []
    for number in range(4):
        net = RandomNet("w8a8", np.random.default_rng(number))
        value = net.add_input(1, 12, 12, 32)
        finished.append(net.finish(net.add(Prelu(), value, net.add_constant(np.resize(slopes, 32)))))
    found = emulate([graph for graph, _ in finished], [feed for _, feed in finished])
    for (graph, feed), emulated in zip(finished, found, strict=True):
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
        np.testing.assert_array_equal(simulated[graph.outputs[0]], emulated[graph.outputs[0]])
