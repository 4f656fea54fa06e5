"""qnn-accuracy-debugger: each feature on small models, with what is in its files computed again here."""

import csv
import json
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.tools.qnn_accuracy_debugger import main
from tests.cli import models


def square_net(path):
    """Eight channels of 8 x 8 pixels: both layouts have the same shape, so that sizes tell nothing."""
    # A generator of its own: the same weights whichever tests ran before.
    rng = np.random.default_rng(5)
    weights = {
        "w1": rng.standard_normal((8, 3, 3, 3)).astype(np.float32) / 4,
        "w2": rng.standard_normal((8, 8, 3, 3)).astype(np.float32) / 8,
        "w3": rng.standard_normal((8, 5)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["/c1/out"], pads=[1, 1, 1, 1], name="c1"),
        helper.make_node("Relu", ["/c1/out"], ["/r1/out"], name="r1"),
        helper.make_node("Conv", ["/r1/out", "w2"], ["/c2/out"], pads=[1, 1, 1, 1], name="c2"),
        helper.make_node("Add", ["/c2/out", "/r1/out"], ["/sum"], name="add"),
        helper.make_node("GlobalAveragePool", ["/sum"], ["pooled"], name="pool"),
        helper.make_node("Flatten", ["pooled"], ["flat"], name="flatten"),
        helper.make_node("MatMul", ["flat", "w3"], ["scores"], name="fc"),
    ]
    return models.save(
        path,
        nodes,
        [("image", TensorProto.FLOAT, [1, 3, 8, 8])],
        [("scores", TensorProto.FLOAT, [1, 5])],
        weights,
    )


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A model, four inputs and their list, in the current folder."""
    monkeypatch.chdir(tmp_path)
    square_net(tmp_path / "m.onnx")
    rng = np.random.default_rng(9)
    for number in range(4):
        rng.standard_normal((1, 3, 8, 8)).astype(np.float32).tofile(tmp_path / f"{number}.raw")
    (tmp_path / "list.txt").write_text("".join(f"{tmp_path}/{number}.raw\n" for number in range(4)))
    return tmp_path


def run(*words):
    return main([str(word) for word in words])


def diagnose(here, *more, number=0):
    words = ("-f", "onnx", "-m", "m.onnx", "-i", "image", "1,3,8,8", f"{number}.raw")
    assert run("--framework_diagnosis", *words, *more) == 0
    return here / "working_directory" / "framework_diagnosis" / "latest"


def infer(here, *more, runtime="htp-sim"):
    words = ("-f", "onnx", "-m", "m.onnx", "-r", runtime, "-l", "list.txt")
    assert run("--inference_engine", *words, *more) == 0
    return here / "working_directory" / "inference_engine" / "latest"


def reference(here, names, number=0):
    model = onnx.load(here / "m.onnx")
    del model.graph.output[:]
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    image = np.fromfile(here / f"{number}.raw", np.float32).reshape(1, 3, 8, 8)
    return dict(zip(names, session.run(names, {"image": image}), strict=True))


def read_table(file):
    with file.open() as lines:
        return list(csv.DictReader(lines))


VALUES = ("/c1/out", "/r1/out", "/c2/out", "/sum", "pooled", "flat", "scores")


def test_framework_diagnosis_writes_what_every_node_makes_in_folders_named_by_slashes(here):
    folder = diagnose(here)
    expected = reference(here, VALUES)
    for name in VALUES:
        stored = np.fromfile(folder / f"{name.strip('/')}.raw", np.float32)
        np.testing.assert_allclose(stored, expected[name].reshape(-1), rtol=1e-4, atol=1e-5)
    options = json.loads((folder / "framework_diagnosis_options.json").read_text())
    assert options["model_path"] == "m.onnx"
    assert (folder / "log.txt").is_file()
    assert folder.is_symlink()


def test_framework_diagnosis_stops_at_the_output_that_is_named(here):
    folder = diagnose(here, "-o", "/r1/out", "--disable_graph_optimization", "--output_dirname", "mine")
    assert folder.resolve().name == "mine"
    assert sorted(path.name for path in folder.rglob("*.raw")) == ["out.raw", "out.raw"]


def test_the_inference_engine_writes_all_tensors_with_a_mapping_and_a_structure(here):
    folder = infer(here)
    names = ["Result_0", "Result_1", "Result_2", "Result_3"]
    assert sorted(path.name for path in (folder / "output").glob("Result_*")) == names
    mapping = json.loads((folder / "tensor_mapping.json").read_text())
    assert {"/r1/out", "/sum", "scores"} <= set(mapping.values())
    structure = json.loads((folder / "model_graph_struct.json").read_text())["tensors"]
    assert structure["_sum"]["type"] == "ElementWiseAdd"
    for name in (
        "model.cpp",
        "model.bin",
        "model_net.json",
        "image_list.txt",
        "inference_engine_options.json",
    ):
        assert (folder / name).is_file()
    for name in mapping:
        assert (folder / "output" / "Result_0" / f"{name}.raw").is_file()


def test_a_float_model_on_the_cpu_matches_its_framework_in_every_layout(here, capsys):
    golden, folder = diagnose(here, number=2), infer(here, runtime="cpu")
    words = ("--framework_results", golden, "--inference_results", folder / "output" / "Result_2")
    verifiers = (
        "--default_verifier",
        "sqnr",
        "--default_verifier",
        "rtolatol,rtolmargin,1e-4,atolmargin,1e-4",
    )
    struct = ("--graph_struct", folder / "model_graph_struct.json")
    assert run("--verification", *words, *verifiers, *struct) == 0
    rows = read_table(here / "working_directory" / "verification" / "latest" / "summary.csv")
    assert list(rows[0]) == ["Name", "LayerType", "Size", "Tensor_dims", "sqnr", "rtolatol"]
    assert {"_r1_out", "_sum", "scores"} <= {row["Name"] for row in rows}
    assert all(float(row["sqnr"]) > 90 for row in rows)
    assert "first divergence: none" in capsys.readouterr().out


def test_verification_scores_are_those_of_the_files(here):
    golden, folder = diagnose(here), infer(here)
    words = ("--framework_results", golden, "--inference_results", folder / "output" / "Result_0")
    struct = ("--graph_struct", folder / "model_graph_struct.json")
    assert run("--verification", *words, "--default_verifier", "mse", *struct) == 0
    home = here / "working_directory" / "verification" / "latest"
    (row,) = [row for row in read_table(home / "summary.csv") if row["Name"] == "_sum"]
    target = np.fromfile(folder / "output" / "Result_0" / "_sum.raw", np.float32).reshape(1, 8, 8, 8)
    expected = reference(here, ["/sum"])["/sum"]
    # Channels are last in the files of the engine, though the shapes are the same.
    error = np.mean((target.transpose(0, 3, 1, 2) - expected) ** 2)
    assert float(row["mse"]) == pytest.approx(error, rel=1e-3)
    assert (home / "mse" / "_sum.csv").is_file()
    assert "_sum" in (home / "summary.html").read_text()
    assert json.loads((home / "summary.json").read_text())["tensors"][0]["Name"]


def test_names_of_a_model_cannot_put_markup_into_the_pages(here):
    for name in ("a", "b"):
        (here / name).mkdir()
        np.ones(4, np.float32).tofile(here / name / "<script>x.raw")
    words = ("--framework_results", "a", "--inference_results", "b", "--default_verifier", "mse")
    assert run("--verification", *words) == 0
    page = (here / "working_directory" / "verification" / "latest" / "summary.html").read_text()
    assert "<script>" not in page


def test_a_verifier_configuration_is_for_the_tensors_that_it_names(here):
    golden, folder = diagnose(here), infer(here)
    (here / "v.json").write_text(json.dumps({"TopK": {"parameters": {"k": 2}, "tensors": [["scores"]]}}))
    words = ("--framework_results", golden, "--inference_results", folder / "output" / "Result_0")
    mapping = ("--tensor_mapping", folder / "tensor_mapping.json", "--verifier_config", "v.json")
    assert run("--verification", *words, *mapping) == 0
    rows = read_table(here / "working_directory" / "verification" / "latest" / "summary.csv")
    assert {row["Name"] for row in rows if row["topk"]} == {"scores"}


def test_a_tensor_that_does_not_fit_is_reported_and_the_others_are_compared(here, capsys):
    for name, count in (("a", 4), ("b", 5)):
        (here / name).mkdir()
        np.ones(count, np.float32).tofile(here / name / "x.raw")
        np.ones(3, np.float32).tofile(here / name / "y.raw")
    words = ("--framework_results", "a", "--inference_results", "b", "--default_verifier", "mse")
    assert run("--verification", *words) == 0
    assert "err_compare: the reference has 4 elements, the inference 5" in capsys.readouterr().out


def test_folders_that_have_nothing_in_common_are_refused(here, capsys):
    for name in ("a", "b"):
        (here / name).mkdir()
        np.ones(4, np.float32).tofile(here / name / f"{name}.raw")
    words = ("--framework_results", "a", "--inference_results", "b", "--default_verifier", "mse")
    assert run("--verification", *words) == 3
    assert "no tensor of the inference has a reference" in capsys.readouterr().err


def test_the_engine_runs_from_every_stage_with_the_same_result(here):
    source = infer(here, "--output_dirname", "source").resolve()
    files = ("-qmcpp", source / "model.cpp", "-qmbin", source / "model.bin")
    later = ("-r", "htp-sim", "-l", "list.txt")
    assert (
        run("--inference_engine", "--stage", "converted", *files, *later, "--output_dirname", "converted")
        == 0
    )
    net = (*later, "--offline_prepare", "--output_dirname", "context")
    json_file = ("--qnn_model_net_json", source / "model_net.json")
    assert run("--inference_engine", "--stage", "converted", *files, *json_file, *net) == 0
    first = {path.name: path.read_bytes() for path in (source / "output" / "Result_3").iterdir()}
    for name in ("converted", "context"):
        folder = source.with_name(name) / "output" / "Result_3"
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


def test_layers_are_chosen_by_name_and_type(here):
    def names(*more):
        folder = infer(here, *more)
        return {path.stem for path in (folder / "output" / "Result_0").iterdir()}

    assert names("--add_layer_types", "Conv2d") == {"_c1_out", "_c2_out", "scores"}
    assert names("--add_layer_outputs", "/sum") == {"_sum", "scores"}
    assert "_c1_out" not in names("--skip_layer_types", "Conv2d")
    assert names("--debug_mode_off") == {"scores"}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--verification", "--framework_diagnosis"), 2, "expected at most one feature"),
        (("--inference_engine", "-r", "dspv60", "-l", "list.txt", "-m", "m.onnx"), 2, "dspv60"),
        (("--inference_engine", "-r", "cpu", "-l", "list.txt"), 2, "needs '--model_path'"),
        (
            ("--inference_engine", "-r", "cpu", "-l", "list.txt", "-m", "m.onnx", "-a", "aarch64-android"),
            6,
            "the program '/nowhere/adb' was not found",
        ),
        (
            (
                "--inference_engine",
                "-r",
                "cpu",
                "-l",
                "list.txt",
                "-m",
                "m.onnx",
                "--skip_layer_types",
                "Conv3",
            ),
            2,
            "Conv2d",
        ),
        (
            ("--framework_diagnosis", "-m", "m.onnx", "-i", "image", "1,3,8,9", "0.raw"),
            3,
            "768 bytes, expected 864",
        ),
        (("--framework_diagnosis", "-m", "m.onnx", "-i", "img", "1,3,8,8", "0.raw"), 2, "input 'image'"),
        (
            ("--framework_diagnosis", "-f", "tflite", "-m", "m.onnx", "-i", "x", "1", "0.raw"),
            2,
            "model of ONNX",
        ),
        (
            ("--framework_diagnosis", "-m", "m.onnx", "-i", "image", "1,3,8,8", "0.raw", "-o", "nope"),
            2,
            "nope",
        ),
    ],
)
def test_mistakes_are_told(here, capsys, words, code, message):
    assert run(*words) == code
    assert message in capsys.readouterr().err


def wrapper(*more, runtime="htp-sim"):
    words = ("-f", "onnx", "-m", "m.onnx", "-i", "image", "1,3,8,8", "1.raw", "-r", runtime, "-l", "list.txt")
    return run(*words, *more)


def test_the_wrapper_compares_the_input_that_was_named(here, capsys):
    assert wrapper("--default_verifier", "sqnr", runtime="cpu") == 0
    assert "first divergence: none" in capsys.readouterr().out
    home = here / "working_directory"
    for feature in ("framework_diagnosis", "inference_engine", "verification"):
        assert (home / feature / "latest").is_dir()
    assert (home / "wrapper" / "latest" / "log.txt").is_file()
    assert (home / "wrapper" / "latest" / "wrapper_options.json").is_file()


def test_a_run_is_compared_with_another_run(here, capsys):
    first = infer(here, "--output_dirname", "first").resolve()
    golden = ("--golden_output_reference_directory", first / "output" / "Result_1")
    assert wrapper(*golden, "--default_verifier", "sqnr") == 0
    assert "first divergence: none" in capsys.readouterr().out
    assert not (here / "working_directory" / "framework_diagnosis").exists()


def slow_layerwise(here):
    """The guide's way: a model for each layer, quantized with what the float model has in its place."""
    samples = [reference(here, VALUES, number) for number in range(4)]
    for number, sample in enumerate(samples):
        sample["image"] = np.fromfile(here / f"{number}.raw", np.float32).reshape(1, 3, 8, 8)
    layers = {
        "/r1/out": (["image"], "/r1/out"),
        "/c2/out": (["/r1/out"], "/c2/out"),
        "/sum": (["/c2/out", "/r1/out"], "/sum"),
        "pooled": (["/sum"], "pooled"),
        "scores": (["flat"], "scores"),
    }
    inferred = onnx.shape_inference.infer_shapes(onnx.load(here / "m.onnx"))
    onnx.save(inferred, here / "shapes.onnx")
    results = {}
    for name, (inputs, output) in layers.items():
        onnx.utils.extract_model(here / "shapes.onnx", here / "part.onnx", inputs, [output])
        feeds = [{key: sample[key] for key in inputs} for sample in samples]
        part = ew.quantize(
            here / "part.onnx",
            feeds,
            act_quantizer="tf",
            bias_bw=8,
            per_channel=False,
            per_row=False,
            uniform=True,
        )
        made = part.run(feeds[1], backend="htp-sim")[output]
        signal, noise = np.sum(samples[1][name] ** 2), np.sum((samples[1][name] - made) ** 2)
        results[name] = 10 * np.log10(signal / noise)
    return results


