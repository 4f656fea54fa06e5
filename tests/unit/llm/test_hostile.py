"""Checkpoints that mean harm: one error of ours, little time, little memory."""

import json
import tracemalloc

import numpy as np
import pytest

from edgewright.core.errors import EdgewrightError
from edgewright.llm.load.checkpoint import INDEX, Checkpoint
from edgewright.llm.load.vocabulary import read_vocabulary
from edgewright.llm.quantize_model import quantize_language_model
from edgewright.llm.recipe import Recipe
from tests.unit.llm.checkpoints import PHI, write_checkpoint

# What may stand where something else is expected.
JUNK = (None, True, -1, 0, 1 << 70, 1e400, "x", "", [], [1], [[1]], {}, {"a": 1}, {"type": 5}, "\ud800")


def read_all(folder):
    """All that quantizing reads before it computes."""
    checkpoint = Checkpoint(folder)
    return checkpoint, read_vocabulary(folder, checkpoint.spec.vocabulary)


@pytest.mark.parametrize("family", ["phi35", "mistral"])
def test_any_junk_in_any_field_of_the_configuration_is_read_or_refused(tmp_path, family):
    folder = write_checkpoint(tmp_path / "m", family, num_hidden_layers=1)
    fields = json.loads((folder / "config.json").read_text())
    names = [
        *fields,
        "head_dim",
        "rope_theta",
        "rope_scaling",
        "rope_parameters",
        "sliding_window",
        "pad_token_id",
    ]
    for name in names:
        for junk in JUNK:
            (folder / "config.json").write_text(json.dumps({**fields, name: junk}))
            attempt(folder)
    for section in ("rope_scaling", "rope_parameters"):
        for name in (
            "type",
            "rope_type",
            "short_factor",
            "long_factor",
            "factor",
            "rope_theta",
            "attention_factor",
        ):
            for junk in JUNK:
                inner = {**(fields.get(section) or {"type": "longrope"}), name: junk}
                (folder / "config.json").write_text(json.dumps({**fields, section: inner}))
                attempt(folder)


@pytest.mark.parametrize("kind", ["pieces", "pairs"])
def test_any_junk_in_a_tokenizer_is_read_or_refused(tmp_path, kind):
    folder = write_checkpoint(tmp_path / "m")
    whole = json.loads((folder / "tokenizer.json").read_text())
    if kind == "pairs":
        whole["model"]["byte_fallback"] = False
        whole["pre_tokenizer"] = {"type": "Split", "pattern": {"Regex": r"\p{L}+|\p{N}|"}}
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    for place, name in [(whole, name) for name in whole] + [
        (whole["model"], name) for name in whole["model"]
    ]:
        before = place[name]
        for junk in (
            *JUNK,
            [None],
            [{}],
            [{"content": []}],
            {"a": None},
            {"a": 1 << 70},
            {"single": 7},
            [["a"]],
        ):
            place[name] = junk
            (folder / "tokenizer.json").write_text(json.dumps(whole))
            attempt(folder)
        place[name] = before
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    for name in (*settings, "chat_template", "pad_token"):
        for junk in JUNK:
            (folder / "tokenizer_config.json").write_text(json.dumps({**settings, name: junk}))
            attempt(folder)


def attempt(folder):
    """Anything but an error that is not one of ours."""
    try:
        read_all(folder)
    except EdgewrightError as problem:
        return problem
    return None


@pytest.mark.parametrize(
    "index",
    [
        b"",
        b"[]",
        b"{}",
        b'{"weight_map": 7}',
        b'{"weight_map": {"a": 7}}',
        b'{"weight_map": {"a": null}}',
        b'{"weight_map": {"a": "../m/model.safetensors"}}',
        b'{"weight_map": {"a": "/etc/passwd"}}',
        b'{"weight_map": {"a": "C:\\\\x"}}',
        b'{"weight_map": {"a": "x\\u0000y"}}',
        b'{"weight_map": {"a": "."}}',
        b'{"weight_map": {"a": ["model.safetensors"]}}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_an_index_that_leads_elsewhere_is_refused(tmp_path, index):
    folder = write_checkpoint(tmp_path / "m")
    (folder / INDEX).write_bytes(index)
    assert isinstance(attempt(folder), EdgewrightError)


def test_links_out_of_the_folder_pipes_and_folders_are_refused(tmp_path):
    import os

    folder = write_checkpoint(tmp_path / "m")
    weights = folder / "model.safetensors"
    weights.rename(tmp_path / "outside")
    (folder / INDEX).write_text(json.dumps({"weight_map": {"a": "s.safetensors"}}))
    (folder / "s.safetensors").symlink_to(tmp_path / "outside")
    assert isinstance(attempt(folder), EdgewrightError)
    (folder / INDEX).unlink()
    for make in (os.mkfifo, os.mkdir):
        make(weights)
        assert isinstance(attempt(folder), EdgewrightError)
        weights.rmdir() if weights.is_dir() else weights.unlink()
    (tmp_path / "outside").rename(weights)
    for name in ("config.json", "tokenizer.json"):
        (folder / name).rename(tmp_path / name)
        os.mkfifo(folder / name)
        assert isinstance(attempt(folder), EdgewrightError)
        (folder / name).unlink()
        (tmp_path / name).rename(folder / name)
    read_all(folder)


def test_sizes_that_nobody_has_take_no_memory(tmp_path):
    folder = write_checkpoint(tmp_path / "m")
    big = {"hidden_size": 1 << 24, "num_hidden_layers": 1 << 24, "vocab_size": 1 << 24, "head_dim": 1 << 24}
    for changes in ({name: value} for name, value in big.items()):
        (folder / "config.json").write_text(json.dumps({**PHI, **changes}))
        tracemalloc.start()
        problem = attempt(folder)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert isinstance(problem, EdgewrightError)
        assert peak < 1 << 26, changes


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(tmp_path, value):
    folder = write_checkpoint(tmp_path / "m", hidden_size=64, intermediate_size=64)
    stored = Checkpoint(folder).find("model.layers.1.mlp.down_proj.weight")
    values = np.memmap(stored.path, stored.dtype, "r+", stored.offset, stored.shape)
    values[3, 5] = value
    values.flush()
    with pytest.raises(EdgewrightError, match=r"not finite(.|\n)*layers\.1\.mlp\.down_proj"):
        quantize_language_model(folder, recipe=Recipe("int4"), output=tmp_path / "o.gguf")
    assert not (tmp_path / "o.gguf").exists()
