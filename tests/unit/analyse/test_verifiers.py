"""Verifiers against definitions written out here: loops and plain formulas."""

import json
import math

import numpy as np
import pytest

from edgewright.analyse.verifiers import VERIFIERS
from edgewright.analyse.verifiers.choices import read_verifier, read_verifier_config
from edgewright.analyse.verifiers.rankings import MeanIou
from edgewright.core.errors import BadInput, ShapeMismatch, UsageError

RNG = np.random.default_rng(7)
GOLDEN = RNG.standard_normal((2, 3, 5)).astype(np.float32)
TARGET = (GOLDEN + 0.05 * RNG.standard_normal(GOLDEN.shape)).astype(np.float32)
PAIRS = list(zip(GOLDEN.reshape(-1).tolist(), TARGET.reshape(-1).tolist(), strict=True))


def in_tolerance(rtol, atol):
    return sum(abs(t - g) <= atol + rtol * abs(g) for g, t in PAIRS) / len(PAIRS)


DEFINITIONS = {
    "rtolatol": in_tolerance(0.01, 0.01),
    "rtolatol,rtolmargin,0.1,atolmargin,0.02": in_tolerance(0.1, 0.02),
    "adjustedrtolatol": sum(
        abs(t - g) <= (max(*GOLDEN.flat, 0) - min(*GOLDEN.flat, 0)) / 255 for g, t in PAIRS
    )
    / len(PAIRS),
    "l1error": sum(abs(g - t) for g, t in PAIRS),
    "l1error,multiplier,3,scale,2": 1.5 * sum(abs(g - t) for g, t in PAIRS),
    "cosinesimilarity": sum(g * t for g, t in PAIRS)
    / math.sqrt(sum(g * g for g, _ in PAIRS) * sum(t * t for _, t in PAIRS)),
    "mse": sum((g - t) ** 2 for g, t in PAIRS) / len(PAIRS),
    "mae": sum(abs(g - t) for g, t in PAIRS) / len(PAIRS),
    "sqnr": 10 * math.log10(sum(g * g for g, _ in PAIRS) / sum((g - t) ** 2 for g, t in PAIRS)),
    "scaleddiff": max(abs(g - t) for g, t in PAIRS) / max(abs(g) for g, _ in PAIRS),
}


@pytest.mark.parametrize("text", DEFINITIONS)
def test_a_verifier_gives_what_its_definition_says(text):
    assert read_verifier([text]).score(GOLDEN, TARGET) == pytest.approx(DEFINITIONS[text], rel=1e-9)


@pytest.mark.parametrize(("k", "ordered"), [(1, False), (3, False), (3, True), (9, True)])
def test_top_k_counts_the_golden_best_that_are_kept(k, ordered):
    rows = list(zip(GOLDEN.reshape(-1, 5), -GOLDEN.reshape(-1, 5)[:, ::-1], strict=True))
    best = [[sorted(range(5), key=lambda i, row=row: -row[i])[:k] for row in pair] for pair in rows]
    if ordered:
        kept = [a == b for first, second in best for a, b in zip(first, second, strict=True)]
    else:
        kept = [a in second for first, second in best for a in first]
    verifier = read_verifier([f"topk,k,{k},ordered,{ordered}"])
    target = np.stack([other for _, other in rows]).reshape(GOLDEN.shape)
    assert verifier.score(GOLDEN, target) == pytest.approx(sum(kept) / len(kept))


def test_mean_iou_looks_for_the_best_box_of_the_same_class_and_leaves_out_the_background():
    golden = np.array([[[0, 0, 2, 2], [0, 0, 1, 1], [5, 5, 6, 6]]], np.float32), np.array([2, 3, 1])
    target = np.array([[[1, 0, 3, 2], [0, 0, 2, 2], [0, 0, 1, 1]]], np.float32), np.array([2, 3, 3])
    # Class 2: 2 of 6 cells are shared; class 3: the same box is there; class 1 is background.
    assert MeanIou().score_pair(golden, target) == pytest.approx((2 / 6 + 1) / 2)
    assert MeanIou(background_classification=3).score_pair(golden, target) == pytest.approx((2 / 6 + 0) / 2)


