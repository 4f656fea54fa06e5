"""SQuAD from its JSON to its figures."""

import json
from dataclasses import replace

import numpy as np
import pytest

from edgewright.core.errors import BadInput, UsageError
from edgewright.evaluate.plugins.chain import change_dataset, measure_results, process_samples
from edgewright.evaluate.plugins.sample import Context, Dataset
from edgewright.evaluate.plugins.squad import normalize_answer

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "who",
    "sat",
    "where",
    "on",
    "the",
    "cat",
    "mat",
    "dog",
    "did",
    "a",
    "ran",
    "far",
    "away",
    "?",
    ".",
]
CONTEXT = "The cat sat on the mat. A dog ran far away."
QUESTIONS = [
    ("q1", "Who sat on the mat?", ["The cat", "cat"]),
    ("q2", "Where did the dog ran?", ["far away"]),
    ("q3", "Who sat far away?", []),
]


@pytest.fixture(name="squad")
def _squad(tmp_path):
    pytest.importorskip("tokenizers")
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    items = [
        {
            "id": number,
            "question": text,
            "answers": [{"text": answer} for answer in answers],
            "is_impossible": not answers,
        }
        for number, text, answers in QUESTIONS
    ]
    document = {"data": [{"paragraphs": [{"context": CONTEXT, "qas": items}]}]}
    (tmp_path / "squad.json").write_text(json.dumps(document))
    return Context(Dataset(tmp_path, ((tmp_path / "squad.json",),)), tmp_path / "work")


def _answer(sample, right):
    """Logits of a model that knows where answers are."""
    size = sample.values[0].shape[1]
    starts, stops = np.zeros((1, size)), np.zeros((1, size))
    for placed in sample.facts["squad"]:
        feature = placed.feature
        text = right.get(feature.example.number, "")
        first = CONTEXT.lower().find(text.lower()) if text else -1
        for place, offset in enumerate(feature.offsets):
            if offset is not None and first >= 0 and offset[0] == first:
                starts[0, placed.start + place] = 5
            if offset is not None and first >= 0 and offset[1] == first + len(text):
                stops[0, placed.start + place] = 5
    return sample.make_next([starts, stops])


def _run(squad, open_plugin, chain, right, post, metrics, **terms):
    context = replace(squad, plugins=(*chain, *post, *metrics), **terms)
    dataset = change_dataset([open_plugin("create_squad_examples")], context)
    context = replace(context, dataset=dataset)
    inputs = [sample.load() for sample in process_samples(chain, dataset.make_samples(), context, "pre")]
    outputs = [_answer(sample, right) for sample in inputs]
    results = list(process_samples(post, outputs, context, "post"))
    return inputs, measure_results(metrics, results, context)


RIGHT = {"q1": "The cat", "q2": "far away"}


@pytest.mark.parametrize("is_packed", [False, True])
def test_files_from_questions_to_figures(squad, open_plugin, is_packed):
    folder = str(squad.dataset.folder)
    read = open_plugin("squad_read", vocab_path=folder, packing_strategy=is_packed)
    predict = open_plugin("bert_predict", vocab_path=folder, packing_strategy=is_packed)
    metrics = [open_plugin("squad_em"), open_plugin("squad_f1")]
    inputs, figures = _run(squad, open_plugin, [read], RIGHT, [predict], metrics)
    assert figures == {"squad_em": {"exact_match": 100.0}, "squad_f1": {"f1": 100.0}}
    assert len(inputs) == (1 if is_packed else 2)
    assert inputs[0].values[0].shape == (1, 384)
    assert len(inputs[0].values) == (4 if is_packed else 3)
    _, figures = _run(squad, open_plugin, [read], {"q1": "cat", "q2": "ran far away"}, [predict], metrics)
    assert figures["squad_em"]["exact_match"] == 50.0
    assert figures["squad_f1"]["f1"] == pytest.approx(100 * (1 + 4 / 5) / 2)


def test_memory_from_questions_to_figures(squad, open_plugin):
    metric = open_plugin("squad_eval", vocabulary=str(squad.dataset.folder))
    chain = [open_plugin("squad_preprocess", mask_type="bool")]
    post = [open_plugin("squad_postprocess")]
    inputs, figures = _run(squad, open_plugin, chain, RIGHT, post, [metric], is_memory=True)
    assert figures == {"squad_eval": {"exact_match": 100.0, "f1": 100.0}}
    assert inputs[0].values[1].dtype == bool
    words = [WORDS[n] for n in inputs[0].values[0][0] if n]
    assert words == [
        "[CLS]",
        "who",
        "sat",
        "on",
        "the",
        "mat",
        "?",
        "[SEP]",
        "the",
        "cat",
        "sat",
        "on",
        "the",
        "mat",
        ".",
        "a",
        "dog",
        "ran",
        "far",
        "away",
        ".",
        "[SEP]",
    ]
    assert inputs[0].values[2][0].sum() == 14


def test_long_contexts_are_cut_with_a_stride(squad, open_plugin):
    folder = str(squad.dataset.folder)
    chain = [open_plugin("squad_read", vocab_path=folder, max_seq_length=16, doc_stride=4)]
    post = [open_plugin("bert_predict", vocab_path=folder, max_seq_length=16)]
    inputs, figures = _run(squad, open_plugin, chain, RIGHT, post, [open_plugin("squad_f1")])
    assert figures["squad_f1"]["f1"] == 100.0
    first, second = (
        [offset[0] for offset in sample.facts["squad"][0].feature.offsets if offset] for sample in inputs[:2]
    )
    assert second[0] == first[4]


def test_compressed_masks_count_the_tokens_of_each_question(squad, open_plugin):
    folder = str(squad.dataset.folder)
    chain = [
        open_plugin(
            "squad_read",
            vocab_path=folder,
            packing_strategy=True,
            mask_type="Compressed",
            compressed_mask_length=4,
        )
    ]
    post = [open_plugin("bert_predict", vocab_path=folder)]
    inputs, _ = _run(squad, open_plugin, chain, RIGHT, post, [open_plugin("squad_f1")])
    assert inputs[0].values[1].shape == (1, 4)
    assert int(inputs[0].values[1].sum()) == int((inputs[0].values[0] > 0).sum())


def test_answers_are_normalised_as_squad_does():
    assert normalize_answer("The  Cat, an apple!") == "cat apple"


@pytest.mark.parametrize("text", ["", "[]", '{"data": [{"paragraphs": 3}]}', '{"data": [{}]}'])
def test_files_that_are_none_of_squads_are_clean_errors(squad, open_plugin, text):
    (squad.dataset.folder / "squad.json").write_text(text)
    with pytest.raises(BadInput, match="none of SQuAD's"):
        change_dataset([open_plugin("create_squad_examples")], squad)


def test_version_two_keeps_questions_without_answer(squad, open_plugin):
    for version, count in ((1, 2), (2, 3)):
        dataset = change_dataset([open_plugin("create_squad_examples", squad_version=version)], squad)
        assert len(dataset.rows) == count
    assert len(change_dataset([open_plugin("create_squad_examples", max_inputs=1)], squad).rows) == 1


def test_a_vocabulary_must_be_named(squad, open_plugin):
    dataset = change_dataset([open_plugin("create_squad_examples")], replace(squad, is_memory=True))
    with pytest.raises(UsageError, match="needs the folder of a tokenizer"):
        list(open_plugin("squad_preprocess").process(dataset.make_samples(), squad))
