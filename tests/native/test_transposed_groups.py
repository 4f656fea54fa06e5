"""Transposed convolutions in groups, of which the library takes one scale for all filters."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.model.model import Model
from edgewright.ops.conv_transpose import TransposeConv2d

NONE = ((0, 0), (0, 0))


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("groups", [4, 16])
def test_they_are_compiled_and_near_the_float_model(groups, has_bias):
    """With a scale for each channel of a group they were refused, or 12 dB from it."""
    random = np.random.default_rng(0)
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 6, 6, 16)))
    graph.add_constant("w", random.normal(size=(2, 2, 16, 16 // groups)).astype(np.float32))
    graph.add_constant("b", random.normal(size=16).astype(np.float32))
    op = TransposeConv2d(stride=(2, 2), pad_amount=NONE, output_padding=(0, 0), group=groups)
    graph.add(Node("n", op, ["x", "w", *(["b"] if has_bias else [])], ["y"]))
    graph.outputs = ["y"]
    feeds = [{"x": random.normal(size=(1, 6, 6, 16)).astype(np.float32)} for _ in range(4)]
    model = Model.of(graph)
    expected = model.run(feeds[0])["y"]
    quantized = ew.quantize(model, feeds)
    for backend in ("htp-native", "htp-sim"):
        noise = quantized.run(feeds[0], backend=backend)["y"] - expected
        assert 10 * np.log10(np.square(expected).sum() / np.square(noise).sum()) > 30
