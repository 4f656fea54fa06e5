"""Texts as tokens of language models: tokenizers of local folders, chunks of a text, perplexity."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch, UsageError, Where, shown
from edgewright.core.files import read_limited, write_whole
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.data.numpy_files import read_numpy_array
from edgewright.evaluate.metrics.tokens import find_next
from edgewright.evaluate.plugins.classification import take_output
from edgewright.evaluate.plugins.dataset import read_lines
from edgewright.evaluate.plugins.parameters import COUNT, FLAG, SHAPE, TEXT, choose_from, declare
from edgewright.evaluate.plugins.plugin import FILE, MEMORY, DatasetPlugin, MetricPlugin, register
from edgewright.evaluate.plugins.sample import Context, Dataset, Row, Sample, Value

LARGEST_TEXT = 1 << 30
TRUTH = "ground_truth.txt"


class _Chunks(DatasetPlugin):
    """Cuts texts to rows of model inputs: tokens, their places, a mask, and empty inputs of the past."""

    def transform(self, dataset: Dataset, context: Context) -> Dataset:
        """A row for each chunk; the tokens are the ground truth of perplexity, in a file."""
        rows, calibration = (self._cut(each) for each in (dataset.rows, dataset.calibration))
        if not rows:
            raise BadInput(
                f"the text has fewer than {self._length} tokens, one chunk",
                Where(file=str(dataset.folder)),
                do="give a longer text, or a smaller seq_length",
            )
        truth = context.work / TRUTH
        write_whole(truth, [f"{' '.join(map(str, row[0][0]))}\n".encode() for row in rows])
        return replace(
            dataset, rows=tuple(rows), numbers=(), calibration=tuple(calibration), annotations=truth
        )

    @property
    def _length(self) -> int:
        return int(getattr(self, "seq_length", 0))

    def _cut(self, rows: Sequence[Row]) -> list[Row]:
        texts = [_read_text(value) for row in rows for value in row]
        if not texts:
            return []
        tokens = np.array(self._open_tokenizer().encode("\n".join(texts)).ids, np.int64)
        count = len(tokens) // self._length
        return [
            self._make_row(chunk) for chunk in tokens[: count * self._length].reshape(count, self._length)
        ]

    def _open_tokenizer(self) -> Any:
        raise NotImplementedError

    def _make_row(self, tokens: Array) -> Row:
        raise NotImplementedError


@register
class Gpt2Tokenizer(_Chunks):
    """Tokenizes text files as GPT-2 does: rows of tokens, places, a mask and inputs of the past."""

    name = "gpt2_tokenizer"
    forms = (FILE,)

    vocab_file: str = declare(TEXT, "the vocabulary, vocab.json")
    merges_file: str = declare(TEXT, "the merges, merges.txt")
    seq_length: int = declare(COUNT, "tokens of a row")
    past_seq_length: int = declare(COUNT, "places of the past before them, which are masked")
    past_shape: tuple[int, ...] = declare(SHAPE, "the shape of each input of the past", ())
    num_past: int = declare(COUNT, "how many inputs of the past there are", 0)

    def check(self) -> None:
        """A row has tokens."""
        _check_past(self.name, self.seq_length, self.num_past, self.past_shape)

    def _open_tokenizer(self) -> Any:
        return open_byte_pairs(Path(self.vocab_file), Path(self.merges_file))

    def _make_row(self, tokens: Array) -> Row:
        mask = np.r_[np.zeros(self.past_seq_length), np.ones(len(tokens))].astype(np.float32)
        past = [np.zeros(self.past_shape, np.float32)] * self.num_past
        return (tokens[None], np.arange(len(tokens), dtype=np.int64)[None], mask[None], *past)


@register
class TokenizeWikitext2(_Chunks):
    """Tokenizes wikitext-2, or any other text, into rows of model inputs."""

    name = "tokenize_wikitext_2"
    forms = (MEMORY,)

    seq_length: int = declare(COUNT, "tokens of a row")
    tokenizer_name: str = declare(TEXT, "the folder of the tokenizer; nothing is fetched from a hub")
    past_shape: tuple[int, ...] = declare(SHAPE, "the shape of each input of the past", ())
    num_past: int = declare(COUNT, "how many inputs of the past there are", 0)
    pos_id: bool = declare(FLAG, "whether the model takes the places of tokens", True)
    mask_dtype: str = declare(
        choose_from("float32", "float16", "int64", "int32", "bool"), "the type of the mask", "float32"
    )
    cached_path: str | None = declare(TEXT, "the folder of the tokenizer, in place of its name", None)

    def check(self) -> None:
        """A row has tokens."""
        _check_past(self.name, self.seq_length, self.num_past, self.past_shape)

    def _open_tokenizer(self) -> Any:
        return open_tokenizer(self.cached_path or self.tokenizer_name)

    def _make_row(self, tokens: Array) -> Row:
        places = [np.arange(len(tokens), dtype=np.int64)[None]] if self.pos_id else []
        mask = np.ones((1, len(tokens)), self.mask_dtype)
        past = [np.zeros(self.past_shape, np.float32)] * self.num_past
        return (tokens[None], *places, mask, *past)


@register
class PerplexityPlugin(MetricPlugin):
    """Calculates the perplexity of logits; the annotations are tokens, which tokenizer plugins write."""

    name = "perplexity"

    logits_index: int = declare(COUNT, "which output holds the logits", 0)

    def measure(self, results: Iterable[Sample], context: Context) -> dict[str, float]:
        """The exponential of the mean over all tokens but the first of each sample."""
        path = context.dataset.require_annotations(self.name)
        rows = _read_token_rows(path)
        total, count = 0.0, 0
        for sample in results:
            logits = take_output(sample, self.logits_index)
            tokens = rows[sample.number] if sample.number < len(rows) else np.zeros(0, np.int64)
            scores = logits.reshape(-1, logits.shape[-1] if logits.ndim else 1)
            if len(tokens) != len(scores) or tokens.max(initial=0) >= scores.shape[-1]:
                raise ShapeMismatch(
                    f"logits are {list(logits.shape)} for {len(tokens)} tokens, expected a row for each",
                    sample.where,
                    do="set 'logits_index' to the output of logits",
                )
            total += float(find_next(scores, tokens[1:]).sum())
            count += len(tokens) - 1
        return {"perplexity": float(np.exp(-total / max(count, 1)))}


def open_tokenizer(folder: str, *, is_lower_case: bool = False) -> Any:
    """The tokenizer of a local folder: tokenizer.json, BERT's vocab.txt, or vocab.json and merges.txt."""
    path = Path(folder)
    if not path.exists():
        raise UsageError(
            f"there is no folder '{shown(folder)}' of a tokenizer; nothing is fetched from a hub",
            do="fetch it once (huggingface-cli download NAME --local-dir FOLDER), and name the folder",
        )
    library = require("tokenizers", to="read texts")
    path = path.parent if path.is_file() else path
    try:
        if (path / "tokenizer.json").is_file():
            return library.Tokenizer.from_file(str(path / "tokenizer.json"))
        if (path / "vocab.txt").is_file():
            is_lower = is_lower_case or _is_lower_case(path)
            return library.BertWordPieceTokenizer(str(path / "vocab.txt"), lowercase=is_lower)
    # The library raises plain Exception for files that it cannot read.
    except Exception as problem:
        raise BadInput(f"the tokenizer cannot be read: {shown(problem)}", Where(file=str(path))) from None
    return open_byte_pairs(path / "vocab.json", path / "merges.txt")


