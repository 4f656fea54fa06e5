"""SQuAD: questions read, made inputs of BERT, answered, and measured by exact match and F1."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.numbers import Array
from edgewright.evaluate.plugins.parameters import COUNT, FLAG, INTEGER, TEXT, choose_from, declare
from edgewright.evaluate.plugins.plugin import (
    FILE,
    MEMORY,
    DatasetPlugin,
    MetricPlugin,
    PostprocessingPlugin,
    PreprocessingPlugin,
    register,
)
from edgewright.evaluate.plugins.sample import Context, Dataset, Sample, Value
from edgewright.evaluate.plugins.squad_features import (
    Example,
    Feature,
    Lengths,
    Placed,
    change_mask,
    find_answer,
    make_arrays,
    make_features,
    pack_features,
)
from edgewright.evaluate.plugins.tokens import open_tokenizer

LARGEST_FILE = 1 << 30
ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = frozenset(string.punctuation)
FORM = "give SQuAD's JSON: data, paragraphs, qas with id, question and answers"
VOCABULARY = "the folder of the tokenizer's files"


@register
class CreateSquadExamples(DatasetPlugin):
    """Extracts examples from a SQuAD file: a sample for each question."""

    name = "create_squad_examples"

    squad_version: int = declare(COUNT, "version 1, or 2, which has questions without answer", 1)
    max_inputs: int = declare(INTEGER, "how many questions are used; -1 for all", -1)
    max_calib: int = declare(INTEGER, "how many questions of the calibration are used; -1 for all", -1)

    def transform(self, dataset: Dataset, context: Context) -> Dataset:
        """The file is the ground truth too, where no other is named."""
        rows, calibration = (
            [(_write_example(example),) for row in each for file in row for example in self._read(file)]
            for each in (dataset.rows, dataset.calibration)
        )
        first = dataset.rows[0][0]
        return replace(
            dataset,
            rows=tuple(rows if self.max_inputs < 0 else rows[: self.max_inputs]),
            numbers=(),
            calibration=tuple(calibration if self.max_calib < 0 else calibration[: self.max_calib]),
            annotations=dataset.annotations or (first if isinstance(first, Path) else None),
        )

    def _read(self, file: Value) -> list[Example]:
        examples = read_examples(Path(str(file)))
        return examples if self.squad_version == 2 else [each for each in examples if each.answers]


class _SquadInputs(PreprocessingPlugin):
    """Makes rows of tokens, mask and segments of questions; subclasses say how long."""

    def process(self, samples: Iterable[Sample], context: Context) -> Iterator[Sample]:
        """A sample for each piece of a context, or for each pack of pieces."""
        folder = self._find_vocabulary(context)
        tokenizer = open_tokenizer(folder, is_lower_case=bool(context.find_setting("do_lower_case")))
        lengths, most = self._find_lengths()
        features = (
            (sample, feature)
            for sample in samples
            for example in _take_examples(sample.values[0])
            for feature in make_features(example, tokenizer, lengths)
        )
        if most is None:
            rows = (([Placed(feature, 0)], sample) for sample, feature in features)
        else:
            held = list(features)
            packs = pack_features([feature for _, feature in held], lengths.row, most)
            rows = ((pack, held[0][0]) for pack in packs)
        for row, sample in rows:
            arrays = make_arrays(row, lengths.row, is_packed=most is not None)
            kind, size = self._find_mask()
            arrays["mask"] = change_mask(arrays["mask"], kind, size, is_packed=most is not None)
            yield sample.make_next(list(arrays.values()), squad=tuple(row))

    def _find_vocabulary(self, context: Context) -> str:
        given = context.find_setting("vocab_path", "vocabulary", "cached_vocab_path")
        own = getattr(self, "vocab_path", None) or getattr(self, "vocabulary", None)
        if own is None and given is None:
            raise UsageError(
                f"the plugin '{self.name}' needs the folder of a tokenizer",
                do="set its parameter 'vocabulary', or that of squad_eval",
            )
        return str(own or given)

    def _find_lengths(self) -> tuple[Lengths, int | None]:
        """Lengths, and how many pieces are packed together; None where none are."""
        return Lengths(), None

    def _find_mask(self) -> tuple[str | None, int | None]:
        raise NotImplementedError


@register
class SquadRead(_SquadInputs):
    """Reads SQuAD's JSON, and makes inputs of language models such as BERT of its questions."""

    name = "squad_read"
    forms = (FILE,)

    vocab_path: str = declare(TEXT, VOCABULARY)
    max_seq_length: int = declare(COUNT, "tokens of a row; longer contexts are cut to several", 384)
    max_query_length: int = declare(COUNT, "tokens of a question; longer ones are cut", 64)
    doc_stride: int = declare(COUNT, "tokens between the beginnings of two pieces of a context", 128)
    packing_strategy: bool = declare(FLAG, "several questions share a row", False)
    max_sequence_per_pack: int = declare(COUNT, "how many questions share a row at most", 3)
    mask_type: str | None = declare(
        choose_from("Boolean", "Compressed", "bool"),
        "Boolean: truth values; Compressed: numbers of tokens",
        None,
    )
    compressed_mask_length: int | None = declare(COUNT, "how many numbers a compressed mask has", None)

    def _find_lengths(self) -> tuple[Lengths, int | None]:
        lengths = Lengths(self.max_seq_length, self.max_query_length, self.doc_stride)
        return lengths, self.max_sequence_per_pack if self.packing_strategy else None

    def _find_mask(self) -> tuple[str | None, int | None]:
        return self.mask_type and self.mask_type.lower(), self.compressed_mask_length


