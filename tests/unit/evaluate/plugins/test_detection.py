"""Detections in pixels of images, and their figures, against known boxes and pycocotools."""

import json
from pathlib import Path

import numpy as np
import pytest

from edgewright.core.errors import BadInput, ShapeMismatch, UsageError
from edgewright.evaluate.plugins.boxes import draw_mask, find_overlaps, keep_best
from edgewright.evaluate.plugins.pictures import ORIGINAL_SIZE
from edgewright.evaluate.plugins.sample import Context, Dataset, Sample

# An image of 200 high and 400 wide.
FACTS = {ORIGINAL_SIZE: (200, 400)}


def _detect(compute, boxes, scores=(0.9,), labels=(3,), **params):
    outputs = (np.float32([boxes]), np.float32([scores]), np.float32([labels]))
    return compute("object_detection", *outputs, facts=FACTS, dims="100,100", **params)


@pytest.mark.parametrize(
    ("box", "params"),
    [
        ([25, 25, 75, 75], {"type": "stretch"}),
        ([0.25, 0.25, 0.75, 0.75], {}),
        ([25, 37.5, 75, 62.5], {"type": "letterbox"}),
        ([25, 12.5, 75, 37.5], {"type": "letterbox", "skip_padding": True}),
        ([25, 12.5, 75, 37.5], {"type": "aspect_ratio"}),
        ([50, 50, 50, 50], {"xywh_to_xyxy": True}),
        ([37.5, 25, 62.5, 75], {"xy_swap": True, "type": "letterbox"}),
        ([0.25, 0.25, 0.75, 0.75], {"scale": "100,100,100,100"}),
    ],
)
def test_boxes_come_back_to_the_image(compute, box, params):
    (detection,) = _detect(compute, [box], **params)
    np.testing.assert_allclose(detection["bbox"], [100, 50, 200, 100], atol=1e-4)
    assert detection["category"] == 3
    assert detection["score"] == pytest.approx(0.9)


def test_low_scores_and_padding_rows_are_left_out(compute):
    boxes = [[1, 1, 50, 50]] * 3
    assert len(_detect(compute, boxes, (0.9, 0.0005, 0.5), (0, 1, 2))) == 2
    assert len(_detect(compute, boxes, (0.9, np.nan, 0.5), (0, 1, -1), padded_outputs=True)) == 1
    assert [each["category"] for each in _detect(compute, boxes, (0.9,) * 3, (0, 1, 2), label_offset=1)] == [
        1,
        2,
        3,
    ]


def test_no_detections_are_an_answer_too(compute):
    assert _detect(compute, np.zeros((0, 4)), (), ()) == []


def test_masks_fill_their_boxes(compute):
    masks = np.zeros((1, 2, 4, 4), np.float32)
    masks[0, 1] = 1
    outputs = (np.float32([[[25, 25, 75, 75]]]), np.float32([[0.9]]), np.float32([[1]]), masks)
    (detection,) = compute(
        "object_detection", *outputs, facts=FACTS, dims="100,100", mask=True, mask_dims="1,2,4,4"
    )
    coder = pytest.importorskip("pycocotools.mask")
    drawn = coder.decode(detection["segmentation"])
    assert drawn.shape == (200, 400)
    assert drawn.sum() == 200 * 100
    assert drawn[50:150, 100:300].all()
    assert coder.decode(draw_mask(np.ones((2, 2)), np.array([390, 190, 400, 200]), (200, 400))).sum() == 100


def test_outputs_that_are_no_detections_are_refused(compute):
    with pytest.raises(ShapeMismatch, match="expected boxes"):
        compute("object_detection", np.zeros((1, 5)), np.zeros(5), dims="8,8", facts=FACTS)
    with pytest.raises(UsageError, match="'type' of 'object_detection' is 'bent'"):
        compute("object_detection", dims="8,8", type="bent")
    with pytest.raises(UsageError, match="needs 'mask_dims'"):
        compute("object_detection", dims="8,8", mask=True)
    with pytest.raises(UsageError, match="expected a type of numpy"):
        _detect(compute, [[0, 0, 1, 1]], dtypes="[float33]")


