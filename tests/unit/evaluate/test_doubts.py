"""What proves nothing: broken values, outputs that never change, lost classes; parts of different sizes."""

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.data.labels import Labels
from edgewright.data.open_samples import open_samples
from edgewright.data.samples import LabelledSamples, SampleSelection
from edgewright.evaluate.choose_metric import choose_metric
from edgewright.evaluate.doubts import describe_answers
from edgewright.evaluate.evaluator import Evaluator
from edgewright.evaluate.metrics import MEASURES
from edgewright.evaluate.metrics.measure import Answer
from edgewright.evaluate.metrics.own_function import keep_own_function
from edgewright.evaluate.metrics.values import subtract_safely
from edgewright.evaluate.output_parts import OutputParts, ValueRanges, find_parts
from edgewright.ir.text import parse

PLAIN = parse("graph g {\n  input x: float_32[1,6]\n  y = Relu(x)\n  output y\n}\n")
SHARES = parse("graph g {\n  input x: float_32[1,6]\n  y = Softmax(x)\n  output y\n}\n")
COUNT = 40


def make_samples(values):
    return [{"x": row[None].astype(np.float32)} for row in values]


def draw(shape=(COUNT, 6)):
    return np.random.default_rng(0).random(shape) + 0.1


def judge(graph, values, run=None, labels=None, metric="auto", limit=1.0):
    samples = make_samples(values)
    held = LabelledSamples(SampleSelection(samples, range(len(samples))), labels)
    evaluator = Evaluator(graph, held, choose_metric(graph, labels, metric), limit=limit)
    run = run or (lambda sample: {"y": np.maximum(sample["x"], 0)})
    measured = evaluator.measure_runner(run, "htp-sim")
    return evaluator, measured


def test_nothing_is_doubted_where_all_is_well():
    evaluator, measured = judge(PLAIN, draw())
    assert evaluator.list_doubts(measured) == ()
    assert evaluator.list_poor_scores() == ()


def measure_error(output, reference):
    return float(np.abs(output - reference).mean())


def ignore_answers(output):
    return float(output.size > 0)


def fail_on_others(output, reference):
    assert np.allclose(output, reference)
    return 1.0


@pytest.mark.parametrize("function", [measure_error, ignore_answers])
def test_an_own_metric_that_likes_wrong_answers_as_well_proves_nothing(function):
    evaluator, measured = judge(PLAIN, draw(), metric=keep_own_function(function))
    (doubt,) = evaluator.list_doubts(measured)
    assert "must return 1 for a perfect output, less for a wrong one" in doubt


@pytest.mark.parametrize(
    "function", [lambda output, reference: 1 - measure_error(output, reference), fail_on_others]
)
def test_an_own_metric_that_tells_wrong_answers_apart_is_not_doubted(function):
    evaluator, measured = judge(PLAIN, draw(), metric=keep_own_function(function))
    assert evaluator.list_doubts(measured) == ()


@pytest.mark.parametrize("metric", ["sqnr", "cosine"])
def test_a_metric_that_wrong_answers_satisfy_too_proves_nothing(metric):
    evaluator, measured = judge(PLAIN, draw() + 1000, metric=metric)
    (doubt,) = evaluator.list_doubts(measured)
    assert f"{metric} of output 'y' gives answers of other samples 100.0 %" in doubt
    assert judge(PLAIN, draw() + 1000)[0].list_doubts(measured) == ()


@pytest.mark.parametrize(("limit", "is_told"), [(1.0, False), (20.0, True)])
def test_a_limit_that_wrong_answers_keep_is_not_proven_by_one_answer_for_nearly_all(limit, is_told):
    values = make_answers([3] * 6 + [1] * 194) + draw((200, 6))
    evaluator, measured = judge(SHARES, values, lambda s: {"y": s["x"]}, limit=limit)
    assert ("they keep the limit, too" in " ".join(evaluator.list_doubts(measured))) == is_told


