"""Other engines of the CPU backend: the same numbers, and what each refuses."""

import logging
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import choose_engine, find_backend
from edgewright.core.errors import UnsupportedFeature, UsageError
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu

DIGITS_MODEL = Path(__file__).parents[3] / "examples/models/mnist_cntk.onnx"
IMAGE = np.random.default_rng(3).random((1, 1, 28, 28), np.float32)
OUTPUT = "Plus214_Output_0"


def relu(*shape, dtype=DType.FLOAT_32):
    graph = Graph("relu")
    graph.add_input("x", TensorType(shape, dtype))
    graph.add(Node("n", Relu(), ["x"], ["y"]))
    graph.outputs = ["y"]
    return graph


def test_another_engine_is_for_the_cpu_only():
    assert choose_engine("libQnnCpu.so", "openvino") == "cpu-openvino"
    assert choose_engine("htp-sim", "onnxruntime") == "htp-sim"
    with pytest.raises(UsageError, match="--engine auto is for the CPU backend"):
        choose_engine("htp-sim", "auto")


def test_runs_after_the_first_check_what_they_are_given():
    session = find_backend("cpu").prepare(relu(2, 3), RunOptions(threads=1))
    x = np.float32([[-1, 0, 1], [2, -2, 3]])
    for _ in range(3):
        assert session.run({"x": x})["y"].tolist() == [[0, 0, 1], [2, 0, 3]]
    with pytest.raises(ew.EdgewrightError, match="expected float32"):
        session.run({"x": x.astype(np.float64)})
    with pytest.raises(ew.EdgewrightError, match="'x' is missing"):
        session.run({"z": x})
    with pytest.raises(ew.EdgewrightError):
        session.run({"x": x[:1]})
    assert session.run({"x": x, "more": x})["y"].shape == (2, 3)
    assert session.run({"x": np.asfortranarray(x)})["y"].tolist() == [[0, 0, 1], [2, 0, 3]]


@pytest.fixture
def digits():
    pytest.importorskip("openvino")
    return ew.convert(DIGITS_MODEL)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["cpu-openvino", "cpu-auto"])
def test_openvino_gives_the_numbers_of_onnx_runtime(digits, backend, caplog):
    expected = digits.run({"Input3": IMAGE})[OUTPUT]
    with caplog.at_level(logging.INFO):
        found = digits.run({"Input3": IMAGE}, backend=backend, threads=1)[OUTPUT]
    assert np.abs(found - expected).max() < 1e-5
    assert ("largest difference" in caplog.text) == (backend == "cpu-auto")


@pytest.mark.slow
def test_what_bf16_costs_is_said(digits, caplog):
    digits.run({"Input3": IMAGE}, backend="cpu-openvino-bf16")
    assert "the largest difference to f32 is" in caplog.text


@pytest.mark.slow
def test_a_quantized_model_is_refused_by_openvino_and_left_to_onnx_runtime_by_auto(digits):
    quantized = ew.quantize(digits, [{"Input3": IMAGE}])
    with pytest.raises(UnsupportedFeature, match="rounds in its own way"):
        quantized.run({"Input3": IMAGE}, backend="cpu-openvino")
    expected = quantized.run({"Input3": IMAGE})[OUTPUT]
    assert np.array_equal(quantized.run({"Input3": IMAGE}, backend="cpu-auto")[OUTPUT], expected)
