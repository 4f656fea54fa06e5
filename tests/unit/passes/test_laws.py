"""Laws of passes: each keeps the meaning and settles, and pipelines respect the order that passes ask for."""

import importlib
import pkgutil
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, note, settings

import edgewright.passes
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ir.text import to_text
from edgewright.ir.verify import verify
from edgewright.passes.graph_pass import PASSES
from edgewright.passes.layout.spatial_io import drop_io_transposes
from edgewright.passes.pipeline import (
    ALWAYS,
    FINISH,
    FOLD,
    FOR_HTP,
    HTP,
    LAYOUT,
    LEGACY,
    QUANTIZED,
    SIMPLIFY,
    TARGET,
    UNROLL,
    run_passes,
)
from tests.unit.passes.chains import chains
from tests.unit.passes.nets import SPATIAL, Net, cnn_head, feed, results

ORDERS = {
    "simplified": (*SIMPLIFY, *LAYOUT, *FINISH, *LEGACY, *TARGET),
    "htp": HTP,
    "quantized": (*SIMPLIFY, *LAYOUT, *FINISH, *QUANTIZED),
    "for_htp": (*SIMPLIFY, *LAYOUT, *FINISH, *FOR_HTP, *UNROLL),
    "plain": (*ALWAYS, *LAYOUT, *FOLD, *LEGACY, *TARGET),
}
MODELS = {**SPATIAL, "cnn_head": cnn_head}


def assert_same(found: list[Array], expected: list[Array], rtol: float) -> None:
    for one, other in zip(found, expected, strict=True):
        # QNN has no rank 0: one element may have got an axis.
        shaped = one if one.shape == other.shape else one.reshape(other.shape)
        largest = float(np.max(np.abs(other), initial=0.0, where=np.isfinite(other)))
        np.testing.assert_allclose(shaped, other, rtol=rtol, atol=rtol * max(largest, 1.0))


def assert_pass_keeps_the_meaning_and_settles(graph: Graph, name: str) -> None:
    inputs, io = feed(graph), (list(graph.inputs), list(graph.outputs))
    before, text = results(graph, inputs), to_text(graph)
    changes = PASSES[name](graph)
    verify(graph, after=name)
    assert (graph.inputs, graph.outputs) == io
    assert bool(changes) == (to_text(graph) != text), "a pass tells whether it changed anything"
    assert_same(results(graph, inputs), before, PASSES[name].rtol)
    assert PASSES[name].function(graph) == 0, "a second run must find nothing"


@pytest.mark.parametrize("name", sorted(PASSES))
@settings(max_examples=40)
@given(graph=chains())
def test_a_pass_keeps_the_meaning_and_settles(name: str, graph: Graph) -> None:
    note(to_text(graph))
    assert_pass_keeps_the_meaning_and_settles(graph, name)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", sorted(PASSES))
def test_a_pass_keeps_the_meaning_of_small_networks(name: str, model: str) -> None:
    assert_pass_keeps_the_meaning_and_settles(MODELS[model](), name)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=150)
@given(graph=chains())
def test_a_pipeline_keeps_the_meaning(order: str, graph: Graph) -> None:
    note(to_text(graph))
    inputs, io = feed(graph), (list(graph.inputs), list(graph.outputs))
    before = results(graph, inputs)
    run_passes(graph, ORDERS[order], is_checked=True)
    assert (graph.inputs, graph.outputs) == io
    assert_same(results(graph, inputs), before, 1e-3)


@settings(max_examples=60)
@given(graph=chains())
def test_a_pipeline_finds_nothing_the_second_time(graph: Graph) -> None:
    note(to_text(graph))
    run_passes(graph, ORDERS["simplified"])
    run_passes(graph, ORDERS["simplified"])
    count = len(graph)
    changes = run_passes(graph, ORDERS["simplified"])
    assert len(graph) == count
    assert not any(changes.values()), changes


@settings(max_examples=60)
@given(graph=chains())
def test_transposed_inputs_and_outputs_are_the_same_network(graph: Graph) -> None:
    note(to_text(graph))
    inputs = feed(graph)
    before = results(graph, inputs)
    run_passes(graph, LAYOUT)
    drop_io_transposes(graph)
    verify(graph, after="spatial_io")
    for name in graph.inputs:
        if graph.types[name].layout is not None:
            rank = graph.types[name].rank
            inputs[name] = np.transpose(inputs[name], (0, *range(2, rank), 1))
    found = [
        np.transpose(array, (0, array.ndim - 1, *range(1, array.ndim - 1)))
        if graph.types[name].layout
        else array
        for name, array in zip(graph.outputs, results(graph, inputs), strict=True)
    ]
    assert_same(found, before, 1e-4)


def test_every_pass_is_in_a_pipeline() -> None:
    for module in pkgutil.walk_packages(edgewright.passes.__path__, "edgewright.passes."):
        importlib.import_module(module.name)
    assert {name for order in ORDERS.values() for name in order} == set(PASSES)


def test_a_pipeline_alone_brings_its_passes() -> None:
    """Here other modules have registered passes already, in a program that only compiles nobody has."""
    words = "import sys; from edgewright.passes.pipeline import PASSES; print(*PASSES)"
    printed = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout
    assert {name for order in ORDERS.values() for name in order} - set(printed.split()) == set()


@pytest.mark.parametrize("order", ORDERS)
def test_pipelines_respect_what_passes_must_run_after(order: str) -> None:
    names = ORDERS[order]
    for name in names:
        for before in PASSES[name].after:
            assert before in PASSES, f"{name} runs after '{before}', which is no pass"
            if before in names:
                assert names.index(before) < names.index(name), f"{name} must run after {before}"


def long_chain(length: int) -> Graph:
    net = Net()
    x = net.x
    for _ in range(length):
        x = net.relu(net.conv(x, 4, size=1))
    return net.done(x)


def test_time_grows_with_the_number_of_nodes_not_with_its_square() -> None:
    # The best of three in processor time: other programs on the machine do not count.
    times = [min(simplifying_time(length) for _ in range(3)) for length in (150, 1200)]
    assert times[1] < 8 * times[0] * 4, times  # 64 times if it were the square


def simplifying_time(length: int) -> float:
    graph = long_chain(length)
    start = time.process_time()
    run_passes(graph, ORDERS["simplified"])
    return time.process_time() - start
