"""qairt-quantizer with AIMET: its encodings where it is, and what to do where it is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.tools.qairt_converter import main as convert
from edgewright.tools.qairt_quantizer import main
from tests.cli.models import DIGITS_MODEL

BESIDE = Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"
INPUT, OUTPUT = "Input3", "Plus214_Output_0"


@pytest.fixture(scope="module")
def digits():
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        return stored["images"][::20].astype(np.float32), stored["labels"][::20]


@pytest.fixture(scope="module")
def words(digits, tmp_path_factory):
    """The options of a call: a float DLC and an input list of 25 digits."""
    folder = tmp_path_factory.mktemp("aimet")
    assert convert(["-i", str(DIGITS_MODEL), "-o", str(folder / "m.dlc")]) == 0
    for number, image in enumerate(digits[0]):
        image.tofile(folder / f"{number}.raw")
    files = [f"{folder}/{number}.raw" for number in range(len(digits[0]))]
    (folder / "list.txt").write_text("\n".join(files))
    return ["--input_dlc", folder / "m.dlc", "--input_list", folder / "list.txt", "--use_aimet_quantizer"]


@pytest.fixture
def aimet(monkeypatch):
    """The interpreter of an environment with AIMET."""
    python = os.environ.get("AIMET_ENV_PYTHON") or str(BESIDE)
    check = [python, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('aimet_onnx'))"]
    if not Path(python).exists() or subprocess.run(check, check=False).returncode:
        pytest.skip("aimet-onnx is not installed (AIMET_ENV_PYTHON, or .venv-peers)")
    monkeypatch.setenv("AIMET_ENV_PYTHON", python)


@pytest.mark.slow
def test_encodings_of_aimet_are_used(call, aimet, words, digits, tmp_path):
    more = ("--use_per_channel_quantization", "--bias_bitwidth", 32, "--dump_encoding_json")
    answer = call(main, *words, *more, "--output_dlc", tmp_path / "q.dlc")
    assert answer.code == 0, answer.err
    assert "AIMET gave 7 encodings, the others were calibrated" in answer.out
    listed = json.loads((tmp_path / "q_encoding.json").read_text())["param_encodings"]
    assert sorted(len(entry["scale"]) for entry in listed) == [1, 1, 8, 8, 16, 16]
    model = ew.load(tmp_path / "q.dlc")
    found = [model.run({INPUT: x[None, None]}, backend="htp-sim")[OUTPUT].argmax() for x in digits[0]]
    assert np.mean(np.array(found) == digits[1]) >= 0.95


@pytest.mark.slow
def test_the_ranges_are_those_that_aimet_saw(call, aimet, words, digits, tmp_path):
    assert call(main, *words, "--output_dlc", tmp_path / "q.dlc").code == 0
    images, floats = digits[0], ew.load(words[1])
    seen = np.concatenate([floats.run({INPUT: x[None, None]})[OUTPUT] for x in images])
    encoding = ew.load(tmp_path / "q.dlc").graph.types[OUTPUT].encoding
    assert encoding.scales[0] * 255 == pytest.approx(seen.max() - seen.min(), rel=0.02)


def test_without_aimet_it_says_how_to_get_it(call, words, tmp_path, monkeypatch):
    monkeypatch.delenv("AIMET_ENV_PYTHON", raising=False)
    answer = call(main, *words, "--output_dlc", tmp_path / "q.dlc")
    assert (answer.code, (tmp_path / "q.dlc").exists()) == (6, False)
    assert "pip install 'edgewright[aimet]'" in answer.err


@pytest.mark.parametrize(
    ("python", "says"),
    [(sys.executable, "has no package 'aimet_onnx'"), ("/no/such/python", "expected the Python of an env")],
)
def test_an_environment_without_aimet_is_named(call, words, tmp_path, monkeypatch, python, says):
    monkeypatch.setenv("AIMET_ENV_PYTHON", python)
    answer = call(main, *words, "--output_dlc", tmp_path / "q.dlc")
    assert (answer.code, says in answer.err) == (6, True)
    assert not (tmp_path / "q.dlc").exists()


def test_a_failure_of_aimet_is_reported_with_its_last_words(call, words, tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'Traceback' >&2\necho 'ValueError: no such scheme' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setenv("AIMET_ENV_PYTHON", str(python))
    answer = call(main, *words, "--output_dlc", tmp_path / "q.dlc")
    assert answer.code == 6
    assert "AIMET could not quantize the model: ValueError: no such scheme" in answer.err


@pytest.mark.parametrize("method", ["mse", "entropy", "percentile"])
def test_methods_that_aimet_lacks_are_refused(call, words, monkeypatch, method):
    monkeypatch.setenv("AIMET_ENV_PYTHON", sys.executable)
    answer = call(main, *words, "--act_quantizer_calibration", method)
    assert (answer.code, "AIMET has one of min-max, sqnr for both" in answer.err) == (2, True)


LOADER = """
import sys
import onnx
from aimet_onnx.quantsim import QuantizationSimModel, load_encodings_to_sim
sim = QuantizationSimModel(onnx.load(sys.argv[1]), config_file="htp_v75")
load_encodings_to_sim(sim, sys.argv[2], strict=False)
named = [name for name, quantizer in sim.qc_quantize_op_dict.items() if quantizer.enabled]
assert len(named) > 3, named
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.6.1", "1.0.0"])
def test_aimet_loads_the_encodings_of_a_quantized_model(aimet, image, tmp_path, version):
    draw = np.random.default_rng(0)
    model = ew.convert(image, batch=1)
    (shape,) = (tensor.shape for tensor in model.inputs)
    samples = [draw.random(shape).astype(np.float32) for _ in range(4)]
    path = tmp_path / "model.encodings"
    path.write_text(json.dumps(ew.quantize(model, samples).encodings(version)))
    words = [os.environ.get("AIMET_ENV_PYTHON", sys.executable), "-c", LOADER, image, path]
    loaded = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert loaded.returncode == 0, loaded.stderr[-2000:]
