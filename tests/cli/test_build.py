"""`edgewright build`: files, figures, exit codes, data of every kind, and what stands in the way."""

import json
import sys
import wave
from importlib import import_module

import numpy as np
import pytest
from onnx import helper
from PIL import Image

import edgewright as ew
from edgewright.build.precision_search import PrecisionSearch
from edgewright.quantize.run_counter import RunCounter
from edgewright.tools.build_command import main
from edgewright.tools.quantize_command import main as quantize
from edgewright.tools.umbrella import main as umbrella
from tests.cli.context_models import IS_NATIVE, NO_WHEEL
from tests.cli.models import DIGITS_MODEL, FLOAT, INT64, image_net, save

INPUT, OUTPUT = "Input3", "Plus214_Output_0"
TO = ("--target", "SM8650")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """60 digits with their labels."""
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        path = tmp_path_factory.mktemp("data") / "digits.npz"
        np.savez(path, Input3=stored["images"][:60, None].astype(np.float32), labels=stored["labels"][:60])
    return path


@pytest.fixture
def simulated(monkeypatch):
    """As on a machine without the genuine libraries: quicker, and the same everywhere."""
    # By import_module: the name edgewright.build is the function, not the package.
    for module in ("backends.htp.provider", "build.preflight"):
        monkeypatch.setattr(import_module(f"edgewright.{module}"), "find_libraries", lambda: None)


@pytest.fixture(scope="module")
def built(data, tmp_path_factory):
    """One build in w8a8, with what this machine has."""
    out = tmp_path_factory.mktemp("built") / "out"
    words = (DIGITS_MODEL, "--data", data, *TO, "--precision", "w8a8", "--max-drop", "20%", "-o", out)
    assert umbrella(["build", *map(str, words)]) == 0
    return out


def test_all_files_are_there_under_the_names_of_the_course(built):
    names = {path.relative_to(built).as_posix() for path in built.rglob("*") if path.is_file()}
    assert names - {"context_binaries/mnist_cntk_ctx.onnx"} == {
        "context_binaries/htp_context.bin",
        "quantization_config.json",
        "input_specs.json",
        "example/inputs.txt",
        "example/Input3.raw",
        "mnist_cntk.dlc",
        "mnist_cntk.cpp",
        "mnist_cntk.bin",
        "mnist_cntk_net.json",
        "report.html",
        "report.json",
    }


def test_the_record_says_how_accurate_the_model_is_on_samples_held_apart(built):
    record = json.loads((built / "report.json").read_text())
    assert (record["metric"]["name"], record["verdict"]["word"]) == ("right-answers", "met")
    loss, numbers = record["verdict"]["loss"], record["samples"]
    assert loss["low"] <= loss["points"] <= loss["high"] <= record["max_drop"] == 20
    # Anyone can compute the figures again: it is told which samples did what.
    assert {name: len(part) for name, part in numbers.items()} | {"emulated": 0} == {
        "calibrated": 20,
        "chose": 14,
        "judged": 26,
        "emulated": 0,
    }
    assert {item["backend"] for item in record["accuracy"]} >= {"float", "htp-sim"}
    assert {item["samples"] for item in record["accuracy"] if item["backend"] != "htp-native"} == {26}
    assert all(item["low"] <= item["score"] <= item["high"] for item in record["accuracy"])
    assert "of 60 samples 20 calibrate, 14 choose the precision, 26 others judge it" in record["data"]
    words = [stage["name"].split()[0] for stage in record["stages"]]
    assert words[:4] == ["preflight", "convert", "plan", "quantize"]
    assert words[-4:] == ["compile", "check", "evaluate", "analyse"]
    assert record["source"]["macs"] > 500_000
    assert record["layers"]
    assert record["tensors"]


def test_the_report_says_what_the_architecture_costs(built):
    record = json.loads((built / "report.json").read_text())
    notes = [each for each in record["preflight"]["findings"] if each["kind"] == "architecture"]
    assert [note["what"].split()[0] for note in notes] == ["low_channels"]
    assert "smaller than 32" in (built / "report.html").read_text()


