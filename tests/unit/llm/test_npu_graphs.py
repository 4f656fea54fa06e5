"""Language models for the NPU: the graphs compute what the checkpoint does, whatever is fed at a time."""

import json

import numpy as np
import pytest

from edgewright.core.errors import BadInput, UsageError
from edgewright.llm.forward import iterate_float_logits
from edgewright.llm.load.checkpoint import Checkpoint, list_expected_shapes
from edgewright.llm.npu.decoder_graph import LOGITS
from edgewright.llm.npu.feed import TextState
from edgewright.llm.npu.graphs import make_float_model
from edgewright.llm.npu.manifest import FILE, GraphShape, Manifest, read_manifest
from tests.unit.llm.checkpoints import FAMILIES, write_checkpoint

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
        name: make_float_model(checkpoint.spec, tensors, checkpoint.head, shape, name)
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
        ({"form": 2}, "not of form 1"),
        ({"context": 1 << 40}, "context"),
        ({"prefill": "8"}, "prefill"),
        ({"prefill": 64}, "prefill"),
        ({"target": None}, "target"),
    ],
)
def test_a_folder_that_says_nonsense_of_itself_is_refused(change, said, tmp_path):
    content = json.loads(Manifest("SM8650", "w8a16", 8, 64).write({}))
    (tmp_path / FILE).write_text(json.dumps(content | change))
    with pytest.raises(BadInput, match=said):
        read_manifest(tmp_path)


def test_a_file_that_is_no_json_is_refused(tmp_path):
    (tmp_path / FILE).write_text("[" * 100_000)
    with pytest.raises(BadInput, match="no JSON"):
        read_manifest(tmp_path)
