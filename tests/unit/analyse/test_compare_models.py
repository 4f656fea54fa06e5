"""ew.compare: figures between two models on the same data."""

import math

import numpy as np
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.core.errors import UsageError
from edgewright.evaluate.statistics import compute_wilson_interval
from tests.cli import models
from tests.cli.models import save

FLOAT = TensorProto.FLOAT


def scaled(path, factor, shift=0.0, shape=(1, 4)):
    nodes = [helper.make_node("Mul", ["x", "factor"], ["m"]), helper.make_node("Add", ["m", "shift"], ["y"])]
    io = [("x", FLOAT, shape)], [("y", FLOAT, shape)]
    return ew.convert(save(path, nodes, *io, {"factor": np.float32(factor), "shift": np.float32(shift)}))


@pytest.fixture
def data():
    return np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)


def test_a_model_does_not_differ_from_itself(tmp_path, data):
    model = scaled(tmp_path / "a.onnx", [1.0, 2.0, 3.0, 4.0])
    (result,) = ew.compare(model, model, data)
    assert (result.output, result.samples) == ("y", 50)
    assert (result.sqnr_db, result.max_abs, result.kl) == (math.inf, 0.0, 0.0)
    assert result.cosine == pytest.approx(1.0)
    assert (result.top1.same, result.top1.count, result.top1.share) == (50, 50, 1.0)
    assert result.top1.high == pytest.approx(1.0)
    assert 0.92 < result.top1.low < 0.93


def test_without_samples_there_is_nothing_to_compare(tmp_path):
    model = scaled(tmp_path / "a.onnx", 1.0)
    with pytest.raises(ew.EdgewrightError, match="there are no samples to compare on, expected at least one"):
        ew.compare(model, model, [])


def test_figures_are_those_of_the_formulas(tmp_path, data):
    first = scaled(tmp_path / "a.onnx", [1.0, 1.0, 1.0, 1.0])
    second = scaled(tmp_path / "b.onnx", [1.0, 1.0, 1.0, 0.5], [0.0, 0.1, 0.0, 0.0])
    (result,) = ew.compare(first, second, data)
    a = data.astype(np.float64)
    b = a * [1, 1, 1, 0.5] + [0, 0.1, 0, 0]
    assert result.sqnr_db == pytest.approx(10 * np.log10((a**2).sum() / ((a - b) ** 2).sum()), rel=1e-5)
    assert result.cosine == pytest.approx((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()), rel=1e-5)
    assert result.max_abs == pytest.approx(np.abs(a - b).max(), rel=1e-5)
    p, q = (np.exp(x) / np.exp(x).sum(-1, keepdims=True) for x in (a, b))
    assert result.kl == pytest.approx((p * np.log(p / q)).sum(-1).mean(), rel=1e-4)
    assert result.top1.same == (a.argmax(-1) == b.argmax(-1)).sum()


def test_probabilities_are_taken_as_they_are(tmp_path):
    rows = np.random.default_rng(0).dirichlet(np.ones(4), 20).astype(np.float32)
    first = scaled(tmp_path / "a.onnx", [1.0] * 4)
    second = scaled(tmp_path / "b.onnx", [1.0] * 4, [0.01, -0.01, 0.0, 0.0])
    (result,) = ew.compare(first, second, rows)
    q = np.maximum(rows + np.float32([0.01, -0.01, 0, 0]), 1e-12).astype(np.float64)
    expected = (rows * np.log(rows / (q / q.sum(-1, keepdims=True)))).sum(-1).mean()
    assert result.kl == pytest.approx(expected, rel=1e-3)


def test_the_interval_is_wilsons():
    low, high = compute_wilson_interval(98, 100)
    assert (round(low, 4), round(high, 4)) == (0.93, 0.9945)
    assert compute_wilson_interval(0, 0) == (0.0, 1.0)
    assert compute_wilson_interval(5, 5)[1] == 1.0


def test_models_in_different_layouts_are_compared(tmp_path):
    source = models.image_net(tmp_path / "image.onnx")
    from edgewright.tools.qnn_onnx_converter import main

    assert main(["-i", str(source), "-o", str(tmp_path / "m.cpp")]) == 0
    data = np.random.default_rng(0).random((3, 3, 6, 6), np.float32)
    (result,) = ew.compare(ew.convert(source), tmp_path / "m_net.json", data)
    assert result.sqnr_db > 80
    # Classes are the four channels of each of 36 places.
    assert result.top1.count == 3 * 36


def test_a_quantized_model_is_compared_on_the_backend_that_is_asked_for(tmp_path, data):
    first = scaled(tmp_path / "a.onnx", [1.0, 2.0, 3.0, 4.0])
    (result,) = ew.compare(first, ew.quantize(first, data), data, backend="htp-sim")
    assert 30 < result.sqnr_db < 60


def test_models_with_other_inputs_or_outputs_are_refused(tmp_path, data):
    with pytest.raises(UsageError, match="different inputs or outputs"):
        ew.compare(scaled(tmp_path / "a.onnx", [1.0] * 4), models.two_inputs(tmp_path / "b.onnx"), data)


def test_an_output_without_classes_has_neither_divergence_nor_agreement(tmp_path):
    model = scaled(tmp_path / "a.onnx", [2.0], shape=(1,))
    (result,) = ew.compare(model, model, np.ones((3, 1), np.float32))
    assert (result.kl, result.top1) == (None, None)
