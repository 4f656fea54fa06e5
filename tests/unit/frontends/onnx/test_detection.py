"""ONNX boxes and regions become QNN's ops and keep ONNX Runtime's numbers."""

from typing import Any

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names


def some_boxes(images: int, count: int, *, is_centred: bool = False) -> Array:
    random = np.random.default_rng(count)
    first, size = random.random((images, count, 2)), random.random((images, count, 2)) * 0.5
    parts = [first, size] if is_centred else [first, first + size]
    return np.concatenate(parts, 2).astype(np.float32)


def suppression(attributes: str = "", **limits: Any) -> Any:
    kinds = {"most": np.int64, "iou": np.float32, "least": np.float32}
    names = [name if name in limits else '""' for name in kinds]
    text = (
        "g (float[N,n,4] boxes, float[N,c,n] scores) => (int64[k,3] y) "
        f"{{ y = NonMaxSuppression{attributes}(boxes, scores, {', '.join(names)}) }}"
    )
    weights = {name: np.asarray([value], kinds[name]) for name, value in limits.items()}
    return model_of(text, weights)


@pytest.mark.parametrize("centred", [0, 1])
@pytest.mark.parametrize(
    "limits",
    [{"most": 3, "iou": 0.4}, {"most": 100, "iou": 0.1, "least": 0.5}, {"most": 2}, {"iou": 0.5}],
    ids=["iou", "threshold", "most", "none"],
)
def test_boxes_kept_agree_for_any_number_of_them(limits: dict[str, float], centred: int) -> None:
    model = suppression(f"<center_point_box={centred}>", **limits)
    feeds = [
        {
            "boxes": some_boxes(images, count, is_centred=bool(centred)),
            "scores": np.random.default_rng(1).random((images, 3, count)).astype(np.float32),
        }
        for images, count in ((1, 12), (2, 30))
    ]
    converted = agree(model, *feeds)
    assert "SourceOp" not in op_names(converted)


def test_boxes_kept_can_be_gathered_after() -> None:
    text = """g (float[1,n,4] boxes, float[1,1,n] scores) => (float[k,4] y) {
        rows = NonMaxSuppression(boxes, scores, most, iou)
        column = Gather<axis=1>(rows, two)
        flat = Squeeze<axes=[0]>(boxes)
        y = Gather(flat, column)
    }"""
    weights = {
        "most": np.asarray([4], np.int64),
        "iou": np.asarray([0.3], np.float32),
        "two": np.asarray(2, np.int64),
    }
    scores = np.random.default_rng(1).random((1, 1, 20)).astype(np.float32)
    agree(model_of(text, weights, {"": 11}), {"boxes": some_boxes(1, 20), "scores": scores})


REGIONS = np.asarray([[0, 0, 8, 9], [2.5, 1, 11, 13], [-3, 4, 5, 20], [7, 7, 6, 6]], np.float32)


@pytest.mark.parametrize("opset", [10, 16])
@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize("scale", [0.5, 0.3])
def test_aligned_regions_agree(opset: int, samples: int, scale: float) -> None:
    text = (
        "g (float[2,3,H,W] x, float[n,4] rois, int64[n] images) => (float[n,3,4,3] y) "
        f"{{ y = RoiAlign<output_height=4, output_width=3, sampling_ratio={samples}, "
        f"spatial_scale={scale}>(x, rois, images) }}"
    )
    images = np.asarray([0, 1, 1, 0], np.int64)
    regions = REGIONS if opset < 16 or samples else REGIONS[:3]
    feed = {"x": normal(2, 3, 7, 6), "rois": regions, "images": images[: len(regions)]}
    converted = agree(model_of(text, opsets={"": opset}), feed, atol=1e-4)
    assert "RoiAlign" in op_names(converted)


def test_pooled_regions_agree() -> None:
    text = (
        "g (float[2,3,7,6] x, float[n,5] rois) => (float[n,3,3,2] y) "
        "{ y = MaxRoiPool<pooled_shape=[3,2], spatial_scale=0.5>(x, rois) }"
    )
    rois = np.concatenate([np.asarray([[0], [1], [1], [0]], np.float32), REGIONS], 1)
    converted = agree(model_of(text), {"x": normal(2, 3, 7, 6), "rois": rois})
    assert "RoiPooling" in op_names(converted)


@pytest.mark.parametrize(
    "attributes",
    ["output_height=0", "output_height=-2", "spatial_scale=0.0", "spatial_scale=-1.0", 'mode="median"'],
)
def test_hostile_region_attributes_are_refused(attributes: str) -> None:
    text = (
        "g (float[2,3,7,6] x, float[4,4] rois, int64[4] images) => (float[4,3,P,Q] y) "
        f"{{ y = RoiAlign<{attributes}>(x, rois, images) }}"
    )
    with pytest.raises(EdgewrightError) as caught:
        ew.convert(model_of(text))
    assert caught.value.exit_code in {3, 4}


@pytest.mark.parametrize("shape", ["2,12", "2,12,5", "2,12,4,1"])
def test_boxes_of_another_shape_are_refused(shape: str) -> None:
    text = (
        f"g (float[{shape}] boxes, float[2,3,12] scores) => (int64[k,3] y) "
        "{ y = NonMaxSuppression(boxes, scores, most) }"
    )
    with pytest.raises(EdgewrightError) as caught:
        ew.convert(model_of(text, {"most": np.asarray([3], np.int64)}))
    assert caught.value.exit_code in {3, 4}


def test_a_limit_of_many_numbers_is_refused() -> None:
    text = (
        "g (float[1,9,4] boxes, float[1,1,9] scores) => (int64[k,3] y) "
        "{ y = NonMaxSuppression(boxes, scores, most) }"
    )
    with pytest.raises(EdgewrightError, match="expected one number"):
        ew.convert(model_of(text, {"most": np.asarray([3, 4], np.int64)}))