def test_the_files_hold_one_and_the_same_model(built, data):
    with np.load(data) as stored:
        feed = {INPUT: stored["Input3"][:1]}
    kinds = [ew.load(built / f"mnist_cntk{ending}") for ending in (".dlc", "_net.json")]
    first, second = (model.run(feed, backend="htp-sim")[OUTPUT] for model in kinds)
    np.testing.assert_array_equal(first, second)
    compiled = ew.load_context(built / "context_binaries" / "htp_context.bin")
    assert (
        np.abs(compiled.run(feed)[OUTPUT] - first).max()
        <= 2 * kinds[0].graph.types[OUTPUT].encoding.scales[0]
    )


def test_the_encodings_are_overrides_of_other_tools(built, data, tmp_path, call):
    words = (
        "--data",
        data,
        "--quantization_overrides",
        built / "quantization_config.json",
        "--act_quantizer",
        "tf",
    )
    answer = call(quantize, DIGITS_MODEL, *words, "-o", tmp_path / "again.dlc")
    assert answer.code == 0, answer.err
    first, again = (ew.load(path).graph for path in (built / "mnist_cntk.dlc", tmp_path / "again.dlc"))
    assert {n: first.types[n].encoding for n in first.inputs} == {
        n: again.types[n].encoding for n in again.inputs
    }


