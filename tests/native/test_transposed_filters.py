"""Transposed convolutions that the library refuses, or computes wrongly, as they are given."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.model.model import Model
from edgewright.ops.conv_transpose import TransposeConv2d

NONE = ((0, 0), (0, 0))
# Results beyond what 8 bits lose are noise.
ENOUGH_DB = 30


def make_net(op, window, channels, results, *, has_bias=True):
    random = np.random.default_rng(0)
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 6, 6, channels)))
    filters = random.normal(size=(*window, channels, results // op.group))
    graph.add_constant("w", filters.astype(np.float32))
    graph.add_constant("b", random.normal(size=results).astype(np.float32))
    graph.add(Node("n", op, ["x", "w", *(["b"] if has_bias else [])], ["y"]))
    graph.outputs = ["y"]
    feeds = [{"x": random.normal(size=(1, 6, 6, channels)).astype(np.float32)} for _ in range(4)]
    return Model.of(graph), feeds


def check(model, feeds, **precision):
    """Emulator and simulation, against the float model."""
    expected = model.run(feeds[0])["y"]
    quantized = ew.quantize(model, feeds, **precision)
    for backend in ("htp-native", "htp-sim"):
        noise = quantized.run(feeds[0], backend=backend)["y"] - expected
        assert 10 * np.log10(np.square(expected).sum() / np.square(noise).sum()) > ENOUGH_DB


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("groups", [4, 16])
def test_groups_are_compiled_and_near_the_float_model(groups, has_bias):
    """With a scale for each channel of a group they were refused, or 12 dB from it."""
    op = TransposeConv2d(stride=(2, 2), pad_amount=NONE, output_padding=(0, 0), group=groups)
    check(*make_net(op, (2, 2), 16, 16, has_bias=has_bias))


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(
    ("window", "stride", "pads", "output_padding"),
    [
        ((2, 2), (2, 2), NONE, (1, 0)),
        ((2, 2), (2, 2), NONE, (1, 1)),
        ((2, 3), (2, 3), ((0, 0), (1, 0)), (0, 2)),
        ((3, 2), (4, 2), ((0, 1), (0, 0)), (3, 0)),
    ],
)
def test_places_that_no_filter_reaches_have_the_bias(window, stride, pads, output_padding, bits):
    """The library left there what its memory held, or ended with error 1002."""
    op = TransposeConv2d(stride=stride, pad_amount=pads, output_padding=output_padding)
    check(*make_net(op, window, 4, 6), act_bw=bits)