def test_a_better_box_removes_those_it_overlaps():
    corners = np.array([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]], float)
    assert find_overlaps(corners[0], corners).round(4).tolist() == [1, 0.6807, 0]
    assert keep_best(corners, np.array([0.5, 0.9, 0.1]), 0.5).tolist() == [1, 2]
    assert keep_best(corners, np.array([0.5, 0.9, 0.1]), 0.7).tolist() == [1, 0, 2]


def test_centernet_finds_what_was_drawn(compute):
    heat, sizes, offsets = np.full((1, 2, 25, 50), -9.0), np.zeros((1, 2, 25, 50)), np.zeros((1, 2, 25, 50))
    heat[0, 1, 12, 25] = 4.0
    heat[0, 1, 12, 26] = 3.0  # a neighbour of the peak
    sizes[0, :, 12, 25] = 25, 12.5
    offsets[0, :, 12, 25] = 0.0, 0.5
    terms = {"dtypes": ["float32"] * 3, "output_dims": "25,50", "num_classes": 2}
    (detection,) = compute("centernet_postprocess", heat, sizes, offsets, facts=FACTS, **terms)
    np.testing.assert_allclose(detection["bbox"], [100, 50, 200, 100])
    assert detection["category"] == 1
    assert detection["score"] == pytest.approx(1 / (1 + np.exp(-4)))


def test_centernet_undoes_what_its_preprocessing_did(open_plugin, context):
    image = np.zeros((200, 400, 3), np.uint8)
    before = open_plugin("centernet_preproc", dims="128,128")
    after = open_plugin("centernet_postprocess", is_memory=True, output_dims="32,32")
    (sample,) = before.process([Sample(0, (image,))], context)
    heat, sizes, offsets = (np.zeros((1, c, 32, 32)) for c in (1, 2, 2))
    heat[0, 0, 16, 16], sizes[0, :, 16, 16] = 0.9, (16, 8)
    (result,) = after.process([sample.make_next([heat, sizes, offsets])], context)
    np.testing.assert_allclose(result.values[0][0]["bbox"], [100, 50, 200, 100])


def test_people_have_keypoints_that_coco_counts(compute, open_plugin, tmp_path):
    heat, sizes, offsets = (np.zeros((1, c, 25, 25)) for c in (1, 2, 2))
    moves, joints, shifts = (np.zeros((1, c, 25, 25)) for c in (34, 17, 2))
    heat[0, 0, 12, 12], sizes[0, :, 12, 12] = 0.9, (16, 16)
    moves[0, :, 12, 12] = np.tile([2.0, 3.0], 17)
    joints[0, 5, 16, 15] = 0.8  # near (14, 15), where the sixth joint was regressed
    shifts[0, :, 16, 15] = 0.5, 0.25
    joints[0, 6, 0, 0] = 0.8  # outside of the box
    facts = {ORIGINAL_SIZE: (100, 100)}
    terms = {"dtypes": ["float32"] * 6, "output_dims": "25,25", "score": 0.5}
    (person,) = compute(
        "centernet_postprocess", heat, sizes, moves, offsets, joints, shifts, facts=facts, **terms
    )
    points = np.reshape(person["keypoints"], (17, 3))
    np.testing.assert_allclose(points[5], [62, 65, 1])
    np.testing.assert_allclose(points[6], [56, 60, 1])
    context = _write_coco(tmp_path, [[16, 16, 64, 64]])
    truth = json.loads((tmp_path / "truth.json").read_text())
    right = points.copy()
    right[:, 2] = 2
    truth["annotations"][0] |= {
        "keypoints": right.reshape(-1).tolist(),
        "num_keypoints": 17,
        "category_id": 1,
    }
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    plugin = open_plugin("map_coco", keypoint_map=True, map_80_to_90=True)
    figures = plugin.measure([Sample(0, ([person],), (Path("0.jpg"),))], context)
    assert figures["keypoints_mAP"] == pytest.approx(1.0)
    person["keypoints"] = (points + np.array([40, 40, 0])).reshape(-1).tolist()
    assert plugin.measure([Sample(0, ([person],), (Path("0.jpg"),))], context)["keypoints_mAP"] == 0


