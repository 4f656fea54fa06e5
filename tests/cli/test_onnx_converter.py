import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import helper

import edgewright as ew
from edgewright.tools.qnn_onnx_converter import main
from tests.cli import models


def net_json(path):
    return json.loads(path.read_text("utf-8"))


def inputs_of(path, kind=0):
    tensors = net_json(path)["graph"]["tensors"]
    return {name: t for name, t in tensors.items() if t["type"] == kind}


def test_three_files_are_written_beside_the_source(call, image, tmp_path):
    answer = call(main, "-i", image)
    assert answer.code == 0
    found = sorted(p.name for p in tmp_path.iterdir())
    assert found == ["image.bin", "image.cpp", "image.onnx", "image_net.json"]
    assert all(f"wrote {tmp_path / name}" in answer.out for name in found if name != "image.onnx")


@pytest.mark.parametrize("name", ["m.cpp", "m", "m_net.json", "m.bin"])
def test_the_output_path_may_name_any_of_the_files(call, image, tmp_path, name):
    assert call(main, "-i", image, "-o", tmp_path / "deep" / "er" / name).code == 0
    found = sorted(p.name for p in (tmp_path / "deep" / "er").iterdir())
    assert found == ["m.bin", "m.cpp", "m_net.json"]


def test_a_folder_as_output_path_gets_the_name_of_the_source(call, image, tmp_path):
    (tmp_path / "out").mkdir()
    assert call(main, "-i", image, "-o", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "image.cpp").exists()


def test_weights_of_the_source_are_not_written_over(call, image, tmp_path):
    loaded = onnx.load(image)
    words = {"save_as_external_data": True, "location": "image.bin", "size_threshold": 0}
    onnx.save_model(loaded, image, **words)
    before = (tmp_path / "image.bin").read_bytes()
    answer = call(main, "-i", image)
    assert answer.code == 2
    assert "image.bin' would be overwritten, it is not the weights file of a converted model" in answer.err
    assert (tmp_path / "image.bin").read_bytes() == before
    assert call(main, "-i", image, "-o", tmp_path / "m.cpp").code == 0
    assert call(main, "-i", image, "-o", tmp_path / "m.cpp").code == 0


def test_images_become_nhwc_and_that_is_said(call, image, tmp_path):
    answer = call(main, "-i", image, "-o", tmp_path / "m")
    assert "note: batch 'batch' of 'image' was set to 1; --batch sets another one" in answer.out
    assert "the layout became NHWC for 'image', 'features'; --preserve_io layout keeps" in answer.out
    found = inputs_of(tmp_path / "m_net.json")["image"]
    assert (found["dims"], found["axis_format"], found["src_axis_format"]) == ([1, 6, 6, 3], "NHWC", "NCHW")
    x = np.random.default_rng(0).random((1, 3, 6, 6), np.float32)
    got = ew.load(tmp_path / "m_net.json").run({"image": x.transpose(0, 2, 3, 1)})["features"]
    want = models.run_onnx(image, {"image": x})["features"]
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("words", "shapes"),
    [
        ([], ([1, 6, 6, 3], [1, 6, 6, 4])),
        (["--preserve_io"], ([1, 3, 6, 6], [1, 4, 6, 6])),
        (["--preserve_io", "layout"], ([1, 3, 6, 6], [1, 4, 6, 6])),
        (["--preserve_io", "datatype"], ([1, 6, 6, 3], [1, 6, 6, 4])),
        (["--preserve_io", "layout", "image"], ([1, 3, 6, 6], [1, 6, 6, 4])),
        (
            ["--preserve_io", "layout", "features", "--preserve_io", "datatype", "image"],
            ([1, 6, 6, 3], [1, 4, 6, 6]),
        ),
    ],
)
def test_preserve_io_keeps_the_layout_of_what_it_names(call, image, tmp_path, words, shapes):
    assert call(main, "-i", image, "-o", tmp_path / "m", *words).code == 0
    found = inputs_of(tmp_path / "m_net.json")["image"], inputs_of(tmp_path / "m_net.json", 1)["features"]
    assert (found[0]["dims"], found[1]["dims"]) == shapes


