"""Activations in half precision right behind sums: the same floats, where the library gives noise, too."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.ops.activation import HardSwish, Prelu
from edgewright.ops.conv import DepthWiseConv2d
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.rearrange import Transpose
from edgewright.ops.resize import ResizeBilinear
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet

PADS = ((1, 1), (1, 1))


def run_both(net, value):
    graph, feed = net.finish(value)
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    return simulated[value], found[value]


@pytest.mark.parametrize("slopes", [1, 32])
@pytest.mark.parametrize("op", [ElementWiseAdd(), ElementWiseSubtract()])
def test_a_prelu_reads_all_bits_of_a_sum(op, slopes):
    net = RandomNet("fp16", np.random.default_rng(1))
    total = net.add(op, net.add_input(1, 24, 24, 32), net.add_input(1, 24, 24, 32))
    bent = net.add(Prelu(), total, net.add_constant(net.random.uniform(-0.5, 2, slopes)))
    np.testing.assert_array_equal(*run_both(net, bent))


@pytest.mark.parametrize(
    ("height", "width", "stride"),
    [(20, 32, (2, 1)), (24, 32, (2, 1)), (24, 80, (2, 1)), (12, 80, (1, 2)), (24, 32, (2, 2))],
)
def test_a_hard_swish_behind_depthwise_sums_is_right_in_all_places(height, width, stride):
    net = RandomNet("fp16", np.random.default_rng(3))
    value = net.add_input(1, height, width, 64)
    weights = net.add_weights(3, 3, 1, 64, axis=3)
    op = DepthWiseConv2d(stride=stride, pad_amount=PADS)
    sums = net.add(op, value, weights, net.add_bias(value, weights))
    simulated, emulated = run_both(net, net.add(HardSwish(), sums))
    np.testing.assert_array_equal(simulated, emulated)


@pytest.mark.parametrize("size", [(16, 64, 8), (8, 72, 1), (64, 64, 4), (16, 63, 8), (16, 64, 9)])
def test_wide_images_with_few_channels_are_enlarged_in_single_precision(size):
    net = RandomNet("fp16", np.random.default_rng(3))
    op = ResizeBilinear(size=(2 * size[0], 2 * size[1]), half_pixel_centers=True)
    simulated, emulated = run_both(net, net.add(op, net.add_input(1, *size)))
    # One element in a thousand is beside, by a float.
    assert np.mean(simulated == emulated) >= (0.997 if size[1] > 63 and size[2] < 9 else 1)


@pytest.mark.parametrize("shape", [(1, 16, 16, 32), (1, 16, 16, 5), (1, 10, 64), (1, 8, 8, 1), ()])
def test_a_sum_with_a_number_for_each_channel_is_rounded_with_the_product_before_it(shape):
    net = RandomNet("fp16", np.random.default_rng(1))
    row = [net.add_constant(net.random.normal(size=shape[-1:])) for _ in range(2)]
    scaled = net.add(ElementWiseMultiply(), net.add_input(*shape), row[0])
    simulated, emulated = run_both(net, net.add(ElementWiseAdd(), scaled, row[1]))
    # One element in a thousand is beside, and one in four was.
    assert np.mean(simulated == emulated) >= 0.997


@pytest.mark.parametrize("channels", [8, 16, 48])
@pytest.mark.parametrize("is_first", [False, True])
def test_middles_go_to_the_even_float_behind_a_row_of_many_channels(channels, is_first):
    net = RandomNet("fp16", np.random.default_rng(1))
    pair = [net.add_constant(net.random.normal(size=channels)), net.add_input(1, 16, 16, channels)]
    value = net.add(ElementWiseAdd(), *(pair if is_first else pair[::-1]))
    np.testing.assert_array_equal(*run_both(net, value))


@pytest.mark.parametrize(("shape", "order"), [((1, 30, 1, 64), (0, 3, 1, 2)), ((1, 32, 30, 4), (0, 3, 2, 1))])
def test_values_that_are_turned_alike_are_added_before_that(shape, order):
    """How many channels there are then decides where middles go."""
    net = RandomNet("fp16", np.random.default_rng(1))
    turned = [net.add(Transpose(perm=order), net.add_input(*shape)) for _ in range(2)]
    np.testing.assert_array_equal(*run_both(net, net.add(ElementWiseAdd(), *turned)))