def test_layerwise_gives_the_numbers_of_one_model_for_each_layer(here):
    assert wrapper("--default_verifier", "sqnr", "--debugging_algorithm", "layerwise") == 0
    rows = read_table(here / "working_directory" / "layerwise_snooping" / "latest" / "layerwise.csv")
    columns = ["O/P Name", "Status", "Layer Type", "Shape", "Activations (Min,Max,Median)", "sqnr", "Info"]
    assert list(rows[0]) == columns
    fast = {row["O/P Name"]: float(row["sqnr"]) for row in rows}
    slow = slow_layerwise(here)
    assert fast.keys() == slow.keys()
    for name, score in slow.items():
        assert fast[name] == pytest.approx(score, abs=0.02)


def test_cumulative_layerwise_adds_what_each_layer_does_to_the_outputs(here):
    assert wrapper("--default_verifier", "sqnr", "--debugging_algorithm", "cumulative-layerwise") == 0
    home = here / "working_directory" / "cumulative_layerwise_snooping" / "latest"
    rows = read_table(home / "cumulative_layerwise.csv")
    assert [row["Status"] for row in rows] == ["part"] * len(rows)
    outputs = [json.loads(row["Orig Outputs"].replace("'", '"'))["scores"]["sqnr"] for row in rows]
    # From the last layer on only that layer is quantized: its own score.
    assert outputs[-1] == pytest.approx(float(rows[-1]["sqnr"]), abs=1e-3)
    # From the first one on all are: the score of a whole run.
    target = np.fromfile(infer(here) / "output" / "Result_1" / "scores.raw", np.float32)
    expected = reference(here, ["scores"], 1)["scores"].reshape(-1)
    whole = 10 * np.log10(np.sum(expected**2) / np.sum((expected - target) ** 2))
    assert outputs[0] == pytest.approx(whole, abs=0.01)


