"""What metrics give for outputs whose figures are known."""

import numpy as np
import pytest

from edgewright.core.errors import UsageError
from edgewright.evaluate.loss import measure_score
from edgewright.evaluate.metrics import MEASURES, find_measure
from edgewright.evaluate.metrics.measure import Answer
from edgewright.evaluate.metrics.own_function import keep_own_function, read_own_source


def score(name, *pairs, labels=None, span=10.0):
    measure = find_measure(name)
    answers = [
        Answer(
            np.array([a], np.float32), np.array([b], np.float32), None if labels is None else labels[place]
        )
        for place, (a, b) in enumerate(pairs)
    ]
    return measure_score(measure, [measure.add_up(answer) for answer in answers], span)


def test_shares_of_answers_come_with_wilsons_interval():
    pairs = [((3, 1, 0), (2, 1, 0)), ((0, 1, 0), (1, 0, 0))]
    same, low, high = score("same-answers", *pairs)
    assert (same, round(low, 1), round(high, 1)) == (50, 9.5, 90.5)
    assert score("right-answers", *pairs, labels=[0, 0])[0] == 100


@pytest.mark.parametrize(("name", "place", "share"), [("top-5", 4, 100), ("top-5", 5, 0), ("top-3", 3, 0)])
def test_the_right_class_may_be_among_the_largest(name, place, share):
    scores = tuple(range(10, 0, -1))
    assert score(name, (scores, scores), labels=[place])[0] == share


def test_rows_of_classes_are_answers_each_where_no_label_is_known():
    rows = np.array([[3, 2, 1], [1, 2, 3]], np.float32)
    other = np.array([[2, 3, 1], [3, 2, 1]], np.float32)
    measure = find_measure("top-2")
    assert measure.add_up(Answer(rows, other)) == (0.5, 1.0)


def test_a_function_whose_first_argument_is_outputs_sees_all_of_them():
    measure = find_measure(keep_own_function(lambda outputs: float(outputs["a"] + outputs["b"])))
    assert measure.is_joint
    empty = np.zeros(0)
    assert measure.add_up(Answer(empty, empty, results={"a": 0.25, "b": 0.5})) == (0.75, 1.0)


def test_two_functions_of_one_place_have_names_of_their_own():
    first, second = (keep_own_function(function) for function in (lambda output: 1.0, lambda output: 0.5))
    assert first != second
    assert score(first, ((1, 0), (1, 0)))[0] == 100
    assert score(second, ((1, 0), (1, 0)))[0] == 50


def test_closeness_is_the_worse_of_all_noise_and_of_the_largest_error():
    pairs = [((0, 10, 0), (1, 10, 0)), ((0, 10, 0), (0, 10, 0))]
    result, low, high = score("closeness", *pairs)
    assert result == score("sqnr", *pairs)[0] == pytest.approx(100 - 100 * np.sqrt(1 / 200))
    assert low <= result <= high
    # One value of a thousand is far off: little noise, but a tenth of the range.
    values = np.full(1000, 10.0)
    off = np.where(np.arange(1000) == 7, 7.0, values)
    assert score("sqnr", (values, off))[0] > 99
    assert score("closeness", (values, off), span=30.0)[0] == pytest.approx(90)


def test_an_absolute_error_is_over_the_range():
    pairs = [((0, 10, 0), (1, 10, 0)), ((0, 10, 0), (0, 10, 0))]
    assert score("mean-absolute-error", *pairs)[0] == pytest.approx(100 - 100 / 6 / 10)


def test_forty_decibels_are_99_percent_and_right_angles_are_zero():
    assert score("sqnr", ((100, 0), (100, 1)))[0] == pytest.approx(99)
    assert score("cosine", ((1, 0), (0, 1)))[0] == pytest.approx(0)
    assert score("cosine", ((1, 2), (2, 4)))[0] == pytest.approx(100)


# Those that need labels, other libraries or more than one output are tried apart.
APART = {"right-answers", "map", "box-iou", "wer", "cer", "perplexity"}


@pytest.mark.parametrize("name", [name for name in MEASURES if name not in APART])
def test_the_float_model_itself_is_perfect_and_what_is_no_number_is_not(name):
    values = (3.0, 1.0, 0.0, -1.0, -2.0, -3.0, 2.0)
    assert score(name, (values, values))[0] == pytest.approx(100)
    broken, low, high = score(name, (values, (np.nan,) * 7))
    assert np.isfinite([broken, low, high]).all()
    assert broken < 100


def test_a_function_of_ones_own_is_a_metric(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def first(output, reference):\n    return 1 - abs(output - reference).max()\n")
    assert score(f"{path}:first", ((1, 0), (1, 0.25)))[0] == pytest.approx(75)
    name = keep_own_function(lambda output: float(output.max()))
    assert score(name, ((1, 0), (0.5, 0.25)))[0] == pytest.approx(50)


def test_a_function_that_computes_in_place_changes_no_answer():
    def in_place(output, reference):
        output -= reference
        reference[:] = 7
        return 1 - float(np.abs(output).max())

    answer = Answer(np.ones((1, 2)), np.full((1, 2), 0.5))
    assert find_measure(keep_own_function(in_place)).add_up(answer) == (0.5, 1.0)
    assert (answer.reference == 1).all()
    assert (answer.result == 0.5).all()


def test_a_changed_function_is_told_from_the_one_before(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def first(output):\n    return 1\n")
    before = read_own_source(f"{path}:first")
    path.write_text("def first(output):\n    return 0\n")
    assert read_own_source(f"{path}:first") != before
    one, other = (read_own_source(keep_own_function(f)) for f in (lambda output: 1.0, lambda output: 0.5))
    assert one != other
    assert not read_own_source("closeness")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def other(a):\n    return 1\n", "has no function 'first'"),
        ("def first():\n    return 1\n", "takes 0 arguments"),
        ("def first(a):\n    return None\n", "expected a number"),
        ("def first(a):\n    return 98.6\n", "returned 98.6, expected 1 at most"),
        ("def first(a):\n    return a.nothing\n", "failed with AttributeError"),
        ("def first(a:\n", "failed with SyntaxError"),
    ],
)
def test_what_is_no_metric_is_refused_in_plain_words(tmp_path, text, says):
    path = tmp_path / f"mine_{abs(hash(text))}.py"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        score(f"{path}:first", ((1, 0), (1, 0)))
