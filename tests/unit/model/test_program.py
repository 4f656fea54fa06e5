"""Several graphs in one file: saved together, loaded by name."""

from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, UsageError
from edgewright.ir.graph import Graph, Node, Program
from edgewright.ir.types import TensorType
from edgewright.model.saving import load_graph, load_program, save_dlc
from edgewright.ops import reference
from edgewright.ops.activation import Relu
from edgewright.ops.elementwise import ElementWiseAdd


def two() -> Program:
    relu, double = Graph("relu"), Graph("double")
    for graph in (relu, double):
        graph.add_input("x", TensorType((2,)))
        graph.outputs = ["y"]
    relu.add(Node("n", Relu(), ["x"], ["y"]))
    double.add(Node("n", ElementWiseAdd(), ["x", "x"], ["y"]))
    return Program((relu, double))


def test_graphs_come_back_by_name(tmp_path: Path) -> None:
    save_dlc(two(), tmp_path / "two.dlc")
    assert [graph.name for graph in load_program(tmp_path / "two.dlc").graphs] == ["relu", "double"]
    x = np.float32([-1, 3])
    for name, expected in (("relu", [0, 3]), ("double", [-2, 6])):
        found = reference.run(load_graph(tmp_path / "two.dlc", name=name), {"x": x})["y"]
        np.testing.assert_array_equal(found, np.float32(expected))


@pytest.mark.parametrize("name", [None, "third"])
def test_a_name_that_decides_nothing_lists_the_graphs(tmp_path: Path, name: str | None) -> None:
    save_dlc(two(), tmp_path / "two.dlc")
    with pytest.raises(BadInput, match=r"there are 2 graphs \('relu', 'double'\)"):
        load_graph(tmp_path / "two.dlc", name=name)


def test_a_source_model_is_converted_not_loaded() -> None:
    with pytest.raises(UsageError, match="expected a converted one") as caught:
        ew.load("examples/models/mnist_cntk.onnx")
    assert "edgewright.convert" in str(caught.value)
