"""A model whose graph stores integers takes and gives real numbers."""

import numpy as np
import pytest

from edgewright.core.errors import UnsupportedFeature
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.model.model import Model
from edgewright.ops.activation import Relu


def stored_relu() -> Model:
    graph = Graph()
    fixed = TensorType((2, 3), DType.UFIXED_POINT_8, encoding=Encoding((0.5,), (-4,)))
    graph.add_input("x", fixed)
    graph.add(Node("n", Relu(), ["x"], ["y"]), [fixed])
    graph.outputs = ["y"]
    return Model.of(graph)


def test_floats_are_encoded_and_results_decoded() -> None:
    x = np.array([[-1.0, 0.0, 1.0], [2.0, 2.6, -9.0]], np.float32)
    expected = [[0.0, 0.0, 1.0], [2.0, 2.5, 0.0]]
    np.testing.assert_array_equal(stored_relu().run({"x": x})["y"], np.float32(expected))


def test_stored_integers_are_taken_as_they_are() -> None:
    x = np.array([[0, 4, 6], [8, 9, 0]], np.uint8)
    np.testing.assert_array_equal(stored_relu().run({"x": x})["y"], np.float32([[0, 0, 1], [2, 2.5, 0]]))


def test_contract_names_the_stored_datatype() -> None:
    assert stored_relu().inputs[0].dtype == "ufixed_point_8"


def test_a_backend_that_is_not_there_says_so() -> None:
    with pytest.raises(UnsupportedFeature, match="Hta"):
        stored_relu().run({"x": np.zeros((2, 3), np.float32)}, backend="libQnnHta.so")


def test_placement_tells_where_nodes_ran() -> None:
    model = stored_relu()
    assert model.placement() == {}
    model.run({"x": np.zeros((2, 3), np.float32)})
    assert model.placement() == {"n": "engine"}


def test_real_numbers_are_rounded_by_the_engine_as_by_the_encoding() -> None:
    model = stored_relu()
    graph = model.fixed_graph()
    kind = graph.types["x"]
    assert kind.encoding is not None
    real = np.random.default_rng(5).normal(0, 2, (2, 3)).astype(np.float32)
    real[0] = [0.25, 0.75, -1e30]
    found = model.run({"x": real})["y"]
    np.testing.assert_array_equal(found, model.run({"x": kind.encoding.encode(real, kind.dtype)})["y"])
    np.testing.assert_array_equal(found, model.run({"x": real.astype(np.float64)})["y"])


def test_an_output_that_is_known_before_the_run_is_a_real_number_too() -> None:
    model = stored_relu()
    graph = model.fixed_graph()
    graph.add_constant("known", np.array([6], np.uint8), graph.types["x"].with_shape((1,)))
    graph.outputs.append("known")
    found = Model.of(graph).run({"x": np.zeros((2, 3), np.float32)})
    np.testing.assert_array_equal(found["known"], np.float32([1]))