@pytest.mark.parametrize(
    ("words", "dtypes"),
    [
        ([], ("int32", "int32")),
        (["--preserve_io"], ("int64", "int64")),
        (["--preserve_io", "datatype"], ("int64", "int64")),
        (["--preserve_io", "layout"], ("int32", "int32")),
        (["--preserve_io", "datatype", "best"], ("int32", "int64")),
        (["--keep_int64_inputs"], ("int64", "int32")),
    ],
)
def test_int64_becomes_int32_unless_it_is_kept(call, tokens, tmp_path, words, dtypes):
    answer = call(main, "-i", tokens, "-o", tmp_path / "m", *words)
    assert ("int64 became int32 for" in answer.out) == ("int32" in dtypes)
    model = ew.load(tmp_path / "m_net.json")
    ids = np.array([[3, 1, 4, 1, 9]], dtypes[0])
    got = model.run({"ids": ids})
    want = models.run_onnx(tokens, {"ids": ids.astype(np.int64)})
    assert got["best"].dtype == dtypes[1]
    np.testing.assert_array_equal(got["best"], want["best"])
    np.testing.assert_allclose(got["rows"], want["rows"])


def test_a_name_that_the_model_does_not_have_is_guessed(call, image, tmp_path):
    answer = call(
        main,
        "-i",
        image,
        "-o",
        tmp_path / "m",
        "--preserve_io",
        "layout",
        "imag",
        "--input_dtype",
        "x",
        "int8",
    )
    assert answer.code == 2
    assert "--preserve_io names the input or output 'imag', which the model does not have" in answer.err
    assert "did you mean 'image'?" in answer.err
    assert "--input_dtype names the input 'x'" in answer.err
    assert not (tmp_path / "m.cpp").exists()


def test_an_input_of_another_type_is_cast(call, image, tmp_path):
    assert call(main, "-i", image, "-o", tmp_path / "m", "--input_dtype", "image", "uint8").code == 0
    x = np.random.default_rng(0).integers(0, 255, (1, 6, 6, 3)).astype(np.uint8)
    got = ew.load(tmp_path / "m_net.json").run({"image": x})["features"]
    want = models.run_onnx(image, {"image": x.transpose(0, 3, 1, 2).astype(np.float32)})["features"]
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2), want, rtol=1e-4, atol=1e-2)


def test_an_input_type_that_contradicts_preserve_io_is_an_error(call, image, tmp_path):
    words = ("--preserve_io", "datatype", "--input_dtype", "image", "uint8")
    answer = call(main, "-i", image, "-o", tmp_path / "m", *words)
    assert answer.code == 2
    assert "gives 'image' the type uint8, --preserve_io keeps the source's float32" in answer.err


@pytest.mark.parametrize(
    ("layout", "dims"), [("NCHW", [1, 6, 6, 3]), ("NHWC", [1, 3, 6, 6]), ("NONTRIVIAL", [1, 3, 6, 6])]
)
def test_an_input_that_is_not_channel_first_is_not_turned(call, image, tmp_path, layout, dims):
    assert call(main, "-i", image, "-o", tmp_path / "m", "--input_layout", "image", layout).code == 0
    assert inputs_of(tmp_path / "m_net.json")["image"]["dims"] == dims


def test_a_layout_of_another_rank_is_an_error(call, image, tmp_path):
    answer = call(main, "-i", image, "-o", tmp_path / "m", "-l", "image", "NCF")
    assert answer.code == 2
    assert "the layout NCF has 3 axes, the tensor has 4" in answer.err


@pytest.mark.parametrize(
    ("words", "dims"),
    [
        (["-d", "x", "1,3,4"], [1, 3, 4]),
        (["-s", "height", "3", "-s", "width", "4"], [1, 3, 4]),
        (["-b", "2", "-s", "height", "3", "-s", "width", "4"], [2, 3, 4]),
    ],
)
def test_symbolic_dimensions_are_fixed_by_shape_batch_or_name(call, tmp_path, words, dims):
    path = models.symbolic_net(tmp_path / "m.onnx")
    assert call(main, "-i", path, *words).code == 0
    assert inputs_of(tmp_path / "m_net.json")["x"]["dims"] == dims


