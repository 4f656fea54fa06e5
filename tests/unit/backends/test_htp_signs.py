"""Signed networks on the simulation: as unsigned ones, which is what the NPU makes of them."""

from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.backends.htp.signs import with_unsigned
from edgewright.core.numbers import DType
from edgewright.model.model import Model

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def network():
    return ew.convert(EXAMPLES / "models" / "mnist_dscnn_int8.tflite")


@pytest.fixture(scope="module")
def images():
    return (np.load(EXAMPLES / "data" / "digits.npz")["images"][:20, None, :, :, None] / 255).astype(
        np.float32
    )


def results(model, images, backend):
    name = model.inputs[0].name
    return np.concatenate([*(next(iter(model.run({name: x}, backend=backend).values())) for x in images)])


def test_activations_become_unsigned_and_inputs_and_outputs_stay(network):
    graph = network.fixed_graph()
    found = with_unsigned(graph, graph.outputs)
    io = {*graph.inputs, *graph.outputs}
    inside = [t for n, t in found.types.items() if n not in found.constants and n not in io]
    assert not [t for t in inside if t.dtype == DType.SFIXED_POINT_8]
    assert [found.types[name] for name in io] == [graph.types[name] for name in io]


def test_plain_arithmetic_gives_the_same_integers_either_way(network, images):
    graph = network.fixed_graph()
    other = Model.of(with_unsigned(graph, graph.outputs))
    np.testing.assert_array_equal(results(network, images, "cpu"), results(other, images, "cpu"))


def test_the_simulation_rounds_the_sums_of_a_signed_network_as_those_of_an_unsigned_one(network, images):
    graph = network.fixed_graph()
    other = Model.of(with_unsigned(graph, graph.outputs))
    signed = results(network, images, "htp-sim")
    np.testing.assert_array_equal(signed, results(other, images, "htp-sim"))
    # Not as the CPU rounds: that was one image of a thousand away from the emulator.
    assert (signed != results(network, images, "cpu")).any()


def test_a_graph_without_signed_activations_is_left_as_it_is():
    graph = ew.convert(EXAMPLES / "models" / "mnist_cntk.onnx").fixed_graph()
    assert with_unsigned(graph, graph.outputs) is graph
