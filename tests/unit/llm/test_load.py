"""Checkpoints: what fits is read, what does not is one clear error."""

import json

import numpy as np
import pytest

from edgewright.core.errors import BadInput, EdgewrightError, UnsupportedFeature
from edgewright.llm.load.checkpoint import HEAD, Checkpoint
from edgewright.llm.load.safetensors_file import list_stored_tensors
from edgewright.llm.load.vocabulary import CONTROL, NORMAL, UNKNOWN, UNUSED, read_vocabulary
from tests.unit.llm.checkpoints import FAMILIES, PHI, write_checkpoint, write_safetensors


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_read(tmp_path, family):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", family))
    spec = checkpoint.spec
    assert spec.is_fused == (spec.architecture == "phi3")
    assert checkpoint.read(HEAD).shape == (96, 256)
    assert spec.window == (8 if family == "mistral" else 0)


def test_both_dialects_say_the_same(tmp_path):
    four = {
        "rope_theta": 5e4,
        "partial_rotary_factor": 0.75,
        "original_max_position_embeddings": 16,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 24, "long_factor": [2.0] * 24},
    }
    five = {
        "rope_parameters": {
            "rope_type": "longrope",
            "rope_theta": 5e4,
            "partial_rotary_factor": 0.75,
            "original_max_position_embeddings": 16,
            "short_factor": [1.0] * 24,
            "long_factor": [2.0] * 24,
        }
    }
    specs = [
        Checkpoint(write_checkpoint(tmp_path / name, **d)).spec for name, d in (("4", four), ("5", five))
    ]
    assert specs[0] == specs[1]
    # As the paper has it: 64 positions from 16.
    assert specs[0].rope.attention_factor == pytest.approx(np.sqrt(1 + np.log(4) / np.log(16)))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "phimoe"}, "mixture of experts.*are needed.*mlx_lm convert"),
        ({"model_type": "phi3_v"}, "its encoder of pictures is needed"),
        ({"model_type": "phi4mm"}, "its language part is Phi-4-mini"),
        ({"model_type": "gpt2"}, "expected one of: phi3"),
        ({"hidden_size": None}, "'hidden_size' is missing"),
        ({"hidden_size": 1 << 40}, "'hidden_size' is 1099511627776"),
        ({"num_hidden_layers": True}, "'num_hidden_layers' is True"),
        ({"num_key_value_heads": 3}, "a divisor of the 4 heads"),
        ({"hidden_act": "gelu"}, "expected silu"),
        ({"rms_norm_eps": -1}, "'rms_norm_eps' is -1"),
        ({"rope_scaling": {"type": "dynamic"}}, "rope type 'dynamic'"),
        ({"rope_scaling": {"type": "longrope", "short_factor": [1]}}, "a list of 32 numbers"),
        ({"partial_rotary_factor": 7}, "at most 1"),
        ({"quantization_config": {}}, "quantized already"),
        ({"eos_token_id": "x"}, "'eos_token_id' is 'x'"),
    ],
)
def test_configurations_that_do_not_fit_are_refused(tmp_path, changes, says):
    folder = tmp_path / "m"
    write_checkpoint(folder)
    (folder / "config.json").write_text(json.dumps({**PHI, **changes}))
    with pytest.raises((BadInput, UnsupportedFeature), match=says.replace("(", r"\(")):
        Checkpoint(folder)


def test_weights_that_do_not_fit_are_all_named(tmp_path):
    folder = write_checkpoint(tmp_path / "m")
    (folder / "config.json").write_text(json.dumps({**PHI, "num_hidden_layers": 3, "vocab_size": 97}))
    with pytest.raises(BadInput, match=r"expected \[97, 256\].*layers.2.*is missing"):
        Checkpoint(folder)


def test_shards_are_found_by_their_index_and_stay_in_the_folder(tmp_path):
    folder = write_checkpoint(tmp_path / "m")
    stored = list_stored_tensors(folder / "model.safetensors")
    names = list(stored)
    for number, part in enumerate((names[:5], names[5:])):
        write_safetensors(folder / f"s{number}.safetensors", {n: np.array(stored[n].read()) for n in part})
    whole = Checkpoint(folder).read(HEAD)
    index = {name: f"s{int(place >= 5)}.safetensors" for place, name in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (folder / "model.safetensors").unlink()
    np.testing.assert_array_equal(Checkpoint(folder).read(HEAD), whole)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../x"}}))
    with pytest.raises(EdgewrightError):
        Checkpoint(folder)


def make_file(header, data=b"\0" * 64):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


ENTRY = {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,
        b"\xff" * 7 + b"\x7f" + b"{}",
        make_file(b"[1]"),
        make_file(b"{" * 100_000),
        make_file({"a": 1}),
        make_file({"a": {**ENTRY, "dtype": "Q4"}}),
        make_file({"a": {**ENTRY, "dtype": ["F32"]}}),
        make_file({"a": {**ENTRY, "shape": [4, 5]}}),
        make_file({"a": {**ENTRY, "shape": [-4, -4]}}),
        make_file({"a": {**ENTRY, "shape": [True, 16]}}),
        make_file({"a": {**ENTRY, "shape": [2**62, 2**62]}}),
        make_file({"a": {**ENTRY, "data_offsets": [64, 128]}}),
        make_file({"a": {**ENTRY, "data_offsets": [-64, 0]}}),
        make_file({"a": {**ENTRY, "data_offsets": [0]}}),
        make_file({"a": ENTRY}, b"\0" * 63),
        make_file({"a": ENTRY, "b": {**ENTRY, "shape": [2], "data_offsets": [8, 16]}}),
    ],
)
def test_damaged_files_end_in_one_error(tmp_path, content):
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    with pytest.raises((BadInput, UnsupportedFeature)):
        list_stored_tensors(path)


def test_a_vocabulary_is_filled_up_to_the_embedding(tmp_path):
    folder = write_checkpoint(tmp_path / "m")
    words = read_vocabulary(folder, 20)
    assert words.kind == "llama"
    assert words.types[:4] == (UNKNOWN, CONTROL, CONTROL, NORMAL)
    assert (words.tokens[-1], words.types[-1]) == ("[PAD19]", UNUSED)
    assert (words.special, words.adds_bos, words.adds_space) == ({"bos": 1, "eos": 2}, True, True)
    # The first merge comes first.
    assert words.scores[words.tokens.index("ab")] > words.scores[words.tokens.index("cd")]
    with pytest.raises(BadInput, match="the embedding has 5 rows"):
        read_vocabulary(folder, 5)


O200K = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}]+|\p{N}{1,3}| ?[^\s]+"
CL100K = r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s]+"


@pytest.mark.parametrize(
    ("pattern", "ignores_merges", "name"),
    [
        (O200K, False, "gpt-4o"),
        (CL100K, True, "llama-bpe"),
        (CL100K, False, "dbrx"),
        (CL100K.replace("{1,3}", ""), False, "qwen2"),
        (O200K.replace("{1,3}", ""), False, None),
        (r"\w+", False, None),
    ],
)
def test_the_way_of_cutting_is_recognized_whole_or_refused(tmp_path, pattern, ignores_merges, name):
    folder = write_checkpoint(tmp_path / "m")
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"] |= {"byte_fallback": False, "ignore_merges": ignores_merges}
    content["pre_tokenizer"] = {"type": "Split", "pattern": {"Regex": pattern}}
    (folder / "tokenizer.json").write_text(json.dumps(content))
    if name is None:
        with pytest.raises(UnsupportedFeature, match="cuts texts into words"):
            read_vocabulary(folder, 96)
    else:
        assert read_vocabulary(folder, 96).cutting == name
