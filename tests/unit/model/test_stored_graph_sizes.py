"""Graphs that a build keeps, damaged: an error with the way out, no bytes of anything else."""

import json

import numpy as np
import pytest

from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.model.stored_graphs import load_stored_graph, store_graph
from edgewright.ops.elementwise import ElementWiseAdd
from tests.declared_sizes import SIX, WIDE, check_refused, each

# Too large for the text of a graph.
WEIGHT = np.tile(SIX, 100)


@pytest.fixture
def stored(tmp_path):
    graph = Graph("g")
    graph.add_input("x", TensorType(WEIGHT.shape))
    graph.add_constant("w", WEIGHT)
    graph.add(Node("y", ElementWiseAdd(), ["x", "w"], ["y"]))
    graph.outputs = ["y"]
    store_graph(graph, tmp_path / "g")
    return tmp_path / "g"


def change(path, **fields):
    index = path.with_suffix(".json")
    (entry,) = json.loads(index.read_bytes())
    index.write_text(json.dumps([entry | fields]))
    return path


def test_a_stored_graph_is_read(stored):
    assert load_stored_graph(stored).constants["w"].tolist() == WEIGHT.tolist()


@each(WIDE)
def test_shapes_agree_with_the_bytes(stored, size):
    check_refused(lambda: load_stored_graph(change(stored, shape=size)), values=0)


@pytest.mark.parametrize("at", [1, 2401, 2432, -1, -64, 2**31, 2**63, 1.5, None, "0"])
def test_places_lie_within_the_file(stored, at):
    check_refused(lambda: load_stored_graph(change(stored, at=at)), values=0)


@pytest.mark.parametrize("dtype", ["object", "float64", "S1000000000", "nonsense", "O"])
def test_types_agree_with_the_bytes(stored, dtype):
    check_refused(lambda: load_stored_graph(change(stored, dtype=dtype)), values=0)


@pytest.mark.parametrize("suffix", [".json", ".raw", ".graph"])
@pytest.mark.parametrize("length", [None, 0, 10])
def test_files_that_are_cut_or_gone(stored, suffix, length):
    file = stored.with_suffix(suffix)
    content = file.read_bytes()
    file.unlink()
    if length is not None:
        file.write_bytes(content[:length])
    check_refused(lambda: load_stored_graph(stored), values=0)
