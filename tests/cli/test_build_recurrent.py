"""`edgewright build` of recurrent layers, which the HTP takes step by step only."""

import json

import numpy as np
import pytest
from onnx import helper

import edgewright as ew
from edgewright.tools.build_command import main
from tests.cli.context_models import IS_NATIVE, NO_WHEEL
from tests.cli.models import FLOAT, save

UNITS, WIDTH = 8, 4
TO = ("--target", "SM8650", "--random-data", "--precision", "w8a8", "--metric", "closeness")


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
@pytest.mark.parametrize(("kind", "attributes"), [("LSTM", {}), ("GRU", {"linear_before_reset": 1})])
def test_a_recurrent_layer_is_compiled_step_by_step_in_fixed_point(call, tmp_path, kind, attributes):
    model = layer(tmp_path / "layer.onnx", kind, 3, **attributes)
    answer = call(main, model, *TO, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "a recurrent layer was written out step by step" in answer.out
    record = json.loads((tmp_path / "out" / "report.json").read_text())
    assert {item["backend"] for item in record["accuracy"]} == {"float", "htp-sim", "htp-native"}
    assert min(item["score"] for item in record["accuracy"]) > 98
    assert any(layer["source"].startswith(f"{kind.lower()}_step3") for layer in record["layers"])
    built = ew.load(tmp_path / "out" / "layer.dlc")
    x = np.random.default_rng(5).uniform(0, 1, (3, 1, WIDTH)).astype(np.float32)
    expected = ew.convert(model).run({"x": x})
    for name, result in built.run({"x": x}).items():
        np.testing.assert_allclose(result, expected[name], atol=0.05)


def test_the_pre_flight_names_a_layer_with_too_many_steps(call, tmp_path):
    model = layer(tmp_path / "layer.onnx", "LSTM", 65)
    answer = call(main, model, *TO, "--dry-run")
    assert answer.code == 0
    assert "stays one op, which Qualcomm's compiler refuses" in answer.err
    assert "give it 64 steps at most" in answer.out
