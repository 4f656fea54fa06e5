"""Which metric suits which model and data: classes only where they are shown."""

import sys

import pytest

from edgewright.config.build import METRICS
from edgewright.config.spelling import spell_options
from edgewright.core.errors import EnvironmentProblem, UsageError
from edgewright.data.labels import TEXTS, Labels
from edgewright.evaluate.choose_metric import CLOSENESS, RIGHT, SAME, choose_metric
from edgewright.evaluate.metrics import MEASURES
from edgewright.evaluate.records import Metric
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
LANDMARKS = SCORES.replace("float_32[3,4]", "float_32[213,4]").replace(
    "[1.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,1.0,0.0]", f"[{','.join(['0.5'] * 852)}]"
)
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
        (SCORES, Labels([0, 2]), "auto", RIGHT),
        # Scores may as well be coordinates: nothing shows that they are classes.
        (SCORES, None, "auto", CLOSENESS),
        (SCORES, None, "same-answers", SAME),
        (SOFTMAX, None, "auto", SAME),
        (BIASED, None, "auto", CLOSENESS),
        (LANDMARKS, None, "auto", CLOSENESS),
        (RESIDUAL, None, "auto", CLOSENESS),
        (FACES, None, "auto", CLOSENESS),
        (FACES, None, "same-answers", SAME),
        (IMAGE, None, "auto", CLOSENESS),
        (IMAGE, Labels([1]), "auto", CLOSENESS),
    ],
)
def test_the_metric_is_the_first_that_model_and_data_allow(text, labels, wish, name):
    assert choose_metric(parse(text), labels, wish).name == name


def test_labels_are_of_the_output_that_holds_probabilities_and_others_are_judged_too():
    metric = choose_metric(parse(FACES), Labels([0, 1]))
    assert {name: metric.find_name(name) for name in metric.outputs} == {"face": RIGHT, "box": CLOSENESS}
    assert choose_metric(parse(FACES), Labels([0, 1]), RIGHT).outputs == ("face",)


@pytest.mark.parametrize("wish", ["same-answers", "top-1", "top-5"])
def test_answers_are_refused_where_no_output_has_more_than_one_value(wish):
    single = "graph g {\n  input x: float_32[1,1]\n  y = Relu(x)\n  output y\n}\n"
    with pytest.raises(UsageError, match="every output has a single value"):
        choose_metric(parse(single), None, wish)


def test_labels_beyond_the_classes_are_refused_with_both_numbers():
    with pytest.raises(UsageError, match=r"labels reach up to 3, expected an output with one row of more"):
        choose_metric(parse(SCORES), Labels([3]), RIGHT)


ONE_PROBABILITY = """
graph g {
  input x: float_32[1,4]
  const w: float_32[1,4] = [1.0,0.0,0.0,1.0]
  s = FullyConnected(x, w, _)
  y = Sigmoid(s)
  output y
}
"""


def test_labels_of_two_classes_are_answered_by_one_probability():
    metric = choose_metric(parse(ONE_PROBABILITY), Labels([0, 1]))
    assert (metric.name, metric.outputs) == (RIGHT, ("y",))
    assert "'y' answers one of them" in metric.reason


@pytest.mark.parametrize(
    ("text", "labels"), [(ONE_PROBABILITY, [0, 2]), (ONE_PROBABILITY.replace("Sigmoid", "Relu"), [0, 1])]
)
def test_labels_that_no_output_answers_are_said_to_be_unused(text, labels):
    metric = choose_metric(parse(text), Labels(labels))
    assert metric.name == CLOSENESS
    assert "the labels are not used, for no output has their classes" in metric.reason


def test_a_metric_that_fits_is_named_where_labels_do_not():
    with pytest.raises(UsageError, match="or use metric=closeness"):
        choose_metric(parse(ONE_PROBABILITY), Labels([2]), RIGHT)
    with spell_options({"metric": "--metric"}), pytest.raises(UsageError, match="or use --metric closeness"):
        choose_metric(parse(ONE_PROBABILITY), Labels([2]), RIGHT)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("wer:/data/alphabet.txt:0", "wer:alphabet.txt:0"),
        ("cer:data/alphabet.txt", "cer:alphabet.txt"),
        ("/data/judge.py:score", "judge.py:score"),
        ("/net/a/out=judge/it.py:score,b=cosine", "/net/a/out=it.py:score,b=cosine"),
        ("same-answers", "same-answers"),
        ("map:cxcywh:0.5", "map:cxcywh:0.5"),
    ],
)
def test_readers_see_the_file_of_a_metric_without_its_folders(name, short):
    assert Metric(name, "", ("y",)).title == Metric(name, "", ("y",)).short_name == short


def test_why_a_metric_was_taken_is_said_unless_it_was_asked_for():
    assert "need not be classes" in choose_metric(parse(SCORES), None).reason
    assert not choose_metric(parse(SCORES), None, "cosine").reason


@pytest.mark.parametrize("name", ["cer", "map"])
def test_a_package_that_is_missing_is_asked_for_before_anything_runs(monkeypatch, name):
    for package in ("jiwer", "pycocotools"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EnvironmentProblem, match=r"pip install 'edgewright\[metrics\]'"):
        choose_metric(parse(SOFTMAX), None, name)


def test_outputs_are_judged_as_they_are_named():
    metric = choose_metric(parse(FACES), None, "box=sqnr,face=top-2")
    assert (metric.outputs, metric.each) == (("box", "face"), ("sqnr", "top-2"))
    assert metric.name == "box=sqnr,face=top-2"
    with pytest.raises(UsageError, match="the metric names 'boxes', the model's outputs are"):
        choose_metric(parse(FACES), None, "boxes=sqnr")


def test_labels_of_another_kind_than_the_metric_takes_are_refused():
    texts = Labels(["a", "b"], kind=TEXTS)
    with pytest.raises(UsageError, match="labels are texts, the metric right-answers takes classes"):
        choose_metric(parse(SCORES), texts, RIGHT)
    with pytest.raises(UsageError, match="which outputs they are of cannot be told"):
        choose_metric(parse(SCORES), texts)


def test_options_name_the_metrics_that_there_are():
    assert [*MEASURES] == [*METRICS]


def test_the_largest_of_one_value_is_not_offered():
    graph = parse("graph g {\n  input x: float_32[1,1]\n  y = Relu(x)\n  output y\n}\n")
    assert "same-answers" in choose_metric(parse(SCORES), None).reason
    assert "same-answers" not in choose_metric(graph, None).reason


@pytest.mark.parametrize("shape", ["1,6,8,1", "1,1,6,8"])
def test_pixels_of_a_mask_are_offered_to_be_compared_and_not_the_largest_one(shape):
    graph = parse(f"graph g {{\n  input x: float_32[{shape}]\n  y = Relu(x)\n  output y\n}}\n")
    reason = choose_metric(graph, None).reason
    assert "metric=iou" in reason
    assert "same-answers" not in reason
