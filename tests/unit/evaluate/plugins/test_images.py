"""Images are resized, cropped and normalised as the libraries that define it do."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from edgewright.core.errors import BadInput, EdgewrightError, Problems, ShapeMismatch, UsageError
from edgewright.evaluate.plugins.chain import process_samples
from edgewright.evaluate.plugins.plugin import find_builtin_plugins
from edgewright.evaluate.plugins.resizing import PILLOW_NUMBERS, resize_image
from edgewright.evaluate.plugins.sample import Sample

RAMP = np.array([[0, 10, 200], [60, 255, 31], [90, 17, 128]], np.uint8)[..., None].repeat(3, 2)
# Of cv2.resize, OpenCV 5.0.0: the first channel of RAMP.
OPENCV = {
    ("bilinear", "2,2"): [[29, 136], [81, 97]],
    ("bilinear", "5,4"): [
        [0, 6, 81, 200],
        [24, 76, 117, 132],
        [60, 182, 171, 31],
        [78, 99, 103, 89],
        [90, 44, 58, 128],
    ],
    ("area", "2,2"): [[44, 126], [85, 96]],
    ("area", "5,4"): [
        [0, 7, 73, 200],
        [20, 68, 109, 144],
        [60, 190, 180, 31],
        [80, 91, 96, 96],
        [90, 41, 54, 128],
    ],
    ("nearest", "2,2"): [[0, 10], [60, 255]],
    ("nearest", "5,4"): [
        [0, 0, 10, 200],
        [0, 0, 10, 200],
        [60, 60, 255, 31],
        [60, 60, 255, 31],
        [90, 90, 17, 128],
    ],
}


@pytest.mark.parametrize("kind", sorted(PILLOW_NUMBERS))
def test_resizing_with_pillow_is_pillow(compute, pixels, kind):
    expected = np.asarray(Image.fromarray(pixels).resize((31, 24), PILLOW_NUMBERS[kind]))
    result = compute("resize", pixels, dims="24,31", library="pillow", interp=kind)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, expected)


def test_pillow_is_bicubic_and_others_bilinear_where_nothing_is_said(compute, pixels):
    for library, kind in (("pillow", "bicubic"), ("opencv", "bilinear"), ("torchvision", "bilinear")):
        said = compute("resize", pixels, dims="24,31", library=library, interp=kind)
        np.testing.assert_array_equal(compute("resize", pixels, dims=[24, 31], library=library), said)


def test_resizing_like_opencv_gives_opencvs_bytes(compute):
    for (kind, size), expected in OPENCV.items():
        result = compute("resize", RAMP, dims=size, interp=kind)
        assert result[..., 0].astype(int).tolist() == expected, (kind, size)


@pytest.mark.torch
@pytest.mark.parametrize("size", [(24, 31), (90, 101), (30, 101), (1, 1)])
@pytest.mark.parametrize("kind", ["bilinear", "bicubic"])
def test_torchvision_on_real_numbers_is_interpolate_with_antialias(pixels, size, kind):
    torch = pytest.importorskip("torch")
    image = pixels.astype(np.float32)
    tensor = torch.from_numpy(image).permute(2, 0, 1)[None]
    expected = torch.nn.functional.interpolate(tensor, size, mode=kind, antialias=True)[0].permute(1, 2, 0)
    result = resize_image(image, size, "torchvision", kind)
    np.testing.assert_allclose(result, expected.numpy(), atol=5e-3)


@pytest.mark.torch
@pytest.mark.parametrize("size", [(24, 31), (90, 101), (30, 101)])
def test_bilinear_of_real_numbers_is_interpolate(pixels, size):
    torch = pytest.importorskip("torch")
    image = pixels.astype(np.float32)
    tensor = torch.from_numpy(image).permute(2, 0, 1)[None]
    expected = torch.nn.functional.interpolate(tensor, size, mode="bilinear")[0].permute(1, 2, 0).numpy()
    for library in ("tensorflow", "opencv"):
        np.testing.assert_allclose(resize_image(image, size, library, None), expected, atol=5e-3)
    area = resize_image(image[:36, :52], (18, 13), "opencv", "area")
    pooled = torch.nn.functional.interpolate(tensor[:, :, :36, :52], (18, 13), mode="area")
    np.testing.assert_allclose(area, pooled[0].permute(1, 2, 0).numpy(), atol=1e-3)


def test_letterbox_keeps_the_ratio_and_pads_with_grey(compute, pixels):
    result = compute("resize", pixels, dims="64,64", type="letterbox", library="pillow", interp="bilinear")
    inner = np.asarray(Image.fromarray(pixels).resize((64, 45), 2))
    assert result.shape == (64, 64, 3)
    np.testing.assert_array_equal(result[9:54], inner)
    assert set(np.unique(result[:9])) == set(np.unique(result[54:])) == {114}


def test_imagenet_scales_the_shorter_side_for_the_crop(compute, pixels):
    result = compute("resize", pixels, dims="28,28", type="imagenet")
    assert result.shape == (32, 45, 3)
    assert compute("crop", result, dims="28,28").shape == (28, 28, 3)


def test_aspect_ratio_stays_within(compute, pixels):
    assert compute("resize", pixels, dims="64,64", type="aspect_ratio").shape == (44, 64, 3)


def test_tensorflow_crops_normalises_and_resizes(compute):
    image = np.full((16, 16, 3), 51, np.uint8)
    image[0, 0] = 255
    terms = {"mean": {"R": 0.1, "G": 0.1, "B": 0.1}, "std": {"R": 0.5, "G": 0.5, "B": 0.5}}
    result = compute("resize", image, dims="8,8", library="tensorflow", crop_before_resize=True, **terms)
    np.testing.assert_allclose(result, 0.2, atol=1e-6)
    plain = compute("resize", image, dims="8,8", library="tensorflow")
    assert plain[4, 4, 0] == 51
    assert plain[0, 0, 0] == 51 + (255 - 51) / 4


def test_what_no_library_has_is_refused(open_plugin):
    with pytest.raises(UsageError, match="has no interpolation 'lanczos'"):
        open_plugin("resize", dims="8,8", interp="lanczos")
    with pytest.raises(UsageError, match="need the library tensorflow"):
        open_plugin("resize", dims="8,8", mean={"R": 1, "G": 1, "B": 1})
    with pytest.raises(Problems, match="expected height and width"):
        open_plugin("resize", dims="8")


@pytest.mark.torch
def test_normalising_is_torchs_arithmetic(compute, pixels):
    torch = pytest.importorskip("torch")
    terms = {
        "means": {"R": 0.485, "G": 0.456, "B": 0.406},
        "std": {"R": 0.229, "G": 0.224, "B": 0.225},
    }
    tensor = torch.from_numpy(pixels).permute(2, 0, 1).float() / 255
    mean, std = (torch.tensor(list(values.values())).view(3, 1, 1) for values in terms.values())
    expected = ((tensor - mean) / std).numpy()
    np.testing.assert_allclose(
        compute("normalize", pixels, library="torchvision", **terms), expected, atol=1e-6
    )
    result = compute("normalize", pixels, **terms)
    np.testing.assert_allclose(result.transpose(2, 0, 1), expected, atol=1e-6)


def test_normalising_by_hand(compute):
    image = np.array([[[255.0, 102.0, 0.0]]])
    blue_first = compute("normalize", image, means={"R": 1, "G": 0.4, "B": 0.5}, channel_order="BGR")
    np.testing.assert_allclose(blue_first, [[[0.5, 0.0, -1.0]]], atol=1e-7)
    after = compute("normalize", image, norm=2, means={"R": 55, "G": 2, "B": 0}, normalize_first=False)
    np.testing.assert_allclose(after, [[[100, 50, 0]]])


def test_crop_takes_the_middle_of_each_library(compute, pixels):
    np.testing.assert_array_equal(compute("crop", pixels, dims="10,10"), pixels[13:23, 21:31])
    rounded = compute("crop", pixels, dims="10,10", library="torchvision")
    np.testing.assert_array_equal(rounded, pixels[14:24, 22:32])
    assert compute("crop", pixels, dims="60,60", library="torchvision").shape == (60, 60, 3)
    with pytest.raises(ShapeMismatch, match="37 high and 53 wide, expected at least 60 and 60"):
        compute("crop", pixels, dims="60,60")


def test_pad_puts_the_image_where_it_is_told(compute, pixels):
    middle = compute("pad", pixels, type="target_dims", dims="47,54")
    np.testing.assert_array_equal(middle[5:42, :53], pixels)
    assert (middle[:5] == 114).all()
    corner = compute("pad", pixels, type="target_dims", dims="47,54", img_position="corner", color=7)
    np.testing.assert_array_equal(corner[:37, :53], pixels)
    assert (corner[37:] == 7).all()
    assert compute("pad", pixels, type="constant", pad_size=2).shape == (41, 57, 3)
    with pytest.raises(UsageError, match="needs the parameter 'pad_size'"):
        compute("pad", pixels, type="constant")


def test_layouts(compute, pixels):
    turned = compute("convert_nchw", pixels)
    np.testing.assert_array_equal(turned, pixels.transpose(2, 0, 1)[None])
    np.testing.assert_array_equal(compute("convert_nchw", turned, **{"expand-dims": False}), pixels)
    assert compute("expand_dims", pixels).shape == (1, 37, 53, 3)


@pytest.mark.parametrize("truncate", [False, True])
def test_batches_know_their_members(open_plugin, context, truncate):
    samples = [Sample(n, (np.full((1, 2), n),)) for n in range(5)]
    batches = list(
        open_plugin("create_batch", truncate=truncate).process(samples, replace(context, batch_size=2))
    )
    assert len(batches) == (2 if truncate else 3)
    assert batches[1].values[0].tolist() == [[2, 2], [3, 3]]
    parts = [part for batch in batches for part in batch.split()]
    assert [part.number for part in parts] == list(range(4 if truncate else 5))
    assert all((part.values[0] == part.number).all() for part in parts)


def test_image_transformers_prepare_as_clip_does(compute, pixels):
    result = compute("image_transformers_input", pixels, dims="3,24,24", image_only=True)
    sized = np.asarray(Image.fromarray(pixels).resize((34, 24), 3))[:, 5:29]
    mean = np.array([0.48145466, 0.4578275, 0.40821073])
    std = np.array([0.26862954, 0.26130258, 0.27577711])
    np.testing.assert_allclose(result[0], ((sized / 255 - mean) / std).transpose(2, 0, 1), atol=1e-5)


def test_image_transformers_choose_texts(open_plugin, context, pixels):
    tokens = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    plugin = open_plugin("image_transformers_input", dims="3,24,24", num_base_class=1, num_prompt=2)
    (result,) = plugin.process([Sample(0, (pixels, tokens))], context)
    assert result.values[1].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_centernet_moves_the_image_to_the_middle(compute, pixels):
    result = compute("centernet_preproc", pixels, dims="53,53")
    assert result.shape == (1, 3, 53, 53)
    mean, std = np.array([0.408, 0.447, 0.470]), np.array([0.289, 0.274, 0.278])
    shown = np.rint((result[0].transpose(1, 2, 0) * std + mean) * 255)
    # Width 53 is shown by 53 pixels: only moved down by half of what the height lacks.
    np.testing.assert_array_equal(shown[8:45], pixels[..., ::-1])
    assert not shown[:7].any()


def test_images_that_are_none_are_said_with_file_and_plugin(tmp_path, open_plugin, context):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"no image")
    with pytest.raises(BadInput, match="no readable image") as problem:
        list(open_plugin("resize", dims="8,8").process([Sample(0, (path,), (path,))], context))
    assert "a.jpg" in str(problem.value)
    assert "plugin 'resize'" in str(problem.value)


@pytest.mark.parametrize("shape", [(0, 3, 3), (3,), ()])
@pytest.mark.parametrize("name", ["resize", "crop", "pad", "normalize", "convert_nchw"])
def test_odd_arrays_are_clean_errors(compute, name, shape):
    terms = {"type": "target_dims"} if name == "pad" else {}
    dims = (
        {"dims": "2,2"} if "dims" in {p.name for p in find_builtin_plugins()[name].list_parameters()} else {}
    )
    with pytest.raises(EdgewrightError):
        compute(name, np.zeros(shape, np.uint8), **dims, **terms)


def test_batches_of_files_take_the_place_of_single_ones(open_plugin, context):
    chain = [open_plugin("normalize"), open_plugin("create_batch")]
    in_files = replace(context, batch_size=2, is_memory=False)
    samples = [Sample(n, (np.full((1, 4, 4, 3), n, np.uint8),)) for n in range(3)]
    batches = list(process_samples(chain, samples, in_files, "preproc"))
    files = sorted(path.parent.name for path in in_files.work.rglob("*.raw"))
    assert files == ["1_create_batch", "1_create_batch"]
    assert batches[1].load().values[0].shape == (2, 4, 4, 3)
    with pytest.raises(ShapeMismatch, match="outputs of a batch of 2 have the shapes"):
        batches[0].make_next([np.zeros(3)]).split()