def test_symbolic_dimensions_that_stay_open_are_one_error(call, tmp_path):
    path = models.symbolic_net(tmp_path / "m.onnx")
    answer = call(main, "-i", path)
    assert answer.code == 2
    assert answer.err == (
        "error[usage]: 2 symbolic dimensions must be numbers, found x [batch,height,width]\n"
        f"  where: {path}\n"
        "  do:    fix them with --define_symbol 'height' N --define_symbol 'width' N, or by input: "
        "--input_dim 'x' N,N,N\n"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx"]


def test_an_output_may_be_any_value(call, image, tmp_path):
    assert call(main, "-i", image, "-o", tmp_path / "m", "--out_node", "c").code == 0
    assert list(inputs_of(tmp_path / "m_net.json", 1)) == ["c"]


def test_batch_norms_are_folded_unless_that_is_disabled(call, image, tmp_path):
    kinds = []
    for words in ([], ["--disable_batchnorm_folding"]):
        assert call(main, "-i", image, "-o", tmp_path / "m", *words).code == 0
        kinds.append(net_json(tmp_path / "m_net.json")["op_types"])
    assert "Batchnorm" not in kinds[0]
    assert "Batchnorm" in kinds[1]


def test_disconnected_nodes_are_dropped_unless_they_are_kept(call, tmp_path):
    path = models.with_unused_values(tmp_path / "m.onnx")
    kinds = []
    for words in ([], ["--keep_disconnected_nodes"]):
        assert call(main, "-i", path, *words).code == 0
        kinds.append(net_json(tmp_path / "m_net.json")["op_types"])
    assert ("Sigmoid" in kinds[0], "Sigmoid" in kinds[1]) == (False, True)


def test_fewer_rewrites_give_the_same_results(call, image, tmp_path):
    x = np.random.default_rng(0).random((1, 6, 6, 3), np.float32)
    results = []
    for words in ([], ["-n"]):
        assert call(main, "-i", image, "-o", tmp_path / "m", *words).code == 0
        results.append(ew.load(tmp_path / "m_net.json").run({"image": x})["features"])
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("words", "types"),
    [
        ((), ("float32", "float32", "float32")),
        (("--float_bw", "16"), ("float16", "float16", "float16")),
        (("--float_bw", "16", "--float_bias_bw", "32"), ("float16", "float16", "float32")),
        (("--float_bias_bw", "16"), ("float32", "float32", "float16")),
        (("--float_bw", "16", "--preserve_io", "datatype"), ("float32", "float16", "float16")),
    ],
)
def test_floats_take_as_many_bits_as_asked_for(call, image, tmp_path, words, types):
    assert call(main, "-i", image, "-o", tmp_path / "m", *words).code == 0
    model = ew.load(tmp_path / "m_net.json")
    conv = next(node for node in model.graph.nodes if type(node.op).__name__ == "Conv2d")
    found = [model.graph.types[name].dtype.numpy for name in ("image", *conv.inputs[1:])]
    assert found == [np.dtype(name) for name in types]
    x = np.random.default_rng(0).random((1, 3, 6, 6), np.float32)
    got = model.run({"image": x.transpose(0, 2, 3, 1).astype(found[0])})["features"]
    want = models.run_onnx(image, {"image": x})["features"]
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2), want, rtol=1e-2, atol=2e-2)


def test_the_prefix_the_package_and_the_copyright_are_written(call, image, tmp_path):
    (tmp_path / "c.txt").write_text("Copyright me */ #error", "utf-8")
    words = ("--overwrite_model_prefix", "--package_name", "my.pack", "--copyright_file", tmp_path / "c.txt")
    assert call(main, "-i", image, "-o", tmp_path / "out" / "net-1.cpp", *words).code == 0
    source = (tmp_path / "out" / "net-1.cpp").read_text("utf-8")
    assert "ModelError_t net_1_composeGraphs(" in source
    assert '"my.pack"' in source
    assert source.index("Copyright me") < source.index("#include")
    stored = net_json(tmp_path / "out" / "net-1_net.json")
    assert stored["copyright_str"] == "Copyright me */ #error"
    assert {node["package"] for node in stored["graph"]["nodes"].values()} == {"my.pack"}


