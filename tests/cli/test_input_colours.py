"""--input_encoding and qairt's spellings of it: colours that are turned inside of the converted model."""

import numpy as np
import onnxruntime
import pytest

import edgewright as ew
from edgewright.tools.qairt_converter import main as qairt
from edgewright.tools.qnn_onnx_converter import main as onnx
from edgewright.tools.qnn_tensorflow_converter import main as tensorflow
from edgewright.tools.qnn_tflite_converter import main as tflite
from tests.unit.frontends.tensorflow.graph_writer import graph, node, placeholder
from tests.unit.frontends.tflite.cases import x as image_tensor
from tests.unit.frontends.tflite.writer import Operator, Subgraph, Tensor, model

RNG = np.random.default_rng(3)


def reference(path, x):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"image": x.transpose(0, 3, 1, 2)})[0]


def rgba():
    return RNG.integers(0, 256, (1, 6, 6, 4)).astype(np.float32)


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=np.abs(want).max() * 1e-5)


@pytest.mark.parametrize(("words", "picks"), [(("rgba", "rgb"), [0, 1, 2]), (("rgba",), [2, 1, 0])])
def test_an_onnx_model_takes_colours_as_they_come(call, image, tmp_path, words, picks):
    answer = call(onnx, "-i", image, "-o", tmp_path / "m", "--input_encoding", "image", *words)
    assert answer.code == 0
    x = rgba()
    got = ew.load(tmp_path / "m_net.json").run({"image": x})["features"]
    close(got.transpose(0, 3, 1, 2), reference(image, x[..., picks]))


def test_colours_are_turned_in_the_layout_that_is_kept(call, image, tmp_path):
    words = ("-e", "image", "argb32", "rgb", "--preserve_io", "layout")
    assert call(onnx, "-i", image, "-o", tmp_path / "m", *words).code == 0
    x = rgba()
    got = ew.load(tmp_path / "m_net.json").run({"image": x.transpose(0, 3, 1, 2)})["features"]
    close(got, reference(image, x[..., 1:]))


def grey_frame(luma):
    """A frame without colours, and the pixels that it stands for."""
    y = np.asarray(luma, np.uint8).reshape(1, 36)
    grey = np.clip((y.reshape(1, 6, 6, 1).astype(np.float32) - 16) * 255 / 219, 0, 255)
    return np.concatenate([y, np.full((1, 18), 128, np.uint8)], 1), grey.repeat(3, -1)


def test_a_camera_frame_of_bytes_goes_into_the_model(call, image, tmp_path):
    words = ("-e", "image", "nv21", "rgb", "--input_dtype", "image", "uint8")
    assert call(onnx, "-i", image, "-o", tmp_path / "m", *words).code == 0
    converted = ew.load(tmp_path / "m_net.json")
    assert (converted.inputs[0].shape, converted.inputs[0].dtype) == ((1, 54), "uint8")
    frame, colours = grey_frame(RNG.integers(0, 256, 36))
    got = converted.run({"image": frame})["features"]
    close(got.transpose(0, 3, 1, 2), reference(image, colours))


def test_a_quantized_model_takes_camera_frames_too(call, image, tmp_path):
    frames = [grey_frame(RNG.integers(0, 256, 36)) for _ in range(4)]
    for number, (frame, _) in enumerate(frames):
        (tmp_path / f"{number}.raw").write_bytes(frame.astype(np.float32).tobytes())
    (tmp_path / "list.txt").write_text("".join(f"{tmp_path}/{n}.raw\n" for n in range(4)), "utf-8")
    words = ("-e", "image", "nv12", "rgb", "--input_list", tmp_path / "list.txt")
    assert call(onnx, "-i", image, "-o", tmp_path / "m", *words).code == 0
    frame, colours = frames[0]
    got = ew.load(tmp_path / "m_net.json").run({"image": frame.astype(np.float32)})["features"]
    want = reference(image, colours).transpose(0, 2, 3, 1)
    assert np.abs(got - want).max() < 0.03 * np.abs(want).max()


def tflite_model(folder):
    tensors = [image_tensor(1, 4, 5, 3), Tensor((1, 4, 5, 3), name="y")]
    path = folder / "net.tflite"
    path.write_bytes(model(Subgraph(tensors, [0], [1], [Operator("RELU", [0], [1])])))
    return tflite, path


def tensorflow_model(folder):
    path = folder / "net.pb"
    path.write_bytes(graph(placeholder("x", 1, 4, 5, 3), node("y", "Relu", "x")))
    return tensorflow, path


@pytest.mark.parametrize("make", [tflite_model, tensorflow_model])
def test_models_with_channels_last_take_colours_as_they_come(call, tmp_path, make):
    main, path = make(tmp_path)
    words = ("-d", "x", "1,4,5,3", "--input_encoding", "x", "rgba")
    assert call(main, "-i", path, "-o", tmp_path / "m", *words).code == 0
    x = RNG.random((1, 4, 5, 4), np.float32)
    converted = ew.load(tmp_path / "m_net.json")
    (got,) = converted.run({converted.inputs[0].name: x}).values()
    np.testing.assert_array_equal(got, x[..., 2::-1])


@pytest.mark.parametrize("option", ["--desired_input_color_encoding", "--input_color_encoding"])
def test_qairt_spells_it_otherwise_and_keeps_the_layout(call, image, tmp_path, option):
    assert call(qairt, "-i", image, option, "image", "argb32", "rgb").code == 0
    x = rgba()
    got = ew.load(tmp_path / "image.dlc").run({"image": x.transpose(0, 3, 1, 2)})["features"]
    close(got, reference(image, x[..., 1:]))


@pytest.mark.parametrize(("layout", "is_first"), [("", True), ("Layout: NHWC", False)])
def test_an_io_config_names_the_colours_of_the_converted_model(call, image, tmp_path, layout, is_first):
    (tmp_path / "io.yaml").write_text(
        "Input Tensor Configuration:\n  - Name: image\n"
        "    Src Model Parameters: {DataType: float32, Layout: NCHW}\n"
        f"    Desired Model Parameters: {{Color Conversion: RGBA{', ' * bool(layout)}{layout}}}\n",
        "utf-8",
    )
    assert call(qairt, "-i", image, "--io_config", tmp_path / "io.yaml").code == 0
    x = rgba()
    fed = x.transpose(0, 3, 1, 2) if is_first else x
    got = ew.load(tmp_path / "image.dlc").run({"image": fed})["features"]
    close(got, reference(image, x[..., 2::-1]))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("imag", "rgb"), "--input_encoding names the input 'imag', which the model does not have"),
        (("image", "rgb", "nv12"), "the colour encoding rgb cannot become nv12"),
        (("image", "cmyk"), "expected one of: bgr, rgb, rgba, argb32, nv21, nv12, time_series, other"),
    ],
)
def test_colours_that_make_no_sense_are_errors(call, image, tmp_path, words, says):
    answer = call(onnx, "-i", image, "-o", tmp_path / "m", "--input_encoding", *words)
    assert (answer.code, says in answer.err) == (2, True)
    assert not (tmp_path / "m.cpp").exists()
