"""Samples from folders and archives: names, nesting, several inputs, and what does not fit."""

import numpy as np
import pytest
from PIL import Image

import edgewright as ew
import edgewright.ops
from edgewright.core.errors import BadInput, EdgewrightError, Problems, ShapeMismatch
from edgewright.data.open_samples import list_data_notes, open_samples
from edgewright.ir.text import parse

SHAPE = (1, 3, 4, 6)
ONE = parse("""
    graph one {
      input x: float_32[1,3,4,6]
      y = Relu(x)
      output y
    }
""")
TWO = parse("""
    graph two {
      input a: float_32[1,3,4,6]
      input b: float_32[1,3,4,6]
      y = ElementWiseAdd(a, b)
      output y
    }
""")


def ramp(number, shape=SHAPE):
    return np.full(shape, number, np.float32)


def firsts(samples, name="x"):
    return [float(sample[name].flat[0]) for sample in samples]


def picture(path, colour):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (9, 5), (colour,) * 3).save(path)


def test_a_folder_of_images_is_read_by_name_whatever_folders_are_in_it(tmp_path):
    for name, colour in (("b/cat.png", 30), ("a/dog.jpg", 10), ("a/eel.BMP", 20), (".cache/x.png", 99)):
        picture(tmp_path / name, colour)
    samples = open_samples(ONE, tmp_path, preprocessing=ew.Preprocessing(mean=(5.0,), std=(5.0,)))
    assert firsts(samples) == pytest.approx([1, 3, 5], abs=0.3)
    assert len(samples) == 3
    (notes,) = list_data_notes(samples)
    assert notes == (
        "images for 'x': stretched to 4 high and 6 wide, rgb, NCHW, (pixel - mean) / std with pixels 0 to "
        "255, mean 5, std 5"
    )


def test_defaults_for_images_are_said(tmp_path):
    picture(tmp_path / "a.png", 1)
    assert list_data_notes(open_samples(ONE, tmp_path))[0].endswith("mean 0, std 1")


def test_doubtful_numbers_are_said(tmp_path):
    picture(tmp_path / "a.png", 1)
    samples = open_samples(ONE, tmp_path, preprocessing=ew.Preprocessing(mean=(0.5,), std=(0.5,)))
    assert "add scale=1/255" in list_data_notes(samples)[1]


def test_all_damaged_images_are_in_one_error(tmp_path):
    picture(tmp_path / "good.png", 1)
    for name in ("bad1.png", "bad2.jpg"):
        (tmp_path / name).write_bytes(b"nothing")
    with pytest.raises(Problems) as caught:
        open_samples(ONE, tmp_path)
    assert "bad1.png" in str(caught.value)
    assert "bad2.jpg" in str(caught.value)


def test_images_fill_batches(tmp_path):
    batched = parse("graph g {\n input x: float_32[2,3,4,6]\n y = Relu(x)\n output y\n}")
    for number in range(4):
        picture(tmp_path / f"{number}.png", number)
    arrays = [sample["x"] for sample in open_samples(batched, tmp_path)]
    assert [array[:, 0, 0, 0].tolist() for array in arrays] == [[0, 1], [2, 3]]


def test_images_and_tensors_in_one_folder_are_an_error(tmp_path):
    picture(tmp_path / "a.png", 1)
    np.save(tmp_path / "b.npy", ramp(1))
    with pytest.raises(BadInput, match=r"1 image file \('a.png'\) and 1 .npy file \('b.npy'\), expected one"):
        open_samples(ONE, tmp_path)


def test_raw_and_npy_files_in_one_folder_are_an_error_that_names_both(tmp_path):
    for number in range(2):
        np.save(tmp_path / f"{number}.npy", ramp(number))
        ramp(number).tofile(tmp_path / f"{number}.raw")
    result = r"2 .npy files \('0.npy' ...\) and 2 .raw files \('0.raw' ...\), expected one kind"
    with pytest.raises(BadInput, match=result):
        open_samples(ONE, tmp_path)