def test_layers_outside_the_range_are_skipped(here, capsys):
    words = ("--default_verifier", "mse", "--debugging_algorithm", "layerwise")
    assert wrapper(*words, "--start_layer", "/c2/out", "--end_layer", "/sum") == 0
    rows = read_table(here / "working_directory" / "layerwise_snooping" / "latest" / "layerwise.csv")
    assert [row["Status"] for row in rows] == ["skip", "part", "part", "skip", "skip"]
    assert wrapper(*words, "--start_layer", "/sum", "--end_layer", "/c2/out") == 2
    assert wrapper(*words, "--start_layer", "nope") == 2
    assert wrapper("--default_verifier", "mse", "--start_layer", "/sum") == 2
    assert "layerwise" in capsys.readouterr().err


def test_an_encoding_that_was_spoiled_is_the_first_divergence(here, capsys):
    folder = infer(here)
    encodings = ew.load(folder / "model_net.json").encodings("0.6.1")
    (entry,) = encodings["activation_encodings"]["/c2/out"]
    for key in ("min", "max", "scale"):
        entry[key] *= 20
    (here / "spoiled.json").write_text(json.dumps(encodings))
    capsys.readouterr()
    assert (
        wrapper("--default_verifier", "sqnr", "-qo", "spoiled.json", "--debugging_algorithm", "layerwise")
        == 0
    )
    assert "first divergence: /c2/out (Conv2d)" in capsys.readouterr().out