def test_centerface_finds_what_was_drawn(compute):
    heat, sizes, offsets = (np.zeros((1, c, 25, 25)) for c in (1, 2, 2))
    heat[0, 0, 12, 12], heat[0, 0, 12, 13] = 0.9, 0.4
    sizes[0, :, 12, 12:14] = np.log(12.5)
    marks = np.zeros((1, 10, 25, 25))
    (face,) = compute("centerface_postproc", heat, sizes, offsets, marks, facts=FACTS, dims="100,100")
    np.testing.assert_allclose(face["bbox"], [100, 50, 200, 100], atol=1e-6)
    assert face["score"] == pytest.approx(0.9)
    with pytest.raises(BadInput, match="expected 1 classes, 2 sizes, 2 offsets"):
        compute("centerface_postproc", heat, sizes, facts=FACTS, dims="100,100")


def _write_coco(folder: Path, boxes, ids=(1, 5)) -> Context:
    document = {
        "images": [
            {"id": 7 + n, "file_name": f"{n}.jpg", "width": 100, "height": 100} for n in range(len(boxes))
        ],
        "categories": [{"id": each} for each in ids],
        "annotations": [{"image_id": 7 + n, "category_id": 5, "bbox": box} for n, box in enumerate(boxes)],
    }
    (folder / "truth.json").write_text(json.dumps(document))
    return Context(Dataset(folder, (), annotations=folder / "truth.json"), folder)


def test_map_is_that_of_pycocotools(open_plugin, tmp_path):
    context = _write_coco(tmp_path, [[10, 10, 40, 40], [20, 20, 30, 30]])
    results = [
        Sample(0, ([{"bbox": [10, 10, 40, 40], "score": 0.9, "category": 1}],), (Path("0.jpg"),)),
        Sample(1, ([{"bbox": [20, 20, 30, 18.5], "score": 0.8, "category": 1}],), (Path("1.jpg"),)),
    ]
    # The second one overlaps by 0.617: right at thresholds of 0.5, 0.55 and 0.6.
    figures = open_plugin("map_coco", map_80_to_90=True).measure(results, context)
    half = 51 / 101
    assert figures["mAP50"] == pytest.approx(1.0)
    assert figures["mAP"] == pytest.approx((3 * 1 + 7 * half) / 10)
    # Labels are not ids, unless that is said: one is an id by chance.
    assert open_plugin("map_coco").measure(results, context) == {"mAP": 0.0, "mAP50": 0.0}
    assert open_plugin("map_coco", map_80_to_90=True).measure(results[:1], context)["mAP"] == pytest.approx(
        1.0
    )
    with pytest.raises(UsageError, match="have no segmentation"):
        open_plugin("map_coco", segm=True).measure(results, context)
    context = _write_coco(tmp_path, [[10, 10, 40, 40], [20, 20, 30, 30]], ids=(2, 5))
    with pytest.raises(BadInput, match=r"2 of 2 detections have labels \(1\) of no category"):
        open_plugin("map_coco").measure(results, context)


def test_masks_are_measured_too(open_plugin, compute, tmp_path):
    context = _write_coco(tmp_path, [[10, 10, 40, 40]])
    truth = json.loads((tmp_path / "truth.json").read_text())
    truth["annotations"][0]["segmentation"] = [[10, 10, 50, 10, 50, 50, 10, 50]]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    corners = np.array([10, 10, 50, 50])
    row = {"bbox": [10, 10, 40, 40], "score": 0.9, "category": 5}
    row["segmentation"] = draw_mask(np.ones((4, 4)), corners, (100, 100))
    figures = open_plugin("map_coco", segm=True).measure([Sample(0, ([row],), (Path("0.jpg"),))], context)
    assert figures["segm_mAP"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"images": [{"id": 1}], "annotations": [], "categories": []}']
)
def test_annotations_of_another_form_are_clean_errors(open_plugin, tmp_path, text):
    (tmp_path / "truth.json").write_text(text)
    context = Context(Dataset(tmp_path, (), annotations=tmp_path / "truth.json"), tmp_path)
    with pytest.raises(BadInput, match="COCO's form"):
        open_plugin("map_coco").measure([], context)


