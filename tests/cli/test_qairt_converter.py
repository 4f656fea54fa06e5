import json

import numpy as np
import onnx
import pytest
from onnx import helper

import edgewright as ew
from edgewright.artifacts.dlc import reader, writer
from edgewright.tools.qairt_converter import main
from tests.cli import models


def read_io(path):
    model = ew.load(path)
    return {item.name: (item.dtype, item.shape, item.layout) for item in (*model.inputs, *model.outputs)}


def test_layouts_and_types_stay_the_source_s(call, image, tmp_path):
    answer = call(main, "-i", image)
    assert answer.code == 0
    assert f"wrote {tmp_path / 'image.dlc'}" in answer.out
    assert "batch 'batch' of 'image' was set to 1; --onnx_batch sets another one" in answer.out
    assert read_io(tmp_path / "image.dlc") == {
        "image": ("float32", (1, 3, 6, 6), "NCHW"),
        "features": ("float32", (1, 4, 6, 6), "NCHW"),
    }
    x = np.random.default_rng(0).random((1, 3, 6, 6), np.float32)
    got = ew.load(tmp_path / "image.dlc").run({"image": x})["features"]
    np.testing.assert_allclose(got, models.run_onnx(image, {"image": x})["features"], rtol=1e-4, atol=1e-4)


def test_int64_inputs_and_outputs_stay_around_32_bit_integers(call, tokens, tmp_path):
    assert call(main, "-i", tokens).code == 0
    model = ew.load(tmp_path / "tokens.dlc")
    ids = np.array([[3, 1, 4, 1, 9]], np.int64)
    got, want = model.run({"ids": ids}), models.run_onnx(tokens, {"ids": ids})
    assert (got["best"].dtype, model.inputs[0].dtype) == (np.int64, "int64")
    np.testing.assert_array_equal(got["best"], want["best"])
    np.testing.assert_allclose(got["rows"], want["rows"])


@pytest.mark.parametrize(("name", "written"), [("m.dlc", "m.dlc"), ("m", "m.dlc"), ("net.v2", "net.v2.dlc")])
def test_the_output_path_names_a_dlc(call, image, tmp_path, name, written):
    assert call(main, "-i", image, "-o", tmp_path / "deep" / name).code == 0
    assert [p.name for p in (tmp_path / "deep").iterdir()] == [written]


def test_a_folder_as_output_path_gets_the_name_of_the_source(call, image, tmp_path):
    (tmp_path / "out").mkdir()
    assert call(main, "-i", image, "-o", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "image.dlc").exists()


def test_an_output_path_of_another_kind_is_an_error(call, image, tmp_path):
    answer = call(main, "-i", image, "-o", tmp_path / "m.cpp")
    assert (answer.code, "expected the name of a .dlc file" in answer.err) == (2, True)


@pytest.mark.parametrize("name", ["m.pt", "m.pt2"])
def test_a_damaged_model_of_pytorch_is_one_error(call, tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    answer = call(main, "-i", tmp_path / name)
    assert (answer.code, name in answer.err, answer.err.count("error[")) == (3, True, 1)


def test_a_folder_is_taken_for_a_saved_model(call, tmp_path):
    answer = call(main, "-i", tmp_path)
    assert (answer.code, "the folder has no saved_model.pb" in answer.err) == (3, True)


def test_a_damaged_graph_of_tensorflow_is_one_line(call, tmp_path):
    (tmp_path / "m.pb").write_bytes(b"x")
    answer = call(main, "-i", tmp_path / "m.pb")
    assert (answer.code, "not a TensorFlow model" in answer.err) == (3, True)


def test_a_dlc_is_converted_already(call, tmp_path):
    answer = call(main, "-i", tmp_path / "m.dlc")
    assert (answer.code, "qairt-quantizer quantizes it" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "dims"),
    [
        (["-d", "x", "1,3,4"], (1, 3, 4)),
        (["--desired_input_shape", "x", "2,3,4"], (2, 3, 4)),
        (["--onnx_define_symbol", "height", "3", "--onnx_define_symbol", "width", "4"], (1, 3, 4)),
        (
            [
                "--onnx_batch",
                "2",
                "--onnx_define_symbol",
                "height",
                "3",
                "--onnx_define_symbol",
                "width",
                "4",
            ],
            (2, 3, 4),
        ),
    ],
)
def test_symbolic_dimensions_are_fixed_by_shape_batch_or_name(call, tmp_path, words, dims):
    path = models.symbolic_net(tmp_path / "m.onnx")
    assert call(main, "-i", path, *words).code == 0
    assert read_io(tmp_path / "m.dlc")["x"][1] == dims