@register
class SquadPreprocessing(_SquadInputs):
    """Makes inputs of the examples of create_squad_examples."""

    name = "squad_preprocess"
    forms = (MEMORY,)

    mask_type: str | None = declare(choose_from("bool"), "bool: the mask is truth values", None)
    vocabulary: str | None = declare(TEXT, VOCABULARY, None, otherwise="that of squad_eval", is_ours=True)

    def _find_mask(self) -> tuple[str | None, int | None]:
        return self.mask_type, None


class _SquadAnswers(PostprocessingPlugin):
    """Chooses the best answer of each question from the scores of starts and ends."""

    def process(self, samples: Iterable[Sample], context: Context) -> Iterator[Sample]:
        """A sample for each question: its number, the answer and the next best ones."""
        pieces = [piece for sample in samples for piece in self._split(sample)]
        # Packs mix pieces of several questions.
        pieces.sort(key=lambda piece: piece[1].example.number)
        most, longest = self._find_limits(context)
        for number, group in groupby(pieces, key=lambda piece: piece[1].example.number):
            held = list(group)
            text, gap, ranked = find_answer([piece[1:] for piece in held], most, longest)
            answer = {"id": number, "text": text, "null_odds": gap, "n_best": ranked}
            yield held[0][0].make_next([answer])

    def _split(self, sample: Sample) -> Iterator[tuple[Sample, Feature, Array, Array]]:
        placed: tuple[Placed, ...] = sample.facts.get("squad", ())
        if not placed:
            raise UsageError(f"'{self.name}' needs the samples of squad_read or squad_preprocess")
        starts, stops = take_scores(sample)
        for each in placed:
            part = slice(each.start, each.start + len(each.feature.ids))
            yield sample, each.feature, starts[part], stops[part]

    def _find_limits(self, context: Context) -> tuple[int, int]:
        """How many of the best starts and ends are looked at, and how long an answer may be."""
        raise NotImplementedError


@register
class BertPredict(_SquadAnswers):
    """Predicts answers of SQuAD's questions from the logits of starts and ends."""

    name = "bert_predict"
    forms = (FILE,)

    vocab_path: str = declare(TEXT, f"{VOCABULARY}; answers are cut from the text itself")
    max_seq_length: int = declare(COUNT, "as of squad_read, which leaves what is needed", 384)
    doc_stride: int = declare(COUNT, "as of squad_read, which leaves what is needed", 128)
    max_query_length: int = declare(COUNT, "as of squad_read, which leaves what is needed", 64)
    n_best_size: int = declare(COUNT, "how many answers of a question are written", 20)
    max_answer_length: int = declare(COUNT, "how many tokens an answer has at most", 30)
    packing_strategy: bool = declare(FLAG, "as of squad_read, which leaves what is needed", False)

    def _find_limits(self, context: Context) -> tuple[int, int]:
        return self.n_best_size, self.max_answer_length


@register
class SquadPostprocessing(_SquadAnswers):
    """Predicts answers of SQuAD's questions from the scores of starts and ends."""

    name = "squad_postprocess"
    forms = (MEMORY,)

    packing_strategy: bool = declare(FLAG, "as of preprocessing, which leaves what is needed", False)

    def _find_limits(self, context: Context) -> tuple[int, int]:
        return context.find_setting("n_best_size") or 20, context.find_setting("max_answer_length") or 30


class _SquadMetric(MetricPlugin):
    def measure(self, results: Iterable[Sample], context: Context) -> dict[str, float]:
        """In percent."""
        path = context.dataset.require_annotations(self.name)
        right = {example.number: example.answers for example in read_examples(path)}
        pairs = [_take_answer(sample, self.name) for sample in results]
        missing = [number for number, _ in pairs if number not in right]
        if missing or not pairs:
            raise BadInput(
                f"the annotations have no question '{shown(missing[0] if missing else '', 60)}'",
                Where(file=str(path)),
            )
        exact = [_score_best(text, right[number], _is_equal) for number, text in pairs]
        shared = [_score_best(text, right[number], _share_words) for number, text in pairs]
        return self._choose(100 * float(np.mean(exact)), 100 * float(np.mean(shared)))

    def _choose(self, exact: float, shared: float) -> dict[str, float]:
        raise NotImplementedError


