"""Fully connected layers of one value, on which the genuine compiler never ends."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ir.verify import verify
from edgewright.model.model import Model
from edgewright.ops import reference
from edgewright.ops.matmul import FullyConnected
from edgewright.passes.pipeline import PASSES

NAME = "double_single_inputs"
# What has more axes is flattened to one row.
FORMS = [((1, 1), 8), ((1, 1), 16), ((1, 1, 1), 8), ((1, 1, 1, 1), 8)]


def make_layer(shape=(1, 1), bits=8):
    """A layer of one value and 16 units, in fixed point."""
    random = np.random.default_rng(0)
    graph = Graph("g")
    graph.add_input("x", TensorType(shape))
    graph.add_constant("w", random.normal(size=(16, 1)).astype(np.float32))
    graph.add_constant("b", random.normal(size=16).astype(np.float32))
    graph.add(Node("n", FullyConnected(), ["x", "w", "b"], ["y"]))
    graph.outputs = ["y"]
    feeds = [{"x": random.uniform(-1, 6, shape).astype(np.float32)} for _ in range(8)]
    made = ew.quantize(Model.of(graph), feeds, act_bw=bits).fixed_graph()
    kind = made.types["x"]
    return made, {"x": kind.encoding.encode(feeds[0]["x"], kind.dtype)}


@pytest.mark.parametrize(("shape", "bits"), FORMS)
def test_it_is_written_with_two_values_and_keeps_its_integers(shape, bits):
    graph, feed = make_layer(shape, bits)
    expected = reference.run(graph, dict(feed))["y"]
    assert PASSES[NAME](graph) == 1
    verify(graph, after=NAME)
    np.testing.assert_array_equal(reference.run(graph, dict(feed))["y"], expected)
    assert PASSES[NAME].function(graph) == 0


def test_several_rows_are_compiled_as_they_are():
    graph, _ = make_layer((4, 1))
    assert PASSES[NAME].function(graph) == 0


@pytest.mark.parametrize(("shape", "bits"), FORMS)
def test_the_emulator_gives_what_the_simulation_gives(shape, bits):
    graph, feed = make_layer(shape, bits)
    results = [
        find_backend(name).prepare(graph, RunOptions(threads=1)).run(feed)["y"].astype(int)
        for name in ("htp-native", "htp-sim")
    ]
    np.testing.assert_allclose(*results, atol=1)
