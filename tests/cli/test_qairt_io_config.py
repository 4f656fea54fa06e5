import numpy as np
import onnxruntime
import pytest

import edgewright as ew
from edgewright.config.io_config import QuantParams, TensorConfig, read_io_config
from edgewright.core.errors import BadInput, LimitExceeded, Problems
from edgewright.tools.qairt_converter import main
from tests.cli import models

SOURCE = "Src Model Parameters: {DataType: float32, Layout: NCHW}"


@pytest.fixture
def converted(call, image, tmp_path):
    """Converts the image network with a configuration; returns the answer and the DLC."""

    def convert(text, *words):
        (tmp_path / "io.yaml").write_text(text, "utf-8")
        answer = call(main, "-i", image, "--io_config", tmp_path / "io.yaml", *words)
        return answer, tmp_path / "image.dlc"

    return convert


def config(desired="", output="", source=SOURCE):
    return (
        f"Input Tensor Configuration:\n  - Name: image\n    {source}\n"
        f"    Desired Model Parameters: {{{desired}}}\n"
        f"Output Tensor Configuration:\n  - Name: features\n    {SOURCE}\n"
        f"    Desired Model Parameters: {{{output}}}\n"
    )


def written(tmp_path, text):
    path = tmp_path / "io.yaml"
    path.write_text(text, "utf-8")
    return path


def want(image, x):
    session = onnxruntime.InferenceSession(str(image), providers=["CPUExecutionProvider"])
    return session.run(None, {"image": x})[0]


def test_the_guide_s_schema_is_read(tmp_path):
    text = """
Input Tensor Configuration:
  # Input 1
  - Name : data 1
    Src Model Parameters:
      DataType: float32
      Layout: NCHW
    Desired Model Parameters:
      DataType: uint8
      Layout: NHWC
      Shape: (1,224,224,3)
      Color Conversion: RGB
      QuantParams:
        Scale: 0.12
        Offset: 2
Output Tensor Configuration:
  - Name: out
    Src Model Parameters:
    Desired Model Parameters:
      DType: float16
"""
    found = read_io_config(written(tmp_path, text))
    params = QuantParams(0.12, 2)
    wanted = TensorConfig("data 1", "float32", "NCHW", "uint8", "NHWC", (1, 224, 224, 3), "RGB", params)
    assert found.tensor("data 1") == wanted
    assert found.tensor("out") == TensorConfig("out", dtype="float16")
    assert found.tensor("other") == TensorConfig("other")


@pytest.mark.parametrize("shape", ["1,2,3", "(1, 2, 3)", "[1,2,3]", '"1,2,3"'])
def test_a_shape_is_numbers_with_commas_in_any_brackets(tmp_path, shape):
    text = f"Input Tensor Configuration:\n- Name: a\n  Desired Model Parameters:\n    Shape: {shape}\n"
    assert read_io_config(written(tmp_path, text)).tensor("a").shape == (1, 2, 3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("- a\n", "a list stands where fields are expected"),
        ("Input Tensors:\n", "field 'Input Tensors' is unknown"),
        ("Input Tensor Configuration: 3\n", "a text stands where a list is expected"),
        (
            "Input Tensor Configuration:\n- Src Model Parameters:\n    Layout: NCHW\n",
            "an entry has no 'Name'",
        ),
        ("Input Tensor Configuration:\n- Name: a\n  Name: b\n", "field 'Name' is there twice"),
        ("Input Tensor Configuration:\n- Name: a\n- Name: a\n", "'a' is there twice, expected once"),
        ("Input Tensor Configuration:\n- Name: {a: b}\n", "a table stands where a single value"),
        ("a: [\n", "the file is no YAML"),
        ("a: &x 1\nb: *x\n", "references (& and *) are not read"),
        ("a: !!python/object:os.system 1\n", "field 'a' is unknown"),
        ("[" * 40 + "]" * 40, "deeper than 16"),
    ],
)
def test_a_file_of_another_form_is_one_error(tmp_path, text, says):
    with pytest.raises((BadInput, LimitExceeded)) as caught:
        read_io_config(written(tmp_path, text))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("Layout", "HWCN", "'Layout' is 'HWCN', expected one of: NCDHW"),
        ("DataType", "int64", "'DataType' is 'int64', expected one of: float32, float16, uint8, int8"),
        ("Shape", "1,x", "'Shape' is '1,x', expected dimensions"),
        ("Shape", "1,-2", "expected dimensions of 1 or more"),
        ("Color Conversion", "CMYK", "expected one of: BGR"),
        ("QuantParams", "{Scale: 0, Offset: 1}", "'Scale' is '0', expected a finite number above 0"),
        ("QuantParams", "{Scale: .inf, Offset: 1}", "expected a finite number above 0"),
        ("QuantParams", "{Scale: 0.1, Offset: 1.5}", "'Offset' is '1.5', expected a whole number"),
        ("QuantParams", "{Offset: 1}", "'Offset' is there without 'Scale'"),
    ],
)
def test_a_value_that_cannot_be_is_an_error_with_its_line(tmp_path, field, value, says):
    text = f"Input Tensor Configuration:\n- Name: a\n  Desired Model Parameters:\n    {field}: {value}\n"
    with pytest.raises(BadInput) as caught:
        read_io_config(written(tmp_path, text))
    assert says in str(caught.value)
    assert "line 4" in str(caught.value)


