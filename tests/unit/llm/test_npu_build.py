"""Language models for the NPU: what is built keeps its codes, passes its states, and says what it costs."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.abi.libraries import find_libraries
from edgewright.core.errors import AccuracyGate, UnsupportedFeature, UsageError
from edgewright.llm.calibration import read_calibration_texts
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.npu import build_model
from edgewright.llm.npu.build_model import build_language_model, quantize_weights
from edgewright.llm.npu.feed import TextState
from edgewright.llm.npu.graphs import make_float_model
from edgewright.llm.npu.manifest import FILE, GraphShape
from edgewright.llm.runtimes.npu_decoder import NpuDecoder
from edgewright.tools.umbrella import main
from tests.unit.llm.checkpoints import write_checkpoint

pytestmark = pytest.mark.slow
RUNNER = Path(__file__).parents[2] / "cli" / "run_ep_context.py"
NEEDS_WHEEL = pytest.mark.skipif(
    find_libraries() is None, reason="the wheel onnxruntime-qnn is not installed"
)
SHAPE = {"prefill": 8, "context": 48}
SMALL = {"hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1}


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    for number, name in enumerate(("calib", "text")):
        np.save(folder / f"{name}.npy", np.random.default_rng(number).integers(0, 96, 700))
    np.save(folder / "short.npy", np.random.default_rng(2).integers(0, 96, 200))
    return folder


@pytest.fixture(scope="module", params=["w8a16", "per-channel", "lpbq"])
def built(request, texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    source = write_checkpoint(folder / "model", "qwen2", **SMALL)
    choice = {"precision": "w8a16"} if request.param == "w8a16" else {"recipe": request.param}
    build_language_model(
        source, folder / "out", target="SM8650", calibration=texts / "calib.npy", **SHAPE, **choice
    )
    return folder, request.param


def encode(values, item):
    return np.clip(np.rint(values / item["scale"] - item["offset"]), 0, 65535).astype(np.uint16)


def measure_distance(wanted, found):
    return 10 * np.log10((wanted**2).sum() / max(((wanted - found) ** 2).sum(), 1e-30))


def test_the_graph_has_the_codes_of_the_weights_and_activations_cost_little(built, texts):
    folder, kind = built
    checkpoint, tokens = Checkpoint(folder / "model"), np.random.default_rng(3).integers(0, 96, 8)
    precision, recipe = ("w8a16", "lpbq") if kind == "w8a16" else ("w4a16", kind)
    pieces = read_calibration_texts(checkpoint, texts / "calib.npy")
    tensors = quantize_weights(checkpoint, precision, recipe, pieces)
    shape = GraphShape(8, 48)
    plain = make_float_model(checkpoint.spec, tensors, checkpoint.head, shape, "plain")
    wanted = plain.run(TextState(checkpoint.spec, 48).feed(tokens, shape))["logits"][0]
    found = NpuDecoder(folder / "out", "htp-sim").feed(tokens)
    assert measure_distance(wanted, found) > 35


def test_a_state_is_the_same_integers_in_both_graphs(built):
    folder, _ = built
    graphs = json.loads((folder / "out" / FILE).read_text())["graphs"]
    for layer in range(2):
        for kind in ("key", "value"):
            steps = {
                (item["scale"], item["offset"])
                for graph in graphs.values()
                for item in (*graph["inputs"], *graph["outputs"])
                if item["name"].startswith(f"past_{kind}_{layer}_")
            }
            assert len(steps) == 1


def test_tokens_one_by_one_give_what_a_prompt_gives(built):
    folder, _ = built
    tokens = np.random.default_rng(4).integers(0, 96, 16)
    at_once, apart = NpuDecoder(folder / "out", "htp-sim"), NpuDecoder(folder / "out", "htp-sim")
    wanted = at_once.feed(tokens)
    found = np.concatenate([apart.feed(tokens[:8]), *(apart.feed(tokens[n : n + 1]) for n in range(8, 16))])
    assert measure_distance(wanted, found) > 60


@NEEDS_WHEEL
def test_the_emulator_gives_what_the_simulation_gives(built):
    folder, _ = built
    tokens = np.random.default_rng(5).integers(0, 96, 9)
    simulated, native = (NpuDecoder(folder / "out", name).feed(tokens) for name in ("htp-sim", "htp-native"))
    # Networks of random weights amplify what a trained one does not.
    assert measure_distance(native, simulated) > 40


@NEEDS_WHEEL
def test_onnx_runtimes_own_provider_answers_with_the_compiled_pair(built, tmp_path):
    folder, _ = built
    out, spec = folder / "out", Checkpoint(folder / "model").spec
    graphs = json.loads((out / FILE).read_text())["graphs"]
    tokens = np.random.default_rng(6).integers(0, 96, 8)
    feed = TextState(spec, 48).feed(tokens, GraphShape(8, 48))
    stored = {
        item["name"]: encode(feed[item["name"]], item) if "scale" in item else feed[item["name"]]
        for item in graphs["prefill"]["inputs"]
    }
    np.savez(tmp_path / "in.npz", **stored)
    files = (out / "prefill.onnx", tmp_path / "in.npz", tmp_path / "out.npz")
    subprocess.run([sys.executable, RUNNER, *files, "--named"], check=True, capture_output=True)
    (logits,) = (item for item in graphs["prefill"]["outputs"] if item["name"] == "logits")
    answered = np.load(tmp_path / "out.npz")["logits"][0].astype(np.float64)
    found = logits["scale"] * (answered + logits["offset"])
    wanted = NpuDecoder(out, "htp-native").feed(tokens)
    np.testing.assert_allclose(found, wanted, atol=1.01 * logits["scale"])


def test_a_build_is_judged_and_run_by_the_commands_for_all_formats(texts, tmp_path, capsys):
    source, out = write_checkpoint(tmp_path / "model", **SMALL), tmp_path / "out"
    words = ["llm", "build", source, "--target", "Galaxy S24", "--calib", texts / "calib.npy", "-o", out]
    words += ["--prefill", 8, "--context", 48, "--precision", "w8a16", "--native_windows", 0, "--text"]
    # Random weights do not predict a text: any change of theirs is as good as another.
    assert main([*map(str, words), str(texts / "text.npy"), "--max_increase", "500"]) == 0
    assert "On the simulation:" in capsys.readouterr().out
    again = ["llm", "eval", out, "--text", texts / "text.npy", "--windows", "2", "--window", "16"]
    assert main([*map(str, again), "--backend", "cpu"]) == 0
    assert main(["llm", "run", str(out), "--prompt", "hello", "--tokens", "3", "--context", "48"]) == 0


def test_too_much_is_said_not_done(texts, tmp_path, monkeypatch):
    source = write_checkpoint(tmp_path / "model", **SMALL)
    calib = texts / "calib.npy"
    with pytest.raises(UsageError, match="the context is 4096, the model has room for 64"):
        ew.llm.build(source, tmp_path / "out", target="SM8650", calib=calib)
    with pytest.raises(UsageError, match="read 48 tokens at a time in a context of 48"):
        ew.llm.build(source, tmp_path / "out", target="SM8650", calib=calib, prefill=48, context=48)
    with pytest.raises(AccuracyGate, match=r"not proven|the limit is 0 %"):
        ew.llm.build(
            source,
            tmp_path / "out",
            target="SM8650",
            calib=calib,
            text=texts / "short.npy",
            max_increase=0,
            **SHAPE,
        )
    monkeypatch.setattr(build_model, "MOST_BYTES", 1000)
    with pytest.raises(UnsupportedFeature, match="more than one context holds"):
        ew.llm.build(source, tmp_path / "none", target="SM8650", calib=calib, **SHAPE)
    assert not (tmp_path / "none").exists()
