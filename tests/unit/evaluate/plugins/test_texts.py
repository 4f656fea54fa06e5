"""Tokens of texts, translation, perplexity and vocabularies that are read and never run."""

import json
import pickle  # noqa: TID251 - what others write is read, and never by it
from collections import Counter, OrderedDict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgewright.core.errors import BadInput, EdgewrightError, ShapeMismatch, UnsupportedFeature, UsageError
from edgewright.evaluate.plugins.chain import change_dataset, measure_results, process_samples
from edgewright.evaluate.plugins.plugin import PostprocessingPlugin
from edgewright.evaluate.plugins.sample import Context, Dataset, Sample
from edgewright.evaluate.plugins.vocabularies import read_vocabulary

TOKENS = ["<unk>", "<blank>", "<s>", "</s>", "the", "cat", "\u2581sat"]


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def _pickle_field() -> bytes:
    """As torchtext's: what it is called is written without looking it up."""
    text = b"\x80\x02ctorchtext.vocab\nVocab\n)\x81}X\x04\x00\x00\x00itos"
    text += pickle.dumps(TOKENS, 2)[2:-1].replace(b"q\x00", b"q\x20")
    return text + b"sb."


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("v.txt", "\n".join(TOKENS).encode()),
        ("v.tsv", "\n".join(f"{token}\t0.5" for token in TOKENS).encode()),
        ("v.json", json.dumps(TOKENS).encode()),
        ("numbers.json", json.dumps({token: n for n, token in enumerate(TOKENS)}).encode()),
        ("v.pkl", pickle.dumps(TOKENS)),
        ("old.pkl", pickle.dumps(TOKENS, 2)),
        ("dict.pkl", pickle.dumps({token: n for n, token in enumerate(TOKENS)})),
        ("ordered.pkl", pickle.dumps({"src": {"itos": TOKENS}, "n": OrderedDict(a=1), "c": Counter("ab")})),
        ("field.pkl", _pickle_field()),
    ],
)
def test_vocabularies_of_every_form_are_the_same(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    assert read_vocabulary(tmp_path / name) == TOKENS


@pytest.mark.torch
def test_a_vocabulary_that_torch_saved_is_read(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"src": {"itos": TOKENS}, "vectors": torch.zeros(3)}, tmp_path / "vocab.pt")
    assert read_vocabulary(tmp_path / "vocab.pt") == TOKENS


def test_what_a_pickle_would_call_is_not_called(tmp_path):
    made = tmp_path / "made"
    (tmp_path / "v.pkl").write_bytes(pickle.dumps({"itos": TOKENS, "more": Touch(made)}))
    with pytest.raises(UnsupportedFeature, match="which is no part of a vocabulary; nothing was run"):
        read_vocabulary(tmp_path / "v.pkl")
    assert not made.exists()


@pytest.mark.parametrize(
    "data", [b"\x80", b"\x80\x04.", b"PK\x03\x04", b"\xff\xfe", pickle.dumps([1, 2]), pickle.dumps({})]
)
def test_damaged_vocabularies_are_clean_errors(tmp_path, data):
    (tmp_path / "v.bin").write_bytes(data)
    with pytest.raises(EdgewrightError):
        read_vocabulary(tmp_path / "v.bin")


@pytest.mark.parametrize("is_memory", [False, True])
def test_translation_from_lines_to_bleu(open_plugin, tmp_path, is_memory):
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["<unk>", "<blank>", "<s>", "</s>", "a", "b", "c", "d", "e", "f"])
    )
    (tmp_path / "source.txt").write_text("a b c d e\nf z\n")
    (tmp_path / "truth.txt").write_text("a b c d e f\nf f f f\n")
    vocab = str(tmp_path / "vocab.txt")
    before = open_plugin("onmt_preprocess", vocab_path=vocab, src_seq_len=6)
    after = open_plugin("onmt_postprocess", sentencepiece_model_path="none")
    dataset = Dataset(tmp_path, ((tmp_path / "source.txt",),), annotations=tmp_path / "truth.txt")
    context = Context(dataset, tmp_path / "work", is_memory=is_memory, plugins=(before, after))
    dataset = change_dataset([open_plugin("split_txt_data")], context)
    context = replace(context, dataset=dataset)
    samples = [sample.load() for sample in process_samples([before], dataset.make_samples(), context, "pre")]
    assert samples[0].values[0].tolist() == [[4, 5, 6, 7, 8, 1]]
    assert samples[0].values[1].tolist() == [5]
    assert samples[1].values[0].tolist() == [[9, 0, 1, 1, 1, 1]]
    # A model that gives its input back, with an end after it.
    outputs = [
        sample.make_next([np.r_[2, sample.values[0][0][: int(sample.values[1][0])], 3, 9]])
        for sample in samples
    ]
    results = list(process_samples([after], outputs, context, "post"))
    assert [sample.load().values[0] for sample in results] == ["a b c d e", "f <unk>"]
    pytest.importorskip("sacrebleu")
    # The first alone: all right but one word short, so only the penalty exp(1 - 6/5) remains.
    assert measure_results([open_plugin("bleu")], results[:1], context) == {"bleu": {"bleu": 81.9}}


