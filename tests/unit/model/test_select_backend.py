"""The choice of a backend, with its reasons."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from tests.cli.models import DIGITS_MODEL


def digits(count):
    generator = np.random.default_rng(2)
    return [{"Input3": generator.random((1, 1, 28, 28), np.float32) * 255} for _ in range(count)]


@pytest.fixture(scope="module")
def quantized():
    return ew.quantize(DIGITS_MODEL, digits(4))


def test_a_float_model_goes_to_the_cpu_and_hears_what_htp_asks_for():
    choice = ew.select_backend(DIGITS_MODEL, measure=False)
    assert choice.backend == "cpu"
    htp = next(item for item in choice.candidates if item.backend == "htp")
    assert not htp.is_possible
    assert any("quantize the model for it" in reason for reason in htp.reasons)


def test_a_quantized_model_goes_to_htp(quantized):
    choice = ew.select_backend(quantized, power_critical=True, performance_critical=True, measure=False)
    assert choice.backend == "htp"
    assert "it computes in int8, htp is made for that" in choice.reasons
    assert "power matters: 90% of the best on a device" in choice.reasons


def test_times_are_measured_here_and_said(quantized):
    choice = ew.select_backend(quantized, inputs=digits(1)[0])
    times = {item.backend: item.milliseconds for item in choice.candidates}
    assert times["cpu"] > 0
    assert times["htp"] > 0
    assert times["gpu"] is None
    htp = next(item for item in choice.candidates if item.backend == "htp")
    assert htp.reasons[-1].endswith("ms a run on this machine in the simulation")


def test_an_op_that_htp_lacks_keeps_a_model_from_it(tmp_path):
    nodes = [helper.make_node("ReduceProd", ["x"], ["y"], "product", axes=[1], keepdims=1)]
    io = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, s]) for n, s in (("x", 4), ("y", 1))]
    graph = helper.make_graph(nodes, "net", io[:1], io[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "p.onnx")
    data = [{"x": np.random.default_rng(0).random((1, 4), np.float32)}]
    choice = ew.select_backend(ew.quantize(tmp_path / "p.onnx", data), measure=False)
    assert choice.backend == "cpu"
    assert any("it lacks ReduceProd" in text for item in choice.candidates for text in item.reasons)


def test_auto_runs_on_what_was_chosen(quantized):
    model = ew.convert(DIGITS_MODEL)
    feed = digits(1)[0]
    found = model.run(feed, backend="auto")["Plus214_Output_0"]
    np.testing.assert_array_equal(found, model.run(feed, backend="cpu")["Plus214_Output_0"])


def test_the_choice_reads_as_text(quantized):
    lines = str(ew.select_backend(quantized, measure=False)).splitlines()
    assert lines[0] == "htp:"
    assert lines[1] == "  it has all ops"
