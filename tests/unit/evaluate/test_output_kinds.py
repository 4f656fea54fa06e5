"""What outputs hold: classes along which axis, parts of different meaning, values that were rounded."""

import numpy as np
import pytest

from edgewright.evaluate.loss import measure_score
from edgewright.evaluate.metrics import find_measure
from edgewright.evaluate.metrics.measure import Answer
from edgewright.evaluate.output_kinds import (
    find_class_axis,
    find_shares_axis,
    has_classes,
    has_codes,
    label_parts,
)
from edgewright.evaluate.output_parts import ONE_PART, OutputParts
from edgewright.ir.text import parse


def graph(*lines, shape="1,6,4", output="y"):
    return parse("\n".join(["graph g {", f"input x: float_32[{shape}]", *lines, f"output {output}", "}"]))


@pytest.mark.parametrize(
    ("lines", "axis"),
    [
        (["y = Softmax(x) {axis=2}"], 2),
        (["y = Softmax(x) {axis=1}"], 1),
        (["s = Softmax(x) {axis=1}", "y = Transpose(s) {perm=(0,2,1)}"], 2),
        (["s = Softmax(x) {axis=2}", "y = Reshape(s) {shape=(6,4)}"], 1),
        # Of shares that are cut or mixed with others nothing is known.
        (["s = Softmax(x) {axis=2}", "y = Reshape(s) {shape=(1,24)}"], None),
        (["y = Relu(x)"], None),
    ],
)
def test_the_axis_of_a_softmax_is_followed_to_the_output(lines, axis):
    made = graph(*lines)
    assert find_shares_axis(made, "y") == axis
    assert has_classes(made, "y", None) == (axis is not None)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [("1,10", 1), ("1,500,32", 2), ("1,19,64,128", 1), ("1,64,64,19", 3), ("1,1000,1,1", 1), ("1,1", 0)],
)
def test_without_a_softmax_classes_are_where_classifiers_have_them(shape, axis):
    assert find_class_axis(graph("y = Relu(x)", shape=shape), "y") == axis


def test_boxes_and_scores_in_one_output_are_parts_and_levels_of_a_pyramid_are_not():
    one = graph(
        "b = Relu(x)",
        "s = Sigmoid(x)",
        "y = Concat(b, s) {axis=1}",
        "z = Transpose(y) {perm=(0,2,1)}",
        shape="1,4,90",
        output="z",
    )
    parts = label_parts(one, "z")
    assert parts.shape == (1, 90, 8)
    assert (parts == np.repeat([0, 1], 4)).all()
    levels = graph("b = Relu(x)", "s = Sigmoid(x)", "y = Concat(b, s) {axis=1}", shape="1,90,4")
    assert label_parts(levels, "y") is None
    both = graph(
        "b = Relu(x)",
        "s = Sigmoid(x)",
        "u = Concat(b, s) {axis=2}",
        "v = Concat(s, b) {axis=2}",
        "y = Concat(u, v) {axis=1}",
        shape="1,90,4",
    )
    assert (label_parts(both, "y") == np.repeat([0, 1], 4)).all()


def test_scores_that_are_lost_beside_large_boxes_are_seen():
    random = np.random.default_rng(0)
    reference = np.concatenate([random.uniform(0, 640, (1, 90, 4)), random.random((1, 90, 2))], -1)
    lost = reference.copy()
    lost[..., 4:] = 0
    parts = OutputParts(np.broadcast_to(np.repeat([0, 1], [4, 2]), reference.shape))
    measure = find_measure("closeness")

    def score(result, parts, span):
        sums = [measure.add_up(Answer(reference, result, parts=parts))]
        return measure_score(measure, sums, np.array(span))[0]

    assert score(lost, ONE_PART, [640.0]) > 99
    assert score(lost, parts, [640.0, 1.0]) < 50
    assert score(reference, parts, [640.0, 1.0]) == 100


def test_few_values_in_a_wide_nothing_are_not_lost_unseen():
    reference = np.zeros((1, 8400), np.float32)
    reference[0, 17] = 0.9
    measure = find_measure("closeness")

    def score(result):
        return measure_score(measure, [measure.add_up(Answer(reference, result))], np.array([0.9]))[0]

    assert score(np.zeros_like(reference)) == 0
    assert score(reference + 0.00002) > 99


def test_an_answer_that_hardly_changes_is_judged_by_its_range():
    reference = np.array([[0.99]], np.float32)
    other = reference + 0.004
    measure = find_measure("closeness")
    sums = [measure.add_up(Answer(reference + place * 1e-4, other)) for place in range(8)]
    assert measure_score(measure, sums, np.array([1.0]))[0] > 99


def test_numbers_of_classes_are_answers_though_they_are_given_as_floats():
    best, floats = "k = Argmax(x) {axis=2}", "y = Cast(k) {dtype=dtype(float_32)}"
    assert has_codes(graph(best, floats), "y")
    assert has_codes(graph(best, output="k"), "k")
    # Values that were rounded on the way are values.
    assert not has_codes(graph("k = Cast(x) {dtype=dtype(int_32)}", floats), "y")
    assert not has_codes(graph("y = Relu(x)"), "y")


def test_the_largest_of_values_in_the_order_of_their_size_is_no_class():
    sorted_shares = np.array([[0.8, 0.2]], np.float32)
    made = graph("s = Softmax(x)", "y, k = TopK(s) {k=2}", shape="1,6")
    assert not has_classes(made, "y", sorted_shares)
    assert has_classes(graph("y = Relu(x)", shape="1,2"), "y", sorted_shares)


def test_codes_as_floats_are_the_same_where_they_round_to_the_same():
    reference, result = np.array([[3.0, 7.0, 1.0]]), np.array([[2.97, 6.2, np.nan]])
    (share, _) = find_measure("same-answers").add_up(Answer(reference, result, has_codes=True))
    assert share == pytest.approx(1 / 3)
