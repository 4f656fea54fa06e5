"""Mean average precision: COCO's own figure, on boxes in every form that is understood."""

import contextlib
import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewright.core.errors import UsageError
from edgewright.data.coco_labels import read_coco_boxes
from edgewright.evaluate.loss import measure_score
from edgewright.evaluate.metrics import find_measure
from edgewright.evaluate.metrics.measure import Answer

coco = pytest.importorskip("pycocotools.coco")
cocoeval = pytest.importorskip("pycocotools.cocoeval")
WIDTH, HEIGHT, SEEN = 80, 60, 12


def draw_case(seed, images=4):
    """Annotations, and boxes near to some of them."""
    random = np.random.default_rng(seed)
    truth = {"info": {}, "images": [], "categories": [{"id": 3}, {"id": 7}], "annotations": []}
    outputs = []
    for image in range(1, images + 1):
        truth["images"].append({"id": image, "file_name": f"{image}.png", "width": WIDTH, "height": HEIGHT})
        boxes = np.column_stack([random.uniform(0, 40, (5, 2)), random.uniform(4, 20, (5, 2))])
        for box, kind, crowd in zip(boxes, random.integers(0, 2, 5), random.random(5) < 0.1, strict=True):
            truth["annotations"].append(
                {
                    "id": len(truth["annotations"]) + 1,
                    "image_id": image,
                    "category_id": [3, 7][kind],
                    "bbox": box.tolist(),
                    "area": float(box[2] * box[3]),
                    "iscrowd": int(crowd),
                }
            )
        seen = boxes[random.integers(0, 5, SEEN)] + random.normal(0, 1.0, (SEEN, 4))
        seen[:, 2:] = np.maximum(seen[:, 2:], 1)
        classes = random.integers(0, 2, SEEN).astype(np.float32)
        outputs.append({"boxes": seen[None], "scores": random.random((1, SEEN)), "classes": classes[None]})
    return truth, outputs


def ask_coco(truth, outputs):
    with contextlib.redirect_stdout(io.StringIO()):
        known = coco.COCO()
        known.dataset = truth
        known.createIndex()
        results = [
            {"image_id": image, "category_id": [3, 7][int(c)], "bbox": b.tolist(), "score": float(s)}
            for image, item in enumerate(outputs, 1)
            for b, s, c in zip(item["boxes"][0], item["scores"][0], item["classes"][0], strict=True)
        ]
        judge = cocoeval.COCOeval(known, known.loadRes(results), "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return 100 * judge.stats[0]


def score(name, truth, outputs, tmp_path, size=(HEIGHT, WIDTH)):
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(truth))
    labels = read_coco_boxes(path, [], len(outputs))
    measure = find_measure(name)
    inputs = {"image": np.zeros((1, 3, *size), np.float32)}
    empty = np.zeros(0)
    answers = [
        Answer(empty, empty, label, inputs=inputs, references=item, results=item)
        for label, item in zip(labels, outputs, strict=True)
    ]
    return measure_score(measure, [measure.add_up(answer) for answer in answers], np.array([1.0]))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_it_is_the_figure_of_coco(tmp_path_factory, seed):
    truth, outputs = draw_case(seed)
    found, low, high = score("map:xywh", truth, outputs, tmp_path_factory.mktemp("coco"))
    assert found == pytest.approx(ask_coco(truth, outputs))
    assert low <= high


def test_boxes_are_understood_in_every_form(tmp_path):
    truth, outputs = draw_case(5)
    expected = ask_coco(truth, outputs)
    scale = np.array([WIDTH, HEIGHT, WIDTH, HEIGHT])
    forms = {
        "map:xywh": lambda box: box,
        "map": lambda box: np.concatenate([box[..., :2], box[..., :2] + box[..., 2:]], -1),
        "map:yxyx": lambda box: np.concatenate([box[..., :2], box[..., :2] + box[..., 2:]], -1)[
            ..., [1, 0, 3, 2]
        ],
        "map:cxcywh": lambda box: np.concatenate([box[..., :2] + box[..., 2:] / 2, box[..., 2:]], -1),
    }
    for name, change in forms.items():
        changed = [{**item, "boxes": change(item["boxes"])} for item in outputs]
        assert score(name, truth, changed, tmp_path)[0] == pytest.approx(expected)
    # Pixels of a larger input, and shares of the image.
    larger = [{**item, "boxes": 2 * item["boxes"]} for item in outputs]
    assert score("map:xywh", truth, larger, tmp_path, (120, 160))[0] == pytest.approx(expected)
    shares = [{**item, "boxes": item["boxes"] / scale} for item in outputs]
    assert score("map:xywh", truth, shares, tmp_path)[0] == pytest.approx(expected)


def test_scores_of_all_classes_and_rows_of_six_are_understood(tmp_path):
    truth, outputs = draw_case(6)
    expected = ask_coco(truth, outputs)
    grids, rows = [], []
    for item in outputs:
        classes = item["classes"][0].astype(int)
        grid = np.zeros((1, SEEN, 2))
        grid[0, np.arange(SEEN), classes] = item["scores"][0]
        grids.append({"boxes": item["boxes"], "scores": grid})
        parts = (item["boxes"], item["scores"][..., None], item["classes"][..., None])
        rows.append({"found": np.concatenate(parts, -1)})
    assert score("map:xywh", truth, grids, tmp_path)[0] == pytest.approx(expected)
    assert score("map:xywh", truth, rows, tmp_path)[0] == pytest.approx(expected)


