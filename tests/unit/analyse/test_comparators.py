"""Comparators of the accuracy evaluator: figures worked out by hand, limits, order."""

import json
import math

import numpy as np
import pytest

from edgewright.analyse.comparators.boxes import BoxOutputs, compare_boxes, read_box_outputs
from edgewright.analyse.comparators.comparator import COMPARATORS, find_comparator
from edgewright.config.accuracy_evaluator import COMPARATOR_NAMES
from edgewright.core.errors import BadInput, UsageError

GOLDEN = np.array([[1.0, 2.0, 3.0, 4.0]], np.float32)
TARGET = np.array([[1.0, 2.2, 3.0, 3.0]], np.float32)  # of the two largest the first is best
FAR = np.array([[4.0, -9.0, 1.0, 0.0]], np.float32)
# Differences 0, 0.2, 0, 1; sums 1.2 of 10; squares 1.04 of 30.
BY_HAND = {
    "abs": 50.0,
    "cos": 100 * (1 + 4.4 + 9 + 12) / math.sqrt(30 * (1 + 4.84 + 9 + 9)),
    "topk": 0.0,
    "avg": 88.0,
    "l1norm": 88.0,
    "l2norm": 100 * (1 - math.sqrt(1.04 / 30)),
    "std": 100 * (1 - abs(np.std(GOLDEN) - np.std(TARGET)) / np.std(GOLDEN)),
    "rme": 100 * (1 - math.sqrt(1.04 / 4) / 3),
    "snr": 10 * math.log10(30 / 1.04),
    "maxerror": 1.0,
    "kld": sum(
        p / 10 * math.log((p / 10) / (q / 9.2))
        for p, q in zip(GOLDEN[0].tolist(), TARGET[0].tolist(), strict=True)
    ),
    "pixelbypixel": 88.0,
}


def test_the_options_name_the_comparators_of_the_guide_in_its_order():
    assert tuple(COMPARATORS) == COMPARATOR_NAMES


@pytest.mark.parametrize("name", BY_HAND)
def test_a_comparator_gives_the_figure_worked_out_by_hand(name):
    assert find_comparator(name).compare(GOLDEN, TARGET) == pytest.approx(BY_HAND[name], rel=1e-5)


@pytest.mark.parametrize("name", [name for name in COMPARATORS if name != "box"])
def test_equal_tensors_are_as_good_as_can_be_and_others_are_ranked_behind(name):
    comparator = find_comparator(name, 0.01)
    equal, other = comparator.compare(GOLDEN, GOLDEN), comparator.compare(GOLDEN, FAR)
    assert comparator.rank(equal) < comparator.rank(other) < comparator.rank(None)
    assert equal == (100.0 if comparator.is_percent else (120.0 if name == "snr" else 0.0))


@pytest.mark.parametrize("name", [name for name in COMPARATORS if name != "box"])
def test_nan_against_a_number_is_as_bad_as_can_be(name):
    comparator = find_comparator(name)
    broken = np.array([[1.0, np.nan, 3.0, 4.0]], np.float32)
    worst = comparator.compare(GOLDEN, broken)
    assert comparator.rank(worst) >= comparator.rank(comparator.compare(GOLDEN, TARGET * 0.5))


def test_tolerances_count_small_differences_as_equal():
    assert find_comparator("abs", 0.15).compare(GOLDEN, TARGET) == 75.0
    assert find_comparator("avg", 0.15).compare(GOLDEN, TARGET) == pytest.approx(90.0)
    assert find_comparator("topk", 1).compare(GOLDEN, np.array([[9.0, 1, 1, 1]])) == 0.0


def test_divergence_of_logits_is_that_of_their_softmax():
    logits, other = np.array([0.0, -1.0, 2.0]), np.array([0.5, -1.5, 2.0])
    first, second = (np.exp(x) / np.exp(x).sum() for x in (logits, other))
    assert find_comparator("kld").compare(logits, other) == pytest.approx(
        float(np.sum(first * np.log(first / second)))
    )


def test_unknown_names_and_negative_tolerances_are_refused():
    with pytest.raises(UsageError, match="comparator 'cosine' is unknown"):
        find_comparator("cosine")
    with pytest.raises(UsageError, match="not negative"):
        find_comparator("abs", -1.0)


def test_boxes_that_are_padding_do_not_count_and_extra_ones_do():
    outputs, box = BoxOutputs("b", "c", "s"), find_comparator("box")
    golden = {"b": np.array([[0, 0, 2, 2], [0, 0, 0, 0]]), "c": np.array([1, 0]), "s": np.array([0.9, 0])}
    half = {**golden, "b": np.array([[0, 0, 2, 1], [5, 5, 9, 9]])}
    assert compare_boxes(box, outputs, golden, golden) == 100.0
    assert compare_boxes(box, outputs, golden, half) == pytest.approx(50.0)
    extra = {**golden, "s": np.array([0.9, 0.5])}
    assert compare_boxes(box, outputs, golden, extra) == pytest.approx(50.0)
    nothing = {**golden, "s": np.zeros(2)}
    assert compare_boxes(box, outputs, golden, nothing) == 0.0
    other_class = {**golden, "c": np.array([2, 0])}
    assert compare_boxes(box, outputs, golden, other_class) == 0.0


def test_the_file_of_boxes_names_outputs_by_their_result_files(tmp_path):
    file = tmp_path / "box.json"
    file.write_text(json.dumps({"box": "Result_0/boxes_0.raw", "class": "Result_0/classes_0.raw"}))
    assert read_box_outputs(str(file)) == BoxOutputs("boxes_0", "classes_0")
    for text in ("[]", "{", '{"class": "a.raw"}', '{"box": 1}'):
        file.write_text(text)
        with pytest.raises(BadInput):
            read_box_outputs(str(file))
