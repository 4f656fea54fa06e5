"""Times of single nodes on the CPU backend and on the simulation."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.backends.base import RunOptions, TimesNodes
from edgewright.backends.registry import find_backend
from edgewright.model.profile.events import read_node_events

MODEL = Path(__file__).parents[3] / "examples" / "models" / "mnist_cntk.onnx"


@pytest.fixture(scope="module")
def model():
    return ew.convert(MODEL)


def digit(number=0):
    return {"Input3": np.random.default_rng(number).random((1, 1, 28, 28), np.float32) * 255}


def session_for(graph, backend="cpu", *, is_profiled=True):
    return find_backend(backend).prepare(graph, RunOptions(threads=1, is_profiled=is_profiled))


def test_every_node_has_a_time_or_is_covered_by_one_that_has(model):
    session = session_for(model.graph)
    for number in range(3):
        session.run(digit(number))
    assert isinstance(session, TimesNodes)
    times = session.node_times()
    covered = {name for found in times for name in (found.node, *found.covers)}
    assert covered >= {node.name for node in model.graph.nodes}
    assert {found.run for found in times} == {0, 1, 2}


def test_a_convolution_is_named_and_not_what_was_fused_into_it(model):
    session = session_for(model.graph)
    session.run(digit())
    named = {found.node for found in session.node_times() if found.kernel in {"Conv", "FusedConv"}}
    convolutions = {n.name for n in model.graph.nodes if type(n.op).__name__ == "Conv2d"}
    assert convolutions
    assert named == convolutions


def test_the_simulation_times_its_nodes_too(model):
    quantized = ew.quantize(model, [digit(number) for number in range(4)])
    session = session_for(quantized.graph, "htp-sim")
    feed = {
        name: np.zeros(quantized.graph.types[name].static_shape(), quantized.graph.types[name].dtype.numpy)
        for name in quantized.graph.inputs
    }
    session.run(feed)
    ops = {event.op for event in read_node_events(session, quantized.graph, [0])}
    assert {"Conv2d", "PoolMax2d"} <= ops


def test_events_have_the_place_of_their_node_and_its_macs(model):
    session = session_for(model.graph)
    session.run(digit())
    events = read_node_events(session, model.graph, [1000])
    first = next(event for event in events if event.op == "Conv2d")
    # 28 x 28 places, 8 filters of 5 x 5 x 1.
    assert first.macs == 28 * 28 * 8 * 25
    assert first.identifier.rpartition(":")[2].startswith("OpId_")
    assert first.start >= 1000
    assert (first.message, first.source, first.level, first.run) == ("NODE", "BACKEND", "SUB-EVENT", 0)


def test_nothing_is_measured_where_nobody_asked(model):
    session = session_for(model.graph, is_profiled=False)
    session.run(digit())
    assert session.node_times() == []


def test_profiled_runs_give_the_same_values(model):
    plain = session_for(model.graph, is_profiled=False).run(digit())
    measured = session_for(model.graph).run(digit())
    np.testing.assert_array_equal(plain["Plus214_Output_0"], measured["Plus214_Output_0"])


def test_an_open_batch_counts_as_one_and_hides_no_product(tmp_path):
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"], "relu"),
    ]
    io = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4, 8, 8]) for name in "xy"]
    weight = onnx.numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), "w")
    graph = helper.make_graph(nodes, "net", io[:1], io[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "n.onnx")
    model = ew.convert(tmp_path / "n.onnx")
    session = session_for(model.graph)
    session.run({"x": np.ones((2, 4, 8, 8), np.float32)})
    (conv,) = [event for event in read_node_events(session, model.graph, [0]) if event.op == "Conv2d"]
    assert conv.macs == 8 * 8 * 4 * 4 * 9
