"""Language models for the NPU: the graphs compute what the checkpoint does, whatever is fed at a time."""

import json

import numpy as np
import pytest

from edgewright.core.errors import BadInput, UnsupportedFeature, UsageError
from edgewright.llm.forward import iterate_float_logits
from edgewright.llm.load.checkpoint import Checkpoint, list_expected_shapes
from edgewright.llm.load.spec import ModelSpec, RopeSpec
from edgewright.llm.npu.decoder_graph import LOGITS
from edgewright.llm.npu.feed import TextState
from edgewright.llm.npu.manifest import FILE, GraphShape, Manifest, read_manifest
from edgewright.llm.npu.plan_parts import choose_embedding, plan_parts
from tests.unit.llm.checkpoints import FAMILIES, write_checkpoint
from tests.unit.llm.float_blocks import make_float_model

CONTEXT = 40
SHAPES = {"prefill": GraphShape(12, CONTEXT), "decode": GraphShape(1, CONTEXT)}
TOKENS = np.random.default_rng(0).integers(0, 96, 30)
OFTEN = ("phi4mini", "qwen3")


@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=() if name in OFTEN else pytest.mark.slow) for name in FAMILIES]
)
def test_prompts_in_pieces_and_single_tokens_give_the_logits_of_the_checkpoint(family, tmp_path):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "model", family))
    (wanted,) = iterate_float_logits(checkpoint, [TOKENS])
    tensors = {name: checkpoint.read(name) for name in list_expected_shapes(checkpoint.spec)}
    models = {
        name: make_float_model(checkpoint.spec, tensors, checkpoint.head, shape)
        for name, shape in SHAPES.items()
    }
    state, found, start = TextState(checkpoint.spec, CONTEXT), [], 0
    # A whole piece, one token, a piece that is not full, and tokens one by one.
    for name, count in (("prefill", 12), ("decode", 1), ("prefill", 5), *[("decode", 1)] * 12):
        piece, shape = TOKENS[start : start + count], SHAPES[name]
        outputs = models[name].run(state.feed(piece, shape))
        state.take(outputs, count)
        found.append(outputs[LOGITS][0, -count:])
        start += count
    assert start == len(TOKENS)
    np.testing.assert_allclose(np.concatenate(found), wanted, atol=2e-4 * np.abs(wanted).max())


def test_a_text_that_is_longer_than_the_context_is_refused(tmp_path):
    state = TextState(Checkpoint(write_checkpoint(tmp_path / "model")).spec, 16)
    with pytest.raises(UsageError, match="the text has 17 tokens, the graphs look back on 16"):
        state.feed(np.zeros(17, np.int64), GraphShape(17, 33))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"form": 1}, "not of form 2"),
        ({"context": 1 << 40}, "context"),
        ({"prefill": "8"}, "prefill"),
        ({"prefill": 64}, "prefill"),
        ({"target": None}, "target"),
        ({"parts": [1, -1]}, "parts"),
        ({"parts": []}, "parts"),
        ({"parts": ["2"]}, "parts"),
        ({"embedding": "beside"}, "'embedding' is 'beside', expected inside or outside"),
        ({"kv_bits": 4}, "kv_bits"),
        ({"kv_bits": 12}, "expected 8 or 16"),
    ],
)
def test_a_folder_that_says_nonsense_of_itself_is_refused(change, said, tmp_path):
    content = json.loads(Manifest("SM8650", "w8a16", 8, 64, (2,)).write({}))
    (tmp_path / FILE).write_text(json.dumps(content | change))
    with pytest.raises(BadInput, match=said):
        read_manifest(tmp_path)


def test_a_file_that_is_no_json_is_refused(tmp_path):
    (tmp_path / FILE).write_text("[" * 100_000)
    with pytest.raises(BadInput, match="no JSON"):
        read_manifest(tmp_path)


PHI4_MINI = {
    "layers": 32,
    "hidden": 3072,
    "intermediate": 8192,
    "heads": 24,
    "kv_heads": 8,
    "head_dim": 128,
    "vocabulary": 200_064,
    "is_tied": True,
}


def make_spec(**sizes):
    return ModelSpec("phi3", context=4096, norm_epsilon=1e-5, rope=RopeSpec(1e4, 128), **sizes)


def test_parts_hold_all_layers_and_no_more_than_a_context():
    spec = make_spec(**PHI4_MINI)
    assert choose_embedding(spec, None) == "outside"
    for is_shared, least in ((True, 2), (False, 5)):
        parts = plan_parts(spec, "outside", is_shared=is_shared, asked=None)
        assert len(parts) == least
        assert sum(parts) == 32
        assert max(parts[:-1]) - min(parts[:-1]) <= 1
    assert len(plan_parts(spec, "outside", is_shared=True, asked=8)) == 8
    with pytest.raises(UsageError, match="--parts is 1, expected 2 to 33"):
        plan_parts(spec, "outside", is_shared=True, asked=1)


def test_a_small_model_is_one_part_and_can_be_cut_into_its_layers():
    spec = make_spec(**(PHI4_MINI | {"hidden": 64, "intermediate": 64, "vocabulary": 96, "layers": 2}))
    assert choose_embedding(spec, None) == "inside"
    assert plan_parts(spec, "inside", is_shared=False, asked=None) == (2,)
    assert plan_parts(spec, "inside", is_shared=False, asked=3) == (1, 1, 0)


def test_what_no_context_holds_is_refused():
    spec = make_spec(**(PHI4_MINI | {"vocabulary": 1_000_000}))
    with pytest.raises(UnsupportedFeature, match="a context holds"):
        plan_parts(spec, "inside", is_shared=False, asked=None)
