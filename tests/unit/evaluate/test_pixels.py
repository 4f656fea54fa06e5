"""Intersection over union: pixels as sets, and classes where outputs have them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewright.core.errors import BadInput
from edgewright.evaluate.loss import measure_score
from edgewright.evaluate.metrics import find_measure
from edgewright.evaluate.metrics.measure import Answer

IOU = find_measure("iou")


def score(*answers):
    return measure_score(IOU, [IOU.add_up(answer) for answer in answers], np.array([1.0]))[0]


def draw_answers(seed, count=3, classes=4):
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, (count, 6, 5))
    scores = random.normal(size=(count, 1, classes, 6, 5)).astype(np.float32)
    return labels, [Answer(item, item, label, 1) for item, label in zip(scores, labels, strict=True)]


@given(st.integers(0, 1000))
def test_it_is_the_mean_of_what_classes_share_as_sets_of_pixels(seed):
    labels, answers = draw_answers(seed)
    chosen = np.array([answer.result.argmax(1)[0] for answer in answers])
    shares = []
    for number in range(4):
        first, second = (set(np.flatnonzero(array == number).tolist()) for array in (labels, chosen))
        shares.append(len(first & second) / len(first | second))
    assert score(*answers) == pytest.approx(100 * np.mean(shares))


def test_the_float_model_stands_in_where_no_label_is_known():
    reference = np.zeros((1, 2, 4, 4), np.float32)
    reference[:, 1, :2] = 1
    changed = reference.copy()
    changed[:, 1, 0] = -1
    assert score(Answer(reference, reference, None, 1)) == 100
    # The one class keeps 4 of 8 pixels, the other one has 8 of 12.
    assert score(Answer(reference, changed, None, 1)) == pytest.approx(100 * (4 / 8 + 8 / 12) / 2)


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.9), (-3.0, 2.0)])
def test_a_mask_is_of_probabilities_or_of_scores_around_zero(low, high):
    reference = np.full((1, 1, 3, 4), low, np.float32)
    reference[..., 0] = high
    changed = np.where(np.arange(4) == 1, high, reference).astype(np.float32)
    # The mask has 3 of 6 pixels, what is around it 6 of 9.
    assert score(Answer(reference, changed, None, 3)) == pytest.approx(100 * (3 / 6 + 6 / 9) / 2)


def test_pixels_that_are_labelled_beyond_the_classes_are_left_out():
    scores = np.zeros((1, 2, 2, 2), np.float32)
    scores[:, 1] = [[[1, -1], [1, -1]]]
    assert score(Answer(scores, scores, np.array([[1, 0], [255, 0]]), 1)) == 100


def test_what_is_no_number_is_of_no_class():
    scores = np.zeros((1, 2, 2, 2), np.float32)
    broken = scores.copy()
    broken[0, 0, 0, 0] = np.nan
    assert score(Answer(scores, broken, None, 1)) == 75


def test_labels_of_another_size_are_refused_with_both():
    scores = np.zeros((1, 2, 4, 4), np.float32)
    with pytest.raises(BadInput, match=r"\[2, 2\], expected whole numbers \[4, 4\]"):
        score(Answer(scores, scores, np.zeros((2, 2), np.int64), 1))