def test_errors_spell_the_options_of_this_tool(call, tmp_path):
    path = models.symbolic_net(tmp_path / "m.onnx")
    answer = call(main, "-i", path)
    assert answer.code == 2
    assert answer.err.endswith(
        "do:    fix them with --onnx_define_symbol 'height' N --onnx_define_symbol 'width' N, "
        "or by input: --desired_input_shape 'x' N,N,N\n"
    )
    answer = call(main, "-i", path, "--out_tensor_node", "z")
    assert "--out_tensor_node names the value 'z'" in answer.err
    answer = call(main, "-i", path, "-d", "q", "1")
    assert "--desired_input_shape names the input 'q'" in answer.err


def test_a_name_that_looks_like_an_option_is_left_alone(call, tmp_path):
    nodes = [helper.make_node("Relu", ["-s"], ["--out_node"])]
    shape = ["a", "b"]
    path = models.save(
        tmp_path / "m.onnx", nodes, [("-s", models.FLOAT, shape)], [("--out_node", models.FLOAT, shape)]
    )
    answer = call(main, "-i", path)
    assert "--desired_input_shape '-s' N,N" in answer.err


@pytest.mark.parametrize("flag", ["--out_tensor_node", "--out_tensor_name"])
def test_an_output_may_be_any_value(call, image, tmp_path, flag):
    assert call(main, "-i", image, flag, "c").code == 0
    assert list(read_io(tmp_path / "image.dlc")) == ["image", "c"]


@pytest.mark.parametrize(
    ("words", "types"),
    [
        ((), ("float32", "float32", "float32")),
        (("--float_bitwidth", "16"), ("float16", "float16", "float16")),
        (("--float_bitwidth", "16", "--float_bias_bitwidth", "32"), ("float16", "float16", "float32")),
        (("--float_bias_bitwidth", "16"), ("float32", "float32", "float16")),
    ],
)
def test_floats_take_as_many_bits_as_asked_for(call, image, tmp_path, words, types):
    assert call(main, "-i", image, *words).code == 0
    graph = ew.load(tmp_path / "image.dlc").graph
    conv = next(node for node in graph.nodes if type(node.op).__name__ == "Conv2d")
    found = [graph.types[name].dtype.numpy for name in ("image", *conv.inputs[1:])]
    assert found == [np.dtype(name) for name in types]


def test_version_copyright_package_and_command_are_stored(call, image, tmp_path):
    (tmp_path / "c.txt").write_text("Copyright me", "utf-8")
    words = ("--model_version", "v" * 70, "--copyright_file", tmp_path / "c.txt", "-p", "my.pack")
    assert call(main, "-i", image, *words).code == 0
    found = reader.read(tmp_path / "image.dlc")
    assert found.description.model_version == "v" * 64
    assert found.description.copyright_text == "Copyright me"
    assert found.description.command.startswith("qairt-converter; batch=None; ")
    assert "; input_network=image.onnx; " in found.description.command
    assert str(tmp_path) not in found.description.command
    assert {node.package for node in found.graphs[0].nodes} == {"my.pack"}


def test_a_version_that_is_not_ascii_is_an_error(call, image, tmp_path):
    answer = call(main, "-i", image, "--model_version", "ä")
    assert (answer.code, "expected printable ASCII" in answer.err) == (2, True)
    assert not (tmp_path / "image.dlc").exists()


def test_fewer_rewrites_give_the_same_results(call, image, tmp_path):
    x = np.random.default_rng(0).random((1, 3, 6, 6), np.float32)
    results = []
    for words in ([], ["--onnx_no_simplification"]):
        assert call(main, "-i", image, *words).code == 0
        results.append(ew.load(tmp_path / "image.dlc").run({"image": x})["features"])
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)


def test_a_source_type_that_the_model_does_not_have_is_an_error(call, image, tmp_path):
    assert call(main, "-i", image, "--source_model_input_datatype", "image", "float32").code == 0
    answer = call(main, "-i", image, "--source_model_input_datatype", "image", "uint8")
    assert answer.code == 2
    assert "the source's data type is given as uint8, the model has float32" in answer.err


def test_a_source_layout_is_kept_and_must_fit(call, image, tmp_path):
    assert call(main, "-i", image, "--source_model_input_layout", "image", "NCHW").code == 0
    assert read_io(tmp_path / "image.dlc")["image"] == ("float32", (1, 3, 6, 6), "NCHW")
    answer = call(main, "-i", image, "-l", "image", "NCF")
    assert (answer.code, "the layout NCF has 3 axes, the tensor has 4" in answer.err) == (2, True)
    answer = call(main, "-i", image, "-l", "imag", "NCHW")
    assert (answer.code, "did you mean 'image'?" in answer.err) == (2, True)


