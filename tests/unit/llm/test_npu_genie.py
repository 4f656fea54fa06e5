"""Configurations for Genie: the fields that its documentation names, with the numbers of the model."""

import json

import pytest

from edgewright.llm.load.config import read_model_spec
from edgewright.llm.npu.genie import make_extensions, make_genie_config
from edgewright.llm.npu.manifest import Manifest
from edgewright.llm.npu.quantize_blocks import describe_range
from edgewright.run.context.config import read_backend_config
from edgewright.targets.soc import find_htp_soc
from tests.unit.llm.checkpoints import write_checkpoint

BINARIES = ["SM8650_1_of_2.bin", "SM8650_2_of_2.bin"]


def make_config(tmp_path, family, embedding="inside", **changes):
    spec = read_model_spec(write_checkpoint(tmp_path / "model", family, **changes))
    manifest = Manifest("SM8650", "w8a16", 8, 48, (1, 1), embedding)
    entry = describe_range("inputs_embeds", -1.0, 1.0)
    return json.loads(make_genie_config(spec, manifest, entry, BINARIES, 4096))["dialog"]


def test_the_engine_has_the_parts_in_their_order(tmp_path):
    dialog = make_config(tmp_path, "qwen3")
    engine = dialog["engine"]
    assert engine["model"]["binary"]["ctx-bins"] == BINARIES
    assert engine["backend"]["QnnHtp"]["spill-fill-bufsize"] == 4096
    assert (engine["backend"]["QnnHtp"]["kv-dim"], engine["backend"]["QnnHtp"]["pos-id-dim"]) == (32, 16)
    assert dialog["context"] == {
        "version": 1,
        "size": 48,
        "n-vocab": 96,
        "bos-token": 1,
        "eos-token": [2, 3],
    }
    assert "embedding" not in dialog


def test_positions_are_those_of_the_model(tmp_path):
    plain = make_config(tmp_path / "a", "llama")["engine"]["model"]["positional-encoding"]
    assert plain == {"type": "rope", "rope-dim": 32, "rope-theta": 5e5}
    scaled = make_config(tmp_path / "b", "phi4mini")["engine"]["model"]["positional-encoding"]
    assert scaled["rope-dim"] == 24
    assert scaled["rope-scaling"] == {
        "rope-type": "longrope",
        "factor": 4.0,
        "original-max-position-embeddings": 16,
        "short-factor": [1.0] * 24,
        "long-factor": [2.0] * 24,
    }


def test_a_table_outside_is_named_with_its_encoding(tmp_path):
    table = make_config(tmp_path, "llama", "outside")["embedding"]
    assert (table["type"], table["lut-path"], table["size"]) == ("lut", "embed_tokens.bin", 256)
    assert table["quant-param"] == {"scale": pytest.approx(2 / 65535), "offset": -32768}


def test_the_settings_of_the_backend_are_ones_that_its_reader_takes(tmp_path):
    file = tmp_path / "htp_backend_ext_config.json"
    file.write_bytes(make_extensions(find_htp_soc("SM8650"), is_shared=True))
    config = read_backend_config(str(file), "htp")
    assert config.is_weight_sharing
