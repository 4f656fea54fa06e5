"""ONNX Resize, Upsample and sampling become QNN's ops, or exact maps of each axis, and keep the numbers."""

from itertools import product
from typing import Any

import numpy as np
import onnx.reference
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

PLACES = "PQRST"


def resize(attributes: str, dims: str, opset: int = 21, dtype: str = "float", **parts: Any) -> Any:
    """A Resize whose scales, sizes or roi are known."""
    kinds = {"roi": np.float32, "scales": np.float32, "sizes": np.int64}
    weights = {name: np.asarray(value, kinds[name]) for name, value in parts.items()}
    names = [name if name in parts else '""' for name in ("roi", "scales", "sizes")]
    used = ", ".join(names[: 1 + max(i for i, name in enumerate(kinds) if name in parts)])
    rank = dims.count(",") + 1
    shape = ",".join(PLACES[:rank])
    text = f"g ({dtype}[{dims}] x) => ({dtype}[{shape}] y) {{ y = Resize<{attributes}>(x, {used}) }}"
    return model_of(text, weights, {"": opset})


def reference(model: Any, feed: dict[str, Array]) -> Any:
    """Compares with ONNX's own definition, for what ONNX Runtime does not do or does otherwise."""
    converted = ew.convert(model)
    (expected,) = onnx.reference.ReferenceEvaluator(model).run(None, feed)
    np.testing.assert_allclose(converted.run(feed)["y"], expected, rtol=1e-4, atol=1e-5)
    return converted


MODES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]


@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", [(10, 12), (7, 5), (3, 2), (1, 9)])
def test_every_coordinate_mode_agrees_larger_and_smaller(mode: str, coordinates: str, sizes: Any) -> None:
    attributes = f'mode="{mode}", coordinate_transformation_mode="{coordinates}"'
    model = resize(attributes, "2,3,5,6", sizes=[2, 3, *sizes])
    converted = agree(model, {"x": normal(2, 3, 5, 6)})
    assert "SourceOp" not in op_names(converted)


def test_cubic_enlarging_of_open_sizes_is_left_to_the_engine() -> None:
    attributes = 'mode="cubic", coordinate_transformation_mode="half_pixel"'
    model = resize(attributes, "B,3,H,W", scales=[1, 1, 3, 2])
    converted = agree(model, *({"x": normal(b, 3, 5 * b, 6)} for b in (1, 2)))
    assert set(converted.placement().values()) == {"engine"}


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric"])
def test_every_way_of_rounding_agrees(rounding: str, coordinates: str) -> None:
    attributes = f'nearest_mode="{rounding}", coordinate_transformation_mode="{coordinates}"'
    for sizes in product((3, 10, 13), (4, 8)):
        agree(resize(attributes, "1,2,5,4", sizes=[1, 2, *sizes]), {"x": normal(1, 2, 5, 4)})


@pytest.mark.parametrize("scale", [0.6, 0.7, 1.3, 2.5])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric"])
def test_scales_that_do_not_divide_keep_their_own_coordinates(
    scale: float, mode: str, coordinates: str
) -> None:
    attributes = f'mode="{mode}", coordinate_transformation_mode="{coordinates}"'
    model = resize(attributes, "1,2,7,9", scales=[1, 1, scale, scale])
    converted = agree(model, {"x": normal(1, 2, 7, 9)})
    assert not {"Resize", "ResizeBilinear", "ResizeNearestNeighbor"} & set(op_names(converted))


@pytest.mark.parametrize(
    ("mode", "op"), [("nearest", "ResizeNearestNeighbor"), ("linear", "ResizeBilinear"), ("cubic", "Resize")]
)
def test_whole_scales_are_one_op_for_any_size(mode: str, op: str) -> None:
    attributes = f'mode="{mode}", coordinate_transformation_mode="asymmetric", nearest_mode="floor"'
    model = resize(attributes, "N,3,H,W", scales=[1, 1, 2, 3])
    converted = agree(model, {"x": normal(1, 3, 4, 5)}, {"x": normal(2, 3, 6, 3)})
    assert op in op_names(converted)


def test_sizes_computed_from_the_input_keep_symbolic_dimensions() -> None:
    text = """g (float[1,3,H,W] x, float[1,3,P,Q] like) => (float[A,B,C,D] y) {
        s = Shape(like)
        y = Resize<mode="linear">(x, "", "", s)
    }"""
    feeds = [
        {"x": normal(1, 3, 4, 5), "like": normal(1, 3, 9, 7)},
        {"x": normal(1, 3, 6, 5), "like": normal(1, 3, 3, 8)},
    ]
    converted = agree(model_of(text), *feeds)
    assert "ResizeBilinear" in op_names(converted)


@pytest.mark.parametrize(("dims", "sizes"), [("2,3,5", [2, 3, 9]), ("2,3,4,5,3", [2, 3, 6, 5, 7])])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_one_and_three_spatial_axes_agree(dims: str, sizes: list[int], mode: str) -> None:
    shape = tuple(map(int, dims.split(",")))
    converted = reference(resize(f'mode="{mode}"', dims, sizes=sizes), {"x": normal(*shape)})
    assert "MatMul" not in op_names(converted)


def test_a_channel_last_image_is_not_transposed() -> None:
    model = resize('mode="linear"', "1,4,5,3", scales=[1, 2, 2, 1])
    assert op_names(agree(model, {"x": normal(1, 4, 5, 3)})) == ["ResizeBilinear"]