@pytest.mark.parametrize("algorithm", ["oneshot-layerwise", "layerwise"])
def test_two_decibels_of_one_given_encoding_are_named(here, capsys, algorithm):
    encodings = ew.load(infer(here) / "model_net.json").encodings("0.6.1")
    (entry,) = encodings["activation_encodings"]["/sum"]
    for key in ("min", "max", "scale"):
        entry[key] *= 10 ** (2 / 20)
    (here / "spoiled.json").write_text(json.dumps(encodings))
    capsys.readouterr()
    words = ("--default_verifier", "sqnr", "-qo", "spoiled.json", "--debugging_algorithm", algorithm)
    assert wrapper(*words) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("first divergence: /sum: its range")


def scaled_net(path):
    """A product whose bias and scale become part of its weights when it is converted."""
    rng = np.random.default_rng(8)
    weights = {
        "w": rng.standard_normal((6, 6)).astype(np.float32),
        "b": rng.standard_normal(6).astype(np.float32) * 3,
        "s": np.float32([0.25]),
        "v": rng.standard_normal((3, 4)).astype(np.float32),
        "shape": np.array([1, 2, 3]),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["product"], name="p"),
        helper.make_node("Reshape", ["product", "shape"], ["heads"], name="h"),
        helper.make_node("Mul", ["heads", "s"], ["scaled"], name="m"),
        helper.make_node("Softmax", ["scaled"], ["r"], name="r", axis=-1),
        helper.make_node("MatMul", ["r", "v"], ["y"], name="q"),
    ]
    shape = ("x", TensorProto.FLOAT, [1, 6])
    return models.save(path, nodes, [shape], [("y", TensorProto.FLOAT, [1, 2, 4])], weights)