def test_samples_in_the_order_of_their_classes_are_no_doubt():
    classes = np.sort(np.arange(120) % 6)
    values = (make_answers(classes) + draw((120, 6)))[:, None].astype(np.float32)
    samples = LabelledSamples(SampleSelection(open_samples(SHARES, list(values)), range(120)))
    evaluator = Evaluator(SHARES, samples, choose_metric(SHARES, None), limit=20.0)
    assert evaluator.list_doubts(evaluator.reference) == ()


def test_an_output_that_never_changes_proves_nothing():
    evaluator, measured = judge(PLAIN, -draw())
    assert "is the same for all 40 samples" in evaluator.list_doubts(measured)[0]


@pytest.mark.parametrize("broken", [np.nan, np.inf])
@pytest.mark.parametrize("metric", ["closeness", "sqnr", "cosine", "mean-absolute-error"])
def test_results_that_are_no_numbers_are_never_quiet(metric, broken):
    def run(sample):
        result = np.maximum(sample["x"], 0)
        result[0, 2] = broken if sample["x"][0, 0] > 0.8 else result[0, 2]
        return {"y": result}

    evaluator, measured = judge(PLAIN, draw(), run, metric=metric)
    (doubt,) = evaluator.list_doubts(measured)
    assert "no numbers" in doubt
    assert "on htp-sim" in doubt
    assert np.isfinite(evaluator.measure_loss(measured).high)


def test_a_float_model_without_numbers_is_doubted_and_breaks_nothing():
    values = draw()
    values[::5, 1] = np.inf
    evaluator, measured = judge(PLAIN, values)
    assert "has values that are no numbers, NaN or infinite, in 8 of 40" in evaluator.list_doubts(measured)[0]
    assert np.isfinite(evaluator.measure_loss(measured).high)


def make_answers(classes):
    return np.eye(6)[np.asarray(classes)] * 5


def test_one_answer_for_all_samples_proves_nothing():
    evaluator, measured = judge(SHARES, make_answers([2] * COUNT) + draw(), lambda s: {"y": s["x"]})
    assert "the only answer at output 'y'" in evaluator.list_doubts(measured)[0]


@pytest.mark.parametrize("has_labels", [False, True])
def test_a_rare_class_that_is_lost_is_named_though_the_mean_hides_it(has_labels):
    classes = [3] * 6 + [1] * 194
    labels = Labels(classes) if has_labels else None

    def run(sample):
        scores = sample["x"].copy()
        scores[0, 3] = 0
        return {"y": scores}

    evaluator, measured = judge(SHARES, make_answers(classes) + draw((200, 6)), run, labels)
    assert evaluator.measure_loss(measured).points == pytest.approx(3)
    assert "are lost, which the figure over all hides: 3 (0 of 6 are kept)" in " ".join(
        evaluator.list_doubts(measured)
    )


@pytest.mark.parametrize("count", [1, 3, 4])
def test_a_class_of_few_samples_that_keeps_none_is_lost(count):
    classes = [3] * count + [1] * (200 - count)

    def run(sample):
        return {"y": sample["x"] * np.array([1, 1, 1, 0, 1, 1])}

    evaluator, measured = judge(SHARES, make_answers(classes) + draw((200, 6)), run)
    assert f"hides: 3 (0 of {count} are kept)" in " ".join(evaluator.list_doubts(measured))


def test_a_class_of_one_sample_may_be_lost_where_every_class_has_one():
    counts = [{number: 1.0} for number in range(200)]
    after = [{number: float(number != 7)} for number in range(200)]
    assert not [*describe_answers("y", counts, after)]


def test_labels_that_do_not_fit_are_said_of_several_answers_too():
    classes = np.arange(200) % 6
    labels = Labels([int(number + 3) % 6 for number in classes])
    ordered = make_answers(classes) - np.abs(np.arange(6) - classes[:, None])
    evaluator, _ = judge(SHARES, ordered, lambda s: {"y": s["x"]}, labels, "top-2")
    assert "the float model itself is right on only" in evaluator.list_poor_scores()[0]


