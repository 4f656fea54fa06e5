"""Cleaning: what does nothing goes, what is named at the graph's ends stays."""

import logging

import numpy as np
import pytest

from edgewright.core.errors import Problems
from edgewright.ir.graph import Graph
from edgewright.ir.text import parse
from edgewright.ir.verify import verify
from edgewright.passes import pipeline
from edgewright.passes.graph_pass import MOST_ROUNDS, PASSES, GraphPass
from edgewright.passes.pipeline import run_passes
from tests.unit.passes.nets import chain, feed, results


def graph_of(body: str) -> Graph:
    return parse(f"""
        graph main {{
          input x: float_32[2,3,4]
          const zero: float_32[] = [0]
          const least: float_32[] = [-inf]
          const one: float_32[1] = [1]
          const ones: float_32[4] = [1, 1, 1, 1]
          const wide: float_32[2,1,1,1] = [0, 0]
          {body}
          output y
        }}
    """)


IDLE = [
    "Reshape(r) {shape=(2, 3, 4)}",
    "Transpose(r) {perm=(0, 1, 2)}",
    "Concat(r) {axis=1}",
    "Cast(r) {dtype=dtype(float_32)}",
    "Pad(r) {scheme=CONSTANT, pad_amount=((0, 0), (0, 0), (0, 0))}",
    "Tile(r) {multiples=(1, 1, 1)}",
    "StridedSlice(r) {ranges=((0, 2, 1), (0, 3, 1), (0, 4, 1))}",
    "ElementWiseAdd(r, zero)",
    "ElementWiseAdd(zero, r)",
    "ElementWiseSubtract(r, zero)",
    "ElementWiseMultiply(ones, r)",
    "ElementWiseDivide(r, one)",
    "ElementWiseMaximum(least, r)",
]
BUSY = [
    "Reshape(r) {shape=(3, 2, 4)}",
    "Concat(r, r) {axis=1}",
    "Cast(r) {dtype=dtype(float_64)}",
    "Pad(r) {scheme=CONSTANT, pad_amount=((0, 0), (0, 1), (0, 0))}",
    "Tile(r) {multiples=(1, 2, 1)}",
    "StridedSlice(r) {ranges=((0, 2, 1), (2, -1, -1), (0, 4, 1))}",
    "StridedSlice(r) {ranges=((0, 2, 1), (0, 3, 1), (1, 4, 1))}",
    "ElementWiseSubtract(zero, r)",
    "ElementWiseDivide(one, r)",
    "ElementWiseAdd(r, one)",
    "ElementWiseAdd(r, wide)",
]


@pytest.mark.parametrize("op", IDLE)
def test_an_op_that_does_nothing_goes_and_the_graph_output_keeps_its_name(op: str) -> None:
    graph = graph_of(f"r = Relu(x) y = {op}")
    run_passes(graph, ("drop_identity",), is_checked=True)
    assert [node.op.qnn_name() for node in graph.nodes] == ["Relu"]
    assert graph.outputs == ["y"]


@pytest.mark.parametrize("op", IDLE)
def test_an_op_that_does_nothing_goes_from_the_middle(op: str) -> None:
    graph = graph_of(f"r = Relu(x) i = {op} y = Sigmoid(i)")
    run_passes(graph, ("drop_identity",), is_checked=True)
    assert [node.op.qnn_name() for node in graph.nodes] == ["Relu", "Sigmoid"]


@pytest.mark.parametrize("op", BUSY)
def test_an_op_that_does_something_stays(op: str) -> None:
    graph = graph_of(f"r = Relu(x) y = {op}")
    run_passes(graph, ("drop_identity",), is_checked=True)
    assert len(graph) == 2


def test_an_output_that_is_an_input_stays_a_tensor_of_its_own(caplog) -> None:
    graph = graph_of("y = Reshape(x) {shape=(2, 3, 4)}")
    with caplog.at_level(logging.DEBUG, logger="edgewright"):
        assert PASSES["drop_identity"](graph) == 0
    assert "node 'y' is kept: its output is a graph output and must be a tensor of its own" in caplog.text


def test_two_outputs_of_one_value_stay_two_tensors() -> None:
    graph = graph_of("r = Relu(x) y = Reshape(r) {shape=(2, 3, 4)}")
    graph.outputs = ["r", "y"]
    run_passes(graph, ("drop_identity",), is_checked=True)
    assert graph.outputs == ["r", "y"]
    assert len(graph) == 2


def test_moves_merge_and_keep_those_that_others_read() -> None:
    graph = graph_of(
        "a = Transpose(x) {perm=(1, 2, 0)} b = Transpose(a) {perm=(2, 0, 1)} "
        "c = Reshape(b) {shape=(6, 4)} d = Reshape(c) {shape=(24,)} y = Reshape(d) {shape=(3, 8)}"
    )
    graph.outputs = ["y", "c"]
    inputs = feed(graph)
    before = results(graph, inputs)
    run_passes(graph, ("merge_moves", "drop_identity"), is_checked=True)
    assert {node.name: node.inputs for node in graph.nodes} == {"c": ["x"], "y": ["x"]}
    for found, expected in zip(results(graph, inputs), before, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_parts_without_elements_are_not_joined() -> None:
    graph = graph_of(
        "r = Relu(x) rest = StridedSlice(r) {ranges=((0, 2, 1), (0, 3, 1), (4, 4, 1))} "
        "y = Concat(r, rest, x) {axis=2}"
    )
    assert run_passes(graph, ("drop_empty_parts", "drop_dead_code"), is_checked=True)["drop_empty_parts"] == 1
    assert [(node.op.qnn_name(), node.inputs) for node in graph.nodes] == [
        ("Relu", ["x"]),
        ("Concat", ["r", "x"]),
    ]


def test_what_no_output_needs_goes_with_its_constants() -> None:
    graph = graph_of("y = Relu(x) dead = ElementWiseAdd(x, zero) deader = Relu(dead)")
    assert PASSES["drop_dead_code"](graph) == 2 + 5
    verify(graph)
    assert [node.name for node in graph.nodes] == ["y"]
    assert graph.constants == {}


def test_a_pass_that_never_settles_is_stopped_and_named(caplog) -> None:
    endless = GraphPass("endless", lambda graph: 1, (), 0.0)
    assert endless(chain()) == MOST_ROUNDS
    assert f"endless: stopped after {MOST_ROUNDS} rounds" in caplog.text


def test_a_pass_that_breaks_a_graph_is_named(monkeypatch) -> None:
    broken = GraphPass("break_it", lambda graph: graph.outputs.append("gone") or 0, (), 0.0)
    monkeypatch.setattr(pipeline, "PASSES", {"break_it": broken})
    with pytest.raises(Problems, match="pass 'break_it' broke the graph"):
        run_passes(chain(), ("break_it",), is_checked=True)
