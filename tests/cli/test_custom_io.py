"""--custom_io of the legacy converters, and the template that qnn-onnx-converter writes for it."""

import json

import numpy as np
import onnxruntime
import pytest

import edgewright as ew
from edgewright.config.custom_io import read_custom_io
from edgewright.config.io_config import QuantParams, TensorConfig
from edgewright.core.errors import EdgewrightError
from edgewright.tools.qnn_onnx_converter import main
from edgewright.tools.qnn_tensorflow_converter import main as tensorflow
from edgewright.tools.qnn_tflite_converter import main as tflite
from tests.cli import models
from tests.unit.frontends.tensorflow.graph_writer import graph, node, placeholder
from tests.unit.frontends.tflite.cases import x as image_tensor
from tests.unit.frontends.tflite.writer import Operator, Subgraph, Tensor, model

INT8_MODEL = models.DIGITS_MODEL.with_name("mnist_dscnn_int8.tflite")
RNG = np.random.default_rng(4)
CHANNELS_LAST = "Layout: {Model: NCHW, Custom: NHWC}"
KEPT = "Layout: {Model: NCHW, Custom: NCHW}"


@pytest.fixture
def converted(call, image, tmp_path):
    """Converts the image network with a file; returns the answer and the model, if there is one."""

    def convert(text, *words):
        (tmp_path / "io.yaml").write_text(text, "utf-8")
        answer = call(main, "-i", image, "--custom_io", tmp_path / "io.yaml", "-o", tmp_path / "m", *words)
        found = tmp_path / "m_net.json"
        return answer, ew.load(found) if found.exists() else None

    return convert


def entry(name, *fields):
    return "\n".join([f"- IOName: {name}", *(f"  {field}" for field in fields), ""])


def want(path, x):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"image": x})[0]


def close(got, wanted, share=1e-5):
    np.testing.assert_allclose(got, wanted, rtol=0, atol=np.abs(wanted).max() * share)


