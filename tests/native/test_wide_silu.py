"""SiLU of 16 bits: the library alone gives noise in images of some sizes."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.ops import reference
from edgewright.ops.activation import Relu, Sigmoid
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.rearrange import Transpose
from edgewright.passes.pipeline import PASSES
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet

POINT = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))


def make_net(height, width, channels, *, is_turned, is_swapped):
    net = RandomNet("w8a16", np.random.default_rng(3))
    if is_turned:
        value = net.add(Transpose(perm=(0, 3, 1, 2)), net.add_input(1, width, channels, height))
    else:
        value, weights = (
            net.add_input(1, height, width, channels),
            net.add_weights(1, 1, channels, channels, axis=3),
        )
        value = net.add(POINT, value, weights, net.add_bias(value, weights))
    pair = [value, net.add(Sigmoid(), value)]
    return net.finish(net.add(ElementWiseMultiply(), *(pair[::-1] if is_swapped else pair)))


@pytest.mark.parametrize("is_swapped", [False, True])
@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(
    ("size", "is_lost"),
    [
        *(((9, 64, 16), True), ((12, 12, 64), True), ((120, 1, 8), True), ((13, 8, 32), True)),
        *(((8, 8, 8), False), ((13, 9, 32), False), ((13, 8, 33), False), ((16, 16, 64), False)),
    ],
)
def test_the_product_of_a_value_and_its_sigmoid_is_right(size, is_lost, is_turned, is_swapped):
    graph, feed = make_net(*size, is_turned=is_turned, is_swapped=is_swapped)
    name = graph.outputs[0]
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)[name]
    np.testing.assert_array_equal(simulated, found[name])
    exact = reference.run(graph, dict(feed))[name].astype(int)
    # A Sigmoid has 15 bits.
    assert np.abs(found[name].astype(int) - exact).max() <= 12
    assert PASSES["separate_gates"].function(graph) == is_lost


@pytest.mark.parametrize("size", [(10, 10, 32), (16, 16, 64)])
def test_a_sigmoid_that_others_read_is_right_as_well(size):
    net = RandomNet("w8a16", np.random.default_rng(3))
    value, weights = net.add_input(1, *size), net.add_weights(1, 1, size[2], size[2], axis=3)
    value = net.add(POINT, value, weights, net.add_bias(value, weights))
    gate = net.add(Sigmoid(), value)
    graph, feed = net.finish(net.add(ElementWiseMultiply(), value, gate), net.add(Relu(), gate))
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    for name in graph.outputs:
        assert np.abs(simulated[name].astype(int) - found[name]).max() <= 2