def test_everything_wrong_comes_at_once(tmp_path):
    text = "Input Tensor Configuration:\n- Name: a\n  Src Model Parameters: {Layout: X}\n- Nam: b\n"
    with pytest.raises(Problems) as caught:
        read_io_config(written(tmp_path, text))
    assert len(caught.value.errors) == 2


def test_a_layout_is_transposed_at_input_and_output(converted, image):
    answer, dlc = converted(config("Layout: NHWC", "Layout: NHWC"))
    assert answer.code == 0
    model = ew.load(dlc)
    assert [(i.shape, i.layout) for i in (*model.inputs, *model.outputs)] == [
        ((1, 6, 6, 3), "NHWC"),
        ((1, 6, 6, 4), "NHWC"),
    ]
    assert "Transpose" not in {node.op.qnn_name() for node in model.graph.nodes}
    x = np.random.default_rng(0).random((1, 3, 6, 6), np.float32)
    got = model.run({"image": x.transpose(0, 2, 3, 1)})["features"]
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2), want(image, x), rtol=1e-4, atol=1e-4)


def test_a_layout_may_be_turned_at_one_end_only(converted, image):
    answer, dlc = converted(config("", "Layout: NHWC"))
    assert answer.code == 0
    x = np.random.default_rng(0).random((1, 3, 6, 6), np.float32)
    got = ew.load(dlc).run({"image": x})["features"]
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2), want(image, x), rtol=1e-4, atol=1e-4)


def test_steps_of_time_come_first_or_second(call, tmp_path):
    nodes = [models.helper.make_node("Softmax", ["x"], ["y"], axis=2)]
    shape = [2, 5, 3]
    path = models.save(tmp_path / "m.onnx", nodes, [("x", models.FLOAT, shape)], [("y", models.FLOAT, shape)])
    text = (
        "Input Tensor Configuration:\n- Name: x\n  Src Model Parameters: {Layout: NTF}\n"
        "  Desired Model Parameters: {Layout: TNF}\n"
    )
    assert call(main, "-i", path, "--io_config", written(tmp_path, text)).code == 0
    model = ew.load(tmp_path / "m.dlc")
    assert (model.inputs[0].shape, model.outputs[0].shape) == ((5, 2, 3), (2, 5, 3))
    x = np.random.default_rng(0).random((2, 5, 3), np.float32)
    got = model.run({"x": x.transpose(1, 0, 2)})["y"]
    np.testing.assert_allclose(got, np.exp(x) / np.exp(x).sum(2, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "offset", "stored"), [("uint8", -128, 128), ("uint8", 128, 128), ("int8", 3, -3)]
)
def test_integers_stand_for_reals_by_scale_and_offset(converted, image, dtype, offset, stored):
    params = f"QuantParams: {{Scale: 0.01, Offset: {offset}}}"
    answer, dlc = converted(config(f"DataType: {dtype}, {params}", "DataType: float16"))
    assert answer.code == 0
    model = ew.load(dlc)
    q = np.random.default_rng(0).integers(-100, 100, (1, 3, 6, 6))
    integers = (
        (q + stored).clip(0, 255).astype(np.uint8) if dtype == "uint8" else (q + stored).astype(np.int8)
    )
    got = model.run({"image": integers})["features"]
    reals = ((integers.astype(np.float32) - stored) * 0.01).astype(np.float32)
    np.testing.assert_allclose(got, want(image, reals), rtol=1e-2, atol=1e-2)
    assert got.dtype == np.float16


def test_an_output_may_be_written_as_integers(converted, image):
    answer, dlc = converted(config("", "DataType: uint8, QuantParams: {Scale: 0.05, Offset: 0}"))
    assert answer.code == 0
    x = np.random.default_rng(0).random((1, 3, 6, 6), np.float32)
    model = ew.load(dlc)
    assert model.outputs[0].dtype == "ufixed_point_8"
    np.testing.assert_allclose(model.run({"image": x})["features"], want(image, x).clip(0, 12.75), atol=0.026)


def test_a_shape_counts_in_the_desired_layout(converted):
    answer, dlc = converted(config("Layout: NHWC, Shape: '2,8,10,3'"))
    assert answer.code == 0
    model = ew.load(dlc)
    assert (model.inputs[0].shape, model.outputs[0].shape) == ((2, 8, 10, 3), (2, 4, 8, 10))


