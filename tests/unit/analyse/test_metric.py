"""How accuracy is told: which metric suits which model, and what the figures are."""

import numpy as np
import pytest

from edgewright.analyse.metric import CLOSENESS, RIGHT, SAME, choose_metric, score_metric, score_sample
from edgewright.core.errors import UsageError
from edgewright.ir.text import parse

SCORES = """
graph g {
  input x: float_32[1,4]
  const w: float_32[3,4] = [1.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,1.0,0.0]
  y = FullyConnected(x, w, _)
  output y
}
"""
BIASED = """
graph g {
  input x: float_32[1,3]
  const b: float_32[3] = [1.0,0.0,0.5]
  y = ElementWiseAdd(x, b)
  output y
}
"""
RESIDUAL = """
graph g {
  input x: float_32[1,3]
  r = Relu(x)
  y = ElementWiseAdd(x, r)
  output y
}
"""
FACES = """
graph g {
  input x: float_32[1,4]
  const w: float_32[3,4] = [1.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,1.0,0.0]
  box = FullyConnected(x, w, _)
  s = FullyConnected(x, w, _)
  face = Softmax(s)
  output box
  output face
}
"""
IMAGE = """
graph g {
  input x: float_32[1,4,4,2]
  y = Relu(x)
  output y
}
"""
SOFTMAX = """
graph g {
  input x: float_32[1,7,5]
  y = Softmax(x)
  output y
}
"""


@pytest.mark.parametrize(
    ("text", "labels", "wish", "name"),
    [
        (SCORES, np.array([0, 2]), "auto", RIGHT),
        (SCORES, None, "auto", SAME),
        (SCORES, None, "closeness", CLOSENESS),
        (SOFTMAX, None, "auto", SAME),
        (BIASED, None, "auto", SAME),
        (RESIDUAL, None, "auto", CLOSENESS),
        (FACES, None, "auto", CLOSENESS),
        (FACES, None, "same-answers", SAME),
        (IMAGE, None, "auto", CLOSENESS),
        (IMAGE, np.array([1]), "auto", CLOSENESS),
    ],
)
def test_the_metric_is_the_first_that_model_and_data_allow(text, labels, wish, name):
    assert choose_metric(parse(text), labels, wish).name == name


def test_labels_are_of_the_output_that_holds_probabilities():
    assert choose_metric(parse(FACES), np.array([0, 1])).outputs == ("face",)


def test_labels_beyond_the_classes_are_refused_with_both_numbers():
    with pytest.raises(UsageError, match=r"labels reach up to 3, expected an output with one row of more"):
        choose_metric(parse(SCORES), np.array([3]), RIGHT)


def _judged(graph, pairs, labels=None):
    return [
        score_sample(
            graph,
            "y",
            np.array([a], np.float32),
            np.array([b], np.float32),
            None if labels is None else labels[place],
        )
        for place, (a, b) in enumerate(pairs)
    ]


def test_shares_of_answers_come_with_wilsons_interval():
    graph = parse(SCORES)
    items = _judged(graph, [((3, 1, 0), (2, 1, 0)), ((0, 1, 0), (1, 0, 0))], [0, 0])
    same, right = score_metric(SAME, items, 3), score_metric(RIGHT, items, 3)
    assert (same.score, right.score) == (50, 100)
    assert (round(same.low, 1), round(same.high, 1)) == (9.5, 90.5)


def test_closeness_is_the_error_over_the_range():
    graph = parse(SCORES)
    items = _judged(graph, [((0, 10, 0), (1, 10, 0)), ((0, 10, 0), (0, 10, 0))])
    result = score_metric(CLOSENESS, items, 10)
    assert result.score == pytest.approx(100 - 100 * np.sqrt(1 / 6) / 10)
    assert result.low <= result.score <= result.high
    assert result == score_metric(CLOSENESS, items, 10)


def test_a_result_that_is_no_number_counts_as_wrong():
    graph = parse(SCORES)
    (item,) = _judged(graph, [((3, 1, 0), (np.nan, np.nan, np.nan))])
    assert item.noise > 0
    assert np.isfinite(item.noise)
