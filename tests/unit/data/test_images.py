"""Images as samples: sizes, colours, layouts, and what is no image."""

import sys

import numpy as np
import pytest
from PIL import Image

import edgewright as ew
from edgewright.core.errors import BadInput, ShapeMismatch, UsageError
from edgewright.data.images import ImageReader
from edgewright.ir.types import TensorType

RED = (200, 20, 10)


def reader(shape=(1, 3, 4, 6), **words):
    return ImageReader.of("image", TensorType(shape), ew.Preprocessing(**words))


def saved(path, size=(6, 4), mode="RGB", colour=RED):
    Image.new(mode, size, colour).save(path)
    return path


@pytest.mark.parametrize("kind", ["png", "bmp", "ppm"])
def test_pixels_arrive_as_they_are(tmp_path, kind):
    pixels = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    Image.fromarray(pixels).save(tmp_path / f"x.{kind}")
    result = reader().read(tmp_path / f"x.{kind}")
    np.testing.assert_array_equal(result, pixels.transpose(2, 0, 1)[None])
    assert result.dtype == np.float32


def test_a_jpeg_arrives_nearly_as_it_is(tmp_path):
    result = reader().read(saved(tmp_path / "x.jpg"))
    np.testing.assert_allclose(result[0, :, 0, 0], RED, atol=4)


def test_images_of_any_size_are_stretched_to_the_input(tmp_path):
    halves = np.zeros((10, 40, 3), np.uint8)
    halves[:, 20:] = 255
    Image.fromarray(halves).save(tmp_path / "x.png")
    result = reader().read(tmp_path / "x.png")
    assert result.shape == (1, 3, 4, 6)
    assert result[..., :2].max() == 0
    assert result[..., -2:].min() == 255


@pytest.mark.parametrize(("color", "expected"), [("rgb", RED), ("bgr", RED[::-1])])
@pytest.mark.parametrize(("shape", "axis"), [((1, 3, 4, 6), 1), ((1, 4, 6, 3), 3)])
def test_colours_and_layouts_are_those_of_the_model(tmp_path, color, expected, shape, axis):
    result = reader(shape, color=color).read(saved(tmp_path / "x.png"))
    assert result.shape == shape
    np.testing.assert_array_equal(np.moveaxis(result, axis, -1)[0, 1, 2], expected)


def test_mean_and_std_are_taken_in_the_order_of_the_models_colours(tmp_path):
    mean, std = (1.0, 2.0, 3.0), (2.0, 4.0, 8.0)
    result = reader(mean=mean, std=std, color="bgr").read(saved(tmp_path / "x.png"))
    np.testing.assert_allclose(result[0, :, 0, 0], [(10 - 1) / 2, (20 - 2) / 4, (200 - 3) / 8])


def test_one_channel_is_grey(tmp_path):
    result = reader((1, 1, 4, 6)).read(saved(tmp_path / "x.png", colour=(100, 100, 100)))
    np.testing.assert_array_equal(result, np.full((1, 1, 4, 6), 100))


def test_sixteen_bits_a_pixel_become_eight(tmp_path):
    Image.fromarray(np.full((4, 6), 257 * 77, np.uint16)).save(tmp_path / "x.png")
    np.testing.assert_array_equal(reader((1, 1, 4, 6)).read(tmp_path / "x.png"), np.full((1, 1, 4, 6), 77))


def test_palettes_and_transparency_become_colours(tmp_path):
    plain = Image.new("RGB", (6, 4), RED)
    for image in (plain.quantize(8), plain.convert("RGBA")):
        image.save(tmp_path / "x.png")
        np.testing.assert_array_equal(reader().read(tmp_path / "x.png")[0, :, 0, 0], RED)


def test_a_camera_that_was_held_upright_is_turned(tmp_path):
    pixels = np.zeros((6, 4, 3), np.uint8)
    pixels[0] = 255
    exif = Image.Exif()
    exif[0x0112] = 8
    Image.fromarray(pixels).save(tmp_path / "x.png", exif=exif)
    result = reader().read(tmp_path / "x.png")
    assert result[..., 0].min() == 255
    assert result[..., 1:].max() == 0


@pytest.mark.parametrize("shape", [(1, 3, 5, 3), (1, 8, 8, 8), (1, 10), (1, 8, 8, 2)])
def test_a_shape_that_does_not_tell_its_channels_is_an_error(shape):
    with pytest.raises(ShapeMismatch, match="with 1 or 3 channels"):
        reader(shape)


def test_the_layout_may_be_said(tmp_path):
    assert reader((1, 3, 5, 3), layout="NHWC").read(saved(tmp_path / "x.png")).shape == (1, 3, 5, 3)
    with pytest.raises(ShapeMismatch, match="with the layout NHWC it has 6 channels"):
        reader(layout="NHWC")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"mean": (1.0, 2.0)}, "one number or three"),
        ({"mean": 3.0}, "one number or three"),
        ({"mean": ("a",)}, "finite numbers"),
        ({"std": (0.0,)}, "above 0"),
        ({"std": (float("nan"),)}, "finite numbers"),
        ({"color": "yuv"}, "one of: rgb, bgr"),
        ({"layout": "NCDHW"}, "one of: NCHW, NHWC"),
    ],
)
def test_wrong_numbers_are_a_usage_error(words, says):
    with pytest.raises(UsageError, match=says):
        ew.Preprocessing(**words)


def test_three_means_do_not_fit_one_channel():
    with pytest.raises(UsageError, match="3 numbers, the input has 1 channels"):
        reader((1, 1, 4, 6), mean=(1.0, 2.0, 3.0))


def test_numbers_for_pixels_up_to_one_are_doubted():
    assert "add scale=1/255" in reader(mean=(0.485,), std=(0.229,)).find_mistake()
    assert not reader(mean=(127.5,), std=(127.5,)).find_mistake()
    assert not reader().find_mistake()


@pytest.mark.parametrize("content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_what_is_no_image_is_one_error_with_its_name(tmp_path, content):
    (tmp_path / "broken.png").write_bytes(content)
    with pytest.raises(BadInput, match="no readable image") as caught:
        reader().check(tmp_path / "broken.png")
    assert "broken.png" in str(caught.value)


def test_a_cut_image_is_one_error_when_it_is_read(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    Image.fromarray(noise).save(tmp_path / "x.png")
    whole = (tmp_path / "x.png").read_bytes()
    (tmp_path / "x.png").write_bytes(whole[: len(whole) // 2])
    reader().check(tmp_path / "x.png")
    with pytest.raises(BadInput, match="no readable image"):
        reader().read(tmp_path / "x.png")


class WithoutPillow:
    """An import system of a machine that has no Pillow."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "PIL":
            raise ModuleNotFoundError(name="PIL")


def test_without_pillow_the_error_says_what_to_install(monkeypatch, tmp_path):
    path = saved(tmp_path / "x.png")
    monkeypatch.setattr(sys, "meta_path", [WithoutPillow(), *sys.meta_path])
    for name in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ew.EdgewrightError, match="package 'PIL' is not installed") as caught:
        reader().read(path)
    assert caught.value.do == "pip install 'edgewright[images]'"
    assert caught.value.exit_code == 6
