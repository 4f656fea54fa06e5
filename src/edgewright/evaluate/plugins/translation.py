"""Translation with OpenNMT models: sentences to tokens, tokens to sentences, BLEU."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.evaluate.plugins.classification import take_output
from edgewright.evaluate.plugins.dataset import read_lines
from edgewright.evaluate.plugins.parameters import COUNT, FLAG, TEXT, declare
from edgewright.evaluate.plugins.plugin import (
    FILE,
    MetricPlugin,
    PostprocessingPlugin,
    PreprocessingPlugin,
    register,
)
from edgewright.evaluate.plugins.sample import Context, Sample, Value
from edgewright.evaluate.plugins.vocabularies import read_vocabulary

# OpenNMT's names of tokens that are no words.
UNKNOWN, PADDING, END, START = "<unk>", "<blank>", "</s>", "<s>"


@register
class OnmtPreprocessing(PreprocessingPlugin):
    """Makes numbers of tokens and their count of a sentence, for OpenNMT models."""

    name = "onmt_preprocess"
    forms = (FILE,)

    vocab_path: str = declare(
        TEXT, "the vocabulary: a text file, JSON, or a pickle, which is read and never run"
    )
    src_seq_len: int = declare(
        COUNT, "how many tokens a sentence has at most; shorter ones are filled up", 128
    )
    skip_sentencepiece: bool = declare(FLAG, "sentences are pieces already, separated by spaces", True)
    sentencepiece_model_path: str | None = declare(
        TEXT,
        "the model that cuts sentences to pieces",
        None,
        otherwise="mandatory without skip_sentencepiece",
    )

    def check(self) -> None:
        """Pieces need a model."""
        if not self.skip_sentencepiece and self.sentencepiece_model_path is None:
            raise UsageError("'onmt_preprocess' without skip_sentencepiece needs 'sentencepiece_model_path'")

    def compute(self, sample: Sample, context: Context) -> Sample:
        """Two values: int32 [1, src_seq_len], and int32 [1]."""
        places = _number_tokens(self.vocab_path, context)
        text = _take_text(sample.values[0])
        pieces = text.split() if self.skip_sentencepiece else self._cut(text, context)
        if UNKNOWN not in places and any(piece not in places for piece in pieces):
            raise BadInput(f"the vocabulary has no '{UNKNOWN}' for tokens that it does not know")
        numbers = [places.get(piece, places.get(UNKNOWN, 0)) for piece in pieces[: self.src_seq_len]]
        row = np.full((1, self.src_seq_len), places.get(PADDING, 0), np.int32)
        row[0, : len(numbers)] = numbers
        return sample.make_next([row, np.array([len(numbers)], np.int32)])

    def _cut(self, text: str, context: Context) -> list[str]:
        model = _open_pieces(str(self.sentencepiece_model_path), context)
        return [str(piece) for piece in model.encode(text, out_type=str)]


@register
class OnmtPostprocessing(PostprocessingPlugin):
    """Makes sentences of the numbers of tokens that an OpenNMT model gives."""

    name = "onmt_postprocess"
    forms = (FILE,)

    sentencepiece_model_path: str = declare(TEXT, "the model that joins pieces")
    unrolled_count: int = declare(COUNT, "how many tokens of the output count", 26)
    vocab_path: str | None = declare(TEXT, "the vocabulary", None, otherwise="that of onmt_preprocess")
    skip_sentencepiece: bool | None = declare(
        FLAG,
        "tokens are joined by spaces, as the annotations have them",
        None,
        otherwise="as onmt_preprocess does",
    )

    def compute(self, sample: Sample, context: Context) -> Sample:
        """One value: a text, which ends where the sentence does."""
        path = self.vocab_path or context.find_setting("vocab_path")
        if path is None:
            raise UsageError("'onmt_postprocess' needs 'vocab_path' where onmt_preprocess is not run")
        tokens = list(_number_tokens(path, context))
        pieces = _take_pieces(take_output(sample, 0), tokens, self.unrolled_count)
        is_skipped = self.skip_sentencepiece
        if is_skipped is None:
            is_skipped = bool(context.find_setting("skip_sentencepiece"))
        if is_skipped:
            return sample.make_next([" ".join(pieces)])
        model = _open_pieces(self.sentencepiece_model_path, context)
        return sample.make_next([str(model.decode_pieces(pieces))])


@register
class Bleu(MetricPlugin):
    """Evaluates the BLEU score of texts, a line of the annotations for each, with sacrebleu."""

    name = "bleu"
    forms = (FILE,)

    round: int = declare(COUNT, "decimal places of the result", 1)

    def measure(self, results: Iterable[Sample], context: Context) -> dict[str, float]:
        """From 0 to 100."""
        library = require("sacrebleu", to="measure BLEU")
        path = context.dataset.require_annotations(self.name)
        lines = read_lines(path)
        texts, right = [], []
        for sample in results:
            if sample.number >= len(lines):
                raise BadInput(
                    f"the annotations have {len(lines)} lines, sample {sample.number} has none",
                    Where(file=str(path)),
                    do="write the right translation of each sample in a line",
                )
            texts.append(str(sample.values[0]))
            right.append(lines[sample.number])
        if not texts:
            raise BadInput("there are no translations to measure")
        return {"bleu": round(float(library.corpus_bleu(texts, [right]).score), self.round)}


def _take_pieces(output: Array, tokens: list[str], count: int) -> list[str]:
    """Tokens up to the end of the sentence; scores of tokens are taken for the best one each."""
    if output.dtype.kind == "f" and output.ndim > 1 and output.shape[-1] == len(tokens):
        output = output.argmax(-1)
    pieces: list[str] = []
    for number in np.rint(output.reshape(-1)).astype(np.int64)[:count].tolist():
        piece = tokens[number] if 0 <= number < len(tokens) else UNKNOWN
        if piece == END:
            break
        if piece not in {START, PADDING}:
            pieces.append(piece)
    return pieces


def _number_tokens(path: str, context: Context) -> dict[str, int]:
    """The number of each token; read once for all samples."""
    key = f"vocabulary {path}"
    if key not in context.shared:
        context.shared[key] = {token: place for place, token in enumerate(read_vocabulary(Path(path)))}
    numbers: dict[str, int] = context.shared[key]
    return numbers


def _open_pieces(path: str, context: Context) -> Any:
    key = f"sentencepiece {path}"
    if key not in context.shared:
        library = require("sentencepiece", to="cut sentences to pieces")
        measure_file(path)
        try:
            context.shared[key] = library.SentencePieceProcessor(model_file=path)
        except (RuntimeError, OSError, ValueError) as problem:
            raise BadInput(
                f"the file is no sentencepiece model: {shown(problem)}", Where(file=path)
            ) from None
    return context.shared[key]


def _take_text(value: Value) -> str:
    """The sentence of a text file, or the text itself."""
    return "\n".join(read_lines(value)).strip() if isinstance(value, Path) else str(value)
