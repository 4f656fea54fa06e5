"""The pre-flight: everything that stands in the way, in seconds, whatever the size of the model."""

import time

import numpy as np
import pytest
from onnx import TensorProto, helper

from edgewright.build.convert import convert_model
from edgewright.build.dry_run import run_dry
from edgewright.build.preflight import run_preflight
from edgewright.build.request import BuildRequest
from edgewright.core.errors import Problems
from edgewright.data.samples import DataRequest
from edgewright.ir.text import to_text
from tests.cli.models import DIGITS_MODEL, FLOAT, save
from tests.unit.build.large_models import large_model

SECONDS = 10


def _request(model, out, **more):
    fields = {"target": "SM8650", "data": DataRequest()} | more
    return BuildRequest(model=model, output=out, **fields)


def _kinds(result):
    return {finding.kind for finding in result.record().findings}


@pytest.mark.parametrize("is_inline", [True, False], ids=["inline", "external"])
def test_a_graph_of_gigabytes_is_answered_in_seconds_with_all_reasons(tmp_path, is_inline):
    model = large_model(tmp_path, 2.5, is_inline=is_inline)
    start = time.monotonic()
    result = run_dry(_request(model, tmp_path / "out", target="SM8450", precision="fp16"))
    assert time.monotonic() - start < SECONDS
    texts = [finding.what for finding in result.record().findings]
    assert any("only known at run time" in text for text in texts)
    assert any("half precision needs v73" in text for text in texts)
    assert any("beyond the 2 GiB that a graph of the HTP holds" in text for text in texts)
    assert any("RANDOM DATA" in text for text in texts)
    with pytest.raises(Problems) as problem:
        result.check()
    assert problem.value.exit_code == 4


def test_weights_that_are_beyond_the_limit_in_every_precision_are_an_error(tmp_path):
    model = large_model(tmp_path, 2.5, is_inline=False, dtype=TensorProto.INT8)
    start = time.monotonic()
    result = run_dry(_request(model, tmp_path / "out"))
    assert time.monotonic() - start < SECONDS
    results = [finding for finding in result.record().findings if finding.kind == "limit-exceeded"]
    assert len(results) == 1
    assert "a graph of the HTP holds 2 GiB" in results[0].what


def test_a_good_model_has_estimates_and_nothing_in_the_way(tmp_path):
    result = run_dry(_request(DIGITS_MODEL, tmp_path / "out"))
    record = result.record()
    assert record.is_ok
    assert 1 < record.expected_seconds < 600
    assert record.expected_memory_mb > 100
    result.check()


def test_the_pre_flight_looks_and_leaves_the_model_as_it_was_imported(tmp_path):
    nodes = [
        helper.make_node("Identity", ["x"], ["same"], name="body/Identity"),
        helper.make_node("Relu", ["same"], ["y"], name="body/Relu"),
    ]
    model = save(tmp_path / "p.onnx", nodes, [("x", FLOAT, [1, 3])], [("y", FLOAT, [1, 3])])
    request = _request(model, tmp_path / "out")
    opened = run_preflight(request).opened
    before = to_text(opened.graph)
    convert_model(request, opened)
    assert to_text(opened.graph) == before


def test_an_op_that_the_htp_lacks_is_named_as_in_the_source(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="body/Relu"),
        helper.make_node("ReduceProd", ["r"], ["y"], name="head/Prod", axes=[2]),
    ]
    model = save(tmp_path / "p.onnx", nodes, [("x", FLOAT, [1, 3, 3])], [("y", FLOAT, [1, 3, 1])])
    result = run_dry(_request(model, tmp_path / "out"))
    (error,) = [finding for finding in result.record().findings if finding.grade == "error"]
    assert error.what == "HTP has no ReduceProd"
    assert "node 'head/Prod'" in error.where
    assert any("1 of 2 ops" in finding.what for finding in result.record().findings)


def test_double_precision_is_refused_before_any_work(tmp_path):
    double = TensorProto.DOUBLE
    weights = {"w": np.ones((4, 4))}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    model = save(tmp_path / "d.onnx", nodes, [("x", double, [1, 4])], [("y", double, [1, 4])], weights)
    result = run_dry(_request(model, tmp_path / "out"))
    errors = [finding for finding in result.record().findings if finding.grade == "error"]
    assert any("float_64" in finding.what or "float64" in finding.what for finding in errors)


def test_a_file_that_is_no_model_and_an_output_that_is_a_file_are_both_said(tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"nonsense")
    (tmp_path / "out").write_text("taken")
    result = run_dry(_request(tmp_path / "broken.onnx", tmp_path / "out"))
    assert _kinds(result) >= {"bad-input", "usage"}


def test_a_missing_file_of_labels_is_said_beside_samples_of_the_wrong_shape(tmp_path):
    data = DataRequest(np.zeros((6, 28, 28), np.float32), labels=tmp_path / "labels.txt")
    result = run_preflight(_request(DIGITS_MODEL, tmp_path / "out", data=data))
    wrong, missing = sorted(problem.what for problem in result.problems)[::-1]
    assert wrong.startswith("the array has the shape [6, 28, 28]")
    assert missing.startswith("file '")
    assert missing.endswith("labels.txt' does not exist")


def test_a_model_that_quantizes_at_run_time_is_told(tmp_path):
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z"], ["p"]),
        helper.make_node("Cast", ["p"], ["f"], to=FLOAT),
        helper.make_node("Mul", ["f", "s"], ["y"]),
    ]
    weights = {"w": np.arange(32, dtype=np.int8).reshape(8, 4)}
    path = tmp_path / "dynamic.onnx"
    model = save(path, nodes, [("x", FLOAT, [1, 8])], [("y", FLOAT, [1, 4])], weights)
    assert "dynamic-quantization" in _kinds(run_dry(_request(model, tmp_path / "out")))
    assert "dynamic-quantization" not in _kinds(run_dry(_request(DIGITS_MODEL, tmp_path / "out")))