def test_images_without_annotations_are_named(open_plugin, tmp_path):
    context = _write_coco(tmp_path, [[10, 10, 40, 40]])
    with pytest.raises(BadInput, match=r"have no image 'other\.jpg'"):
        open_plugin("map_coco").measure([Sample(0, ([],), (Path("other.jpg"),))], context)
    with pytest.raises(BadInput, match="needs detections, found ndarray"):
        open_plugin("map_coco").measure([Sample(0, (np.zeros(3),), (Path("0.jpg"),))], context)


def _write_mat(folder: Path, level: str, faces) -> None:
    scipy_io = pytest.importorskip("scipy.io")

    def nest(values):
        cells = np.empty((len(values), 1), object)
        for n, value in enumerate(values):
            cells[n, 0] = value
        return cells

    scipy_io.savemat(folder / f"wider_{level}_val.mat", faces(nest))


def test_faces_are_counted_by_level(open_plugin, tmp_path):
    boxes = [np.array([[10.0, 10, 40, 40], [60, 60, 9, 9]]), np.array([[20.0, 20, 30, 30]])]
    names = [["a"], ["b"]]
    _write_mat(
        tmp_path,
        "face",
        lambda nest: {
            "file_list": nest([nest([np.array(n)]) for n in names]),
            "face_bbx_list": nest([nest([b]) for b in boxes]),
        },
    )
    chosen = {"easy": [[1], [1]], "medium": [[1], [1]], "hard": [[1, 2], [1]]}
    for level, numbers in chosen.items():
        _write_mat(
            tmp_path,
            level,
            lambda nest, numbers=numbers: {"gt_list": nest([nest([np.array(n)[:, None]]) for n in numbers])},
        )
    context = Context(Dataset(tmp_path, (), annotations=tmp_path), tmp_path)
    results = [
        Sample(
            0,
            ([{"bbox": [10, 10, 40, 40], "score": 0.9}, {"bbox": [60, 60, 9, 9], "score": 0.8}],),
            (Path("a.jpg"),),
        ),
        Sample(
            1,
            ([{"bbox": [80, 80, 9, 9], "score": 0.7}, {"bbox": [20, 20, 30, 30], "score": 0.2}],),
            (Path("b.jpg"),),
        ),
    ]
    # Easy: the small face is no mistake; one wrong box before the last right one: 1/2 * 1 + 1/2 * 2/3.
    figures = open_plugin("widerface_AP").measure(results, context)
    assert figures == pytest.approx({"easy": 5 / 6, "medium": 5 / 6, "hard": 2 / 3 + 1 / 3 * 3 / 4}, abs=1e-5)


def test_faces_without_the_files_of_levels_are_refused(open_plugin, tmp_path):
    context = Context(Dataset(tmp_path, (), annotations=tmp_path), tmp_path)
    with pytest.raises(UsageError, match=r"there is no wider_face_val\.mat"):
        open_plugin("widerface_AP").measure([], context)
    for name in ("face", "easy", "medium", "hard"):
        (tmp_path / f"wider_{name}_val.mat").write_bytes(b"no mat")
    pytest.importorskip("scipy.io")
    with pytest.raises(BadInput, match=r"no \.mat file"):
        open_plugin("widerface_AP").measure([], context)


def test_plates_are_read_without_blanks(compute):
    text, blank = "A1B2", 36
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    places = [alphabet.index("A"), alphabet.index("A"), blank, *(alphabet.index(c) for c in "1B2"), blank]
    assert compute("lprnet_predict", np.eye(37)[places].T[None]) == text
    assert compute("lprnet_predict", np.eye(68)[[0, 67, 0, 31]].T[None]) == "京京0"
    with pytest.raises(UsageError, match="no known alphabet"):
        compute("lprnet_predict", np.zeros((1, 5, 9)))