def _is_lower_case(folder: Path) -> bool:
    """Whether a vocabulary knows no word with a capital letter: texts must be made lower case for it."""
    words = (line for line in read_lines(folder / "vocab.txt") if not line.startswith(("[", "<")))
    return all(word == word.lower() for word in words)


def open_byte_pairs(vocabulary: Path, merges: Path) -> Any:
    """A tokenizer of pairs of bytes, as GPT-2's."""
    library = require("tokenizers", to="read texts")
    missing = [str(file) for file in (vocabulary, merges) if not file.is_file()]
    if missing:
        raise BadInput(f"the tokenizer's file '{shown(missing[0])}' is missing", do="correct its path")
    try:
        return library.ByteLevelBPETokenizer(str(vocabulary), str(merges))
    # The library raises plain Exception for files that it cannot read.
    except Exception as problem:
        raise BadInput(
            f"the tokenizer cannot be read: {shown(problem)}", Where(file=str(vocabulary))
        ) from None


def _check_past(name: str, length: int, count: int, shape: tuple[int, ...]) -> None:
    if length < 2:
        raise UsageError(f"'seq_length' of '{name}' is {length}, expected 2 or more")
    if count and not shape:
        raise UsageError(f"'{name}' with {count} inputs of the past needs 'past_shape'")


def _read_text(value: Value) -> str:
    if not isinstance(value, Path):
        return str(value)
    try:
        return read_limited(value, LARGEST_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BadInput(f"the file is no text in UTF-8: {shown(problem)}", Where(file=str(value))) from None


def _read_token_rows(path: Path) -> list[Array]:
    """A row for each sample: lines of numbers, or an array."""
    if path.suffix == ".npy":
        return list(read_numpy_array(path).astype(np.int64))
    try:
        lines = [line.replace(",", " ").split() for line in read_lines(path) if line.strip()]
        return [np.array([int(word) for word in words], np.int64) for words in lines]
    except ValueError as problem:
        raise BadInput(
            f"the ground truth of perplexity is numbers of tokens: {shown(problem)}", Where(file=str(path))
        ) from None