def test_sentencepiece_cuts_and_joins(open_plugin, tmp_path):
    library = pytest.importorskip("sentencepiece")
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat\nthe dog sat on the cat\n" * 20)
    library.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(tmp_path / "m"),
        vocab_size=20,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    model = library.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    pieces = [model.id_to_piece(n) for n in range(model.get_piece_size())]
    (tmp_path / "vocab.txt").write_text("\n".join(["<blank>", *pieces]))
    terms = {"vocab_path": str(tmp_path / "vocab.txt"), "sentencepiece_model_path": str(tmp_path / "m.model")}
    before = open_plugin("onmt_preprocess", skip_sentencepiece=False, **terms)
    after = open_plugin("onmt_postprocess", skip_sentencepiece=False, **terms)
    context = Context(Dataset(tmp_path, ()), tmp_path, is_memory=True)
    (sample,) = before.process([Sample(0, ("the cat sat on the dog",))], context)
    assert sample.values[0].shape == (1, 128)
    assert sample.values[1][0] == len(model.encode("the cat sat on the dog"))
    (result,) = open_plugin(
        "onmt_postprocess", unrolled_count=128, skip_sentencepiece=False, **terms
    ).process([sample], context)
    assert result.values[0] == "the cat sat on the dog"
    (tmp_path / "m.model").write_bytes(b"\xff\x00bad")
    with pytest.raises(BadInput, match="no sentencepiece model"):
        list(after.process([sample], replace(context, shared={})))


def test_pieces_need_a_model(open_plugin):
    with pytest.raises(UsageError, match="needs 'sentencepiece_model_path'"):
        open_plugin("onmt_preprocess", vocab_path="v", skip_sentencepiece=False)


