"""Folders of small checkpoints: what runtimes make of them, against the float arithmetic of this package."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest

from edgewright.artifacts.encodings.reader import read_encodings
from edgewright.core.errors import UnsupportedFeature, UsageError
from edgewright.llm.forward import normalize, read_embeddings, read_layer, run_layer
from edgewright.llm.load.checkpoint import EMBEDDING, FINAL_NORM, HEAD, Checkpoint, name_layer_tensor
from edgewright.llm.load.config import read_model_spec
from edgewright.llm.load.safetensors_file import list_stored_tensors
from edgewright.llm.quantize_checkpoint import quantize_checkpoint
from edgewright.llm.quantize_model import FORMATS, quantize_language_model
from edgewright.llm.recipe import Recipe
from edgewright.llm.rounding.codes import Codes
from edgewright.llm.writers.gguf_types import settle_types
from tests.unit.llm.checkpoints import FAMILIES, write_checkpoint

TOKENS = np.array([1, 5, 9, 33, 70, 2, 8, 8, 91, 14, 3, 60, 41], np.int64)
# More than the original context of the stretched ones.
LONG = np.resize(TOKENS, 21)
RECIPES = {
    "fp32": Recipe("fp32"),
    "int4": Recipe("int4"),
    "asym": Recipe("int4", is_symmetric=False),
    "int8": Recipe("int8"),
    "lpbq": Recipe("lpbq"),
    "mixed": Recipe("int4", keep={"o_proj": "fp16", "embed_tokens": "int8", "down_proj": "fp32"}),
}


def decode_weights(checkpoint, recipe, texts=()):
    """What the codes stand for."""
    return {
        tensor.name: np.concatenate([p.decode() if isinstance(p, Codes) else p for p in tensor.pieces])
        for tensor in quantize_checkpoint(checkpoint, recipe, texts)
    }


def compute_logits(checkpoint, weights, tokens):
    state = weights[EMBEDDING][tokens]
    for number in range(checkpoint.spec.layers):
        names = read_layer(checkpoint, number)
        layer = {name: weights[name_layer_tensor(number, name)] for name in names}
        state = run_layer(checkpoint.spec, layer, state)
    normal = normalize(state, weights[FINAL_NORM], checkpoint.spec.norm_epsilon)
    return normal @ weights[checkpoint.head].T


def run_onnx(folder, spec, *pieces):
    """The logits of all pieces, each with the keys and values of those before."""
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    names = [f"{layer}.{kind}" for layer in range(spec.layers) for kind in ("key", "value")]
    past = {name: np.zeros((1, spec.kv_heads, 0, spec.head_dim), np.float32) for name in names}
    logits, count = [], 0
    for piece in pieces:
        count += len(piece)
        feeds = {"input_ids": piece[None], "attention_mask": np.ones((1, count), np.int64)}
        feeds |= {f"past_key_values.{name}": value for name, value in past.items()}
        first, *states = session.run(None, feeds)
        logits.append(first[0])
        past = dict(zip(names, states, strict=True))
    return np.concatenate(logits)


def multiply_in_floats(path):
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "accuracy_level":
                attribute.i = 1
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("family", FAMILIES)
def test_onnx_gives_what_the_checkpoint_does(tmp_path, family):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", family))
    quantize_language_model(tmp_path / "m", "onnx", recipe=Recipe("fp32"), output=tmp_path / "o")
    weights = decode_weights(checkpoint, Recipe("fp32"))
    for tokens in (TOKENS, LONG):
        expected = compute_logits(checkpoint, weights, tokens)
        np.testing.assert_allclose(run_onnx(tmp_path / "o", checkpoint.spec, tokens), expected, atol=2e-4)
    expected = compute_logits(checkpoint, weights, TOKENS)
    steps = run_onnx(tmp_path / "o", checkpoint.spec, TOKENS[:8], *(token[None] for token in TOKENS[8:]))
    np.testing.assert_allclose(steps, expected, atol=2e-4)


NARROW = {**FAMILIES["phi4mini"]["rope_scaling"], "short_factor": [1.5] * 12, "long_factor": [3.0] * 12}
# Heads of 32 values of which 24 are turned, of 16, and of 40: ONNX Runtime's attention turns none of these.
ODD_HEADS = {
    "phi4mini": {"num_attention_heads": 8, "rope_scaling": NARROW},
    "qwen2": {"num_attention_heads": 8, "partial_rotary_factor": 0.75},
    "qwen3": {"head_dim": 40},
}


@pytest.mark.parametrize("family", ODD_HEADS)
def test_onnx_turns_heads_of_any_width(tmp_path, family):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", family, **ODD_HEADS[family]))
    quantize_language_model(tmp_path / "m", "onnx", recipe=Recipe("fp32"), output=tmp_path / "o")
    expected = compute_logits(checkpoint, decode_weights(checkpoint, Recipe("fp32")), TOKENS)
    steps = run_onnx(tmp_path / "o", checkpoint.spec, TOKENS[:8], *(token[None] for token in TOKENS[8:]))
    np.testing.assert_allclose(steps, expected, atol=2e-4)


@pytest.mark.parametrize("family", ["phi3", "phi4mini", "qwen2"])
@pytest.mark.parametrize("name", RECIPES)
def test_onnx_holds_the_codes_of_a_recipe(tmp_path, family, name):
    checkpoint, recipe = Checkpoint(write_checkpoint(tmp_path / "m", family)), RECIPES[name]
    quantize_language_model(tmp_path / "m", "onnx", recipe=recipe, output=tmp_path / "o")
    weights = decode_weights(checkpoint, recipe.widen_ends(checkpoint.head, "onnx"))
    expected = compute_logits(checkpoint, weights, TOKENS)
    rounded = run_onnx(tmp_path / "o", checkpoint.spec, TOKENS)
    # Activations have 8 bits within products; in floats the codes are exact.
    assert np.abs(rounded - expected).max() < 0.1 * np.abs(expected).max()
    multiply_in_floats(tmp_path / "o" / "model.onnx")
    exact = run_onnx(tmp_path / "o", checkpoint.spec, TOKENS)
    np.testing.assert_allclose(
        exact, expected, atol=(2e-3 if name == "mixed" else 1e-4) * np.abs(expected).max()
    )


def test_a_folder_has_what_a_runtime_asks_for_and_the_same_bytes_come_again(tmp_path):
    folder = write_checkpoint(tmp_path / "m")
    for kind in ("onnx", "mlx", "safetensors"):
        for name in "ab":
            quantize_language_model(folder, kind, recipe=Recipe("int4"), output=tmp_path / kind / name)
        files = {path.name: path.read_bytes() for path in (tmp_path / kind / "a").iterdir()}
        assert files == {path.name: path.read_bytes() for path in (tmp_path / kind / "b").iterdir()}
        assert files["tokenizer.json"] == (folder / "tokenizer.json").read_bytes()
    settings = json.loads((tmp_path / "onnx" / "a" / "genai_config.json").read_text())["model"]
    assert (settings["eos_token_id"], settings["decoder"]["num_key_value_heads"]) == ([2, 3], 2)


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "lpbq"])
def test_mlx_words_stand_for_the_values_of_the_codes(tmp_path, name):
    checkpoint, recipe = Checkpoint(write_checkpoint(tmp_path / "m")), RECIPES[name]
    quantize_language_model(tmp_path / "m", "mlx", recipe=recipe, output=tmp_path / "o")
    stored = list_stored_tensors(tmp_path / "o" / "model.safetensors")
    config = json.loads((tmp_path / "o" / "config.json").read_text()).get("quantization", {})
    for tensor, values in decode_weights(checkpoint, recipe.widen_ends(checkpoint.head)).items():
        base = tensor.removesuffix(".weight")
        if f"{base}.scales" not in stored:
            np.testing.assert_allclose(stored[tensor].read(), values, rtol=1e-3, atol=1e-6)
            continue
        bits = config.get(base, config)["bits"]
        words = np.ascontiguousarray(stored[tensor].read())
        shifts = np.arange(0, 32, bits, dtype=np.uint32)
        codes = (words[..., None] >> shifts & (2**bits - 1)).reshape(len(words), -1, 32)
        scales, biases = (
            np.asarray(stored[f"{base}.{part}"].read(), np.float32)[..., None]
            for part in ("scales", "biases")
        )
        actual = (codes * scales + biases).reshape(values.shape)
        np.testing.assert_allclose(actual, values, atol=2e-3 * np.abs(values).max())


def test_safetensors_hold_what_the_codes_stand_for(tmp_path):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", "phi4mini"))
    quantize_language_model(tmp_path / "m", "safetensors", recipe=Recipe("int4"), output=tmp_path / "o")
    again, recipe = Checkpoint(tmp_path / "o"), Recipe("int4").widen_ends(EMBEDDING)
    for name, values in decode_weights(checkpoint, recipe).items():
        np.testing.assert_allclose(again.read(name), values, rtol=1e-3, atol=1e-6)


def test_encodings_of_lpbq_stand_beside_the_values_that_they_give(tmp_path):
    folder = write_checkpoint(tmp_path / "m")
    quantize_language_model(folder, "safetensors", recipe=Recipe("lpbq"), output=tmp_path / "o")
    entries = {entry.name: entry for entry in read_encodings(tmp_path / "o" / "model.encodings").tensors}
    stored = Checkpoint(tmp_path / "o")
    assert set(entries) == {name for name, tensor in stored.tensors.items() if len(tensor.shape) == 2}
    for name, entry in entries.items():
        values = stored.read(name)
        is_head = name == HEAD
        assert (entry.bits, entry.block_size) == ((8, 0) if is_head else (4, 64))
        factors = np.array(entry.block_scales or (1,) * len(values)).reshape(len(values), -1)
        assert 1 <= factors.min() <= factors.max() <= 16
        scales = np.repeat(np.array(entry.scales)[:, None] * factors, values.shape[1] // factors.shape[1], 1)
        codes = np.round(values / scales)
        assert (codes.min(), codes.max()) == ((-128, 127) if is_head else (-8, 7))
        np.testing.assert_allclose(values, codes * scales, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "recipe", "other"),
    [
        ("gguf", Recipe("lpbq"), "onnx or openvino or safetensors"),
        ("mlx", Recipe(keep={"down_proj": "lpbq"}), "onnx or openvino or safetensors"),
        ("onnx", Recipe(keep={"down_proj": "q6_k"}), "gguf or safetensors"),
    ],
)
def test_scales_that_a_format_cannot_hold_are_refused(tmp_path, kind, recipe, other):
    folder = write_checkpoint(tmp_path / "m")
    with pytest.raises(UnsupportedFeature, match="cannot hold the scales") as caught:
        quantize_language_model(folder, kind, recipe=recipe, output=tmp_path / "o")
    assert other in caught.value.do
    assert not (tmp_path / "o").exists()


def test_the_head_of_four_bits_is_wider_unless_something_is_said():
    assert Recipe("int4").widen_ends(HEAD).find_precision(HEAD) == "int8"
    assert Recipe("int4", keep={"lm_head": "int4"}).widen_ends(HEAD).find_precision(HEAD) == "int4"
    assert Recipe("fp16").widen_ends(HEAD).find_precision(HEAD) == "fp16"


def test_an_embedding_of_four_bits_is_wider_only_where_the_stock_tool_leaves_it_in_floats():
    widths = {kind: Recipe("int4").widen_ends(HEAD, kind).find_precision(EMBEDDING) for kind in FORMATS}
    assert widths == {**dict.fromkeys(FORMATS, "int4"), "onnx": "int8"}
    for other in (Recipe("int4", keep={"embedding": "int4"}), Recipe("int4", "best")):
        assert other.widen_ends(HEAD, "onnx").find_precision(EMBEDDING) == "int4"


@pytest.mark.parametrize("family", ["phi3", "phi4mini"])
@pytest.mark.parametrize("name", ["balanced", "best"])
def test_layers_have_the_same_codes_whatever_a_format_widens(tmp_path, family, name):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", family))
    texts = list(np.random.default_rng(0).integers(0, 96, (6, 64)))
    recipes = [Recipe("int4", name).widen_ends(checkpoint.head, kind) for kind in ("onnx", "openvino")]
    recipes.append(settle_types(checkpoint, Recipe("int4", name)))
    first, *others = (decode_weights(checkpoint, recipe, texts) for recipe in recipes)
    layers = [tensor for tensor in first if ".layers." in tensor]
    assert all(np.array_equal(first[tensor], other[tensor]) for tensor in layers for other in others)


def test_what_a_format_does_not_have_is_refused_before_anything_is_written(tmp_path):
    folder = write_checkpoint(tmp_path / "m")
    for kind, block in (("onnx", 8), ("mlx", 16), ("gguf", 64)):
        with pytest.raises(UnsupportedFeature, match="block"):
            quantize_language_model(folder, kind, recipe=Recipe(block=block), output=tmp_path / "o")
    with pytest.raises(UsageError, match="the checkpoint itself"):
        quantize_language_model(folder, "onnx", output=folder)
    assert not (tmp_path / "o").exists()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["fp32", "int4", "asym", "lpbq"])
def test_openvino_gives_what_the_codes_stand_for(tmp_path, family, name):
    openvino = pytest.importorskip("openvino", reason="the package openvino is not installed")
    checkpoint, recipe = Checkpoint(write_checkpoint(tmp_path / "m", family)), RECIPES[name]
    quantize_language_model(tmp_path / "m", "openvino", recipe=recipe, output=tmp_path / "o")
    weights = decode_weights(checkpoint, recipe.widen_ends(checkpoint.head))
    settings = {
        "INFERENCE_PRECISION_HINT": "f32",
        "KV_CACHE_PRECISION": "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
    }
    model = openvino.Core().compile_model(tmp_path / "o" / "openvino_model.xml", "CPU", settings)
    for tokens in (TOKENS, LONG):
        expected = compute_logits(checkpoint, weights, tokens)
        request, actual = model.create_infer_request(), []
        for start, stop in ((0, 10), (10, len(tokens))) if tokens is TOKENS else ((0, len(tokens)),):
            feeds = {"input_ids": tokens[None, start:stop], "attention_mask": np.ones((1, stop), np.int64)}
            feeds |= {"position_ids": np.arange(start, stop)[None], "beam_idx": np.zeros(1, np.int32)}
            actual.append(request.infer(feeds)["logits"][0].copy())
        np.testing.assert_allclose(np.concatenate(actual), expected, atol=1e-3 * np.abs(expected).max())


def test_embeddings_are_read_as_they_are_stored(tmp_path):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m"))
    np.testing.assert_array_equal(read_embeddings(checkpoint, TOKENS), checkpoint.read(EMBEDDING)[TOKENS])


@pytest.mark.parametrize("family", ["llama", "phi4mini"])
def test_mlx_is_told_whether_the_head_is_tied(tmp_path, family):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", family))
    quantize_language_model(tmp_path / "m", "mlx", output=tmp_path / "o")
    config = json.loads((tmp_path / "o" / "config.json").read_text())
    assert config["tie_word_embeddings"] is checkpoint.spec.is_tied


@pytest.mark.parametrize("family", ["phi35", "phi4mini", "llama"])
def test_mlx_is_told_of_positions_in_the_dialect_that_it_reads(tmp_path, family):
    newer = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_type": "llama3"}
    scaling = FAMILIES[family].get("rope_scaling", {**newer, "original_max_position_embeddings": 32})
    changes = {"rope_scaling": None, "rope_parameters": {"rope_theta": 2e4, **scaling}}
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", family, **changes))
    quantize_language_model(tmp_path / "m", "mlx", recipe=Recipe("fp16"), output=tmp_path / "o")
    config = json.loads((tmp_path / "o" / "config.json").read_text())
    assert "rope_parameters" not in config
    assert config["rope_scaling"]["type"] == config["rope_scaling"]["rope_type"]
    assert read_model_spec(tmp_path / "o").rope == checkpoint.spec.rope


@pytest.mark.parametrize(("context", "is_short"), [(16, True), (17, False), (None, False)])
def test_mlx_gets_the_factors_of_the_longest_text(tmp_path, caplog, context, is_short):
    folder = write_checkpoint(tmp_path / "m", "phi35")
    quantize_language_model(folder, "mlx", recipe=Recipe(context=context), output=tmp_path / "o")
    scaling = json.loads((tmp_path / "o" / "config.json").read_text())["rope_scaling"]
    assert scaling["long_factor"] == [1.5 if is_short else 3.0] * 32
    assert ("--context 16" in caplog.text) is not is_short


@pytest.mark.parametrize(
    ("kind", "context", "words"), [("onnx", 16, "is for mlx"), ("mlx", 65, "room for 64")]
)
def test_lengths_of_texts_that_mean_nothing_are_refused(tmp_path, kind, context, words):
    folder = write_checkpoint(tmp_path / "m", "phi35")
    with pytest.raises(UsageError, match=words):
        quantize_language_model(folder, kind, recipe=Recipe(context=context), output=tmp_path / "o")
