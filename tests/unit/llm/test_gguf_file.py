"""GGUF files of small checkpoints, read by the package gguf."""

import json

import numpy as np
import pytest

from edgewright.core.errors import UsageError
from edgewright.llm.forward import measure_text, read_layer, run_layer
from edgewright.llm.load.checkpoint import EMBEDDING, Checkpoint
from edgewright.llm.quantize_model import choose_recipe, quantize_language_model
from edgewright.llm.recipe import Recipe
from edgewright.llm.writers.gguf_file import name_tensor
from tests.unit.llm.checkpoints import FAMILIES, write_checkpoint

gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")


def read_tensors(path):
    reader = gguf.GGUFReader(path)
    return {t.name: (t.tensor_type.name, gguf.dequantize(t.data, t.tensor_type)) for t in reader.tensors}


@pytest.mark.parametrize("family", FAMILIES)
def test_floats_arrive_as_they_are(tmp_path, family):
    folder = write_checkpoint(tmp_path / "m", family)
    made = quantize_language_model(folder, recipe=Recipe("fp32"), output=tmp_path / "m.gguf")
    tensors, checkpoint = read_tensors(made.path), Checkpoint(folder)
    assert {name_tensor(name) for name in checkpoint.tensors} <= set(tensors)
    for name in checkpoint.tensors:
        expected = checkpoint.read(name)
        if checkpoint.spec.architecture in {"llama", "mistral"} and ("q_proj" in name or "k_proj" in name):
            heads = expected.reshape(-1, 2, checkpoint.spec.head_dim // 2, 256)
            expected = heads.swapaxes(1, 2).reshape(expected.shape)
        np.testing.assert_array_equal(tensors[name_tensor(name)][1], expected)


@pytest.mark.parametrize(
    ("recipe", "kind", "head"),
    [
        (Recipe("int4"), "Q4_0", "Q6_K"),
        (Recipe("int4", is_symmetric=False), "Q4_1", "Q6_K"),
        (Recipe("int8"), "Q8_0", "Q8_0"),
        (Recipe("fp16"), "F16", "F16"),
        (Recipe("int4", keep={"lm_head": "int4"}), "Q4_0", "Q4_0"),
        (Recipe("int4", keep={"lm_head": "int8", "o_proj": "fp16"}), "Q4_0", "Q8_0"),
    ],
)
def test_types_are_those_of_the_recipe_and_the_same_bytes_come_again(tmp_path, recipe, kind, head):
    folder = write_checkpoint(tmp_path / "m")
    for name in "ab":
        quantize_language_model(folder, recipe=recipe, output=tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    types = {name: entry[0] for name, entry in read_tensors(tmp_path / "a").items()}
    assert types["output.weight"] == head
    assert types["blk.1.ffn_down.weight"] == types["token_embd.weight"] == kind
    assert types["blk.0.attn_output.weight"] == ("F16" if "o_proj" in recipe.keep else kind)
    assert types["output_norm.weight"] == "F32"


@pytest.mark.parametrize(
    ("name", "most", "down", "head"),
    [
        ("q4_k_s", "Q4_K", "Q4_K", "Q6_K"),
        ("q4_k_m", "Q4_K", "Q6_K", "Q6_K"),
        ("q6_k", "Q6_K", "Q6_K", "Q6_K"),
        ("q4_1", "Q4_1", "Q4_1", "Q6_K"),
        ("f16", "F16", "F16", "F16"),
    ],
)
def test_types_have_the_names_of_llama_cpp(tmp_path, name, most, down, head):
    folder = write_checkpoint(tmp_path / "m")
    recipe = choose_recipe(Recipe(), None, has_text=False, gguf_type=name)
    quantize_language_model(folder, recipe=recipe, output=tmp_path / "o.gguf")
    types = {key: entry[0] for key, entry in read_tensors(tmp_path / "o.gguf").items()}
    assert types["blk.0.attn_qkv.weight"] == types["token_embd.weight"] == most
    assert types["blk.1.ffn_down.weight"] == down
    assert types["output.weight"] == head
    with pytest.raises(UsageError, match="GGUF type 'q4_x' is unknown"):
        choose_recipe(Recipe(), None, has_text=False, gguf_type="q4_x")


def test_rows_that_no_super_block_fits_get_plain_blocks(tmp_path, caplog):
    folder = write_checkpoint(tmp_path / "m", intermediate_size=96)
    recipe = choose_recipe(Recipe(), None, has_text=False, gguf_type="q4_k_m")
    quantize_language_model(folder, recipe=recipe, output=tmp_path / "o.gguf")
    types = {key: entry[0] for key, entry in read_tensors(tmp_path / "o.gguf").items()}
    assert types["blk.0.ffn_down.weight"] == "Q4_0"
    assert types["blk.1.ffn_down.weight"] == "Q8_0"
    assert types["blk.0.ffn_up.weight"] == "Q4_K"
    assert "no multiple of 256" in caplog.text


def test_a_text_makes_four_bits_better(tmp_path):
    """Measured on another text, by the float model with the weights of the file."""
    folder, rng = write_checkpoint(tmp_path / "m"), np.random.default_rng(3)
    np.save(tmp_path / "text.npy", rng.integers(0, 96, 4000))
    unseen = rng.integers(0, 96, (8, 64))
    losses = {}
    for name, recipe in {"fp32": "fast", "int4": "fast", "best": "best"}.items():
        precision = "int4" if name == "best" else name
        path = tmp_path / f"{name}.gguf"
        text = tmp_path / "text.npy" if recipe == "best" else None
        quantize_language_model(folder, recipe=Recipe(precision, recipe), calibration=text, output=path)
        losses[name] = measure_states(folder, read_tensors(path), unseen)
    errors = {name: np.mean(np.square(losses[name] - losses["fp32"])) for name in ("int4", "best")}
    assert errors["best"] < 0.7 * errors["int4"]


def measure_states(folder, tensors, texts):
    checkpoint = Checkpoint(folder)
    results = []
    for text in texts:
        state = tensors[name_tensor(EMBEDDING)][1][text]
        for number in range(checkpoint.spec.layers):
            names = read_layer(checkpoint, number)
            layer = {name: tensors[name_tensor(f"model.layers.{number}.{name}")][1] for name in names}
            state = run_layer(checkpoint.spec, layer, state)
        results.append(measure_text(checkpoint, state, text))
    return np.concatenate(results)


def test_long_contexts_bring_their_factors(tmp_path):
    made = quantize_language_model(write_checkpoint(tmp_path / "m", "phi4mini"), output=tmp_path / "m.gguf")
    reader = gguf.GGUFReader(made.path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    assert fields["phi3.rope.dimension_count"] == 48
    assert fields["phi3.rope.scaling.original_context_length"] == 16
    assert fields["tokenizer.ggml.tokens"][4] == "a"
    tensors = read_tensors(made.path)
    np.testing.assert_array_equal(tensors["rope_factors_long.weight"][1], [2.0] * 24)
    # Tied: the embedding is the head, and has its width.
    assert "output.weight" not in tensors
    assert tensors[name_tensor(EMBEDDING)][0] == "Q6_K"


def test_what_needs_a_text_says_so():
    with pytest.raises(UsageError, match="needs a text"):
        choose_recipe(Recipe(), "best", has_text=False)
    names = [choose_recipe(Recipe(), None, has_text=is_given).name for is_given in (True, False)]
    assert names == ["best", "fast"]
    with pytest.raises(UsageError, match="recipe 'bst' is unknown"):
        Recipe(name="bst")


@pytest.mark.parametrize(
    ("folder", "rstrip", "words", "name"),
    [
        ("Phi-3.5-mini", True, True, "Phi-3.5-mini"),
        ("Phi-3.5-mini", False, True, "phi 3.5-mini"),
        ("my-phi3", True, False, "my-phi 3"),
        ("model", True, True, "phi-3 model"),
        ("model", False, True, "model"),
    ],
)
def test_the_name_tells_llama_cpp_whether_blanks_behind_special_tokens_are_lost(
    tmp_path, folder, rstrip, words, name
):
    path = write_checkpoint(tmp_path / folder)
    content = json.loads((path / "tokenizer.json").read_text())
    content["added_tokens"][1]["rstrip"] = rstrip
    if words:
        content["model"]["vocab"]["<|endoftext|>"] = 20
    (path / "tokenizer.json").write_text(json.dumps(content))
    quantize_language_model(path, output=tmp_path / "x.gguf")
    values = gguf.GGUFReader(tmp_path / "x.gguf").fields
    assert values["general.name"].contents() == name
