"""Files in their own runtimes: how well they predict a text, and what they write."""

import json
import shutil

import numpy as np
import onnx
import pytest

from edgewright.core.errors import AccuracyGate, BadInput, UsageError
from edgewright.llm.evaluate_file import evaluate_file, find_interval
from edgewright.llm.forward import compute_losses, iterate_float_logits
from edgewright.llm.generate import TextGenerator
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.quantize_model import check_increase, check_score, quantize_language_model
from edgewright.llm.recipe import Recipe
from edgewright.llm.runtimes.decoder import find_kind, open_decoder
from edgewright.llm.runtimes.onnx_decoder import OnnxDecoder
from edgewright.llm.runtimes.worker import compute_divergence
from edgewright.tools.umbrella import main
from tests.unit.llm.checkpoints import write_checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = write_checkpoint(tmp_path_factory.mktemp("llm") / "m")
    template = "{{ bos_token }}{% for m in messages %}{{ m['content'] }}{% endfor %}"
    (path / "chat_template.jinja").write_text(template)
    tokens = np.random.default_rng(1).integers(3, 96, 1300)
    np.save(path.parent / "text.npy", tokens)
    quantize_language_model(path, "onnx", recipe=Recipe("fp32"), output=path.parent / "fp32")
    quantize_language_model(path, "onnx", recipe=Recipe("int4"), output=path.parent / "int4")
    return path.parent


def test_kinds_are_told_by_what_is_there(folder, tmp_path):
    assert find_kind(folder / "m") == "safetensors"
    assert find_kind(folder / "int4") == "onnx"
    quantize_language_model(folder / "m", "mlx", recipe=Recipe("fp16"), output=tmp_path / "mlx")
    assert find_kind(tmp_path / "mlx") == "mlx"
    (tmp_path / "x").write_bytes(b"GGUF....")
    assert find_kind(tmp_path / "x") == "gguf"
    with pytest.raises(BadInput, match="neither a GGUF file nor a folder"):
        find_kind(tmp_path)
    with pytest.raises(BadInput, match="no such file"):
        find_kind(tmp_path / "nothing")


def test_perplexity_is_that_of_the_float_model_where_nothing_is_rounded(folder):
    score = evaluate_file(folder / "fp32", folder / "text.npy", against=folder / "m", window=32)
    checkpoint, tokens = Checkpoint(folder / "m"), np.load(folder / "text.npy")
    pieces = [(tokens[at : at + 32], tokens[at + 1 : at + 33]) for at in range(0, 1300 - 32, 32)]
    logits = iterate_float_logits(checkpoint, [piece for piece, _ in pieces])
    losses = [compute_losses(part, targets) for part, (_, targets) in zip(logits, pieces, strict=True)]
    expected = np.exp(np.concatenate(losses).mean())
    assert score.windows == len(pieces)
    assert score.tokens == 32 * len(pieces)
    assert score.perplexity == pytest.approx(expected, rel=1e-5)
    assert score.float_perplexity == pytest.approx(expected, rel=1e-9)
    assert abs(score.increase) < 1e-3
    assert score.same_tokens > 0.999
    assert score.divergence < 1e-6


def test_four_bits_show_in_every_figure(folder):
    score = evaluate_file(folder / "int4", folder / "text.npy", against=folder / "m", window=32)
    assert score.increase_low < score.increase < score.increase_high
    assert 0.3 < score.same_tokens < 0.99
    assert score.divergence > 1e-3
    alone = evaluate_file(folder / "int4", folder / "text.npy", window=32)
    assert alone.perplexity == score.perplexity
    assert alone.increase is None


@pytest.mark.parametrize("count", [8, 60])
def test_the_interval_covers_the_mean_as_often_as_it_says(count):
    rng, hits = np.random.default_rng(0), 0
    for _ in range(4000):
        low, high = find_interval(rng.normal(0.2, 0.1, count))
        hits += low <= 0.2 <= high
    assert 0.94 < hits / 4000 < 0.96


def test_few_windows_prove_nothing():
    assert find_interval(np.full(7, 0.3)) == (-np.inf, np.inf)


def test_divergence_is_that_of_the_definition():
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(5, 9)), rng.normal(size=(5, 9))
    shares = [np.exp(part) / np.exp(part).sum(-1, keepdims=True) for part in (first, second)]
    expected = (shares[0] * np.log(shares[0] / shares[1])).sum(-1)
    np.testing.assert_allclose(compute_divergence(first, second), expected)
    np.testing.assert_allclose(compute_divergence(first, first + 3), 0, atol=1e-12)


def test_a_file_that_is_worse_than_the_limit_is_refused(folder, tmp_path):
    made = quantize_language_model(
        folder / "m", "onnx", recipe=Recipe("int4"), output=tmp_path / "o", text=folder / "text.npy"
    )
    score = made.score
    check_increase(made, score.increase_high)
    with pytest.raises(AccuracyGate, match="the limit is"):
        check_increase(made, score.increase - 0.01)
    with pytest.raises(AccuracyGate, match="not proven"):
        check_increase(made, score.increase_high - 0.01)