def test_as_many_answers_as_classes_are_refused():
    assert "every one is among" in MEASURES["top-5"].find_misfit({"y": (1, 5)}, "y")
    assert not MEASURES["top-5"].find_misfit({"y": (1, 6)}, "y")


def test_a_metric_that_does_not_know_the_model_in_itself_is_said():
    graph = parse("graph g {\n  input x: float_32[1,4]\n  y = Relu(x)\n  output y\n}\n")
    boxes = np.array([0.8, 0.8, 0.1, 0.1]) + draw((COUNT, 4)) * 0.01
    evaluator, _ = judge(graph, boxes, metric="box-iou")
    assert "agrees with itself in only 0.0 %" in evaluator.list_poor_scores()[0]


def spoil_part(scale, kept):
    """How close an output is whose part beyond ``kept`` is replaced by other values."""
    random = np.random.default_rng(1)
    values = [random.random((1, 6)) * scale for _ in range(20)]
    parts = find_parts(PLAIN, "y", values)
    measure, ranges = MEASURES["closeness"], ValueRanges(parts)
    sums = np.zeros(4 * parts.count)
    for reference in values:
        ranges.widen(reference)
        result = reference.copy()
        result[:, kept:] = random.random((1, 6 - kept)) * scale[kept:]
        sums += measure.add_up(Answer(reference, result, parts=parts))
    return float(measure.compute_score(sums, ranges.widths))


def test_scores_that_are_lost_beside_boxes_in_pixels_are_seen_by_their_ranges():
    assert spoil_part(np.array([640.0, 640, 640, 640, 1, 1]), 4) < 70
    assert spoil_part(np.array([640.0, 640, 640, 640, 1, 1]), 6) == 100


def test_values_behind_masks_are_judged_by_themselves():
    reference = draw() - 0.5
    masked = np.where(np.arange(6) % 3 == np.arange(COUNT)[:, None] % 3, -1e9, reference)
    parts = find_parts(PLAIN, "y", [row[None].astype(np.float32) for row in masked])
    assert parts.count == 2
    assert 0.4 < parts.ordinary < 1
    wrong = np.where(masked < -1, masked, reference[::-1])
    measure, ranges = MEASURES["closeness"], ValueRanges(parts)
    ranges.widen(masked)
    sums = np.array(measure.add_up(Answer(masked, wrong, parts=parts)))
    assert float(measure.compute_score(sums, ranges.widths)) < 50


def test_dead_and_spread_channels_are_no_parts():
    spread = np.logspace(-2, 1, 6)
    values = [row * spread for row in draw((20, 1, 6))]
    assert find_parts(PLAIN, "y", values) == OutputParts()
    dead = [row * np.array([1, 1, 1, 1, 1, 0]) for row in draw((20, 1, 6))]
    assert find_parts(PLAIN, "y", dead) == OutputParts()


def test_infinite_values_on_both_sides_are_the_same():
    values = np.array([1.0, -np.inf, np.nan, 2.0])
    first, gap = subtract_safely(values, np.array([1.0, -np.inf, 3.0, np.inf]))
    assert first.tolist() == [1, 0, 0, 2]
    assert gap.tolist() == [0, 0, 2, 2]


def test_quiet_samples_that_are_lost_beside_loud_ones_are_seen():
    values = draw() * np.where(np.arange(COUNT) % 10, 1.0, 500.0)[:, None]
    step = 4.0

    def run(sample):
        return {"y": np.round(sample["x"] / step) * step}

    evaluator, measured = judge(PLAIN, values, run)
    assert evaluator.measure_loss(measured).points < 2
    assert "keeps only 0.0 dB, which the larger ones" in " ".join(evaluator.list_doubts(measured))
    evaluator, measured = judge(PLAIN, draw(), lambda sample: {"y": np.round(sample["x"], 1)})
    assert evaluator.list_doubts(measured) == ()


def test_numbers_of_classes_beside_values_are_right_or_wrong():
    graph = parse("graph g {\n  input x: float_32[1,90]\n  v, n = TopK(x) {k=3}\n  output v\n  output n\n}\n")
    metric = choose_metric(graph, None)
    assert [metric.find_name(name) for name in metric.outputs] == ["closeness", "same-answers"]