def test_a_folder_without_samples_is_an_error(tmp_path):
    (tmp_path / "readme.txt").write_text("nothing here")
    with pytest.raises(BadInput, match=r"no .npy, .npz, .raw, .bin files and no images"):
        open_samples(ONE, tmp_path)


def test_open_sizes_cannot_be_filled_with_images(tmp_path):
    opened = parse("graph g {\n input x: float_32[1,3,h,w]\n y = Relu(x)\n output y\n}")
    picture(tmp_path / "a.png", 1)
    with pytest.raises(EdgewrightError, match="expected numbers to bring images to"):
        open_samples(opened, tmp_path)


def test_each_input_may_have_a_folder_of_its_own_kind(tmp_path):
    picture(tmp_path / "a" / "0.png", 7)
    (tmp_path / "b").mkdir()
    np.save(tmp_path / "b" / "0.npy", ramp(8))
    (sample,) = open_samples(TWO, tmp_path)
    assert (sample["a"].max(), sample["b"].max()) == (7, 8)


def test_an_archive_a_sample_holds_all_inputs(tmp_path):
    for number in range(2):
        np.savez(tmp_path / f"{number}.npz", a=ramp(number), b=ramp(10 + number))
    samples = open_samples(TWO, tmp_path)
    assert firsts(samples, "a") == [0, 1]
    assert firsts(samples, "b") == [10, 11]


def test_nested_tensors_are_found(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    np.save(tmp_path / "deep" / "er" / "1.npy", ramp(1))
    np.save(tmp_path / "deep" / "0.npy", ramp(0))
    assert firsts(open_samples(ONE, tmp_path)) == [0, 1]


def test_files_of_other_shapes_are_listed_in_one_error(tmp_path):
    for number, shape in enumerate([SHAPE, (1, 3, 5, 5), (2, 2)]):
        np.save(tmp_path / f"{number}.npy", ramp(number, shape))
    with pytest.raises(Problems) as caught:
        open_samples(ONE, tmp_path)
    assert "[1, 3, 5, 5], expected [1, 3, 4, 6]" in str(caught.value)
    assert "[2, 2], expected [1, 3, 4, 6]" in str(caught.value)


def test_the_only_array_that_fits_is_used_and_that_is_said(tmp_path):
    np.savez(
        tmp_path / "d.npz", pictures=np.arange(3 * 72, dtype=np.float32).reshape(3, 3, 4, 6), labels=[1, 2, 3]
    )
    samples = open_samples(ONE, tmp_path / "d.npz")
    assert firsts(samples) == [0, 72, 144]
    assert "'pictures' [3, 3, 4, 6] is the only one that fits and is used" in list_data_notes(samples)[0]


def test_axes_of_one_may_be_left_out_of_the_only_array(tmp_path):
    grey = parse("graph g {\n input x: float_32[1,1,4,6]\n y = Relu(x)\n output y\n}")
    np.savez(tmp_path / "d.npz", pictures=np.arange(48, dtype=np.float32).reshape(2, 4, 6))
    assert [sample["x"].shape for sample in open_samples(grey, tmp_path / "d.npz")] == [(1, 1, 4, 6)] * 2


@pytest.mark.parametrize(
    ("graph", "arrays"),
    [
        (ONE, {"p": ramp(1), "q": ramp(2)}),
        (ONE, {"p": ramp(1, (3, 2, 2))}),
        (ONE, {}),
        (TWO, {"p": ramp(1)}),
    ],
    ids=["two fit", "none fits", "none is there", "two inputs"],
)
def test_arrays_of_other_names_are_one_error_with_advice(tmp_path, graph, arrays):
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(BadInput, match="no array is named after an input, found ") as caught:
        open_samples(graph, tmp_path / "d.npz")
    assert f"numpy.savez(file, **{{'{graph.inputs[0]}': array}})" in str(caught.value)


def test_an_array_named_after_the_input_must_fit(tmp_path):
    np.savez(tmp_path / "d.npz", x=ramp(1, (3, 2, 2)), y=ramp(1))
    with pytest.raises(ShapeMismatch, match=r"\[3, 2, 2\]"):
        open_samples(ONE, tmp_path / "d.npz")