@pytest.mark.parametrize("algorithm", ["oneshot-layerwise", "layerwise"])
def test_what_conversion_folds_into_a_tensor_is_no_divergence(here, capsys, algorithm):
    scaled_net(here / "s.onnx")
    rng = np.random.default_rng(1)
    for number in range(4):
        rng.standard_normal((1, 6)).astype(np.float32).tofile(here / f"s{number}.raw")
    (here / "s.txt").write_text("".join(f"{here}/s{number}.raw\n" for number in range(4)))
    words = ("-m", "s.onnx", "-i", "x", "1,6", "s0.raw", "-r", "htp-sim", "-l", "s.txt", "-bbw", "32")
    assert run(*words, "--default_verifier", "sqnr", "--debugging_algorithm", algorithm) == 0
    assert "first divergence: none" in capsys.readouterr().out


def test_layerwise_debugging_is_for_onnx(here, capsys):
    (here / "m.tflite").write_bytes(b"\x1c\0\0\0TFL3")
    words = ("-m", "m.tflite", "-r", "cpu", "-l", "list.txt", "--default_verifier", "mse")
    assert run(*words, "--debugging_algorithm", "layerwise") == 2
    assert "layerwise is for ONNX models, this one is of TFLite" in capsys.readouterr().err


def test_equal_encodings_are_equal_and_a_change_is_marked(here, capsys):
    pytest.importorskip("xlsxwriter")
    openpyxl = pytest.importorskip("openpyxl")
    net = infer(here) / "model_net.json"
    encodings = ew.load(net).encodings("1.0.0")
    (here / "same.json").write_text(json.dumps(encodings))
    words = ("--compare_encodings", "--input", net, "--aimet_encodings_json")
    assert run(*words, "same.json") == 0
    assert "0 of " in capsys.readouterr().out
    for entry in encodings["activation_encodings"]:
        if entry["name"] == "/sum":
            entry["scale"] = [entry["scale"][0] * 1.01]
    (here / "other.json").write_text(json.dumps(encodings))
    assert run(*words, "other.json", "--activations_only") == 0
    assert "1 of " in capsys.readouterr().out
    folder = here / "working_directory" / "compare_encodings" / "latest"
    sheet = openpyxl.load_workbook(folder / "encodings_diff.xlsx")["activations"]
    marked = [row[0].value for row in sheet.iter_rows() if row[0].fill.fgColor.rgb == "FFFFC7CE"]
    assert marked == ["/sum"]
    assert json.loads((folder / "extracted_encodings.json").read_text())["activation_encodings"]["/sum"]
    assert run(*words, "same.json", "--specific_node", "nope") == 2
    assert run(*words, "same.json", "--params_only", "--activations_only") == 2