def test_what_the_report_advises_is_taken_back(call, data, tmp_path, simulated):
    (tmp_path / "wide.json").write_text(
        json.dumps({"activation_encodings": {OUTPUT: [{"bitwidth": 16}]}, "param_encodings": {}})
    )
    words = ("--data", data, *TO, "--quantization_overrides", tmp_path / "wide.json", "--json")
    answer = call(main, DIGITS_MODEL, *words, "--max-drop", "30", "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "mixed" in [candidate["name"] for candidate in json.loads(answer.out)["candidates"]]
    assert ew.load(tmp_path / "out" / "mnist_cntk.dlc").graph.types[OUTPUT].encoding.bitwidth == 16


def test_passes_of_a_candidate_that_was_not_finished_are_counted(
    call, data, tmp_path, simulated, monkeypatch
):
    monkeypatch.setattr(sys.modules[PrecisionSearch.__module__], "MOST_PASSES", 4.0)
    monkeypatch.setattr(sys.modules[RunCounter.__module__], "CHEAP", 0)
    answer = call(
        main, DIGITS_MODEL, "--data", data, *TO, "--precision", "w4a8", "-o", tmp_path / "o", "--json"
    )
    record = json.loads(answer.out)
    assert any("more than 4 passes" in each["reason"] for each in record["left_out"])
    assert record["passes"] > sum(stage["passes"] for stage in record["stages"])


def test_the_specification_of_inputs_is_that_of_the_model(built):
    specs = json.loads((built / "input_specs.json").read_text())
    (result,) = specs["inputs"]
    graph = ew.load(built / "mnist_cntk.dlc").graph
    assert (result["name"], result["shape"]) == (INPUT, [1, 1, 28, 28])
    assert result["scale"] == pytest.approx(graph.types[INPUT].encoding.scales[0])


def test_auto_tries_precisions_and_says_which_one_was_chosen(call, data, tmp_path, simulated):
    answer = call(
        main, DIGITS_MODEL, "--data", data, *TO, "--max-drop", "25", "-o", tmp_path / "out", "--json"
    )
    assert answer.code == 0, answer.err
    record = json.loads(answer.out)
    assert [candidate["name"] for candidate in record["candidates"]] == ["w8a8", "mixed"]
    assert [(each["name"], each["reason"], each["is_for_time"]) for each in record["left_out"]] == [
        (name, "not needed: w8a8 keeps the limit", False) for name in ("fp16", "w8a16", "w8a8+algorithms")
    ]
    assert record["is_cut_short"] is False
    assert record["passes"] == pytest.approx(sum(stage["passes"] for stage in record["stages"]))
    assert 0 < record["passes"] <= 40
    (chosen,) = [candidate for candidate in record["candidates"] if candidate["is_chosen"]]
    assert chosen["name"] == record["chosen"]
    assert chosen["cost"] <= 1.0
    assert "report: " in answer.err


def test_a_limit_that_is_missed_is_exit_code_5_with_all_files_written(call, data, tmp_path, simulated):
    words = ("--data", data, *TO, "--precision", "w4a8", "--metric", "closeness", "--max-drop", "0")
    answer = call(main, DIGITS_MODEL, *words, "-o", tmp_path / "out")
    assert answer.code == 5
    assert "error[accuracy-gate]: more points of closeness are lost than the 0 of --max-drop" in answer.err
    assert "limit missed" in answer.out
    assert (tmp_path / "out" / "mnist_cntk.dlc").exists()
    assert json.loads((tmp_path / "out" / "report.json").read_text())["verdict"]["word"] == "missed"


def test_a_limit_that_the_samples_cannot_prove_is_exit_code_5_unless_that_is_allowed(
    call, data, tmp_path, simulated
):
    words = ("--data", data, *TO, "--precision", "w8a8", "--max-drop", "4", "-o", tmp_path / "out")
    answer = call(main, DIGITS_MODEL, *words)
    assert answer.code == 5
    assert "the limit of --max-drop 4 is not proven" in answer.err
    assert "more samples like these would prove the limit of 4" in answer.out
    allowed = call(main, DIGITS_MODEL, *words, "--allow-unproven")
    assert allowed.code == 0, allowed.err
    assert "not proven: mnist_cntk for SM8650" in allowed.out


def test_a_metric_of_ones_own_judges(call, data, tmp_path, simulated):
    (tmp_path / "mine.py").write_text(
        "def sure(output, reference):\n    return float(output.argmax() == reference.argmax())\n"
    )
    words = ("--data", data, *TO, "--precision", "w8a8", "--metric", f"{tmp_path / 'mine.py'}:sure")
    answer = call(main, DIGITS_MODEL, *words, "-o", tmp_path / "out", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["metric"]["name"].endswith("mine.py:sure")
    wrong = call(main, DIGITS_MODEL, *words[:-1], "nonsense", "-o", tmp_path / "out")
    assert wrong.code == 2
    assert "mean-absolute-error" in wrong.err


def test_samples_that_are_not_as_in_training_are_said_whatever_the_verdict(call, data, tmp_path, simulated):
    with np.load(data) as stored:
        np.savez(tmp_path / "dark.npz", Input3=stored["Input3"] * 0 + 1, labels=stored["labels"])
    words = ("--data", tmp_path / "dark.npz", *TO, "--precision", "w8a8", "-o", tmp_path / "out")
    answer = call(main, DIGITS_MODEL, *words)
    assert answer.code == 0, answer.err
    assert "the float model itself is right on only" in answer.out


def test_random_data_prove_no_limit(call, tmp_path, simulated):
    words = ("--random-data", *TO, "--precision", "fp16", "--max-drop", "50", "-o", tmp_path / "out")
    answer = call(main, DIGITS_MODEL, *words)
    assert answer.code == 5
    assert "random numbers in place of samples prove nothing" in answer.err


def test_a_folder_that_cannot_be_written_is_said_before_any_work(call, data):
    answer = call(main, DIGITS_MODEL, "--data", data, *TO, "-o", "/proc/edgewright", "--dry-run")
    assert answer.code == 6
    assert "'/proc' cannot be written to" in answer.err


def test_a_dry_run_says_what_is_needed_and_writes_nothing(call, data, tmp_path):
    answer = call(main, DIGITS_MODEL, "--data", data, *TO, "-o", tmp_path / "out", "--dry-run")
    assert answer.code == 0
    # Without the genuine compiler there is one warning: the simulation stands in.
    way = "nothing stands in the way" if IS_NATIVE else "the build can start; 1 warning above says what may"
    assert f"pre-flight: {way}" in answer.out
    assert not (tmp_path / "out").exists()


def test_everything_that_stands_in_the_way_comes_at_once(call, tmp_path):
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"], name="post/NonZero"),
        helper.make_node("Whatever", ["x"], ["y"], name="post/Odd", domain="strange.ops"),
    ]
    io = [("places", INT64, [2, None]), ("y", FLOAT, [1, 4])]
    model = save(tmp_path / "odd.onnx", nodes, [("x", FLOAT, [1, 4])], io)
    np.save(tmp_path / "wrong.npy", np.zeros((8, 5), np.float32))
    words = (
        "--data",
        tmp_path / "wrong.npy",
        "--target",
        "SM8450",
        "--precision",
        "fp16",
        "-o",
        tmp_path / "out",
    )
    answer = call(main, model, *words)
    assert answer.code == 4
    assert "post/Odd" in answer.err
    assert "Hexagon v69, half precision needs v73" in answer.err
    assert "the array has the shape [8, 5], expected [1,4]" in answer.err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def product(tmp_path):
    """A model that converts and that the HTP refuses."""
    nodes = [helper.make_node("ReduceProd", ["x"], ["y"], name="head/Prod", axes=[2])]
    return save(tmp_path / "product.onnx", nodes, [("x", FLOAT, [1, 3, 3])], [("y", FLOAT, [1, 3, 1])])


def test_an_op_that_the_htp_lacks_ends_the_build_and_leaves_nothing_behind(call, tmp_path, product):
    words = ("--random-data", *TO, "-o", tmp_path / "out")
    answer = call(main, product, *words)
    assert answer.code == call(main, product, *words, "--dry-run").code == 4
    assert "HTP has no ReduceProd" in answer.err
    assert not (tmp_path / "out").exists()


def test_what_the_compiler_would_refuse_comes_together_with_wrong_data(call, tmp_path, product):
    np.save(tmp_path / "wrong.npy", np.zeros((8, 5), np.float32))
    answer = call(main, product, "--data", tmp_path / "wrong.npy", *TO, "-o", tmp_path / "out")
    assert answer.code == 4
    assert "HTP has no ReduceProd" in answer.err
    assert "the array has the shape [8, 5]" in answer.err


def test_a_missing_model_missing_data_and_an_unknown_chip_are_all_said(call, tmp_path):
    words = ("--data", tmp_path / "none.npz", "--target", "SM9999", "-o", tmp_path / "out")
    answer = call(main, tmp_path / "none.onnx", *words)
    assert answer.code == 3
    assert "error[bad-input]: 3 problems" in answer.err


@pytest.mark.parametrize(
    ("target", "code", "text"),
    [("SM8250", 4, "is Hexagon v66, the HTP begins with v68"), ("SM9999", 2, "target 'SM9999' is unknown")],
)
def test_a_chip_that_cannot_be_built_for_is_refused_before_any_work(call, data, tmp_path, target, code, text):
    answer = call(main, DIGITS_MODEL, "--data", data, "--target", target, "-o", tmp_path / "out")
    assert answer.code == code
    assert text in answer.err


def test_random_data_is_warned_of_loudly(call, tmp_path, simulated):
    words = ("--random-data", *TO, "--precision", "w8a8", "-o", tmp_path / "out")
    answer = call(main, DIGITS_MODEL, *words)
    assert answer.code == 0
    assert "RANDOM DATA" in answer.err
    assert "RANDOM DATA" in answer.out
    assert "RANDOM DATA" in (tmp_path / "out" / "report.html").read_text()


def test_without_data_the_command_says_what_to_give(call):
    answer = call(main, DIGITS_MODEL, *TO)
    assert answer.code == 2
    assert "option '--data' is missing" in answer.err


def test_folders_of_images_named_by_numbers_give_labels(call, tmp_path, simulated):
    rng = np.random.default_rng(0)
    for number in (0, 1):
        (tmp_path / "images" / str(number)).mkdir(parents=True)
        for place in range(4):
            pixels = rng.integers(0, 256, (6, 6, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "images" / str(number) / f"{place}.png")
    words = (
        "--data",
        tmp_path / "images",
        "--mean",
        127.5,
        "--std",
        127.5,
        *TO,
        "--precision",
        "w8a8",
        "--json",
    )
    answer = call(main, image_net(tmp_path / "net.onnx"), *words, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    record = json.loads(answer.out)
    assert any("mean 127.5, std 127.5" in line for line in record["data"])
    assert "right answers are the numbers of the folders" in record["data"]
    # The output is an image: no row of classes that labels are numbers of.
    assert record["metric"]["name"] == "closeness"


def _sound(path, rate, seconds=0.02):
    times = np.arange(int(rate * seconds)) / rate
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((8000 * np.sin(2 * np.pi * 440 * times)).astype("<i2").tobytes())


def test_sound_is_cut_into_pieces_and_brought_to_the_rate_of_the_model(call, tmp_path, simulated):
    (tmp_path / "sounds").mkdir()
    _sound(tmp_path / "sounds" / "a.wav", 16000)
    _sound(tmp_path / "sounds" / "b.wav", 8000)
    weights = {"w": np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    model = save(tmp_path / "ear.onnx", nodes, [("x", FLOAT, [1, 64])], [("y", FLOAT, [1, 8])], weights)
    words = (
        model,
        "--data",
        tmp_path / "sounds",
        *TO,
        "--precision",
        "w8a8",
        "-o",
        tmp_path / "out",
        "--json",
    )
    refused = call(main, *words)
    assert refused.code == 3
    assert "the files have 2 sample rates (8000, 16000 Hz), expected one" in refused.err
    answer = call(main, *words, "--sample-rate", 16000)
    assert answer.code == 0, answer.err
    notes = json.loads(answer.out)["data"]
    assert "2 files in 10 pieces of 64 values" in notes[0]
    assert "1 files were resampled from 8000 Hz to 16000 Hz" in notes


def test_labels_from_a_table_are_checked_against_the_samples(call, data, tmp_path):
    (tmp_path / "labels.txt").write_text("1\n2\n")
    answer = call(main, DIGITS_MODEL, "--data", data, "--labels", tmp_path / "labels.txt", *TO, "--dry-run")
    assert answer.code == 3
    assert "there are 2 labels for 60 samples, expected one for each" in answer.err


def test_a_model_that_came_quantized_is_built_as_it_is(call, data, tmp_path, simulated):
    qdq = tmp_path / "qdq.onnx"
    assert call(quantize, DIGITS_MODEL, "--data", data, "-o", qdq).code == 0
    words = ("--data", data, *TO, "--precision", "w8a8", "-o", tmp_path / "out", "--json")
    answer = call(main, qdq, *words)
    assert answer.code == 0, answer.err
    record = json.loads(answer.out)
    assert [candidate["name"] for candidate in record["candidates"]] == ["as given"]
    given, made = ew.convert(qdq).graph, ew.load(tmp_path / "out" / "qdq.dlc").graph
    assert made.types[OUTPUT].encoding is not None
    assert len(given.nodes) > len(made.nodes)


def test_open_dimensions_get_the_sizes_of_the_samples(call, tmp_path, simulated):
    weights = {"w": np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    io = [("x", FLOAT, ["batch", "length", 6])], [("y", FLOAT, ["batch", "length", 8])]
    model = save(tmp_path / "open.onnx", nodes, *io, weights)
    words = (model, *TO, "--precision", "w8a8", "-o", tmp_path / "out")
    refused = call(main, *words, "--random-data")
    assert refused.code == 2
    assert "symbolic dimension must be numbers" in refused.err
    samples = np.random.default_rng(1).normal(size=(8, 1, 5, 6)).astype(np.float32)
    np.save(tmp_path / "samples.npy", samples)
    answer = call(main, *words, "--data", tmp_path / "samples.npy")
    assert answer.code == 0, answer.err
    assert "length = 5" in answer.out


@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
def test_a_model_that_the_compiler_refuses_keeps_its_other_files_and_its_report(call, tmp_path):
    shape = [1, 2, 2, 2, 2, 2]
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="six/Relu")]
    model = save(tmp_path / "six.onnx", nodes, [("x", FLOAT, shape)], [("y", FLOAT, shape)])
    earlier = tmp_path / "out" / "context_binaries" / "htp_context.bin"
    earlier.parent.mkdir(parents=True)
    earlier.write_bytes(b"of another build")
    answer = call(main, model, "--random-data", *TO, "--precision", "w8a8", "-o", tmp_path / "out")
    assert answer.code == 4
    assert "incorrect Rank 6" in answer.err
    assert f"all files but the binary are in {tmp_path / 'out'}" in answer.err
    record = json.loads((tmp_path / "out" / "report.json").read_text())
    assert record["findings"][0]["kind"] == "unsupported-op"
    assert {item["backend"] for item in record["accuracy"]} == {"float", "htp-sim"}
    assert not earlier.exists()
    assert ew.load(tmp_path / "out" / "six.dlc").outputs


@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
def test_an_input_that_is_a_single_number_reaches_the_emulator(call, tmp_path):
    nodes = [helper.make_node("Mul", ["x", "factor"], ["y"])]
    io = [("x", FLOAT, [1, 6]), ("factor", FLOAT, [])], [("y", FLOAT, [1, 6])]
    model = save(tmp_path / "scaled.onnx", nodes, *io)
    answer = call(main, model, "--random-data", *TO, "--precision", "w8a8", "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    record = json.loads((tmp_path / "out" / "report.json").read_text())
    assert {item["backend"] for item in record["accuracy"]} == {"float", "htp-sim", "htp-native"}


def test_a_build_from_python_returns_the_record(data, tmp_path, simulated):
    with np.load(data) as stored:
        samples = {INPUT: stored["Input3"], "labels": stored["labels"]}
    record = ew.build(DIGITS_MODEL, samples, target="SM8650", precision="w8a8", output=tmp_path / "out")
    assert record.metric.name == "right-answers"
    assert record.is_met is None
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


def test_an_input_becomes_a_constant_in_python_as_on_the_command_line(tmp_path, simulated):
    nodes = [helper.make_node("Mul", ["x", "factor"], ["y"])]
    io = [("x", FLOAT, [1, 6]), ("factor", FLOAT, [1])], [("y", FLOAT, [1, 6])]
    model = save(tmp_path / "scaled.onnx", nodes, *io)
    samples = np.random.default_rng(0).random((12, 6)).astype(np.float32)
    given = {"target": "SM8650", "precision": "w8a8", "output": tmp_path / "out"}
    with pytest.raises(ew.EdgewrightError, match="input_values=") as caught:
        ew.build(model, [{"x": row[None]} for row in samples], **given)
    assert "missing: 'factor'" in str(caught.value)
    record = ew.build(model, [{"x": row[None]} for row in samples], **given, input_values={"factor": 3})
    assert [item.name for item in record.contract] == ["x", "y"]


def test_the_folder_of_the_model_is_no_place_for_a_build(call, data, tmp_path):
    model = tmp_path / "mnist.onnx"
    model.write_bytes(DIGITS_MODEL.read_bytes())
    answer = call(main, model, "--data", data, *TO, "-o", tmp_path)
    assert answer.code == 2
    assert "holds the model or the data, expected a folder of its own" in answer.err


@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
def test_a_dry_run_says_what_the_compiler_refuses_in_every_precision(call, tmp_path):
    node = helper.make_node("Transpose", ["x"], ["y"], perm=[5, 4, 3, 2, 1, 0])
    path = save(tmp_path / "wide.onnx", [node], [("x", FLOAT, [2, 3] * 3)], [("y", FLOAT, [3, 2] * 3)])
    answer = call(main, path, "--random-data", *TO, "--dry-run")
    assert answer.code == 4
    assert "incorrect Rank 6" in answer.err
    assert "nothing stands in the way" not in answer.out


def test_a_build_without_time_is_whole_says_what_it_left_out_and_proves_nothing(
    call, data, tmp_path, simulated
):
    words = (DIGITS_MODEL, "--data", data, *TO, "--max-drop", "20%", "--time-limit", "0.01s", "-o", tmp_path)
    assert call(main, *words).code == 5
    record = json.loads((tmp_path / "report.json").read_text())
    assert record["verdict"]["word"] != "met"
    assert record["is_cut_short"]
    assert [item["name"] for item in record["candidates"]] == ["w8a8"]
    # Fewer do not tell one precision from another.
    assert record["candidates"][0]["samples"] == 8
    judged = record["samples"]["judged"]
    assert len(judged) == record["accuracy"][0]["samples"] < 26
    assert f"for time, only {len(judged)} of the 8 samples judge, spread over all" in record["notes"]
    assert any(note.startswith("for time, only 8 samples calibrate") for note in record["notes"])
    assert record["layers"]
