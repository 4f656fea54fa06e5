"""`edgewright check` and `ew.check`: architecture, encodings, repair, and the exit code."""

import json

import numpy as np
import pytest
from onnx import helper

import edgewright as ew
from edgewright.tools.check_command import main
from tests.browser.sample_build import digits
from tests.cli.models import DIGITS_MODEL, FLOAT, save

DIGITS = digits()[0][:4]


@pytest.fixture
def samples(tmp_path):
    path = tmp_path / "samples.npy"
    np.save(path, np.concatenate([feed["Input3"] for feed in DIGITS]).astype(np.float32))
    return path


@pytest.fixture
def overrides(tmp_path):
    """One range ten times too wide."""
    entries = ew.quantize(DIGITS_MODEL, DIGITS, act_quantizer="tf").encodings("0.6.1")
    (entry,) = entries["activation_encodings"]["Pooling66_Output_0"]
    wide = {"bitwidth": 8, "min": 10 * entry["min"], "max": 10 * entry["max"]}
    path = tmp_path / "overrides.json"
    path.write_text(
        json.dumps({"activation_encodings": {"Pooling66_Output_0": [wide]}, "param_encodings": {}})
    )
    return path


def test_a_model_is_checked_without_samples(call):
    answer = call(main, DIGITS_MODEL)
    assert answer.code == 0
    assert "warning[low_channels] 'Convolution28' and 1 more" in answer.out
    assert "the HTP would take it" in answer.out


def test_what_the_htp_cannot_run_is_exit_code_4(call, tmp_path):
    nodes = [helper.make_node("ReduceProd", ["x"], ["y"], name="product", axes=[1], keepdims=1)]
    path = save(tmp_path / "m.onnx", nodes, [("x", FLOAT, [1, 32])], [("y", FLOAT, [1, 1])], opset=13)
    answer = call(main, path)
    assert answer.code == 4
    assert "error[unsupported_op]" in answer.out


def test_open_dimensions_are_named_and_can_be_fixed(call, tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="relu")]
    path = save(
        tmp_path / "m.onnx", nodes, [("x", FLOAT, ["batch", "length"])], [("y", FLOAT, ["batch", "length"])]
    )
    answer = call(main, path)
    assert answer.code == 4
    assert "--define_symbol length SIZE" in answer.out
    assert call(main, path, "--define_symbol", "length", 8).code == 0


def test_bad_encodings_of_a_file_are_named_and_repaired(call, samples, overrides, tmp_path):
    words = [DIGITS_MODEL, "--data", samples, "--quantization_overrides", overrides, "--target", "SM8650"]
    answer = call(main, *words, "--repaired", tmp_path / "good.dlc", "--json")
    assert answer.code == 0
    check = json.loads(answer.out)["encodings"]
    # What is before the pool has its encoding, too.
    assert [entry["layer"] for entry in check["odd"]] == ["ReLU32_Output_0"]
    clean = ew.quantize(DIGITS_MODEL, DIGITS, act_quantizer="tf")
    (best,) = ew.compare(ew.convert(DIGITS_MODEL), clean, DIGITS, backend="htp-sim")
    assert check["output_db"] < best.sqnr_db - 3
    assert abs(check["repaired_db"] - best.sqnr_db) < 0.5
    (repaired,) = ew.compare(
        ew.convert(DIGITS_MODEL), ew.load(tmp_path / "good.dlc"), DIGITS, backend="htp-sim"
    )
    assert abs(repaired.sqnr_db - best.sqnr_db) < 0.5


def test_fresh_encodings_are_not_called_odd(samples):
    check = ew.check(DIGITS_MODEL, samples)
    assert check.encodings.odd == ()
    assert check.encodings.repaired_db is None
    assert "worst output over 4 samples" in repr(check)


def test_a_quantized_model_is_held_to_the_rules(tmp_path):
    files = ew.quantize(DIGITS_MODEL, DIGITS, act_bw=16).save(tmp_path / "q.dlc")
    check = ew.check(files.dlc, target="v69")
    assert check.rules == ()
    assert "act16" in {issue.rule for issue in check.issues}
    given = ew.check(DIGITS_MODEL, DIGITS, quantized=files.dlc)
    assert given.encodings.odd == ()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["m.bin"], 2, "--target SM8650"),
        (["none.onnx"], 3, "none.onnx"),
        ([DIGITS_MODEL, "--repaired", "x.dlc"], 2, "--data"),
        ([DIGITS_MODEL, "--target", "Exynos"], 2, "Exynos"),
    ],
)
def test_mistakes_are_told(call, words, code, text):
    answer = call(main, *words)
    assert (answer.code, text in answer.err) == (code, True)


def test_mistakes_in_python_are_told(samples):
    with pytest.raises(ew.EdgewrightError, match="need samples"):
        ew.check(DIGITS_MODEL, quantized="q.dlc")
    with pytest.raises(ew.EdgewrightError, match="expected one of: w8a8"):
        ew.check(DIGITS_MODEL, samples, precision="w1a1")
    quantized = ew.quantize(DIGITS_MODEL, DIGITS)
    with pytest.raises(ew.EdgewrightError, match="expected the float model"):
        ew.check(quantized, DIGITS)