def test_a_copyright_that_is_not_text_is_an_error(call, image, tmp_path):
    (tmp_path / "c.txt").write_bytes(b"\xff\xfe\x00")
    answer = call(main, "-i", image, "-o", tmp_path / "m", "--copyright_file", tmp_path / "c.txt")
    assert (answer.code, "not UTF-8 text" in answer.err) == (3, True)


def test_tensors_may_be_numbered(call, image, tmp_path):
    assert call(main, "-i", image, "-o", tmp_path / "m", "--exclude_named_tensors").code == 0
    names = set(net_json(tmp_path / "m_net.json")["graph"]["tensors"])
    assert {"image", "features"} <= names
    assert all(name.startswith("tensor_") for name in names - {"image", "features"})


def test_the_same_model_gives_the_same_bytes_wherever_it_is_written(call, image, tmp_path):
    for folder in ("a", "b"):
        assert call(main, "-i", image, "-o", tmp_path / folder / "m.cpp").code == 0
    for name in ("m.cpp", "m.bin", "m_net.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert str(tmp_path) not in (tmp_path / "a" / "m_net.json").read_text("utf-8")


def test_the_command_is_recorded_with_all_options(call, image, tmp_path):
    assert call(main, "-i", image, "-o", tmp_path / "m.cpp", "-b", "2").code == 0
    command = net_json(tmp_path / "m_net.json")["converter_command"]
    assert command.startswith("qnn-onnx-converter; act_bw=8; ")
    assert "; batch=2; " in command
    assert "; input_network=image.onnx; " in command


def test_unsupported_ops_end_with_4_and_write_nothing(call, tmp_path):
    path = models.strange_net(tmp_path / "m.onnx")
    answer = call(main, "-i", path)
    assert answer.code == 4
    assert "op 'Frobnicate'" in answer.err
    assert "node 'strange'" in answer.err
    assert "% of the nodes" in answer.err
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize(
    ("detail", "shows"), [([], "Frobnicate"), (["info"], "Unsupported:"), (["debug"], "  do: ")]
)
def test_a_dry_run_lists_what_is_unsupported_and_writes_nothing(call, tmp_path, detail, shows):
    path = models.strange_net(tmp_path / "m.onnx")
    answer = call(main, "-i", path, "--dry_run", *detail)
    assert (answer.code, shows in answer.out) == (4, True)
    assert "the model does not convert as it is" in answer.out
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


def test_a_dry_run_of_a_good_model_exits_with_0_and_names_unused_values(call, tmp_path):
    path = models.with_unused_values(tmp_path / "m.onnx")
    answer = call(main, "-i", path, "--dry_run")
    assert answer.code == 0
    assert "unused inputs: idle" in answer.out
    assert "unused outputs: nowhere" in answer.out
    assert answer.out.endswith("100.0 % of the nodes and 100.0 % of the MACs convert\nthe model converts\n")


def test_reports_come_as_json_too(call, image, tmp_path):
    found = json.loads(call(main, "-i", image, "-o", tmp_path / "m", "--json").out)
    assert found["contract"][0]["source_shape"] == [1, 3, 6, 6]
    assert found["files"]["paths"] == [str(tmp_path / name) for name in ("m.cpp", "m.bin", "m_net.json")]
    dry = json.loads(call(main, "-i", image, "--dry_run", "--json").out)
    assert dry["is_convertible"] is True


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("hexagon", "--target_device hexagon: every op is one that the HTP has"),
        ("htp", "--target_device htp: every op is one that the HTP has"),
        ("cpu", "--target_device cpu: every op is one that QNN lists for its CPU backend"),
        ("gpu", "--target_device gpu: every op is one that QNN lists for its GPU backend"),
        ("dsp", "--target_device dsp: every op is one that QNN lists for its DSP backend"),
        ("dsp", "--target_device dsp takes quantized models only, this one is float"),
    ],
)
def test_a_device_that_has_every_op_is_said(call, image, tmp_path, device, said):
    answer = call(main, "-i", image, "-o", tmp_path / "m", "--target_device", device)
    assert (answer.code, said in answer.out) == (0, True), answer.out


