"""Arrays are scaled, normalised and transposed as images are, whatever holds them."""

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.config.preprocessing import Preprocessing, parse_scale
from edgewright.core.errors import ShapeMismatch, UsageError
from edgewright.data.open_samples import list_data_notes, open_samples
from edgewright.ir.text import parse

GRAPH = parse("graph g {\ninput x: float_32[1,3,4,5]\ny = Relu(x)\noutput y\n}")
PIXELS = np.random.default_rng(0).integers(0, 256, (2, 3, 4, 5)).astype(np.uint8)
USUAL = Preprocessing(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), scale=1 / 255)
EXPECTED = (PIXELS / 255 - np.reshape(USUAL.mean, (3, 1, 1))) / np.reshape(USUAL.std, (3, 1, 1))


def hold(form, folder, arrays):
    """The arrays in every form that samples come in."""
    if form == "array":
        return arrays
    if form == "list":
        return list(arrays)
    if form == "dictionaries":
        return [{"x": array} for array in arrays]
    if form == "npz":
        np.savez(folder / "a.npz", x=arrays)
        return folder / "a.npz"
    for number, array in enumerate(arrays):
        if form == "raw":
            array.astype(np.float32).tofile(folder / f"{number}.raw")
        else:
            np.save(folder / f"{number}.npy", array)
    return folder


@pytest.mark.parametrize("form", ["array", "list", "dictionaries", "npz", "npy", "raw"])
def test_arrays_are_normalised_in_every_form(tmp_path, form):
    samples = open_samples(GRAPH, hold(form, tmp_path, PIXELS), preprocessing=USUAL)
    read = np.concatenate([sample["x"] for sample in samples])
    np.testing.assert_allclose(read, EXPECTED, rtol=1e-5, atol=1e-5)
    assert "(value * 0.00392157 - mean) / std, mean 0.485 0.456 0.406" in list_data_notes(samples)[0]


@pytest.mark.parametrize("form", ["array", "list", "dictionaries", "npz", "npy"])
def test_arrays_in_the_other_layout_are_transposed_where_one_is_named(tmp_path, form):
    data = hold(form, tmp_path, PIXELS.transpose(0, 2, 3, 1))
    samples = open_samples(GRAPH, data, preprocessing=Preprocessing(layout="NCHW"))
    assert (np.concatenate([sample["x"] for sample in samples]) == PIXELS).all()


def test_without_a_layout_the_transpose_is_said():
    with pytest.raises(ShapeMismatch, match=r"array.transpose\(0, 3, 1, 2\)"):
        list(open_samples(GRAPH, PIXELS.transpose(0, 2, 3, 1)))
    grey = parse("graph g {\ninput x: float_32[1,4,5,1]\ny = Relu(x)\noutput y\n}")
    with pytest.raises(ShapeMismatch, match=r"add a last axis: array\[\.\.\., None\]"):
        list(open_samples(grey, PIXELS[:, 0]))


def test_a_single_input_of_numbers_is_normalised_and_several_are_refused():
    vector = parse("graph g {\ninput x: float_32[1,4]\ny = Relu(x)\noutput y\n}")
    values = np.arange(8, dtype=np.float32).reshape(2, 4)
    read = open_samples(vector, values, preprocessing=Preprocessing(mean=(2.0,), std=(4.0,)))
    assert (np.concatenate([sample["x"] for sample in read]) == (values - 2) / 4).all()
    two = parse(
        "graph g {\ninput x: float_32[1,4]\ninput z: float_32[1,4]\ny = ElementWiseAdd(x, z)\noutput y\n}"
    )
    with pytest.raises(UsageError, match="or for the only input of real numbers, found 2"):
        open_samples(two, {"x": values, "z": values}, preprocessing=Preprocessing(mean=(2.0,)))


def test_one_number_for_each_channel_needs_channels():
    vector = parse("graph g {\ninput x: float_32[1,4]\ny = Relu(x)\noutput y\n}")
    with pytest.raises(UsageError, match="'mean' has 3 numbers, the input has 1 channels"):
        open_samples(vector, np.zeros((2, 4)), preprocessing=Preprocessing(mean=(1.0, 2.0, 3.0)))


def test_a_scale_is_a_number_or_a_fraction():
    assert parse_scale("1/255") == pytest.approx(1 / 255)
    assert parse_scale("0.5") == 0.5
    for wrong in ("0", "-1", "1/0", "a"):
        with pytest.raises(ValueError, match="such as 1/255"):
            parse_scale(wrong)
    with pytest.raises(UsageError, match="expected a number above 0"):
        Preprocessing(scale=-1.0)