def test_the_guide_s_file_is_read(tmp_path):
    text = """
- IOName: input_0
  Layout:
    Model: NCHW
    Custom: NCHW
  Datatype: uint8
  QuantParam:
    Type:
      QNN_DEFINITION_DEFINED
    Scale:
      0.12
    Offset:
      2

- IOName: output_0
  Layout:
    Model: NHWC
    Custom: NCHW
"""
    (tmp_path / "io.yaml").write_text(text, "utf-8")
    found = read_custom_io(tmp_path / "io.yaml")
    params = QuantParams(0.12, 2)
    first = TensorConfig("input_0", source_layout="NCHW", dtype="uint8", layout="NCHW", params=params)
    assert found == {
        "input_0": first,
        "output_0": TensorConfig("output_0", source_layout="NHWC", layout="NCHW"),
    }


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 0, "the file is empty"),
        ("IOName: x\n", 1, "a table stands where a list is expected"),
        ("- Name: x\n", 1, "field 'Name' is unknown"),
        ("- Layout: {Model: NCHW}\n", 1, "an entry has no 'IOName'"),
        ("- IOName: x\n- IOName: x\n", 2, "'x' is there twice"),
        ("- IOName: x\n  Datatype: int64\n", 2, "'Datatype' is 'int64', expected one of: float32"),
        ("- IOName: x\n  Layout:\n    Custom: WHCN\n", 3, "'Custom' is 'WHCN', expected one of: NCDHW"),
        ("- IOName: x\n  Layout: NCHW\n", 2, "a text stands where fields are expected: Model, Custom"),
        ("- IOName: x\n  QuantParam:\n    Type: MAYBE\n", 3, "'Type' is 'MAYBE', expected one of: QNN_DEF"),
        ("- IOName: x\n  QuantParam:\n    Scale: -1\n", 3, "'Scale' is '-1', expected a finite number"),
        ("- IOName: x\n  QuantParam: {Offset: 1}\n", 2, "'Offset' is there without 'Scale'"),
        ("- IOName: x\n  QuantParam: {Type: QNN_DEFINITION_DEFINED}\n", 2, "and there is no 'Scale'"),
        ("- IOName: x\n  Datatype: float32\n  QuantParam: {Scale: 1}\n", 3, "expected uint8 or int8"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_line(tmp_path, text, line, says):
    (tmp_path / "io.yaml").write_text(text, "utf-8")
    with pytest.raises(EdgewrightError) as caught:
        read_custom_io(tmp_path / "io.yaml")
    assert says in str(caught.value)
    assert not line or f"line {line}" in str(caught.value)


@pytest.mark.parametrize(
    ("first", "last"), [(KEPT, KEPT), (KEPT, CHANNELS_LAST), (CHANNELS_LAST, KEPT), (CHANNELS_LAST, "")]
)
def test_layouts_are_those_of_the_file_and_spatial_first_without_it(converted, image, first, last):
    answer, found = converted(entry("image", first) + entry("features", last))
    assert answer.code == 0
    x = RNG.random((1, 3, 6, 6), np.float32)
    got = found.run({"image": x if first == KEPT else x.transpose(0, 2, 3, 1)})["features"]
    close(got if last == KEPT else got.transpose(0, 3, 1, 2), want(image, x))


def test_no_transpose_is_left_where_the_network_works_in_the_custom_layout(converted):
    _, found = converted(entry("image", CHANNELS_LAST) + entry("features", CHANNELS_LAST))
    assert "Transpose" not in {type(node.op).__name__ for node in found.graph.nodes}
    assert (found.inputs[0].shape, found.outputs[0].shape) == ((1, 6, 6, 3), (1, 6, 6, 4))


def test_a_file_comes_before_preserve_io_for_what_it_names(converted):
    answer, found = converted(entry("image", CHANNELS_LAST), "--preserve_io")
    assert "--custom_io comes before --preserve_io" in answer.err
    assert (found.inputs[0].shape, found.outputs[0].shape) == ((1, 6, 6, 3), (1, 4, 6, 6))


@pytest.mark.parametrize(("dtype", "offset"), [("uint8", 3), ("uint8", -3), ("int8", -3)])
def test_quantized_inputs_go_into_a_float_model(converted, image, dtype, offset):
    _, found = converted(
        entry("image", f"Datatype: {dtype}", f"QuantParam: {{Scale: 0.1, Offset: {offset}}}")
    )
    stored = RNG.integers(0, 100, (1, 6, 6, 3)).astype(dtype)
    got = found.run({"image": stored})["features"]
    x = (0.1 * (stored.astype(np.float32) - 3)).transpose(0, 3, 1, 2).astype(np.float32)
    close(got.transpose(0, 3, 1, 2), want(image, x))


def test_floats_of_16_bits_are_cast(converted):
    _, found = converted(entry("image", "Datatype: float16") + entry("features", "Datatype: float16"))
    assert [end.dtype for end in (*found.inputs, *found.outputs)] == ["float16", "float16"]


@pytest.fixture
def calibrated(tmp_path):
    """An input list of images in the layout of the converted model."""
    for number in range(4):
        (tmp_path / f"{number}.raw").write_bytes(RNG.random((1, 6, 6, 3), np.float32).tobytes())
    (tmp_path / "list.txt").write_text("".join(f"{tmp_path}/{n}.raw\n" for n in range(4)), "utf-8")
    return "--input_list", tmp_path / "list.txt"


def io_types(found):
    return [found.graph.types[name] for name in (*found.graph.inputs, *found.graph.outputs)]


@pytest.mark.parametrize(
    ("fields", "dtype", "offset"),
    [
        (("QuantParam: {Scale: 0.01, Offset: -5}",), "ufixed_point_8", -5),
        (("Datatype: uint8", "QuantParam: {Scale: 0.01, Offset: 5}"), "ufixed_point_8", -5),
        (("Datatype: int8", "QuantParam: {Scale: 0.01, Offset: 90}"), "sfixed_point_8", 90),
    ],
)
def test_encodings_of_the_file_come_before_those_of_the_quantizer(
    converted, calibrated, image, fields, dtype, offset
):
    answer, found = converted(entry("image", *fields), *calibrated)
    assert answer.code == 0
    assert found.inputs[0].dtype == dtype
    first, _ = io_types(found)
    assert (first.encoding.scales, first.encoding.offsets) == ((float(np.float32(0.01)),), (offset,))
    x = np.fromfile(image.with_name("0.raw"), np.float32).reshape(1, 6, 6, 3)
    got = found.run({"image": x})["features"]
    close(got.transpose(0, 3, 1, 2), want(image, x.transpose(0, 3, 1, 2)), 0.04)


def test_a_quantized_output_gets_the_encoding_of_the_file(converted, calibrated):
    _, found = converted(entry("features", "QuantParam: {Scale: 0.25, Offset: 0}"), *calibrated)
    assert io_types(found)[1].encoding.scales == (0.25,)


@pytest.mark.parametrize(("dtype", "word"), [("float32", "float32"), ("int8", "sfixed_point_8")])
def test_inputs_and_outputs_of_a_quantized_model_take_the_type_of_the_file(
    converted, calibrated, image, dtype, word
):
    text = entry("image", f"Datatype: {dtype}") + entry("features", f"Datatype: {dtype}")
    _, found = converted(text, *calibrated)
    assert [end.dtype for end in (*found.inputs, *found.outputs)] == [word, word]
    x = np.fromfile(image.with_name("0.raw"), np.float32).reshape(1, 6, 6, 3)
    got = found.run({"image": x})["features"]
    close(got.transpose(0, 3, 1, 2), want(image, x.transpose(0, 3, 1, 2)), 0.04)


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        (entry("imag", KEPT), (), "--custom_io names the input or output 'imag'"),
        (entry("image", "Datatype: uint8"), (), "uint8 values for a float tensor need a scale and an offset"),
        (entry("image", KEPT), ("-l", "image", "NCHW"), "expected one of them"),
        (entry("image", "Layout: {Custom: NHWC}"), (), "that of the source is not given"),
        (entry("image", "Layout: {Model: NCHW, Custom: NTF}"), (), "the layout NTF has 3 axes"),
        (entry("image", "Layout: {Model: NCHW, Custom: NONTRIVIAL}"), (), "NCHW cannot become NONTRIVIAL"),
        (entry("image", "Datatype: float16"), ("--input_dtype", "image", "uint8"), "'Datatype' float16"),
        (entry("image", "QuantParam: {Scale: 1, Offset: 300}"), (), "expected -255 to 255"),
    ],
)
def test_requests_that_do_not_fit_are_errors(converted, text, words, says):
    answer, found = converted(text, *words)
    assert (answer.code, says in answer.err, found) == (2, True, None)