def test_what_a_device_lacks_is_said(call, tmp_path):
    node = helper.make_node("Asin", ["x"], ["y"])
    path = models.save(
        tmp_path / "m.onnx", [node], [("x", models.FLOAT, [1, 4])], [("y", models.FLOAT, [1, 4])]
    )
    answer = call(main, "-i", path, "--target_device", "gpu")
    assert (answer.code, "--target_device gpu lacks ElementWiseAsin (1)" in answer.out) == (0, True), (
        answer.out
    )


def test_optimization_levels_rewrite_more_and_more(call, tmp_path):
    path = models.written_out_norm(tmp_path / "m.onnx")
    kinds = {}
    for level in ("low", "medium", "high"):
        assert call(main, "-i", path, "-o", tmp_path / level, "--optimization_level", level).code == 0
        kinds[level] = sorted(net_json(tmp_path / f"{level}_net.json")["op_types"])
    assert kinds["high"] == ["Conv2d"]
    assert "ElementWiseMultiply" in kinds["medium"]
    assert "ElementWiseMultiply" in kinds["low"]


def test_batch_norms_that_are_written_out_are_kept_too(call, tmp_path):
    path = models.written_out_norm(tmp_path / "m.onnx")
    found = {}
    for words in ((), ("--disable_batchnorm_folding",)):
        assert call(main, "-i", path, "-o", tmp_path / "m", *words).code == 0
        found[words] = set(net_json(tmp_path / "m_net.json")["op_types"])
    (plain, kept) = found.values()
    assert plain == {"Conv2d"}
    assert kept == {"Conv2d", "ElementWiseMultiply", "ElementWiseAdd", "ElementWiseSubtract"}


@pytest.mark.parametrize("content", [b"", b"\x00" * 64, b"not a model at all", b"\x08\x07\x12"])
def test_a_damaged_file_is_one_message(call, tmp_path, content):
    (tmp_path / "m.onnx").write_bytes(content)
    answer = call(main, "-i", tmp_path / "m.onnx")
    assert answer.code in {3, 4}
    assert answer.err.startswith("error[")
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


def test_a_missing_file_is_guessed(call, image):
    answer = call(main, "-i", image.with_name("imgae.onnx"))
    assert (answer.code, "did you mean 'image.onnx'?" in answer.err) == (3, True)


def test_an_output_place_that_is_a_file_is_an_error(call, image, tmp_path):
    (tmp_path / "file").write_text("mine", "utf-8")
    answer = call(main, "-i", image, "-o", tmp_path / "file" / "m.cpp")
    assert (answer.code, "expected a folder" in answer.err) == (2, True)


def test_a_converter_that_is_killed_leaves_no_half_file(tmp_path):
    rng = np.random.default_rng(0)
    weights = {f"w{i}": rng.standard_normal((1500, 1500)).astype(np.float32) for i in range(12)}
    nodes = [
        models.helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"]) for i in range(len(weights))
    ]
    last = f"v{len(weights)}"
    path = models.save(
        tmp_path / "big.onnx",
        nodes,
        [("v0", models.FLOAT, [1, 1500])],
        [(last, models.FLOAT, [1, 1500])],
        weights,
    )
    out = tmp_path / "out"
    code = "import sys; from edgewright.tools.qnn_onnx_converter import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "-i", str(path), "-o", str(out / "m.cpp")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    while not out.exists() and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    left = sorted(p.name for p in out.iterdir()) if out.exists() else []
    # Either it was stopped and nothing is there, or it was quicker and everything is.
    assert left == ([] if process.returncode else ["m.bin", "m.cpp", "m_net.json"])
