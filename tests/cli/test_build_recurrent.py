"""`edgewright build` of recurrent layers, which the HTP takes step by step only."""

import json

import numpy as np
import pytest
from onnx import helper

import edgewright as ew
from edgewright.core.numbers import DType
from edgewright.ops.activation import Sigmoid
from edgewright.ops.recurrent import Recurrent
from edgewright.tools.build_command import main
from tests.cli.context_models import IS_NATIVE, NO_WHEEL
from tests.cli.models import FLOAT, save

UNITS, WIDTH = 8, 4
TO = ("--random-data", "--precision", "w8a8", "--metric", "closeness")


def layer(path, kind, steps, **attributes):
    """One recurrent layer with random weights and biases."""
    gates = {"LSTM": 4, "GRU": 3}[kind] * UNITS
    random = np.random.default_rng(4)
    shapes = {"w": (1, gates, WIDTH), "r": (1, gates, UNITS), "b": (1, 2 * gates)}
    weights = {name: random.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes.items()}
    node = helper.make_node(
        kind, ["x", "w", "r", "b"], ["y", "last"], name=kind.lower(), hidden_size=UNITS, **attributes
    )
    io = [("y", FLOAT, [steps, 1, 1, UNITS]), ("last", FLOAT, [1, 1, UNITS])]
    return save(path, [node], [("x", FLOAT, [steps, 1, WIDTH])], io, weights)


@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
@pytest.mark.parametrize(
    ("kind", "chip", "dtypes", "attributes"),
    [
        ("LSTM", "SM8650", {DType.FLOAT_16, DType.FLOAT_32}, {}),
        # A chip without half precision.
        ("GRU", "v69", {DType.UFIXED_POINT_8}, {"linear_before_reset": 1}),
    ],
    ids=["LSTM", "GRU"],
)
def test_a_recurrent_layer_is_compiled_step_by_step(call, tmp_path, kind, chip, dtypes, attributes):
    model = layer(tmp_path / "layer.onnx", kind, 3, **attributes)
    answer = call(main, model, "--target", chip, *TO, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "a recurrent layer is written out step by step" in answer.out
    record = json.loads((tmp_path / "out" / "report.json").read_text())
    assert {item["backend"] for item in record["accuracy"]} == {"float", "htp-sim", "htp-native"}
    assert min(item["score"] for item in record["accuracy"]) > 97
    built = ew.load(tmp_path / "out" / "layer.dlc")
    graph = built.fixed_graph()
    assert not any(isinstance(node.op, Recurrent) for node in graph.nodes)
    gates = [node.outputs[0] for node in graph.nodes if isinstance(node.op, Sigmoid)]
    assert {graph.types[value].dtype for value in gates} <= dtypes
    x = np.random.default_rng(5).uniform(0, 1, (3, 1, WIDTH)).astype(np.float32)
    expected = ew.convert(model).run({"x": x})
    for name, result in built.run({"x": x}).items():
        np.testing.assert_allclose(result, expected[name], atol=0.05)


def test_the_pre_flight_names_a_layer_with_too_many_steps(call, tmp_path):
    model = layer(tmp_path / "layer.onnx", "LSTM", 801)
    answer = call(main, model, "--target", "SM8650", *TO, "--dry-run")
    assert answer.code == 4
    assert "they are unrolled up to 800 steps in all, this Lstm has 801 of 801" in answer.err
    assert "--input_dim" in answer.err
    assert "--expose_states" in answer.err


@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
def test_a_long_layer_is_built_in_pieces(call, tmp_path):
    model = layer(tmp_path / "layer.onnx", "LSTM", 1)
    answer = call(main, model, "--target", "SM8650", *TO, "--expose_states", "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    built = ew.load(tmp_path / "out" / "layer.dlc")
    assert [item.name for item in built.inputs] == ["x", "lstm_h", "lstm_c"]
    assert [item.name for item in built.outputs] == ["y", "last", "lstm_h_out", "lstm_c_out"]