def test_all_axes_of_a_matrix_are_resized() -> None:
    agree(resize('mode="linear"', "4,5", sizes=[7, 3]), {"x": normal(4, 5)})


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_the_aspect_ratio_is_kept_for_named_axes(policy: str) -> None:
    attributes = f'mode="linear", axes=[2,3], keep_aspect_ratio_policy="{policy}"'
    feed = {"x": normal(1, 2, 6, 8)}
    found = agree(resize(attributes, "1,2,6,8", sizes=[7, 5]), feed).run(feed)["y"]
    turned = resize(attributes.replace("[2,3]", "[-1,2]"), "1,2,6,8", sizes=[5, 7])
    np.testing.assert_allclose(ew.convert(turned).run(feed)["y"], found, rtol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_a_crop_is_filled_outside_the_image(mode: str) -> None:
    attributes = (
        f'mode="{mode}", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.5'
    )
    roi = [0, 0, -0.2, 0.23, 1, 1, 1.1, 0.9]
    model = resize(attributes, "1,2,6,8", roi=roi, sizes=[1, 2, 5, 4])
    reference(model, {"x": normal(1, 2, 6, 8)})


@pytest.mark.parametrize(("opset", "op"), [(7, "Upsample"), (9, "Upsample"), (10, "Resize")])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_older_opsets_agree(opset: int, op: str, mode: str) -> None:
    scales = np.asarray([1, 1, 2, 3], np.float32)
    attributes = f'mode="{mode}"' + (", scales=[1.0,1.0,2.0,3.0]" if opset == 7 else "")
    given = "x" if opset == 7 else "x, s"
    text = f"g (float[1,2,H,W] x) => (float[P,Q,R,S] y) {{ y = {op}<{attributes}>({given}) }}"
    model = model_of(text, {} if opset == 7 else {"s": scales}, {"": opset})
    agree(model, {"x": normal(1, 2, 4, 5)}, {"x": normal(1, 2, 3, 6)})


def test_integers_keep_their_type() -> None:
    x = np.arange(24, dtype=np.uint8).reshape(1, 1, 4, 6)
    agree(resize('mode="nearest"', "1,1,4,6", dtype="uint8", sizes=[1, 1, 7, 9]), {"x": x})


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("rank", "mode"), [(4, "linear"), (4, "nearest"), (4, "cubic"), (5, "linear"), (5, "nearest")]
)
@pytest.mark.parametrize("aligned", [0, 1])
def test_samples_at_a_grid_agree(rank: int, padding: str, mode: str, aligned: int) -> None:
    shape, places = ("2,3,H,W", "2,P,Q,2") if rank == 4 else ("2,3,D,H,W", "2,O,P,Q,3")
    shape = "2,3,5,6" if mode == "cubic" else shape
    result = ",".join(PLACES[:rank])
    text = (
        f"g (float[{shape}] x, float[{places}] grid) => (float[{result}] y) "
        f'{{ y = GridSample<mode="{mode}", padding_mode="{padding}", align_corners={aligned}>(x, grid) }}'
    )
    x = normal(2, 3, *(4, 5, 6)[5 - rank :])
    grid = np.clip(normal(2, *(2, 3, 4)[5 - rank :], rank - 2) * 0.9, -1.7, 1.7)
    converted = agree(model_of(text), {"x": x, "grid": grid}, atol=1e-4)
    assert "GridSample" in op_names(converted)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_crops_of_boxes_are_one_op(mode: str) -> None:
    text = (
        "g (float[2,3,6,5] x, float[n,4] boxes, int32[n] images) => (float[n,3,P,Q] y) "
        f'{{ y = com.microsoft.CropAndResize<mode="{mode}", extrapolation_value=0.5>(x, boxes, images, s) }}'
    )
    model = model_of(text, {"s": np.asarray([4, 3], np.int32)}, {"com.microsoft": 1})
    boxes = np.asarray([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [0.9, -0.3, 0.1, 1.4]], np.float32)
    feed = {"x": normal(2, 3, 6, 5), "boxes": boxes, "images": np.asarray([0, 1, 1], np.int32)}
    assert "CropAndResize" in op_names(agree(model, feed))


@pytest.mark.parametrize(
    ("attributes", "parts"),
    [
        ("", {"scales": [1, 1, 0, 2]}),
        ("", {"scales": [1, 1, -1, 2]}),
        ("", {"scales": [1, 1, float("nan"), 2]}),
        ("", {"scales": [1, 1, float("inf"), 2]}),
        ("", {"scales": [1, 2]}),
        ("", {"sizes": [1, 2, 0, 5]}),
        ("", {"sizes": [1, 2, -3, 5]}),
        ("", {"sizes": [5]}),
        ("", {"scales": []}),
        ("axes=[9]", {"sizes": [5]}),
        ("axes=[2,2]", {"sizes": [5, 6]}),
        ('mode="wrong"', {"sizes": [1, 2, 5, 5]}),
        ('coordinate_transformation_mode="wrong"', {"sizes": [1, 2, 5, 5]}),
        ('coordinate_transformation_mode="tf_crop_and_resize"', {"sizes": [1, 2, 5, 5]}),
        ('mode="linear", antialias=1', {"sizes": [1, 2, 1 << 40, 5]}),
    ],
)
def test_hostile_requests_are_refused_without_a_traceback(attributes: str, parts: dict[str, Any]) -> None:
    model = resize(attributes or "exclude_outside=0", "1,2,3,4", **parts)
    with pytest.raises(EdgewrightError) as caught:
        ew.convert(model)
    assert caught.value.exit_code in {3, 4, 5}, str(caught.value)
