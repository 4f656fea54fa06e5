"""`edgewright debug`: what it names first, what remedies gain, the page, and two backends side by side."""

import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest

import edgewright as ew
from edgewright.tools.umbrella import main
from tests.cli.test_accuracy_debugger import square_net


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    square_net(tmp_path / "m.onnx")
    images = np.random.default_rng(4).standard_normal((6, 1, 3, 8, 8)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", image=images)
    return tmp_path


def spoil(here, name, factor):
    encodings = ew.quantize(here / "m.onnx", here / "samples.npz", act_quantizer="tf").encodings("0.6.1")
    (entry,) = encodings["activation_encodings"][name]
    for key in ("min", "max", "scale"):
        entry[key] *= factor
    (here / "spoiled.json").write_text(json.dumps(encodings))


def test_a_sound_model_has_no_divergence_and_a_page(here, capsys):
    assert main(["debug", "m.onnx", "--data", "samples.npz", "--act_quantizer", "tf"]) == 0
    text = capsys.readouterr().out
    assert "first divergence: none; all 5 layers keep 20 dB or more" in text
    page = (here / "m_debug.html").read_text()
    assert "first divergence" in page
    assert "/c2/out" in page
    # The drawing is in a frame that holds all that it needs.
    assert 'class="graph-frame"' in page
    assert 'data-graph-node="' in page
    assert "http" not in page.replace("http-equiv", "")


def test_two_decibels_of_one_encoding_are_named_and_the_remedy_is_measured(here, capsys):
    spoil(here, "/c2/out", 10 ** (2 / 20))
    words = ["debug", "m.onnx", "--data", "samples.npz", "--act_quantizer", "tf"]
    assert main([*words, "--quantization_overrides", "spoiled.json"]) == 0
    assert "first divergence: /c2/out: its range" in capsys.readouterr().out


def test_a_strongly_spoiled_encoding_gains_by_its_remedy(here):
    spoil(here, "/sum", 20.0)
    result = ew.debug("m.onnx", "samples.npz", overrides="spoiled.json", act_quantizer="tf", page="d.html")
    assert result.odd[0].layer == "/sum"
    (remedy, *_) = result.remedies
    assert remedy.after_db > remedy.before_db + 10
    override = json.loads(remedy.do)["activation_encodings"]["/sum"]
    assert override[0]["max"] == pytest.approx(result.odd[0].fresh_high)
    assert "first divergence: /sum" in repr(result)


def test_a_quantized_file_is_debugged_as_it_is(here, capsys):
    ew.quantize("m.onnx", "samples.npz", act_quantizer="tf").save("m.dlc")
    assert main(["debug", "m.onnx", "--data", "samples.npz", "--quantized", "m.dlc"]) == 0
    assert "first divergence: none" in capsys.readouterr().out
    words = ["debug", "m.onnx", "--data", "samples.npz", "--quantized", "m.dlc"]
    assert main([*words, "--precision", "w8a16"]) == 2


def test_the_first_op_that_backends_compute_differently_is_saved(here, capsys):
    words = ["debug", "m.onnx", "--data", "samples.npz", "--act_quantizer", "tf", "-o", "page.html"]
    assert main([*words, "--compare_backends", "htp-sim,cpu"]) == 0
    text = capsys.readouterr().out
    assert "first op that htp-sim and cpu compute differently" in text
    (command,) = [line for line in text.splitlines() if line.startswith("run it again: ")]
    run = subprocess.run(
        [sys.executable, *shlex.split(command)[4:]],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    assert run.stdout.splitlines()[:2] == ["htp-sim: as recorded", "cpu: as recorded"]
    assert "htp-sim and cpu differ by up to 1 steps" in run.stdout
    assert main([*words, "--compare_backends", "cpu"]) == 2
    assert main([*words, "--compare_backends", "cpu,cpu"]) == 2


def test_json_has_all_layers(here, capsys):
    assert main(["debug", "m.onnx", "--data", "samples.npz", "--act_quantizer", "tf", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert len(record["layers"]) == 5


@pytest.mark.parametrize("file", ["m.dlc", "m.cpp"])
def test_an_encoding_that_was_spoiled_in_a_file_is_named_as_in_the_source(here, file, capsys):
    spoil(here, "/sum", 10 ** (2 / 20))
    ew.quantize("m.onnx", "samples.npz", act_quantizer="tf", overrides="spoiled.json").save(file)
    quantized = "m_net.json" if file == "m.cpp" else file
    assert main(["debug", "m.onnx", "--data", "samples.npz", "--quantized", quantized, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [layer["source"] for layer in record["layers"]] == [
        "/r1/out",
        "/c2/out",
        "/sum",
        "pooled",
        "scores",
    ]
    assert record["odd"][0]["layer"] == "/sum"


def test_more_bits_are_measured_in_a_quantized_file_too(here):
    spoil(here, "/sum", 6.0)
    ew.quantize("m.onnx", "samples.npz", act_quantizer="tf", overrides="spoiled.json").save("m.dlc")
    result = ew.debug("m.onnx", "samples.npz", quantized="m.dlc")
    wider = [remedy for remedy in result.remedies if '"bitwidth": 16' in remedy.do]
    assert wider
    assert all(remedy.after_db is not None for remedy in wider)
    assert max(remedy.after_db - remedy.before_db for remedy in wider) > 1


def test_weights_of_four_bits_gain_by_eight_in_a_quantized_file(here):
    ew.quantize("m.onnx", "samples.npz", act_quantizer="tf", weight_bw=4).save("m.dlc")
    result = ew.debug("m.onnx", "samples.npz", quantized="m.dlc")
    wider = [remedy for remedy in result.remedies if '"bitwidth": 8' in remedy.do]
    assert wider
    assert all(remedy.after_db > remedy.before_db for remedy in wider)