def test_boxes_without_classes_are_of_one_class():
    boxes = np.array([[0, 0, 2, 2], [1, 1, 3, 3]], np.float32)
    assert MeanIou().score(boxes, boxes[::-1]) == 1.0


@pytest.mark.parametrize("kind", VERIFIERS, ids=lambda kind: kind.name)
def test_equal_tensors_are_a_match_and_not_a_number_is_none(kind):
    verifier = kind()
    boxes = np.abs(GOLDEN.reshape(-1)[:8].reshape(2, 4))
    assert verifier.score(boxes, boxes) == kind.perfect
    assert verifier.is_match(kind.perfect)
    broken = boxes.copy()
    broken[0, 0] = np.nan
    assert verifier.score(boxes, broken) == kind.worst
    assert not verifier.is_match(kind.worst)
    assert not verifier.is_match(math.nan)
    assert verifier.score(broken, broken) == kind.perfect


def test_zeros_against_something_are_no_match():
    zeros, ones = np.zeros(4, np.float32), np.ones(4, np.float32)
    for text in ("cosinesimilarity", "sqnr", "scaleddiff", "mse", "rtolatol"):
        verifier = read_verifier([text])
        assert not verifier.is_match(verifier.score(zeros, ones))
        assert not verifier.is_match(verifier.score(ones, zeros))


def test_large_numbers_do_not_overflow_the_cosine():
    large = np.array([3e38, 1e38], np.float32)
    assert read_verifier(["cosinesimilarity"]).score(large, large) == pytest.approx(1.0)


def test_tensors_of_different_sizes_are_refused_with_both():
    with pytest.raises(ShapeMismatch, match=r"30 elements.*29"):
        read_verifier(["mse"]).score(GOLDEN, TARGET.reshape(-1)[1:])


def test_the_placeholders_of_the_guide_are_hyper_parameters_in_their_order(caplog):
    verifier = read_verifier(["CosineSimilarity", "param1", "2", "param2", "4"])
    assert (verifier.multiplier, verifier.scale) == (2.0, 4.0)
    read_verifier(["SQNR", "param1", "5", "param2", "1"])
    assert "'param1' has no effect: verifier SQNR has 0 hyper-parameters" in caplog.text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rtolatol,rtolmargin,0.01,atolmargin,0,01"], "without a value"),
        (["cosine"], "did you mean|unknown"),
        (["topk,k,0"], "above 0"),
        (["topk,k,two"], "above 0"),
        (["topk,ordered,maybe"], "true or false"),
        (["rtolatol,rtolmargin,nan"], "not negative"),
        (["mse,k,1"], "has no hyper-parameter 'k'"),
    ],
)
def test_mistakes_in_a_verifier_say_what_is_expected(words, message):
    with pytest.raises(UsageError, match=message):
        read_verifier(words)


def test_a_configuration_names_verifiers_for_tensors(tmp_path):
    file = tmp_path / "verifiers.json"
    content = {
        "MeanIOU": {"parameters": {"background_classification": 0}, "tensors": [["boxes", "classes"]]},
        "TopK": {"parameters": {"k": 5, "ordered": False}, "tensors": [["a"], ["b"]]},
    }
    file.write_text(json.dumps(content))
    first, second = read_verifier_config(file)
    assert first.tensors == (("boxes", "classes"),)
    assert (second.verifier.k, second.tensors) == (5, (("a",), ("b",)))


@pytest.mark.parametrize("text", ["[]", "{", '{"TopK": 1}', '{"TopK": {"tensors": [["a", "b"]]}}'])
def test_a_damaged_configuration_is_refused(tmp_path, text):
    file = tmp_path / "verifiers.json"
    file.write_text(text)
    with pytest.raises(BadInput):
        read_verifier_config(file)


def test_another_unit_of_scores_does_not_change_what_is_called_different():
    golden = np.linspace(1, 2, 50)
    for words in (["CosineSimilarity", "param1", "1", "param2", "2"], ["L1Error,multiplier,100,scale,4"]):
        verifier = read_verifier(words)
        assert verifier.is_match(verifier.score(golden, golden + 1e-5))
        assert not verifier.is_match(verifier.score(golden, -golden))
