import numpy as np
import pytest

from edgewright.core.errors import UsageError
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.passes.target.colour_io import Colours, recolour_input

RNG = np.random.default_rng(5)


def doubled(shape=(2, 4, 6, 3), dtype=DType.FLOAT_32):
    graph = Graph()
    graph.add_input("x", TensorType(shape, dtype))
    graph.add(Node("n", ElementWiseAdd(), ["x", "x"], ["y"]))
    graph.outputs = ["y"]
    return graph


def run(graph, x):
    return reference.run(graph, {"x": x})["y"] / 2


def pixels(channels):
    return RNG.integers(0, 256, (2, 4, 6, channels)).astype(np.float32)


@pytest.mark.parametrize(
    ("have", "want", "picks"),
    [
        ("rgb", "bgr", [2, 1, 0]),
        ("bgr", "rgb", [2, 1, 0]),
        ("rgba", "rgb", [0, 1, 2]),
        ("rgba", "bgr", [2, 1, 0]),
        ("argb32", "rgb", [1, 2, 3]),
        ("argb32", "bgr", [3, 2, 1]),
    ],
)
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_packed_colours_are_picked_in_the_order_that_is_wanted(have, want, picks, layout):
    x = pixels(4 if "a" in have else 3)
    is_first = layout == "NCHW"
    graph = doubled((2, 3, 4, 6) if is_first else (2, 4, 6, 3))
    recolour_input(graph, "x", Colours(have, want), layout)
    got = run(graph, x.transpose(0, 3, 1, 2) if is_first else x)
    np.testing.assert_array_equal(got.transpose(0, 2, 3, 1) if is_first else got, x[..., picks])


def frame(height, width):
    """Random planes, and the colours that the textbook's formula of BT.601 makes of them."""
    y = RNG.integers(0, 256, (2, height, width)).astype(np.float64)
    u, v = RNG.integers(0, 256, (2, 2, height // 2, width // 2)).astype(np.float64)
    wide_u, wide_v = (plane.repeat(2, 1).repeat(2, 2) - 128 for plane in (u, v))
    bright = 1.164383 * (y - 16)
    red = bright + 1.596027 * wide_v
    green = bright - 0.391762 * wide_u - 0.812968 * wide_v
    blue = bright + 2.017232 * wide_u
    return y, u, v, np.clip(np.stack([red, green, blue], -1), 0, 255)


@pytest.mark.parametrize("have", ["nv12", "nv21"])
@pytest.mark.parametrize("want", ["rgb", "bgr"])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_camera_frames_become_the_colours_of_bt_601(have, want, layout):
    y, u, v, colours = frame(4, 6)
    pairs = np.stack([u, v] if have == "nv12" else [v, u], -1)
    x = np.concatenate([y.reshape(2, -1), pairs.reshape(2, -1)], 1).astype(np.float32)
    is_first = layout == "NCHW"
    graph = doubled((2, 3, 4, 6) if is_first else (2, 4, 6, 3))
    recolour_input(graph, "x", Colours(have, want), layout)
    assert graph.types["x"].shape == (2, 36)
    got = run(graph, x)
    wanted = colours if want == "rgb" else colours[..., ::-1]
    np.testing.assert_allclose(got.transpose(0, 2, 3, 1) if is_first else got, wanted, atol=2e-3)


def test_black_and_white_of_a_camera_are_black_and_white():
    graph = doubled((1, 2, 2, 3))
    recolour_input(graph, "x", Colours("nv12", "rgb"))
    got = run(graph, np.array([[16, 235, 235, 16, 128, 128]], np.float32))
    np.testing.assert_allclose(got[0, :, :, 0], [[0, 255], [255, 0]], atol=1e-3)
    np.testing.assert_allclose(got, got[..., :1].repeat(3, -1), atol=1e-3)


@pytest.mark.parametrize("words", [("bgr",), ("rgb", "rgb"), ("nv12", "nv12"), ("other",), ("time_series",)])
def test_what_is_the_same_already_or_no_image_is_left_alone(words):
    graph = doubled((2, 5))
    recolour_input(graph, "x", Colours(*words))
    assert len(graph) == 1


@pytest.mark.parametrize(
    ("shape", "dtype", "words", "layout", "says"),
    [
        ((1, 4, 4, 3), DType.FLOAT_32, ("rgb", "rgba"), None, "rgb cannot become rgba"),
        ((1, 4, 4, 3), DType.FLOAT_32, ("other", "rgb"), None, "other cannot become rgb"),
        ((1, 4, 4, 4), DType.FLOAT_32, ("rgba", "rgb"), None, "expected an image with three channels"),
        ((1, 4, 4, 3), DType.FLOAT_32, ("rgb",), "NCHW", "and the layout NCHW, expected an image"),
        ((1, 3), DType.FLOAT_32, ("rgb",), None, "the shape [1, 3], expected an image"),
        ((1, 5, 4, 3), DType.FLOAT_32, ("nv12", "rgb"), None, "5 high and 4 wide, expected even numbers"),
        ((1, 4, 4, 3), DType.UINT_8, ("nv21",), None, "an input of UINT_8, expected one of real numbers"),
    ],
)
def test_colours_that_do_not_fit_the_input_are_errors(shape, dtype, words, layout, says):
    graph = doubled(shape, dtype)
    with pytest.raises(UsageError) as caught:
        recolour_input(graph, "x", Colours(*words), layout)
    assert says in str(caught.value)
    assert len(graph) == 1
