"""The float arithmetic is that of transformers, for every family and in both dialects of config.json."""

import json

import numpy as np
import pytest

from edgewright.llm.forward import iterate_float_logits
from edgewright.llm.load.checkpoint import Checkpoint, list_expected_shapes
from edgewright.llm.load.config import read_model_spec
from tests.unit.llm.checkpoints import write_safetensors
from tests.unit.llm.record_transformers import GOLDEN, LENGTHS, MODELS, draw_tokens, draw_weights

RECORDED = json.loads(GOLDEN.read_text())


def make_older(config):
    """As transformers 4 saves it: the angle and the share outside, the rest in rope_scaling."""
    older = {key: value for key, value in config.items() if key != "rope_parameters"}
    rope = dict(config.get("rope_parameters") or {})
    for key in ("rope_theta", "partial_rotary_factor"):
        if key in rope:
            older[key] = rope.pop(key)
    kind = rope.pop("rope_type", "default")
    if kind == "longrope":
        older["original_max_position_embeddings"] = rope.pop("original_max_position_embeddings")
    return older if kind == "default" else {**older, "rope_scaling": {"type": kind, **rope}}


def write_model(folder, config, shards):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    weights = draw_weights(list_expected_shapes(read_model_spec(folder)))
    names = sorted(weights)
    if shards == 1:
        write_safetensors(folder / "model.safetensors", weights)
        return folder
    places = {name: f"s{number % shards}.safetensors" for number, name in enumerate(names)}
    for file in set(places.values()):
        write_safetensors(folder / file, {name: weights[name] for name in names if places[name] == file})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return folder


@pytest.mark.parametrize("dialect", [4, 5])
@pytest.mark.parametrize("name", MODELS)
def test_logits_and_greedy_tokens_are_those_of_transformers(tmp_path, name, dialect):
    recorded = RECORDED[name]
    config = recorded["config"] if dialect == 5 else make_older(recorded["config"])
    checkpoint = Checkpoint(write_model(tmp_path / "m", config, 1 if dialect == 5 else 3))
    for count in LENGTHS:
        logits = next(iterate_float_logits(checkpoint, [draw_tokens(count)]))
        np.testing.assert_allclose(logits[-2:], recorded["logits"][str(count)], atol=2e-4)
    tokens = draw_tokens(LENGTHS[0])
    for best in recorded["greedy"]:
        assert next(iterate_float_logits(checkpoint, [tokens]))[-1].argmax() == best
        tokens = np.append(tokens, best)