def test_bytes_of_a_tensor_in_16_bits_need_a_scale(converted, calibrated):
    answer, found = converted(entry("image", "Datatype: uint8"), *calibrated, "--act_bw", "16")
    assert (answer.code, "is quantized to 16 bits, and there is no scale" in answer.err) == (2, True)
    assert found is None


def test_only_floats_and_bytes_get_another_type(call, tmp_path):
    tokens = models.token_net(tmp_path / "tokens.onnx")
    (tmp_path / "io.yaml").write_text(entry("ids", "Datatype: float32"), "utf-8")
    answer = call(main, "-i", tokens, "--custom_io", tmp_path / "io.yaml")
    assert (answer.code, "the data type int64 cannot become float32" in answer.err) == (2, True)


def test_the_template_keeps_everything_as_the_source_has_it(call, converted, image, tmp_path):
    answer = call(main, "-i", image, "--dump_custom_io_config_template", tmp_path / "t.yaml")
    assert (answer.code, "nothing was converted" in answer.out) == (0, True)
    assert not (tmp_path / "image.cpp").exists()
    text = (tmp_path / "t.yaml").read_text("utf-8")
    assert '- IOName: "image"\n  Layout:\n    Model: NCHW\n    Custom: NCHW\n  Datatype: float32\n' in text
    _, found = converted(text)
    assert (found.inputs[0].shape, found.outputs[0].shape) == ((1, 3, 6, 6), (1, 4, 6, 6))


def test_a_template_does_not_take_the_place_of_the_model(call, image):
    before = image.read_bytes()
    answer = call(main, "-i", image, "--dump_custom_io_config_template", image)
    assert (answer.code, "would be overwritten" in answer.err) == (2, True)
    assert image.read_bytes() == before


@pytest.mark.parametrize("name", ["x", "x:0"])
def test_tensorflow_s_number_of_an_output_may_be_left_out(call, tmp_path, name):
    path = tmp_path / "net.pb"
    path.write_bytes(graph(placeholder("x", 1, 4, 5, 3), node("y", "Relu", "x")))
    (tmp_path / "io.yaml").write_text(entry(name, "Layout: {Model: NHWC, Custom: NCHW}"), "utf-8")
    words = ("-d", "x", "1,4,5,3", "--custom_io", tmp_path / "io.yaml", "-o", tmp_path / "m")
    assert call(tensorflow, "-i", path, *words).code == 0
    found = ew.load(tmp_path / "m_net.json")
    assert (found.inputs[0].shape, found.outputs[0].shape) == ((1, 3, 4, 5), (1, 4, 5, 3))