def test_the_command_line_comes_before_the_file(converted):
    answer, dlc = converted(config("Layout: NHWC, Shape: '2,8,10,3'"), "-d", "image", "1,3,7,9")
    assert (answer.code, ew.load(dlc).inputs[0].shape) == (0, (1, 7, 9, 3))
    wrong = config("Layout: NCHW", source="Src Model Parameters: {DataType: float32, Layout: NHWC}")
    answer, dlc = converted(wrong, "-l", "image", "NCHW")
    assert (answer.code, ew.load(dlc).inputs[0].shape) == (0, (1, 3, 6, 6))


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (config("Layout: NHWC", source="Src Model Parameters: {}"), 2, "that of the source is not given"),
        (config("DataType: float16", source="Src Model Parameters: {}"), 2, "DataType: float32' under 'Src"),
        (config("DataType: uint8"), 2, "uint8 values for a float tensor need a scale and an offset"),
        (config("QuantParams: {Scale: 1, Offset: 0}"), 2, "expected uint8 or int8 values of a float tensor"),
        (config("DataType: uint8, QuantParams: {Scale: 1, Offset: 300}"), 2, "expected -255 to 255"),
        (config("DataType: int8, QuantParams: {Scale: 1, Offset: 128}"), 2, "expected -128 to 127"),
        (config("Layout: NDHWC"), 2, "the layout NDHWC has 5 axes, the tensor has 4"),
        (config("Layout: NONTRIVIAL"), 2, "the layout NCHW cannot become NONTRIVIAL"),
        (
            config(source="Src Model Parameters: {DataType: int8}"),
            2,
            "the source's data type is given as int8, the model has float32",
        ),
        (config().replace("Name: image", "Name: imag"), 2, "did you mean 'image'?"),
        (
            config().replace("Name: features", "Name: image"),
            2,
            "the output 'image', which the model does not",
        ),
    ],
)
def test_requests_that_do_not_fit_the_model_are_errors(converted, text, code, says):
    answer, dlc = converted(text)
    assert (answer.code, says in answer.err) == (code, True)
    assert not dlc.exists()


def test_only_floats_and_bytes_change_their_type(call, tmp_path):
    path = models.token_net(tmp_path / "m.onnx")
    text = (
        "Input Tensor Configuration:\n- Name: ids\n  Src Model Parameters: {DataType: int64}\n"
        "  Desired Model Parameters: {DataType: float32}\n"
    )
    answer = call(main, "-i", path, "--io_config", written(tmp_path, text))
    assert (answer.code, "the data type int64 cannot become float32" in answer.err) == (2, True)


def test_a_template_changes_nothing_until_it_is_edited(call, image, tmp_path):
    assert call(main, "-i", image, "-o", tmp_path / "plain").code == 0
    answer = call(main, "-i", image, "-b", "1", "--dump_io_config_template", tmp_path / "t.yaml")
    assert (answer.code, "-b" in answer.err) == (2, True)
    answer = call(main, "-i", image, "--dump_io_config_template", tmp_path / "t.yaml")
    assert (answer.code, "nothing was converted" in answer.out) == (0, True)
    text = (tmp_path / "t.yaml").read_text("utf-8")
    assert "Layout: NCHW" in text
    assert not (tmp_path / "image.dlc").exists()
    assert call(main, "-i", image, "-o", tmp_path / "same", "--io_config", tmp_path / "t.yaml").code == 0
    same, plain = ew.load(tmp_path / "same.dlc"), ew.load(tmp_path / "plain.dlc")
    assert (same.inputs, same.outputs) == (plain.inputs, plain.outputs)


@pytest.mark.parametrize(
    "name", ["a: b", "- x", "'q\"", "naïve ☃", "#", "tab\there", "null", "123", "{", "🙂"]
)
def test_any_name_survives_the_template(call, tmp_path, name):
    nodes = [models.helper.make_node("Relu", [name], [f"{name}/out"])]
    io = [(name, models.FLOAT, [1, 2])], [(f"{name}/out", models.FLOAT, [1, 2])]
    path = models.save(tmp_path / "m.onnx", nodes, *io)
    assert call(main, "-i", path, "--dump_io_config_template", tmp_path / "t.yaml").code == 0
    found = read_io_config(tmp_path / "t.yaml")
    assert (list(found.inputs), list(found.outputs)) == ([name], [f"{name}/out"])
    assert call(main, "-i", path, "--io_config", tmp_path / "t.yaml").code == 0


def test_a_template_may_be_had_before_symbols_have_numbers(call, tmp_path):
    path = models.symbolic_net(tmp_path / "m.onnx")
    assert call(main, "-i", path, "--dump_io_config_template", tmp_path / "t.yaml").code == 0
    assert "Shape:\n" in (tmp_path / "t.yaml").read_text("utf-8")