def test_a_dry_run_writes_nothing(call, image, tmp_path):
    answer = call(main, "-i", image, "--dry_run")
    assert (answer.code, "the model converts" in answer.out) == (0, True)
    assert "--onnx_batch sets another one" in answer.out
    strange = models.strange_net(tmp_path / "m.onnx")
    answer = call(main, "-i", strange, "--dry_run", "debug")
    assert (answer.code, "Frobnicate" in answer.out) == (4, True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["image.onnx", "m.onnx"]


def test_unsupported_ops_end_with_4_and_write_nothing(call, tmp_path):
    path = models.strange_net(tmp_path / "m.onnx")
    answer = call(main, "-i", path)
    assert (answer.code, "op 'Frobnicate'" in answer.err) == (4, True)
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize(
    "words",
    [
        ["--converter_op_package_lib", "x.so"],
        ["--op_package_config", "x.xml"],
    ],
)
def test_a_package_file_that_is_not_there_is_one_error(call, image, tmp_path, words):
    answer = call(main, "-i", image, *words)
    assert (answer.code, words[1] in answer.err) == (3, True)
    assert not (tmp_path / "image.dlc").exists()


def test_a_package_and_its_configuration_exclude_each_other(call, image):
    answer = call(main, "-i", image, "-p", "a", "-opc", "x.xml")
    assert (answer.code, "were given together" in answer.err) == (2, True)


def test_reports_come_as_json_too(call, image, tmp_path):
    found = json.loads(call(main, "-i", image, "--json").out)
    assert found["contract"][0]["shape"] == [1, 3, 6, 6]
    assert found["files"]["paths"] == [str(tmp_path / "image.dlc")]


def test_overrides_are_kept_in_the_dlc(call, image, tmp_path):
    overrides = {
        "activation_encodings": {"features": [{"bitwidth": 8, "min": 0.0, "max": 4.0}]},
        "param_encodings": {},
    }
    (tmp_path / "o.json").write_text(json.dumps(overrides), "utf-8")
    answer = call(main, "-i", image, "--quantization_overrides", tmp_path / "o.json")
    assert (answer.code, "1 overrides are kept for qairt-quantizer" in answer.out) == (0, True)
    kept = reader.read(tmp_path / "image.dlc").description
    assert json.loads(kept.override_encodings) == overrides
    assert kept.source_encodings == ""


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        ({"activation_encodings": {"featurs": [{"bitwidth": 8, "min": 0, "max": 1}]}, "param_encodings": {}},
         2, "did you mean 'features'?"),
        ({"activation_encodings": {}}, 3, "no 'param_encodings'"),
        ({"activation_encodings": {"features": [{"bitwidth": 3, "min": 0, "max": 1}]}, "param_encodings": {}},
         2, "3"),
    ],
)  # fmt: skip
def test_overrides_that_do_not_fit_are_an_error(call, image, tmp_path, content, code, says):
    (tmp_path / "o.json").write_text(json.dumps(content), "utf-8")
    answer = call(main, "-i", image, "--quantization_overrides", tmp_path / "o.json")
    assert (answer.code, says in answer.err) == (code, True)
    assert not (tmp_path / "image.dlc").exists()


def test_encodings_of_qdq_nodes_are_kept_and_the_nodes_go(call, image, tmp_path):
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    class Samples(CalibrationDataReader):
        def __init__(self):
            self._left = iter(
                [{"image": np.random.default_rng(i).random((1, 3, 6, 6), np.float32)} for i in range(4)]
            )

        def get_next(self):
            return next(self._left, None)

    model = onnx.load(image)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, image)
    quantize_static(image, tmp_path / "qat.onnx", Samples())
    answer = call(main, "-i", tmp_path / "qat.onnx")
    assert answer.code == 0
    assert "encodings of the source model are kept for qairt-quantizer" in answer.out
    found = reader.read(tmp_path / "qat.dlc")
    assert not {node.type for node in found.graphs[0].nodes} & {"Quantize", "Dequantize"}
    assert '"image"' in found.description.source_encodings


def test_what_is_read_back_is_written_in_the_same_bytes(call, image, tmp_path):
    overrides = {"activation_encodings": {}, "param_encodings": {}}
    (tmp_path / "o.json").write_text(json.dumps(overrides), "utf-8")
    for words in ([], ["--float_bitwidth", "16"], ["--quantization_overrides", tmp_path / "o.json"]):
        assert call(main, "-i", image, *words).code == 0
        found = reader.read(tmp_path / "image.dlc")
        assert any(node.notes for node in found.graphs[0].nodes)
        again = b"".join(writer.to_chunks(found.graphs, found.description))
        assert again == (tmp_path / "image.dlc").read_bytes()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--tf_saved_model_tag", "serve"), "--tf_saved_model_tag is for other frameworks"),
        (
            ("--tflite_signature_name", "encode", "--tf_no_optimization"),
            "--tf_no_optimization, --tflite_signature_name are for other frameworks",
        ),
    ],
)
def test_options_of_another_framework_are_refused(call, image, tmp_path, words, named):
    answer = call(main, "-i", image, *words)
    assert (answer.code, named in answer.err, "is a model of ONNX" in answer.err) == (2, True, True), (
        answer.err
    )
    assert not (tmp_path / "image.dlc").exists()