def test_a_short_text_proves_nothing(folder, tmp_path):
    np.save(tmp_path / "short.npy", np.load(folder / "text.npy")[:80])
    made = quantize_language_model(
        folder / "m", "onnx", recipe=Recipe("fp32"), output=tmp_path / "o", text=tmp_path / "short.npy"
    )
    with pytest.raises(AccuracyGate, match="not proven"):
        check_increase(made, None)


def test_a_text_too_short_for_a_window_is_refused(folder, tmp_path):
    np.save(tmp_path / "tiny.npy", np.arange(3, 9))
    with pytest.raises(UsageError, match="6 tokens"):
        evaluate_file(folder / "int4", tmp_path / "tiny.npy")


def test_a_chat_is_spelled_by_the_template_in_a_sandbox(folder):
    pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    generator = TextGenerator(folder / "fp32", context=40)
    try:
        talk = [{"role": "user", "content": "abab"}]
        assert generator.spell_chat(talk) == "<s>abab"
        # The template has the beginning already.
        assert generator.split_text("<s>abab").count(1) == 1
        pieces = list(generator.answer(talk, 6))
        assert list(generator.answer(talk, 6)) == pieces
    finally:
        generator.close()


def test_greedy_tokens_are_those_of_the_float_model(folder):
    pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    texts = {}
    for name in ("m", "fp32"):
        generator = TextGenerator(folder / name, context=48)
        try:
            texts[name] = "".join(generator.continue_text("abcd", 24))
            assert "".join(generator.continue_text("abcd", 24)) == texts[name]
        finally:
            generator.close()
    assert texts["m"] == texts["fp32"]