def _write_byte_pairs(folder: Path) -> dict[str, str]:
    words = ["a", "b", "c", "\u0120", "\u010a", "ab", "\u0120ab"]
    (folder / "vocab.json").write_text(json.dumps({word: n for n, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\na b\n\u0120 ab\n")
    return {"vocab_file": str(folder / "vocab.json"), "merges_file": str(folder / "merges.txt")}


@pytest.mark.parametrize("is_memory", [False, True])
def test_gpt2_tokens_become_rows_and_their_own_ground_truth(open_plugin, tmp_path, is_memory):
    pytest.importorskip("tokenizers")
    files = _write_byte_pairs(tmp_path)
    (tmp_path / "text.txt").write_text("ab ab c")
    context = Context(Dataset(tmp_path, ((tmp_path / "text.txt",),)), tmp_path / "work", is_memory=is_memory)
    plugin = open_plugin(
        "gpt2_tokenizer", seq_length=2, past_seq_length=1, past_shape=[1, 2], num_past=2, **files
    )
    dataset = change_dataset([plugin], context)
    samples = [sample.load() for sample in dataset.make_samples()]
    assert [sample.values[0].tolist() for sample in samples] == [[[5, 6]], [[3, 2]]]
    assert samples[0].values[1].tolist() == [[0, 1]]
    assert samples[0].values[2].tolist() == [[0, 1, 1]]
    assert len(samples[0].values) == 5
    results = [sample.make_next([np.zeros((1, 2, 7))]) for sample in samples]
    figures = open_plugin("perplexity").measure(results, replace(context, dataset=dataset))
    assert figures["perplexity"] == pytest.approx(7)


def test_wikitext_is_cut_with_the_tokenizer_of_a_folder(open_plugin, tmp_path):
    pytest.importorskip("tokenizers")
    _write_byte_pairs(tmp_path)
    (tmp_path / "text.txt").write_text("ab ab ab c")
    context = Context(Dataset(tmp_path, ((tmp_path / "text.txt",),)), tmp_path / "work", is_memory=True)
    terms = {"seq_length": 3, "tokenizer_name": str(tmp_path)}
    dataset = open_plugin("tokenize_wikitext_2", **terms).transform(context.dataset, context)
    assert [value.tolist() for value in dataset.rows[0]] == [[[5, 6, 6]], [[0, 1, 2]], [[1, 1, 1]]]
    assert dataset.rows[0][2].dtype == np.float32
    dataset = open_plugin("tokenize_wikitext_2", pos_id=False, mask_dtype="int64", **terms).transform(
        context.dataset, context
    )
    assert [value.dtype.name for value in dataset.rows[0]] == ["int64", "int64"]
    with pytest.raises(BadInput, match="fewer than 99 tokens"):
        open_plugin("tokenize_wikitext_2", **{**terms, "seq_length": 99}).transform(context.dataset, context)
    with pytest.raises(UsageError, match="nothing is fetched from a hub"):
        open_plugin("tokenize_wikitext_2", seq_length=3, tokenizer_name="gpt2").transform(
            context.dataset, context
        )
    with pytest.raises(UsageError, match="needs 'past_shape'"):
        open_plugin("tokenize_wikitext_2", num_past=1, **terms)


@pytest.mark.torch
def test_perplexity_is_that_of_torchs_cross_entropy(open_plugin, tmp_path):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    logits, tokens = rng.normal(size=(2, 1, 6, 11)), rng.integers(0, 11, (2, 6))
    np.save(tmp_path / "truth.npy", tokens)
    context = Context(Dataset(tmp_path, (), annotations=tmp_path / "truth.npy"), tmp_path)
    results = [Sample(n, (np.zeros(1), logits[n])) for n in range(2)]
    figures = open_plugin("perplexity", logits_index=1).measure(results, context)
    loss = torch.nn.functional.cross_entropy(
        torch.tensor(logits[:, 0, :-1].reshape(-1, 11)), torch.tensor(tokens[:, 1:].reshape(-1))
    )
    assert figures["perplexity"] == pytest.approx(float(loss.exp()))


def test_logits_that_do_not_fit_the_tokens_are_refused(open_plugin, tmp_path):
    (tmp_path / "truth.txt").write_text("1 2 3\n")
    context = Context(Dataset(tmp_path, (), annotations=tmp_path / "truth.txt"), tmp_path)
    for shape in ((1, 2, 7), (1, 3, 3), (), (3,)):
        with pytest.raises(ShapeMismatch, match="for 3 tokens"):
            open_plugin("perplexity").measure([Sample(0, (np.zeros(shape),))], context)
    (tmp_path / "truth.txt").write_text("one two\n")
    with pytest.raises(BadInput, match="numbers of tokens"):
        open_plugin("perplexity").measure([], context)


def test_topk_is_that_of_scikit_learn(open_plugin, tmp_path):
    # The example of sklearn.metrics.top_k_accuracy_score.
    scores = np.array([[0.5, 0.2, 0.2], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]])
    (tmp_path / "truth.csv").write_text("image,label\n0.jpg,0\n1.jpg,1\n2.jpg,2\n3.jpg,2\n")
    context = Context(Dataset(tmp_path, (), annotations=tmp_path / "truth.csv"), tmp_path)
    results = [Sample(n, (row,), (Path(f"{n}.jpg"),)) for n, row in enumerate(scores)]
    assert open_plugin("topk", kval="1,2").measure(results, context) == {"top1": 0.5, "top2": 0.75}
    shifted = [Sample(n, (np.zeros(2), np.r_[0, row]), (Path(f"{n}.jpg"),)) for n, row in enumerate(scores)]
    figures = open_plugin("topk", kval="2", label_offset=1, softmax_index=1).measure(shifted, context)
    assert figures == {"top2": 0.75}
    with pytest.raises(BadInput, match="there is no output 4, the model has 1"):
        open_plugin("topk", softmax_index=4).measure(results, context)
    with pytest.raises(BadInput, match=r"no answer for 'x\.jpg'"):
        open_plugin("topk").measure([Sample(0, (scores[0],), (Path("x.jpg"),))], context)
    (tmp_path / "truth.csv").write_text("0.jpg,dog\n")
    with pytest.raises(BadInput, match="the label is 'dog'"):
        open_plugin("topk").measure(results[:1], context)


def test_an_output_that_is_all_one_is_no_answer(open_plugin, tmp_path):
    (tmp_path / "truth.txt").write_text("".join(f"{n}\n" for n in range(10)))
    context = Context(Dataset(tmp_path, (), annotations=tmp_path / "truth.txt"), tmp_path)
    results = [Sample(n, (np.zeros(10),)) for n in range(10)]
    assert open_plugin("topk", kval="1,5").measure(results, context) == {"top1": 0.1, "top5": 0.5}


@pytest.mark.parametrize("chain", [(), ("squeeze",)])
def test_batches_are_measured_sample_by_sample(open_plugin, tmp_path, chain):
    class Squeeze(PostprocessingPlugin):
        def compute(self, sample, context):
            return sample.make_next([np.squeeze(value) for value in sample.values])

    (tmp_path / "truth.txt").write_text("0\n2\n2\n")
    dataset = Dataset(tmp_path, (), annotations=tmp_path / "truth.txt")
    context = Context(dataset, tmp_path, is_memory=True, batch_size=2)
    samples = [Sample(n, (np.full((1, 3), n),)) for n in range(3)]
    batches = list(process_samples([open_plugin("create_batch")], samples, context, "pre"))
    outputs = [batch.make_next([np.eye(3)[batch.values[0][:, 0]]]) for batch in batches]
    results = list(process_samples([Squeeze()] * len(chain), outputs, context, "post"))
    figures = measure_results([open_plugin("topk", kval=1)], results, context)
    assert figures == {"topk": {"top1": 0.667}}


def test_precision_counts_texts_that_are_equal(open_plugin, tmp_path):
    (tmp_path / "truth.txt").write_text("a.jpg AB 12\nb.jpg CD34\nc.jpg X\n")
    context = Context(Dataset(tmp_path, (), annotations=tmp_path / "truth.txt"), tmp_path)
    texts = {"a": "AB 12\n", "b": "CD35", "c": "X"}
    results = [Sample(n, (text,), (Path(f"{stem}.jpg"),)) for n, (stem, text) in enumerate(texts.items())]
    assert open_plugin("precision").measure(results, context) == {"precision": 0.6666667}