def test_nothing_seen_is_nothing_found(tmp_path):
    truth, outputs = draw_case(7)
    empty = [{**item, "scores": np.full((1, SEEN), np.nan)} for item in outputs]
    assert score("map:xywh", truth, empty, tmp_path)[0] == 0


def test_other_outputs_and_other_forms_are_refused_with_what_is_needed():
    measure = find_measure("map")
    assert "after non-maximum suppression" in measure.find_misfit({"y": (1, 84, 8400)}, "y")
    with pytest.raises(UsageError, match="expected one of xyxy, yxyx, xywh, cxcywh"):
        find_measure("map:corners")


def spread_raw(outputs, *, is_turned):
    """Each detection three times, as a raw detector gives it: centre, size, scores of classes."""
    raw = []
    for item in outputs:
        boxes, scores, classes = item["boxes"][0], item["scores"][0], item["classes"][0].astype(int)
        rows = []
        for factor, shift in ((1.0, 0.0), (0.9, 0.1), (0.8, -0.1)):
            grid = np.zeros((len(boxes), 2))
            grid[np.arange(len(boxes)), classes] = scores * factor
            corners = boxes + np.array([shift, shift, 0, 0])
            centres = corners[:, :2] + corners[:, 2:] / 2
            rows.append(np.concatenate([centres, corners[:, 2:], grid], 1))
        array = np.concatenate(rows)[None]
        raw.append({"output0": array.transpose(0, 2, 1) if is_turned else array})
    return raw


def suppress_by_coco(boxes, scores, classes, overlap):
    """The plain algorithm, with pycocotools' own overlaps."""
    mask = pytest.importorskip("pycocotools.mask")
    overlaps = mask.iou(boxes.astype(np.float64), boxes.astype(np.float64), [0] * len(boxes))
    kept = []
    for place in np.argsort(-scores, kind="stable"):
        rivals = [other for other in kept if classes[other] == classes[place]]
        if all(overlaps[place, other] <= overlap for other in rivals):
            kept.append(place)
    return kept


@pytest.mark.parametrize("is_turned", [False, True])
def test_raw_detections_are_suppressed_before_they_are_counted(tmp_path, is_turned):
    truth, outputs = draw_case(3)
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    labels = read_coco_boxes(tmp_path / "truth.json", [], len(outputs))
    raw = spread_raw(outputs, is_turned=is_turned)
    expected = []
    for item in raw:
        rows = item["output0"][0].T if is_turned else item["output0"][0]
        boxes = np.concatenate([rows[:, :2] - rows[:, 2:4] / 2, rows[:, 2:4]], 1)
        scores, classes = rows[:, 4:].max(1), rows[:, 4:].argmax(1)
        kept = suppress_by_coco(boxes, scores, classes, 0.6)
        expected.append(
            {"boxes": boxes[kept][None], "scores": scores[kept][None], "classes": classes[kept][None]}
        )
    measure = find_measure("map:cxcywh:0.6")
    assert measure.find_misfit({"output0": raw[0]["output0"].shape}, "output0") == ""
    feed = {"image": np.zeros((1, 3, HEIGHT, WIDTH))}
    sums = [
        measure.add_up(Answer(np.zeros(0), np.zeros(0), label, results=item, inputs=feed))
        for item, label in zip(raw, labels, strict=True)
    ]
    found = measure.score_draws(sums, np.ones((1, len(sums))), np.zeros(0))[0]
    assert found == pytest.approx(ask_coco(truth, expected), abs=1e-6)


def test_raw_detections_are_refused_without_suppression():
    assert "map:FORM:OVERLAP" in find_measure("map").find_misfit({"output0": (1, 84, 8400)}, "output0")


@pytest.mark.parametrize(
    "name", ["map:xyxy:2", "map:xyxy:much", "map:xyxy:0.5:7", "box-iou:xx", "box-iou:xyxy:1"]
)
def test_what_a_metric_of_boxes_is_told_must_make_sense(name):
    with pytest.raises(UsageError):
        find_measure(name)


@pytest.mark.parametrize("form", ["xyxy", "yxyx", "xywh", "cxcywh"])
def test_overlaps_of_boxes_are_those_of_pycocotools(form):
    mask = pytest.importorskip("pycocotools.mask")
    random = np.random.default_rng(5)
    first = np.column_stack([random.uniform(0, 9, (20, 2)), random.uniform(1, 9, (20, 2))])
    second = first + random.normal(0, 1, (20, 4)).clip(-0.9, 0.9)
    expected = np.diag(mask.iou(first, second, [0] * 20)).mean() * 100

    def spell(boxes):
        left, size = boxes[:, :2], boxes[:, 2:]
        if form == "xywh":
            return boxes
        if form == "cxcywh":
            return np.concatenate([left + size / 2, size], 1)
        corners = np.concatenate([left, left + size], 1)
        return corners if form == "xyxy" else corners[:, [1, 0, 3, 2]]

    measure = find_measure(f"box-iou:{form}")
    sums = measure.add_up(Answer(spell(second)[None], spell(first)[None]))
    assert measure.compute_score(np.array(sums), np.zeros(0)) == pytest.approx(expected)
    labelled = measure.add_up(Answer(spell(first)[None], spell(first)[None], spell(second)))
    assert labelled == pytest.approx(sums)
