"""Language models for the NPU: what is built keeps its codes, passes its states, and says what it costs."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.abi.libraries import find_libraries
from edgewright.core.errors import AccuracyGate, BadInput, UsageError
from edgewright.llm.calibration import read_calibration_texts
from edgewright.llm.evaluate_file import TextScore
from edgewright.llm.forward import iterate_float_logits
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.npu import array_store, matrices
from edgewright.llm.npu.build_model import (
    BuildRequest,
    LanguageModelBuild,
    build_language_model,
    check_build,
    choose_recipe,
)
from edgewright.llm.npu.compare_backends import BackendComparison, measure_layers
from edgewright.llm.npu.feed import TextState
from edgewright.llm.npu.manifest import FILE, GraphShape
from edgewright.llm.quantize_checkpoint import quantize_checkpoint
from edgewright.llm.rounding.codes import join_codes
from edgewright.llm.runtimes.npu_decoder import NpuDecoder
from edgewright.tools.umbrella import main
from tests.unit.llm.checkpoints import write_checkpoint
from tests.unit.llm.float_blocks import make_float_model

pytestmark = pytest.mark.slow
RUNNER = Path(__file__).parents[2] / "cli" / "run_ep_context.py"
NEEDS_WHEEL = pytest.mark.skipif(
    find_libraries() is None, reason="the wheel onnxruntime-qnn is not installed"
)
SHAPE = {"prefill": 8, "context": 48}
SMALL = {"hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1}

SHORT_LONG = {"type": "longrope", "short_factor": [1.0] * 12, "long_factor": [2.0] * 12}
HEADS = {"qwen3": {"head_dim": 16}, "phi4mini": {"rope_scaling": SHORT_LONG}}


def build(source, folder, **choices):
    return build_language_model(BuildRequest(source, folder, target="SM8650", **choices))


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
    build(source, folder / "out", calibration=texts / "calib.npy", **SHAPE, **choice)
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
    tensors = {}
    for tensor in quantize_checkpoint(checkpoint, choose_recipe(checkpoint, precision, recipe), pieces):
        parts = list(tensor.pieces)
        tensors[tensor.name] = parts[0] if isinstance(parts[0], np.ndarray) else join_codes(parts)
    shape = GraphShape(8, 48)
    plain = make_float_model(checkpoint.spec, tensors, checkpoint.head, shape)
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


def test_states_of_a_prompt_are_those_of_its_tokens_one_by_one(built):
    folder, _ = built
    tokens = np.random.default_rng(9).integers(0, 96, 8)
    at_once, apart = NpuDecoder(folder / "out", "htp-sim"), NpuDecoder(folder / "out", "htp-sim")
    at_once.feed(tokens)
    for token in tokens:
        apart.feed(np.array([token]))
    pairs = zip(at_once.list_states(), apart.list_states(), strict=True)
    steps = np.concatenate([np.abs(a.astype(int) - b.astype(int)).ravel() for a, b in pairs])
    # Sums of single precision in another order round some values to the neighbour.
    assert (steps == 0).mean() > 0.9
    assert steps.max() <= 4


@NEEDS_WHEEL
def test_the_first_layer_that_differs_is_named(built):
    folder, _ = built
    layers, logits = measure_layers(folder / "out", np.random.default_rng(5).integers(0, 96, 8))
    assert len(layers) == 2
    comparison = BackendComparison(8, 0.0, -0.1, 0.1, layers, logits)
    assert comparison.first_layer is None or layers[comparison.first_layer] < 45
    spoiled = replace(comparison, layers=(80.0, 20.0), logits=20.0, difference=3.0)
    assert not spoiled.is_close
    assert spoiled.first_layer == 1


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
    assert main(["llm", "run", str(out), "--prompt", "hello", "--tokens", "3"]) == 0
    written = {file.name for file in out.iterdir()}
    assert {"inputs_outputs.md", "generation_config.json"} <= written
    assert ("genie_config.json" in written) == (find_libraries() is not None)
    with ew.llm.load(out) as model:
        first = "".join(model.generate("hello", tokens=100))
        assert "".join(model.generate("hello", tokens=100)) == first
        pieces = list(model.generate("hello", tokens=5, temperature=2.0, top_k=20, seed=1))
    assert len(pieces) <= 5


def test_too_much_is_said_not_done(texts, tmp_path):
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


def feed_all(folder, tokens, backend="htp-sim"):
    return NpuDecoder(folder, backend).feed(tokens)


def test_parts_and_a_table_outside_change_nothing(texts, tmp_path, monkeypatch):
    source, order = write_checkpoint(tmp_path / "model", "llama"), dict(SHAPE)
    order |= {"calibration": texts / "calib.npy", "precision": "w8a16", "is_compiled": False}
    build(source, tmp_path / "whole", **order)
    # As the arrays of a large model, these are in files.
    monkeypatch.setattr(array_store, "SMALLEST", 0)
    build(source, tmp_path / "parts", parts=3, embedding="outside", **order)
    # A large vocabulary is cut into several matrices.
    monkeypatch.setattr(matrices, "HEAD_WEIGHTS", 10_000)
    build(source, tmp_path / "cut", parts=2, **order)
    tokens = np.random.default_rng(7).integers(0, 96, 20)
    wanted = feed_all(tmp_path / "whole", tokens)
    np.testing.assert_array_equal(feed_all(tmp_path / "parts", tokens), wanted)
    # Sums of other lengths are taken in another order: a step at most.
    (logits,) = json.loads((tmp_path / "whole" / FILE).read_text())["graphs"]["decode"]["outputs"][-1:]
    np.testing.assert_allclose(feed_all(tmp_path / "cut", tokens), wanted, atol=1.01 * logits["scale"])
    graphs = json.loads((tmp_path / "parts" / FILE).read_text())["graphs"]
    assert [item["name"] for item in graphs["decode_3_of_3"]["inputs"]] == ["hidden_states_2"]
    assert graphs["decode_1_of_3"]["inputs"][0]["name"] == "inputs_embeds"


def test_keys_and_values_of_8_bits_stay_within_their_range(texts, tmp_path):
    source = write_checkpoint(tmp_path / "model", "phi4mini")
    order = {"calibration": texts / "calib.npy", "precision": "w8a16", **SHAPE}
    build(source, tmp_path / "wide", is_compiled=False, **order)
    build(source, tmp_path / "narrow", kv_bits=8, **order)
    inputs = json.loads((tmp_path / "narrow" / FILE).read_text())["graphs"]["decode"]["inputs"]
    assert {item["dtype"] for item in inputs if item["name"].startswith("past_")} == {"ufixed_point_8"}
    tokens = np.load(texts / "calib.npy")[:14]
    wanted, found = (feed_all(tmp_path / name, tokens) for name in ("wide", "narrow"))
    assert 20 < measure_distance(wanted, found) < 60
    if find_libraries() is not None:
        assert measure_distance(feed_all(tmp_path / "narrow", tokens, "htp-native"), found) > 35
    score = ew.llm.evaluate(tmp_path / "narrow", texts / "text.npy", windows=2)
    assert 0 < score.limited_states < 0.01


def test_a_text_that_becomes_long_is_turned_by_the_other_factors(texts, tmp_path):
    source = write_checkpoint(tmp_path / "model", "phi35")
    order = {"calibration": texts / "calib.npy", "precision": "w8a16", **SHAPE}
    build(source, tmp_path / "out", is_compiled=False, **order)
    tokens = np.random.default_rng(8).integers(0, 96, 20)
    decoder = NpuDecoder(tmp_path / "out", "htp-sim")
    short, long = decoder.feed(tokens[:12]), decoder.feed(tokens[12:])
    checkpoint = Checkpoint(source)
    first, both = iterate_float_logits(checkpoint, [tokens[:12], tokens])
    # 8 bits of random weights cost as much; the wrong angles cost far more.
    assert measure_distance(first, short) > 22
    assert measure_distance(both[12:], long) > 22
    assert measure_distance(both[:12], short) < 15


def test_matrices_that_matter_most_get_more_bits(texts, tmp_path):
    source = write_checkpoint(tmp_path / "model", "llama")
    order = {"calibration": texts / "calib.npy", "is_compiled": False, "effort": "fast", **SHAPE}
    order["recipe"] = "per-channel"
    build(source, tmp_path / "out", mixed=5.5, **order)
    entries = json.loads((tmp_path / "out" / "encodings.json").read_text())["param_encodings"]
    bits = {entry["name"]: entry["bw"] for entry in entries if entry["name"].endswith("proj.weight")}
    assert set(bits.values()) == {4, 8}
    with pytest.raises(UsageError, match="mixed of 4 and 8"):
        build(source, tmp_path / "none", mixed=5.5, precision="w8a16", **order)
    assert not (tmp_path / "none").exists()


def _edit_config(**fields):
    def edit(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **fields}))

    return edit


def _edit_manifest(**fields):
    def edit(folder):
        (folder / FILE).write_text(json.dumps({**json.loads((folder / FILE).read_text()), **fields}))

    return edit


def _more_layers(folder):
    _edit_config(num_hidden_layers=3)(folder)
    _edit_manifest(parts=[3])(folder)


@pytest.mark.parametrize(
    "contradict",
    [
        lambda folder: shutil.copy(folder / "prefill.dlc", folder / "decode.dlc"),
        lambda folder: shutil.copy(folder / "decode.dlc", folder / "prefill.dlc"),
        _edit_config(vocab_size=50),
        _edit_config(head_dim=8),
        _edit_manifest(context=47),
        _edit_manifest(prefill=7),
        _edit_manifest(embedding="outside"),
        _edit_manifest(kv_bits=9),
        _more_layers,
    ],
    ids=["decode", "prefill", "words", "heads", "context", "tokens", "embedding", "bits", "layers"],
)
def test_graphs_that_contradict_their_configuration_are_refused(built, contradict, tmp_path):
    folder, _ = built
    copy = Path(shutil.copytree(folder / "out", tmp_path / "copy"))
    contradict(copy)
    with pytest.raises(BadInput):
        NpuDecoder(copy, "cpu").feed(np.arange(9))


def edit(file, **changes):
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


SPOILED = {
    "another vocabulary": (
        lambda out: edit(out / "config.json", vocab_size=50),
        "'logits' of the graph is 1 x 1",
    ),
    "other heads": (
        lambda out: edit(out / "config.json", num_key_value_heads=2),
        "'past_key_0_in' of the graph",
    ),
    "a context of a million": (
        lambda out: edit(out / FILE, context=1 << 20),
        "'attention_mask' of the graph is",
    ),
    "no table": (
        lambda out: edit(out / FILE, embedding="outside"),
        "'inputs_embeds' of the graph is not there",
    ),
    "the wrong graph": (
        lambda out: shutil.copy(out / "prefill.dlc", out / "decode.dlc"),
        "is 1 x 8, expected 1 x 1",
    ),
    "no graph": (lambda out: (out / "decode.dlc").unlink(), "decode.dlc' does not exist"),
    "half a graph": (lambda out: (out / "decode.dlc").write_bytes(b"PK" * 500), "end of the zip is missing"),
}


@pytest.fixture(scope="module")
def whole(texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    source = write_checkpoint(folder / "model", "qwen2", **SMALL)
    order = {"calibration": texts / "calib.npy", "precision": "w8a16", "is_compiled": False, **SHAPE}
    return Path(build(source, folder / "out", **order).path)


@pytest.mark.parametrize("name", SPOILED)
def test_a_folder_whose_files_do_not_fit_is_refused(name, whole, tmp_path):
    spoil, said = SPOILED[name]
    out = shutil.copytree(whole, tmp_path / "out")
    spoil(out)
    with pytest.raises(BadInput, match=said):
        NpuDecoder(out, "htp-sim")


def test_encodings_of_all_layers_are_written(whole):
    content = json.loads((whole / "encodings.json").read_text())
    names = [entry["name"] for key in ("activation_encodings", "param_encodings") for entry in content[key]]
    assert len(set(names)) == len(names)
    for layer in range(2):
        assert f"layer{layer}.down_proj.weight" in names
        # Biases of Qwen 2, which a rewrite made: those of the last layer alone were kept once.
        added = [entry["name"] for entry in content["added_encodings"]["param_encodings"]]
        assert sum(name.startswith(f"layer{layer}.") for name in added) == 3


@NEEDS_WHEEL
@pytest.mark.parametrize(
    ("family", "choice"),
    [
        # The library took the turning of normalized heads for a part of the norm: 2 dB.
        ("qwen3", {"precision": "w8a16"}),
        ("phi4mini", {"recipe": "lpbq"}),
        ("mistral", {"recipe": "per-channel"}),
    ],
)
def test_families_are_right_on_the_emulator(family, choice, texts, tmp_path):
    source = write_checkpoint(tmp_path / "model", family, **(SMALL | HEADS.get(family, {})))
    build(source, tmp_path / "out", calibration=texts / "calib.npy", is_compiled=False, **choice, **SHAPE)
    tokens = np.random.default_rng(5).integers(0, 96, 9)
    simulated, native = (feed_all(tmp_path / "out", tokens, name) for name in ("htp-sim", "htp-native"))
    assert measure_distance(native, simulated) > 45


def make_build(windows, native_high, difference, logits):
    score = TextScore("out", "qnn", 20, 5000, 10.0, 1.0, increase=0.2, increase_low=0.1, increase_high=0.4)
    native = replace(score, windows=windows, increase=0.3, increase_high=native_high)
    comparison = BackendComparison(windows, difference, -1.0, 1.0, (80.0, logits), logits)
    return LanguageModelBuild(
        path="out",
        target="SM8650",
        precision="w8a16",
        recipe="per-channel",
        prefill=8,
        context=48,
        parts=(2,),
        embedding="inside",
        kv_bits=16,
        parameters=1,
        file_bytes={},
        compiler="htp-native",
        seconds=1.0,
        score=score,
        native_score=native,
        comparison=comparison,
    )


def test_what_the_simulation_says_counts_where_the_emulator_agrees():
    check_build(make_build(2, np.inf, 0.01, 60.0), 0.5)
    for difference, logits in ((-14.8, 60.0), (0.2, 60.0), (0.0, 20.0)):
        with pytest.raises(AccuracyGate, match=r"simulation and emulator differ.* not proven"):
            check_build(make_build(2, np.inf, difference, logits), 0.5)
    with pytest.raises(AccuracyGate, match="from layer 1 on"):
        check_build(make_build(2, np.inf, 0.0, 20.0), 0.5)
    # It has read enough of the text itself.
    check_build(make_build(8, 0.45, 0.2, 20.0), 0.5)