@register
class SquadExactMatch(_SquadMetric):
    """Calculates the exact match of SQuAD's answers, in percent."""

    name = "squad_em"
    forms = (FILE,)

    def _choose(self, exact: float, shared: float) -> dict[str, float]:
        del shared
        return {"exact_match": exact}


@register
class SquadF1(_SquadMetric):
    """Calculates the F1 score of SQuAD's answers, in percent."""

    name = "squad_f1"
    forms = (FILE,)

    def _choose(self, exact: float, shared: float) -> dict[str, float]:
        del exact
        return {"f1": shared}


@register
class SquadEval(_SquadMetric):
    """Calculates the F1 score and the exact match of SQuAD's answers, in percent."""

    name = "squad_eval"
    forms = (MEMORY,)

    vocabulary: str = declare(TEXT, f"{VOCABULARY}; nothing is fetched from a hub")
    max_answer_length: int = declare(COUNT, "how many tokens an answer has at most", 30)
    n_best_size: int = declare(COUNT, "how many of the best starts and ends are looked at", 20)
    do_lower_case: bool = declare(FLAG, "whether texts become lower case, with a vocab.txt", False)
    squad_version: int = declare(COUNT, "version 1, or 2, which has questions without answer", 1)
    round: int = declare(COUNT, "decimal places of the result", 6)
    cached_vocab_path: str | None = declare(TEXT, "the folder of the tokenizer, in place of vocabulary", None)

    def _choose(self, exact: float, shared: float) -> dict[str, float]:
        return {"exact_match": round(exact, self.round), "f1": round(shared, self.round)}


def read_examples(path: Path) -> list[Example]:
    """The questions of a SQuAD file, of either version."""
    try:
        document = parse_json(read_limited(path, LARGEST_FILE))
        return [
            Example(
                str(item["id"]),
                str(item["question"]).strip(),
                str(paragraph["context"]),
                () if item.get("is_impossible") else tuple(str(each["text"]) for each in item["answers"]),
            )
            for article in document["data"]
            for paragraph in article["paragraphs"]
            for item in paragraph["qas"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise BadInput(
            f"the file is none of SQuAD's: {shown(repr(problem), 120)}", Where(file=str(path)), do=FORM
        ) from None


def take_scores(sample: Sample) -> tuple[Array, Array]:
    """Scores of starts and ends: two outputs, or one whose last axis has both."""
    arrays = [np.asarray(value) for value in sample.values]
    if len(arrays) >= 2:
        return arrays[0].reshape(-1).astype(float), arrays[1].reshape(-1).astype(float)
    both = arrays[0] if arrays else np.zeros(0)
    if both.shape[-1:] != (2,):
        raise BadInput(
            f"the output has the shape {list(both.shape)}, expected scores of starts and ends", sample.where
        )
    rows = both.reshape(-1, 2).astype(float)
    return rows[:, 0], rows[:, 1]


def normalize_answer(text: str) -> str:
    """SQuAD's: lower case, without punctuation, articles and more than one space."""
    plain = "".join(letter for letter in text.lower() if letter not in PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", plain).split())


def _write_example(example: Example) -> dict[str, Any]:
    return vars(example)


def _take_examples(value: Value) -> list[Example]:
    """Those of a SQuAD file, or the one that create_squad_examples made."""
    if isinstance(value, Path):
        return [example for example in read_examples(value) if example.answers]
    if not isinstance(value, Mapping) or "question" not in value:
        raise BadInput("the sample is no question of SQuAD", do="use create_squad_examples, or give its JSON")
    return [Example(value["number"], value["question"], value["context"], tuple(value["answers"]))]


def _take_answer(sample: Sample, plugin: str) -> tuple[str, str]:
    value = sample.values[0] if sample.values else None
    if isinstance(value, Mapping) and {"id", "text"} <= set(value):
        return str(value["id"]), str(value["text"])
    raise BadInput(f"'{plugin}' needs answers", sample.where, do="add bert_predict or squad_postprocess")


def _score_best(text: str, answers: tuple[str, ...], score: Any) -> float:
    """Against the answer that it is most like; no answer is right where there is none."""
    return max(float(score(normalize_answer(text), normalize_answer(answer))) for answer in answers or ("",))


def _is_equal(text: str, answer: str) -> bool:
    return text == answer


def _share_words(text: str, answer: str) -> float:
    words, right = text.split(), answer.split()
    common = sum((Counter(words) & Counter(right)).values())
    if not words or not right:
        return float(words == right)
    return 2 * common / (len(words) + len(right))
