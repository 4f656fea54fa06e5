"""Errors of words and characters: what CTC outputs spell, and jiwer's figures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewright.core.errors import UsageError
from edgewright.evaluate.loss import measure_score
from edgewright.evaluate.metrics import find_measure
from edgewright.evaluate.metrics.measure import Answer

jiwer = pytest.importorskip("jiwer")
LETTERS = "abcd "


def write(text, count=6, blank=5):
    """Scores of a CTC model that spell a text: a blank before each letter, which lasts two steps."""
    steps = [step for letter in text for step in (blank, *[LETTERS.index(letter)] * 2)]
    scores = np.zeros((1, max(len(steps), 1) + 1, count), np.float32)
    scores[0, :, blank] = 0.5
    scores[0, np.arange(len(steps)), steps] = 1
    return scores


@pytest.fixture
def alphabet(tmp_path):
    path = tmp_path / "letters.txt"
    path.write_text("a\nb\nc\nd\n|\n")
    return path


def score(name, *answers):
    measure = find_measure(name)
    return measure_score(measure, [measure.add_up(answer) for answer in answers], np.array([1.0]))[0]


def answer(text, label):
    return Answer(write(text), write(text), label)


TEXT = st.text(LETTERS, max_size=12).map(lambda text: " ".join(text.split()))


@given(st.lists(st.tuples(TEXT.filter(bool), TEXT), min_size=1, max_size=5))
def test_they_are_the_rates_that_jiwer_gives(pairs):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "letters.txt")
        path.write_text("a\nb\nc\nd\n|\n")
        answers = [answer(spelled, right) for right, spelled in pairs]
        right, spelled = zip(*pairs, strict=True)
        for name, rate in (("wer", jiwer.wer), ("cer", jiwer.cer)):
            expected = max(0.0, 100 - 100 * rate(list(right), list(spelled)))
            assert score(f"{name}:{path}", *answers) == pytest.approx(expected)


def test_without_texts_the_float_model_s_transcript_is_right(alphabet):
    first, second = write("ab cd"), write("ab ccd")[:, : write("ab cd").shape[1]]
    assert score(f"wer:{alphabet}", Answer(first, first)) == 100
    assert score(f"wer:{alphabet}", Answer(first, second)) == 50
    # Symbols need no names to be counted.
    assert score("cer", Answer(first, second)) < 100


def test_a_vocabulary_of_hugging_face_names_blank_and_space(tmp_path):
    path = tmp_path / "vocab.json"
    path.write_text('{"a": 0, "b": 1, "c": 2, "d": 3, "|": 4, "<pad>": 5}')
    assert score(f"cer:{path}", answer("ab cd", "ab cd")) == 100


def test_a_blank_that_cannot_be_told_is_asked_for():
    scores = np.eye(4, dtype=np.float32)[None]
    with pytest.raises(UsageError, match="which symbol of 'cer' is the blank cannot be told"):
        score("cer", Answer(scores, scores))
    assert score("cer::3", Answer(scores, scores)) == 100


def test_steps_that_are_no_number_spell_nothing(alphabet):
    scores = write("ab")
    assert score(f"cer:{alphabet}", Answer(scores, np.full_like(scores, np.nan), "ab")) == 0


@pytest.mark.parametrize("letters", ["a\nb\nc\nd\n|\n", "a\nb\nc\nd\n", "a\r\nb\r\nc\r\nd\r\n|\r\n"])
def test_alphabets_without_blank_and_space_fit_outputs_that_begin_with_the_blank(letters, tmp_path):
    """As PaddleOCR's: the blank comes first, and where the file has no space, that comes last."""
    path = tmp_path / "keys.txt"
    path.write_bytes(letters.encode())
    spelled = np.roll(write("ab cd", blank=5), 1, axis=-1)
    assert score(f"cer:{path}", Answer(spelled, spelled, "ab cd")) == 100
    assert score(f"wer:{path}", Answer(spelled, spelled, "ab dd")) == 50


def test_what_other_readers_take_for_the_end_of_a_line_is_a_symbol(tmp_path):
    path = tmp_path / "keys.txt"
    path.write_text("a\n\x0c\nc\nd\n|\n")
    assert score(f"cer:{path}", Answer(write("ac"), write("ac"), "ac")) == 100


def test_an_underscore_is_a_character_of_an_alphabet_that_leaves_out_the_blank(tmp_path):
    path = tmp_path / "keys.txt"
    path.write_text("a\nb\nc\n_\n|\n")
    spelled = np.roll(write("ad", blank=5), 1, axis=-1)
    assert score(f"cer:{path}", Answer(spelled, spelled, "a_")) == 100
    path.write_text("_\na\nb\nc\nd\n|\n")
    assert score(f"cer:{path}", Answer(spelled, spelled, "ad")) == 100
