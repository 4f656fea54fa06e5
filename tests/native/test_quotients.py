"""Quotients in half precision by constants, of one number or several."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.ops.elementwise import ElementWiseDivide
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet


@pytest.mark.parametrize("divisors", [[100.0], [0.01], [-7.0], [0.3, 100.0, -33.0, 0.01]])
def test_simulation_and_emulator_agree(divisors):
    net = RandomNet("fp16", np.random.default_rng(0))
    value = net.add_input(1, 6, 6, 32)
    count = 1 if len(divisors) == 1 else 32
    graph, feed = net.finish(
        net.add(ElementWiseDivide(), value, net.add_constant(np.resize(divisors, count)))
    )
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    np.testing.assert_array_equal(simulated[graph.outputs[0]], found[graph.outputs[0]])