def test_nothing_to_spell_and_one_class_of_pixels_prove_nothing():
    assert "no text" in MEASURES["cer"].describe_float_model([(0.0, 0.0)] * 9)
    assert not MEASURES["cer"].describe_float_model([(0.0, 0.0), (1.0, 4.0)])
    assert "of one class" in MEASURES["iou"].describe_float_model([(9.0, 0.0, 9.0, 0.0)] * 9)
    assert not MEASURES["iou"].describe_float_model([(9.0, 1.0, 9.0, 1.0)] * 9)


def test_probabilities_that_are_all_as_good_as_none_are_neither_missed_nor_met():
    graph = parse("graph g {\n  input x: float_32[1,6]\n  y = Sigmoid(x)\n  output y\n}\n")
    evaluator, measured = judge(graph, draw() - 12, lambda sample: {"y": np.zeros((1, 6))})
    assert evaluator.measure_loss(measured).points < 0.2
    (doubt,) = evaluator.list_doubts(measured)
    assert "is a probability that differs by" in doubt
    evaluator, measured = judge(graph, draw() * 20 - 12, lambda sample: {"y": np.zeros((1, 6))})
    assert evaluator.measure_loss(measured).points > 50


DETECTOR = parse(
    "graph g {\n  input x: float_32[1,90,4]\n  input z: float_32[1,90,2]\n  s = Sigmoid(z)\n"
    "  y = Concat(x, s) {axis=2}\n  output y\n}\n"
)


def judge_detector(scores, run):
    """Boxes of 0 to 300 beside probabilities."""
    random = np.random.default_rng(0)
    samples = [
        {
            "x": random.uniform(0, 300, (1, 90, 4)).astype(np.float32),
            "z": (random.random((1, 90, 2)) * 2 + scores - 1).astype(np.float32),
        }
        for _ in range(COUNT)
    ]
    held = LabelledSamples(SampleSelection(samples, range(COUNT)), None)
    evaluator = Evaluator(DETECTOR, held, choose_metric(DETECTOR, None))
    measured = evaluator.measure_runner(run, "htp-sim")
    return evaluator.measure_loss(measured).points, evaluator.list_doubts(measured)


def detect(sample, error):
    scores = 1 / (1 + np.exp(-sample["z"])) + error
    return {"y": np.concatenate([sample["x"], scores], 2)}


def test_scores_beside_boxes_are_judged_by_what_probabilities_can_be():
    """By the range of those that are all below 0.02, an error of 0.001 would be a tenth."""
    points, doubts = judge_detector(-5, lambda sample: detect(sample, 0.001))
    assert points < 15
    (doubt,) = doubts
    assert "holds probabilities that differ by 0.016 at most between all 40 samples, of a range of 1" in doubt
    # That all are lost is no green verdict: nothing is shown of scores that matter.
    assert judge_detector(-5, lambda sample: detect(sample, 0.0))[1] == doubts


def test_scores_that_tell_boxes_apart_are_judged_for_themselves():
    points, doubts = judge_detector(0, lambda sample: detect(sample, 0.1))
    assert points > 9
    assert doubts == ()


def squash(values):
    return 1 / (1 + np.exp(-values))


def test_each_of_several_probabilities_must_be_unsure_for_itself():
    """One of them is near 0 in all samples but a few; the other one is not."""
    graph = parse(
        "graph g {\n  input x: float_32[1,6]\n  s = ElementWiseAdd(x, x)\n  t = ElementWiseAdd(s, s)\n"
        "  a = Sigmoid(t)\n  b = Sigmoid(x)\n  y = Concat(a, b) {axis=1}\n  output y\n}\n"
    )
    values = draw() - 2.4
    values[:4, 0] = -0.5

    def run(sample):
        first = squash(4 * sample["x"])
        return {"y": np.concatenate([first * (first > 0.01), squash(sample["x"])], 1)}

    evaluator, measured = judge(graph, values, run)
    (doubt,) = evaluator.list_doubts(measured)
    assert "has a probability between 1 % and 99 % in only 4 of 40 samples" in doubt
    values[4, 0] = -0.5
    evaluator, measured = judge(graph, values, run)
    assert evaluator.list_doubts(measured) == ()


