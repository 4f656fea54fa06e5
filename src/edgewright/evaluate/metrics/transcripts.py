"""Errors of words and characters in what CTC outputs spell."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.data.labels import TEXTS
from edgewright.evaluate.metrics.measure import Answer, Measure, Sums

LARGEST_ALPHABET = 1 << 24
# Symbols without a name are told apart as characters of the planes for private use.
FIRST_PRIVATE = 0xF0000
# What alphabets call the blank, and what stands between words.
BLANKS, SPACES = frozenset({"<blank>", "<pad>", "[PAD]", "<blk>", "_"}), frozenset({"|", "▁", "<space>", " "})
# A character like others in an alphabet that leaves out the blank.
UNDERSCORE = "_"


class _Transcripts(Measure):
    """Edits between what the output spells and the right text, or the float model's, over its length."""

    label_kind = TEXTS
    lowest_usual = 30.0
    package = "jiwer"
    unit = ""

    def __init__(self, alphabet: str = "", blank: str = "") -> None:
        self._alphabet, self._blank = alphabet, blank
        self.name = ":".join([self.unit, alphabet, blank]).rstrip(":")
        kinds = {"wer": "words", "cer": "characters"}
        self.text = f"100 % less the edits of {kinds[self.unit]} over the right (or the float model's) ones"

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Edits, and the length of what is right."""
        rows = _take_rows(answer.result.reshape(answer.reference.shape))
        right_rows = _take_rows(answer.reference)
        blank = self._find_blank(right_rows)
        spelled = self._spell(rows, blank)
        right = answer.label if isinstance(answer.label, str) else self._spell(right_rows, blank)
        return self._count_edits(right, spelled)

    def compute_score(self, sums: Array, span: Array) -> Array:
        """More edits than there are words are as bad as none right."""
        del span
        return np.asarray(np.maximum(0.0, 100 - 100 * sums[..., 0] / np.maximum(sums[..., 1], 1)))

    def describe_float_model(self, sums: Sums) -> str:
        """Nothing to spell, nothing to lose."""
        return "" if any(length for _, length in sums) else "there is no text in any of the samples"

    def find_misfit(self, shapes: Mapping[str, Sequence[int]], output: str) -> str:
        """Scores of symbols, step by step."""
        sizes = [size for size in shapes[output] if size > 1]
        if len(sizes) != 2:
            return "expected scores of a CTC model, [1,steps,symbols]"
        if self._alphabet and len(self._symbols) > shapes[output][-1]:
            return f"the alphabet has {len(self._symbols)} symbols, the last axis {shapes[output][-1]}"
        return "" if self._alphabet or self.unit == "cer" else "words need an alphabet: wer:ALPHABET.txt"

    def _count_edits(self, right: str, spelled: str) -> tuple[float, float]:
        jiwer = require(self.package, to="count the errors of transcripts")
        words, spelled_words = (right.split(), spelled.split()) if self.unit == "wer" else (right, spelled)
        if not words or not spelled_words:
            return float(len(words) + len(spelled_words)), float(len(words))
        count = jiwer.process_words if self.unit == "wer" else jiwer.process_characters
        edits = count(right, spelled)
        return float(edits.substitutions + edits.deletions + edits.insertions), float(len(words))

    def _spell(self, rows: Array, blank: int) -> str:
        """Repeated symbols once, without blanks; steps that are no number spell nothing."""
        best = np.where(np.isnan(rows).any(-1), blank, rows.argmax(-1))
        kept = drop_repeats(best, blank)
        names = self._place_symbols(blank, int(rows.shape[-1]))
        return "".join(names[n] if n < len(names) else chr(FIRST_PRIVATE + n) for n in kept)

    def _find_blank(self, rows: Array) -> int:
        """The one that was given or is named in the alphabet, else the first or the last symbol."""
        if self._blank:
            return int(self._blank)
        last = int(rows.shape[-1]) - 1
        words = BLANKS if len(self._names) > last else BLANKS - {UNDERSCORE}
        named = [place for place, name in enumerate(self._names) if name in words]
        if len(named) == 1:
            return named[0]
        best = rows.argmax(-1)
        shares = [float((best == place).mean()) for place in (0, last)]
        if max(shares) > 2 * min(shares):
            return 0 if shares[0] > shares[1] else last
        # An alphabet that lacks one symbol leaves out the blank, which is mostly the last.
        if self._alphabet and len(self._names) == last:
            return last
        raise UsageError(
            f"which symbol of '{shown(self.name)}' is the blank cannot be told: the first is the best of "
            f"{100 * shares[0]:.0f} % of the steps, the last of {100 * shares[1]:.0f} %",
            do=f"say its number: {spell_option('metric', f'{self.unit}:{shown(self._alphabet)}:0')}",
        )

    def _place_symbols(self, blank: int, count: int) -> list[str]:
        """The symbols where the output has them.

        PaddleOCR's alphabets lack the blank, which comes first in the output, and the space, which is last.
        """
        missing = count - len(self._symbols)
        if not self._alphabet or blank or missing not in {1, 2}:
            return self._symbols
        return ["", *self._symbols, *([" "] if missing == 2 else [])]

    @cached_property
    def _symbols(self) -> list[str]:
        return [" " if name in SPACES else name for name in self._names]

    @cached_property
    def _names(self) -> list[str]:
        """A symbol a line, or Hugging Face's vocab.json."""
        if not self._alphabet:
            return []
        path = Path(self._alphabet)
        try:
            text = read_limited(path, LARGEST_ALPHABET).decode("utf-8-sig")
            if path.suffix == ".json":
                places = {int(place): str(name) for name, place in parse_json(text).items()}
                return [places.get(place, "") for place in range(max(places, default=-1) + 1)]
        except (ValueError, AttributeError, TypeError) as problem:
            raise BadInput(f"the alphabet cannot be read: {shown(problem)}", Where(file=str(path))) from None
        # An alphabet may hold what splitlines takes for the end of a line.
        return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


class WordErrors(_Transcripts):
    """Word error rate."""

    unit = "wer"


class CharacterErrors(_Transcripts):
    """Character error rate, or that of symbols where no alphabet says what they stand for."""

    unit = "cer"


def drop_repeats(best: Array, blank: int) -> list[int]:
    """What the best symbols of steps stand for: repeated ones once, without blanks."""
    return [int(n) for n in best[np.r_[True, best[1:] != best[:-1]] & (best != blank)]]


def _take_rows(values: Array) -> Array:
    """Steps by symbols."""
    return values.reshape(-1, values.shape[-1])