def test_tensor_inspection_writes_statistics_and_pictures(here):
    pytest.importorskip("matplotlib")
    golden, folder = diagnose(here), infer(here)
    target = folder / "output" / "Result_0"
    (here / "e.json").write_text(json.dumps(ew.load(folder / "model_net.json").encodings("0.6.1")))
    words = ("--golden_data", golden, "--target_data", target, "--verifier", "sqnr")
    assert run("--tensor_inspection", *words, "--target_encodings", "e.json") == 0
    home = here / "working_directory" / "tensor_inspection" / "latest"
    rows = {row["Name"]: row for row in read_table(home / "summary.csv")}
    made = np.fromfile(target / "scores.raw", np.float32)
    assert float(rows["scores"]["target_max"]) == pytest.approx(float(made.max()))
    # What comes out of an encoding lies within it.
    assert float(rows["scores"]["(target_max-calibrated_max)"]) <= 1e-6
    pictures = ("Histograms.png", "CDF_plots.png", "Diff_plots.png", "Distribution_min-max.png")
    for name in pictures:
        assert (home / "scores" / name).read_bytes().startswith(b"\x89PNG")
    np.testing.assert_allclose(np.loadtxt(home / "scores" / "target_data.csv"), made, rtol=1e-6)


def test_missing_packages_are_named_with_the_command_that_installs_them(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    words = ("--input", "m_net.json", "--aimet_encodings_json", "m.encodings")
    assert run("--compare_encodings", *words) == 6
    assert "pip install 'edgewright[debugger]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "feature",
    [
        "",
        "--framework_diagnosis",
        "--inference_engine",
        "--verification",
        "--compare_encodings",
        "--tensor_inspection",
    ],
)
def test_the_help_of_each_feature_is_as_recorded(feature, golden, capsys):
    assert main([*filter(None, [feature]), "--help"]) == 0
    golden(f"help/qnn-accuracy-debugger{feature}.txt", capsys.readouterr().out)


@pytest.mark.parametrize("algorithm", ["oneshot-layerwise", "layerwise"])
def test_rows_in_the_order_of_channels_last_are_no_divergence_of_a_float_model(here, capsys, algorithm):
    """The weights behind the flattening have their order: conversion says the same by other means."""
    rng = np.random.default_rng(5)
    weights = {
        "w1": rng.standard_normal((8, 3, 3, 3)).astype(np.float32) / 4,
        "w2": rng.standard_normal((8 * 64, 5)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["made"], pads=[1, 1, 1, 1], name="c1"),
        helper.make_node("Flatten", ["made"], ["rows"], name="flatten"),
        helper.make_node("MatMul", ["rows", "w2"], ["scores"], name="fc"),
    ]
    ends = [("image", TensorProto.FLOAT, [1, 3, 8, 8])], [("scores", TensorProto.FLOAT, [1, 5])]
    models.save(here / "rows.onnx", nodes, *ends, weights)
    words = ["--model_path", "rows.onnx", "--runtime", "cpu", "--input_list", "list.txt"]
    words += ["--input_tensor", "image", "1,3,8,8", "0.raw", "--output_tensor", "scores"]
    words += ["--default_verifier", "SQNR", "--debugging_algorithm", algorithm]
    assert run(*words) == 0
    assert "first divergence: none" in capsys.readouterr().out