def test_a_mask_whose_rim_is_always_empty_is_no_doubt():
    graph = parse("graph g {\n  input x: float_32[1,6]\n  y = Sigmoid(x)\n  output y\n}\n")
    values = (draw() * 4 - 2) - np.array([9, 9, 0, 0, 0, 0])
    evaluator, measured = judge(graph, values, lambda sample: {"y": squash(sample["x"])})
    assert find_parts(graph, "y", [squash(row[None]) for row in values]).count == 2
    assert evaluator.list_doubts(measured) == ()


@pytest.mark.parametrize("unsure", [0, 4, 5])
def test_probabilities_that_are_all_sure_prove_nothing_of_others(unsure):
    values = make_answers(np.arange(COUNT) % 6) * 20
    values[:unsure] /= 50
    evaluator, measured = judge(SHARES, values, metric="closeness")
    doubts = [text for text in evaluator.list_doubts(measured) if "between 1 % and 99 %" in text]
    assert len(doubts) == (unsure < 5)
    evaluator, measured = judge(SHARES, values, metric="same-answers")
    assert "between" not in " ".join(evaluator.list_doubts(measured))


def test_labels_in_another_order_are_said_though_most_answers_are_right():
    classes = np.arange(120) % 6
    swapped = Labels([{1: 4, 4: 1}.get(int(number), int(number)) for number in classes])
    evaluator, measured = judge(SHARES, make_answers(classes), lambda s: {"y": s["x"]}, swapped)
    assert not evaluator.list_poor_scores()
    (doubt,) = evaluator.list_doubts(measured)
    assert "has class 1 (20 samples), 4 (20 samples) of output 'y' right in no sample" in doubt


def test_a_class_of_few_samples_that_is_never_right_is_no_sign_of_labels_in_another_order():
    answers = np.arange(120) % 5
    labels = Labels([5] * 5 + [int(number) for number in answers[5:]])
    evaluator, measured = judge(SHARES, make_answers(answers), lambda s: {"y": s["x"]}, labels)
    assert evaluator.list_doubts(measured) == ()


WITH_NUMBER = parse("""
graph g {
  input x: float_32[1,6]
  n = Argmax(x) {axis = 1}
  y = Softmax(x)
  output n
  output y
}
""")
ONE_OF_TWO = parse("""
graph g {
  input x: float_32[1,6]
  const w: float_32[1,6] = [1.0,0.0,0.0,0.0,0.0,0.0]
  s = FullyConnected(x, w, _)
  y = Sigmoid(s)
  output y
}
""")


def test_the_number_of_a_class_beside_its_probabilities_is_not_called_chance():
    classes = np.arange(120) % 6
    labels = Labels([int(number) for number in classes])

    def run(sample):
        return {"n": sample["x"].argmax(1), "y": sample["x"]}

    evaluator, measured = judge(WITH_NUMBER, make_answers(classes), run, labels)
    assert evaluator.metric.each == ("right-answers", "same-answers")
    assert evaluator.list_poor_scores() == ()
    assert evaluator.list_doubts(measured) == ()


@pytest.mark.parametrize("is_swapped", [False, True])
def test_one_probability_answers_labels_of_two_classes(is_swapped):
    values = draw((120, 6))
    values[:, 0] = np.where(np.arange(120) % 2, 3, -3)
    labels = Labels([int(number % 2 != is_swapped) for number in range(120)])
    evaluator, _ = judge(ONE_OF_TWO, values, lambda s: {"y": s["x"][:, :1] > 0}, labels)
    (accuracy,) = evaluator.list_accuracy(evaluator.reference)
    assert accuracy.score == (0 if is_swapped else 100)
    poor = evaluator.list_poor_scores()
    assert poor == () if not is_swapped else "(50.0 % would be chance)" in poor[0]