def test_the_commands_say_what_they_measured(folder, tmp_path, capsys):
    text, model = str(folder / "text.npy"), str(folder / "m")
    words = ["llm", "eval", str(folder / "int4"), "--text", text, "--against", model, "--windows", "3"]
    assert main(words) == 0
    assert "over 3 pieces, 192 tokens, by ONNX Runtime" in capsys.readouterr().out
    words = ["llm", "quantize", model, "--to", "onnx", "--precision", "fp32", "-o", str(tmp_path / "o")]
    assert main([*words, "--verify"]) == 2
    assert "--text" in capsys.readouterr().err
    assert main([*words, "--verify", "--text", text, "--max_increase", "0.01", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert abs(made["score"]["increase"]) < 1e-3


@pytest.mark.parametrize(
    ("prompt", "words"), [("", "the prompt is empty"), ("ab" * 100, "there is room for 64 with the answer")]
)
def test_prompts_that_do_not_fit_are_refused(folder, prompt, words, tmp_path):
    pytest.importorskip("tokenizers", reason="could not import 'tokenizers'")
    for name in ("tokenizer_config.json", "tokenizer.json"):
        assert (folder / "int4" / name).is_file()
    generator = TextGenerator(folder / "int4", context=4096)
    try:
        with pytest.raises(UsageError, match=words):
            next(generator.continue_text(prompt, 4))
    finally:
        generator.close()


def test_a_backend_for_a_file_that_has_none_is_a_mistake_of_usage(folder, capsys):
    words = ["llm", "run", str(folder / "int4"), "--prompt", "a", "--backend", "cpu"]
    assert main(words) == 2
    assert "a backend is for what `edgewright llm build` writes" in capsys.readouterr().err


def test_the_beginning_of_a_long_talk_is_forgotten(folder):
    pytest.importorskip("tokenizers", reason="could not import 'tokenizers'")
    talk = [{"role": role, "content": "abab"} for role in ("user", "assistant") * 20]
    generator = TextGenerator(folder / "fp32", context=64)
    try:
        assert len(generator.split_text(generator.spell_chat(talk))) > 64
        list(generator.answer([*talk, {"role": "user", "content": "cd"}], 2))
    finally:
        generator.close()


def test_a_model_without_a_template_cannot_chat(folder, tmp_path, capsys):
    pytest.importorskip("tokenizers", reason="could not import 'tokenizers'")
    shutil.copytree(folder / "int4", tmp_path / "m")
    (tmp_path / "m" / "chat_template.jinja").unlink()
    assert main(["llm", "chat", str(tmp_path / "m")]) == 2
    shown = capsys.readouterr()
    assert "no chat template" in shown.err
    assert shown.out == ""


# The second is slow so that it runs where openvino is installed.
@pytest.mark.parametrize("name", ["model.onnx", pytest.param("openvino_model.xml", marks=pytest.mark.slow)])
def test_folders_that_a_runtime_cannot_load_are_bad_input(tmp_path, name):
    if name.endswith("xml"):
        pytest.importorskip("openvino", reason="the package openvino is not installed")
    (tmp_path / name).write_text("nothing")
    with pytest.raises(BadInput, match="cannot load it"):
        evaluate_file(tmp_path, tmp_path / "text.npy")


def test_sizes_that_a_model_leaves_open_are_those_of_its_settings(folder, tmp_path):
    # As the builder of ONNX Runtime GenAI writes its models.
    shutil.copytree(folder / "fp32", tmp_path / "open")
    model = onnx.load(tmp_path / "open" / "model.onnx", load_external_data=False)
    for state in (*model.graph.input, *model.graph.output):
        if state.name.startswith(("past", "present")):
            state.type.tensor_type.shape.dim[3].dim_param = "kv_cache_dim"
    onnx.save(model, tmp_path / "open" / "model.onnx")
    scores = [
        evaluate_file(path, folder / "text.npy", window=32, windows=2)
        for path in (tmp_path / "open", folder / "fp32")
    ]
    assert scores[0].perplexity == scores[1].perplexity
    (tmp_path / "open" / "genai_config.json").write_text('{"model": {"decoder": {"head_size": -1}}}')
    with pytest.raises(BadInput, match="'head_size' of genai_config"):
        evaluate_file(tmp_path / "open", folder / "text.npy", window=32, windows=2)


@pytest.mark.parametrize("kind", ["onnx", pytest.param("openvino", marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", ["phi35", "phi4mini"])
def test_a_text_that_outgrows_the_short_factors_is_read_anew(tmp_path, kind, family):
    if kind == "openvino":
        pytest.importorskip("openvino", reason="the package openvino is not installed")
    source = write_checkpoint(tmp_path / "m", family)
    quantize_language_model(source, kind, recipe=Recipe("fp32"), output=tmp_path / "o")
    tokens = np.random.default_rng(2).integers(3, 96, 24)
    (expected,) = iterate_float_logits(Checkpoint(source), [tokens])
    decoder = open_decoder(kind, tmp_path / "o", 64)
    for _ in range(2):
        decoder.reset()
        decoder.feed(tokens[:10])
        # The original context has 16 tokens: within a piece, and token by token after it.
        actual = [decoder.feed(piece) for piece in (tokens[10:15], tokens[15:18], *tokens[18:, None])]
        np.testing.assert_allclose(np.concatenate(actual)[5:], expected[15:], atol=2e-3)


def test_others_models_are_read_anew_where_genai_does(folder, tmp_path):
    shutil.copytree(folder / "fp32", tmp_path / "o")
    assert OnnxDecoder(tmp_path / "o").get_short_context() == 4096
    (tmp_path / "o" / "genai_config.json").write_text('{"model": {"type": "llama"}}')
    assert OnnxDecoder(tmp_path / "o").get_short_context() is None


def test_windows_have_the_length_that_was_asked_for_or_are_refused(folder, tmp_path):
    source = write_checkpoint(tmp_path / "m", max_position_embeddings=512)
    quantize_language_model(source, "onnx", recipe=Recipe("int8"), output=tmp_path / "o")
    for against in (None, source):
        score = evaluate_file(tmp_path / "o", folder / "text.npy", against=against, window=400)
        assert (score.windows, score.tokens) == (3, 1200)
        with pytest.raises(UsageError, match="600 tokens, the model has room for 512"):
            evaluate_file(tmp_path / "o", folder / "text.npy", against=against, window=600)
    # Where nothing is said, 256, or all that there is room for.
    assert evaluate_file(tmp_path / "o", folder / "text.npy").windows == 1300 // 256
    assert evaluate_file(folder / "int4", folder / "text.npy").windows == 1300 // 64


def test_a_tokenizer_that_is_another_one_is_refused(folder, tmp_path, capsys):
    pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    shutil.copytree(folder / "fp32", tmp_path / "o")
    assert evaluate_file(folder / "fp32", folder / "text.npy", against=folder / "m").has_same_tokenizer
    content = json.loads((tmp_path / "o" / "tokenizer.json").read_text())
    content["normalizer"] = None
    (tmp_path / "o" / "tokenizer.json").write_text(json.dumps(content))
    score = evaluate_file(tmp_path / "o", folder / "text.npy", against=folder / "m")
    assert score.has_same_tokenizer is False
    with pytest.raises(AccuracyGate, match="other tokens"):
        check_score(score, "o", 5.0)
    words = ["llm", "eval", str(tmp_path / "o"), "--text", str(folder / "text.npy")]
    assert main([*words, "--against", str(folder / "m")]) == 0
    assert "OTHER TOKENS" in capsys.readouterr().out
    (tmp_path / "o" / "tokenizer.json").unlink()
    assert evaluate_file(tmp_path / "o", folder / "text.npy", against=folder / "m").has_same_tokenizer is None
