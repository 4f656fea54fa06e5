import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.passes.target.retype_io import retype_input, retype_output


def doubled():
    graph = Graph()
    graph.add_input("x", TensorType((2,), DType.INT_32))
    graph.add(Node("n", ElementWiseAdd(), ["x", "x"], ["y"]))
    graph.outputs = ["y"]
    return graph


def test_an_input_of_another_type_is_cast_to_the_one_the_network_computes_in():
    graph = doubled()
    assert retype_input(graph, "x", DType.INT_64)
    assert [type(node.op).__name__ for node in graph.nodes] == ["Cast", "ElementWiseAdd"]
    found = reference.run(graph, {"x": np.array([1, 2], np.int64)})["y"]
    assert (found.dtype, found.tolist()) == (np.int32, [2, 4])


def test_an_output_of_another_type_keeps_its_name():
    graph = doubled()
    assert retype_output(graph, "y", DType.INT_64)
    assert graph.outputs == ["y"]
    found = reference.run(graph, {"x": np.array([1, 2], np.int32)})["y"]
    assert (found.dtype, found.tolist()) == (np.int64, [2, 4])


def test_an_output_that_is_read_inside_too_stays_as_it_was_there():
    graph = doubled()
    graph.add(Node("m", ElementWiseAdd(), ["y", "y"], ["z"]))
    graph.outputs = ["y", "z"]
    assert retype_output(graph, "y", DType.INT_64)
    found = reference.run(graph, {"x": np.array([1, 2], np.int32)})
    assert (found["y"].dtype, found["z"].dtype) == (np.int64, np.int32)
    assert found["z"].tolist() == [4, 8]


def test_the_same_type_changes_nothing():
    graph = doubled()
    assert not retype_input(graph, "x", DType.INT_32)
    assert not retype_output(graph, "y", DType.INT_32)
    assert len(graph) == 1
