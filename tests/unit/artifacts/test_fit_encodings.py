"""Encodings for exactly the tensors that AIMET quantizes, so that it loads them strictly."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import UnsupportedFeature, UsageError
from tests.cli.models import DIGITS_MODEL

BESIDE = Path(__file__).parents[3] / ".venv-peers" / "bin" / "python"
OURS = {
    "version": "1.0.0",
    "activation_encodings": [
        {"name": "x", "dtype": "INT", "bw": 8, "is_sym": False, "enc_type": "PER_TENSOR"}
        | {"scale": [0.5], "offset": [-10]},
        {"name": "wide", "dtype": "INT", "bw": 16, "is_sym": False, "enc_type": "PER_TENSOR"}
        | {"scale": [0.001], "offset": [-32768]},
        {"name": "half", "dtype": "FLOAT", "bw": 16, "enc_type": "PER_TENSOR"},
    ],
    "param_encodings": [
        {"name": "w", "dtype": "INT", "bw": 8, "is_sym": True, "enc_type": "PER_CHANNEL"}
        | {"scale": [0.1, 0.3], "offset": [-128, -128]},
    ],
}


def describe(name, *, bits=8, symmetric=False, scale=(1.0,), offset=(0.0,)):
    kind = "PER_CHANNEL" if len(scale) > 1 else "PER_TENSOR"
    return {"name": name, "dtype": "INT", "bw": bits, "is_sym": symmetric, "enc_type": kind} | {
        "scale": list(scale),
        "offset": list(offset),
    }


WEIGHT = describe("w", symmetric=True, scale=(1, 1), offset=(-128, -128))


def fit(*activations, params=(), ours=OURS):
    like = {"version": "1.0.0", "activation_encodings": list(activations), "param_encodings": list(params)}
    fitted = ew.fit_encodings(ours, like)
    return {e["name"]: e for key in ("activation_encodings", "param_encodings") for e in fitted[key]}


def test_names_and_forms_are_those_of_the_other_tool_and_numbers_are_ours():
    fitted = fit(describe("x"), describe("constant", scale=(0.25,)), params=[WEIGHT])
    assert fitted.keys() == {"x", "constant", "w"}
    assert (fitted["x"]["scale"], fitted["x"]["offset"]) == ([0.5], [-10])
    assert fitted["constant"]["scale"] == [0.25]
    assert fitted["w"]["scale"] == [0.1, 0.3]


def test_another_width_keeps_our_range():
    entry = fit(describe("wide"), describe("x"))["wide"]
    low, high = entry["scale"][0] * entry["offset"][0], entry["scale"][0] * (entry["offset"][0] + 255)
    assert entry["bw"] == 8
    assert (low, high) == pytest.approx((-32.768, 32.767), abs=0.26)


@pytest.mark.parametrize("offset", [-128.0, -127.0])
def test_channels_become_one_range_that_holds_all(offset):
    entry = fit(params=[describe("w", symmetric=True, offset=(offset,))])["w"]
    assert entry["offset"] == [offset]
    assert entry["scale"][0] * offset <= -0.3 * 128 + 1e-9 or offset == -127.0
    assert entry["scale"][0] * (255 + offset) >= 0.3 * 127 - 1e-9


def test_what_we_leave_in_floating_point_keeps_the_other_tools_numbers():
    assert fit(describe("half", scale=(0.7,)), describe("x"))["half"]["scale"] == [0.7]


def test_encodings_of_another_model_are_refused():
    with pytest.raises(UsageError, match="none of the encodings"):
        fit(describe("other"))


def test_weights_that_were_scaled_are_refused_with_the_remedy():
    with pytest.raises(UsageError, match=r"1 weights were scaled .* 'w'") as caught:
        fit(describe("x"), ours={**OURS, "moved_weights": ["w"]})
    assert "act_quantizer='tf'" in caught.value.do


def test_a_version_that_does_not_say_all_is_refused():
    like = {"version": "0.6.1", "activation_encodings": {}, "param_encodings": {}}
    with pytest.raises(UnsupportedFeature, match=r"only 1\.0\.0"):
        ew.fit_encodings(OURS, like)


def test_something_else_is_refused():
    with pytest.raises(UsageError, match="'like' is a int"):
        ew.fit_encodings(OURS, 3)


class Quantizer:
    """What is used of AIMET's quantizers."""

    def __init__(self, entry, *, enabled=True):
        self.enabled = enabled
        self._entry = entry

    def export_encodings(self, version):
        assert version == "1.0.0"
        return self._entry


class Simulation:
    """What is used of AIMET's QuantizationSimModel."""

    param_names = ("w",)

    def __init__(self, **quantizers):
        self.qc_quantize_op_dict = quantizers


def test_a_simulation_gives_the_quantizers_that_are_switched_on():
    entry = {key: value for key, value in describe("x").items() if key != "name"}
    simulation = Simulation(x=Quantizer(entry), w=Quantizer(entry), bias=Quantizer(entry, enabled=False))
    fitted = ew.fit_encodings(OURS, simulation)
    assert [e["name"] for e in fitted["activation_encodings"]] == ["x"]
    assert [e["name"] for e in fitted["param_encodings"]] == ["w"]
    with pytest.raises(UsageError, match="1 quantizers of the simulation have no encoding yet"):
        ew.fit_encodings(OURS, Simulation(x=Quantizer(None)))


@pytest.mark.slow
def test_aimet_loads_them_strictly(tmp_path):
    python = os.environ.get("AIMET_ENV_PYTHON") or str(BESIDE)
    check = [python, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('aimet_onnx'))"]
    if not Path(python).exists() or subprocess.run(check, check=False).returncode:
        pytest.skip("aimet-onnx is not installed (AIMET_ENV_PYTHON, or .venv-peers)")
    from benchmarks.aimet_encodings import ask_aimet, measure

    for model in sorted(DIGITS_MODEL.parent.glob("*.onnx")):
        row = measure(model, Path(python))
        assert row.endswith("| loads |") or "AIMET itself" in row, row
    # The loader can say no: what is not fitted does not load.
    images = np.zeros((1, 1, 28, 28), np.float32)
    raw = tmp_path / "raw.encodings"
    raw.write_text(json.dumps(ew.quantize(DIGITS_MODEL, [images + 1, images]).encodings()))
    assert "AssertionError" in ask_aimet(Path(python), "load", DIGITS_MODEL, raw)["problem"]