def test_a_quantized_tflite_model_is_turned_as_it_is(call, tmp_path):
    name = "serving_default_image:0"
    (tmp_path / "io.yaml").write_text(entry(name, "Layout: {Model: NHWC, Custom: NCHW}"), "utf-8")
    words = ("--custom_io", tmp_path / "io.yaml", "-o", tmp_path / "m")
    assert call(tflite, "-i", INT8_MODEL, *words).code == 0
    found = ew.load(tmp_path / "m_net.json")
    assert (found.inputs[0].dtype, found.inputs[0].shape) == ("sfixed_point_8", (1, 1, 28, 28))
    x = RNG.random((1, 28, 28, 1), np.float32)
    (got,) = found.run({found.inputs[0].name: x.transpose(0, 3, 1, 2)}).values()
    (wanted,) = ew.convert(INT8_MODEL).run({name: x}).values()
    np.testing.assert_array_equal(got, wanted)


def test_time_steps_and_batch_change_places(call, tmp_path):
    path = models.symbolic_net(tmp_path / "rnn.onnx")
    (tmp_path / "io.yaml").write_text(entry("x", "Layout: {Model: NTF, Custom: TNF}"), "utf-8")
    words = ("-d", "x", "2,3,4", "--custom_io", tmp_path / "io.yaml", "-o", tmp_path / "m")
    assert call(main, "-i", path, *words).code == 0
    found = ew.load(tmp_path / "m_net.json")
    assert (found.inputs[0].shape, found.outputs[0].shape) == ((3, 2, 4), (2, 3, 4))


def test_a_template_leaves_types_out_that_cannot_be_changed(call, tmp_path):
    tokens = models.token_net(tmp_path / "tokens.onnx")
    assert call(main, "-i", tokens, "--dump_custom_io_config_template", tmp_path / "t.yaml").code == 0
    assert call(main, "-i", tokens, "--custom_io", tmp_path / "t.yaml").code == 0
    assert "  Datatype:\n" in (tmp_path / "t.yaml").read_text("utf-8")


def test_a_tflite_model_gets_channels_first(call, tmp_path):
    tensors = [image_tensor(1, 4, 5, 3), Tensor((1, 4, 5, 3), name="y")]
    path = tmp_path / "net.tflite"
    path.write_bytes(model(Subgraph(tensors, [0], [1], [Operator("RELU", [0], [1])])))
    (tmp_path / "io.yaml").write_text(entry("x", "Layout: {Model: NHWC, Custom: NCHW}"), "utf-8")
    assert call(tflite, "-i", path, "--custom_io", tmp_path / "io.yaml", "-o", tmp_path / "m").code == 0
    x = RNG.random((1, 4, 5, 3), np.float32)
    got = ew.load(tmp_path / "m_net.json").run({"x": x.transpose(0, 3, 1, 2)})["y"]
    np.testing.assert_array_equal(got, x)


def test_an_image_is_quantized_as_bytes(call, image, tmp_path):
    for number in range(4):
        pixels = RNG.integers(0, 200, (1, 6, 6, 3)).astype(np.float32)
        (tmp_path / f"{number}.raw").write_bytes(pixels.tobytes())
    (tmp_path / "list.txt").write_text("".join(f"{tmp_path}/{n}.raw\n" for n in range(4)), "utf-8")
    words = ("--input_type", "image", "image", "--input_list", tmp_path / "list.txt")
    assert call(main, "-i", image, "-o", tmp_path / "m", *words).code == 0
    found = ew.load(tmp_path / "m_net.json")
    first, _ = io_types(found)
    assert (found.inputs[0].dtype, first.encoding.scales, first.encoding.offsets) == (
        "ufixed_point_8",
        (1.0,),
        (0,),
    )


def test_an_image_in_a_float_model_changes_nothing_and_that_is_said(call, image, tmp_path):
    answer = call(main, "-i", image, "-o", tmp_path / "m", "--input_type", "image", "image")
    assert (answer.code, "this one stays float" in answer.out) == (0, True)
    tensors = json.loads((tmp_path / "m_net.json").read_text())["graph"]["tensors"]
    assert tensors["image"]["dims"] == [1, 6, 6, 3]
