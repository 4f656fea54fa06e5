"""Graphs split between HTP and CPU: what runs where, and that values are the same."""

import logging

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.model.surface import Surface
from edgewright.passes.partition.htp_gaps import find_htp_gaps
from edgewright.passes.partition.regions import split_into_regions
from edgewright.tools.qnn_net_run import main as net_run

RNG = np.random.default_rng(5)


def saved(path, nodes, weights=None):
    io = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [1, 4, 8, 8]), ("y", None))
    ]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "net", io[:1], io[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.fixture(scope="module")
def data():
    return [{"x": RNG.normal(size=(1, 4, 8, 8)).astype(np.float32)} for _ in range(6)]


@pytest.fixture(scope="module")
def model(tmp_path_factory, data):
    """Conv, Relu, a product over an axis, which HTP lacks, and another Conv beside it."""
    weight = RNG.normal(size=(4, 4, 3, 3)).astype(np.float32) * 0.2
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "first", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("ReduceProd", ["b"], ["p"], "product", axes=[3], keepdims=1),
        helper.make_node("Conv", ["b", "w"], ["c"], "second", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c", "p"], ["y"], "sum"),
    ]
    path = saved(tmp_path_factory.mktemp("split") / "net.onnx", nodes, {"w": weight})
    return ew.quantize(path, data)


def test_what_htp_lacks_is_found_with_its_reason(model):
    (gap,) = find_htp_gaps(model.graph)
    assert (gap.node, gap.op, gap.reason) == ("product", "ReduceProd", "HTP has no ReduceProd")


def test_only_what_is_missing_runs_on_the_cpu(model, data):
    model.run(data[0], backend="htp-sim+cpu")
    placed = model.placement()
    assert placed["product"] == "cpu"
    assert placed["first"] == placed["second"] == placed["sum"] == "htp"


def test_values_are_those_of_one_backend_to_a_step(model, data):
    feed = Surface(model.graph).encode_inputs(data[0])
    whole = find_backend("htp-sim").prepare(model.graph, RunOptions()).run(feed)["y"].astype(int)
    parts = find_backend("htp-sim+cpu").prepare(model.graph, RunOptions()).run(feed)["y"].astype(int)
    # A border may part what the NPU fuses.
    assert np.abs(parts - whole).max() <= 1
    assert len(np.unique(whole)) > 20


def test_what_ran_where_is_said(model, data, caplog):
    with caplog.at_level(logging.WARNING, logger="edgewright.backends.split"):
        find_backend("htp-sim+cpu").prepare(model.graph, RunOptions())
    said = [record.getMessage() for record in caplog.records]
    assert "1 ReduceProd on cpu: HTP has no ReduceProd" in said
    assert any(text.endswith("in 3 parts") and "1 ops on cpu" in text for text in said)


def test_a_graph_without_gaps_is_one_part(data, tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["y"], "relu")]
    quantized = ew.quantize(saved(tmp_path / "r.onnx", nodes), data)
    session = find_backend("htp-sim+cpu").prepare(quantized.graph, RunOptions())
    assert set(session.placement().values()) == {"htp"}


def test_a_float_graph_runs_in_half_precision_and_on_the_cpu_where_htp_refuses_it(data, tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "relu"),
        helper.make_node("ReduceProd", ["r"], ["p"], "product", axes=[3], keepdims=1),
        helper.make_node("Add", ["p", "x"], ["y"], "sum"),
    ]
    model = ew.convert(saved(tmp_path / "f.onnx", nodes))
    wanted = model.run(data[0])["y"]
    np.testing.assert_allclose(model.run(data[0], backend="htp-sim+cpu")["y"], wanted, rtol=2e-3, atol=1e-3)
    assert set(model.placement().values()) == {"cpu", "htp"}


def test_layer_dumps_come_from_all_parts(model, data):
    values = tuple(node.outputs[0] for node in model.graph.nodes)
    session = find_backend("htp-sim+cpu").prepare(model.graph, RunOptions(extra_outputs=values))
    whole = find_backend("htp-sim").prepare(model.graph, RunOptions(extra_outputs=values))
    feed = {name: np.zeros(model.graph.types[name].static_shape(), np.uint8) for name in model.graph.inputs}
    found = session.run(feed)
    assert set(found) == {*values, *model.graph.outputs}
    np.testing.assert_array_equal(found["y"], whole.run(feed)["y"])


def test_regions_cover_every_node_once_and_in_an_order_that_runs(model):
    parts = split_into_regions(model.graph, lambda node: node.name[:1], model.graph.outputs)
    known = set(model.graph.inputs)
    seen = []
    for part in parts:
        assert known.issuperset(part.graph.inputs)
        known.update(part.graph.outputs)
        seen += [node.name for node in part.graph.nodes]
    assert sorted(seen) == sorted(node.name for node in model.graph.nodes)


@pytest.mark.parametrize("wrong", ["+cpu", "nonsense+cpu"])
def test_a_backend_that_is_not_there_gets_no_help(wrong):
    with pytest.raises(ew.EdgewrightError):
        find_backend(wrong)


def test_net_run_asks_for_help_by_an_option(model, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model.save("net.dlc")
    data[0]["x"].tofile("x.raw")
    (tmp_path / "list.txt").write_text("x.raw\n")
    words = ["--model", "net.dlc", "--backend", "htp-sim", "--input_list", "list.txt", "--allow_cpu_ops"]
    assert net_run(words) == 0
    said = capsys.readouterr()
    assert "HTP has no ReduceProd" in said.err
    assert "on backend htp (simulation) with help of cpu" in said.out


def test_a_profile_has_the_ops_of_all_parts_in_their_order(model, data):
    session = find_backend("htp-sim+cpu").prepare(model.graph, RunOptions(is_profiled=True))
    feed = Surface(model.graph).encode_inputs(data[0])
    for _ in range(2):
        session.run(feed)
    times = session.node_times()
    assert {found.run for found in times} == {0, 1}
    first = {found.node: found.start for found in times if found.run == 0}
    assert first["first"] < first["product"] < first["sum"]
