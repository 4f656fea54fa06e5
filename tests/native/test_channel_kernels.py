"""Depthwise convolutions of rarer forms: the library has another kernel for each."""

from dataclasses import dataclass

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.ops import reference
from edgewright.ops.activation import HardSwish
from edgewright.ops.conv import DepthWiseConv2d
from edgewright.passes.pipeline import PASSES
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet


@dataclass(frozen=True)
class Form:
    """A kernel, its stride, how many channels there are and how many filters each has."""

    size: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (2, 2)
    channels: int = 32
    filters: int = 1
    is_gated: bool = False
    # How many bits the scales of half of the channels are less.
    apart: float = 0.0


FORMS = {
    "3x5": Form((3, 5)),
    "9x9": Form((9, 9)),
    "2x8": Form((2, 8)),
    "two filters": Form(filters=2),
    "two filters, stride 1": Form(stride=(1, 1), filters=2),
    "two filters, gated": Form(stride=(1, 1), filters=2, is_gated=True),
    "one channel": Form(channels=1),
    "one channel, stride 4": Form((5, 5), (4, 4), channels=1),
    "one channel, eight filters": Form(channels=1, filters=8),
    "one channel, gated": Form(channels=1, is_gated=True),
}


def make_net(form: Form, width: str):
    net = RandomNet(width, np.random.default_rng(3))
    value = net.add_input(1, 16, 16, form.channels)
    count = form.channels * form.filters
    real = net.random.uniform(-1, 1, (*form.size, 1, count))
    real *= np.repeat([1.0, 2.0**-form.apart], (count - count // 2, count // 2))
    weights = net.add_weights_of(real, axis=3)
    pads = tuple(((places - 1) // 2, places // 2) for places in form.size)
    op = DepthWiseConv2d(stride=form.stride, pad_amount=(pads[0], pads[1]))
    sums = net.add(op, value, weights, net.add_bias(value, weights))
    return net.finish(net.add(HardSwish(), sums) if form.is_gated else sums)


@pytest.mark.parametrize("width", ["w8a8", "w8a16"])
@pytest.mark.parametrize("name", FORMS)
def test_simulation_and_emulator_agree(name, width):
    """What is summed in real numbers differs in two of a thousand elements of 16 bits."""
    graph, feed = make_net(FORMS[name], width)
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    emulated = found[graph.outputs[0]].astype(int)
    steps = np.abs(simulated[graph.outputs[0]].astype(int) - emulated)
    assert steps.max() <= 1
    assert (steps == 0).mean() >= (1.0 if width == "w8a8" else 0.998)


@pytest.mark.parametrize("form", [Form((3, 5), apart=7.5), Form(filters=2, apart=7.5)])
def test_scales_are_not_raised_where_nothing_runs_over(form):
    graph, _ = make_net(form, "w8a16")
    assert PASSES["raise_small_scales"].function(graph) == 0


@pytest.mark.parametrize("channels", [1, 4, 34])
@pytest.mark.parametrize("size", [(1, 9), (9, 9), (2, 8), (16, 16)])
def test_long_kernels_are_right_in_the_channels_that_are_left_over(size, channels):
    """The library gives noise for up to four of them."""
    graph, feed = make_net(Form(size, channels=channels), "w8a8")
    (found,) = emulate([graph], [feed])
    name = graph.outputs[0]
    exact = reference.run(graph, dict(feed))[name].astype(int)
    assert np.abs(found[name].astype(int) - exact).max() <= 1
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    assert np.abs(found[name].astype(int) - simulated[name]).max() <= 1
