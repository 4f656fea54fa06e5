"""Functions of bytes with single numbers, one after the other: HTP makes one table of them."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.ops.activation import HardSwish, Relu, Sigmoid, Tanh
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseAbs
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet

POINT = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))
ADD, SUBTRACT = (ElementWiseAdd(), 0.7), (ElementWiseSubtract(), 0.4)
SCALE, SHRINK, FLIP = (
    (ElementWiseMultiply(), 3.3),
    (ElementWiseMultiply(), 0.3),
    (ElementWiseMultiply(), -0.6),
)
DIVIDE = (ElementWiseDivide(), 0.22)
CHAINS = {
    "scale, add": (SCALE, ADD),
    "flip, add": (FLIP, ADD),
    "scale, add, scale, add": (SCALE, ADD, SHRINK, ADD),
    "add, scale": (ADD, SCALE),
    "subtract, divide": (SUBTRACT, DIVIDE),
    "divide, add": (DIVIDE, ADD),
    "scale, shrink": (SCALE, SHRINK),
    "sigmoid, scale, add": (Sigmoid(), SCALE, ADD),
    "tanh, divide": (Tanh(), DIVIDE),
    "hard swish, scale": (HardSwish(), SCALE),
    "scale, absolute": (SCALE, ElementWiseAbs()),
    "scale, sigmoid": (SCALE, Sigmoid()),
    "scale, relu": (SCALE, Relu()),
    "scale": (SCALE,),
}


def make_net(chain, seed, *, is_behind):
    """Every integer, as an input or as a convolution stores it."""
    net = RandomNet("w8a8", np.random.default_rng(seed))
    value = net.add_input(1, 16, 16, 32, spread=2.0)
    if is_behind:
        weights = net.add_weights(1, 1, 32, 32, axis=3)
        value = net.add(POINT, value, weights, net.add_bias(value, weights))
    for step in chain:
        op, number = step if isinstance(step, tuple) else (step, None)
        value = net.add(op, value, *([] if number is None else [net.add_constant(np.full(1, number))]))
    graph, feed = net.finish(value)
    return graph, {name: np.resize(np.arange(256, dtype=np.uint8), x.shape) for name, x in feed.items()}


@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize("name", CHAINS)
def test_what_is_between_them_is_rounded_as_the_library_does_it(name, is_behind):
    nets = [make_net(CHAINS[name], seed, is_behind=is_behind) for seed in range(6)]
    found = emulate([graph for graph, _ in nets], [feed for _, feed in nets])
    for (graph, feed), emulated in zip(nets, found, strict=True):
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
        np.testing.assert_array_equal(simulated[graph.outputs[0]], emulated[graph.outputs[0]])
