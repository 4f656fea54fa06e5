"""What a build keeps between its stages comes back as it was."""

import math

import numpy as np

import edgewright as ew
from edgewright.analyse.records import Finding
from edgewright.build.records import Candidate, Preflight
from edgewright.core.plain import from_plain, to_json, to_plain
from edgewright.ir.graph import Graph, Node
from edgewright.ir.text import to_text
from edgewright.ir.types import TensorType
from edgewright.model.stored_graphs import load_stored_graph, store_graph
from edgewright.ops.activation import HardSigmoid
from edgewright.ops.elementwise_unary import Reciprocal
from tests.cli.models import DIGITS_MODEL, image_net


def test_records_come_back_from_json_with_their_infinities():
    candidate = Candidate("w8a8", "all", "htp-sim", 3, 99.5, 0.5, math.inf, 10, 1.0, notes=("a", "b"))
    assert from_plain(Candidate, to_plain(candidate)) == candidate
    assert b'"inf"' in to_json(candidate)
    result = Preflight((Finding("error", "usage", "w"),), 1.0, 2.0, 3.0, 4.0)
    assert from_plain(Preflight, to_plain(result)) == result


def test_a_quantized_graph_comes_back_with_all_that_is_in_it(tmp_path):
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as held:
        samples = held["images"][:4, None].astype(np.float32)
    graph = ew.quantize(DIGITS_MODEL, samples, weight_bw=4, act_quantizer="tf").fixed_graph()
    store_graph(graph, tmp_path / "g")
    again = load_stored_graph(tmp_path / "g")
    assert to_text(again) == to_text(graph)
    for name, array in graph.constants.items():
        np.testing.assert_array_equal(again.constants[name], array)


def test_what_nodes_remember_of_a_batch_norm_comes_back_too(tmp_path):
    graph = ew.convert(image_net(tmp_path / "net.onnx")).fixed_graph()
    kept = {node.name: node.notes for node in graph.nodes if node.notes}
    assert kept
    store_graph(graph, tmp_path / "g")
    again = {node.name: node.notes for node in load_stored_graph(tmp_path / "g").nodes if node.notes}
    assert again.keys() == kept.keys()
    for name, notes in kept.items():
        for key, array in notes.items():
            np.testing.assert_array_equal(again[name][key], array)


def test_ops_that_qnn_has_only_as_parts_of_others_come_back(tmp_path):
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 4)))
    graph.add(Node("a", HardSigmoid(alpha=0.3), ["x"], ["y"]))
    graph.add(Node("b", Reciprocal(), ["y"], ["z"]))
    graph.outputs = ["z"]
    store_graph(graph, tmp_path / "g")
    assert [node.op for node in load_stored_graph(tmp_path / "g").nodes] == [
        HardSigmoid(alpha=0.3),
        Reciprocal(),
    ]
