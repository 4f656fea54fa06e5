import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

import edgewright as ew
from edgewright.tools.qnn_net_run import main
from edgewright.tools.qnn_onnx_converter import main as convert
from tests.cli import models

OUTPUT = "Plus214_Output_0"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder: outputs go to ./output unless they are told otherwise."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def digit():
    return np.random.default_rng(3).random((1, 28, 28, 1), np.float32) * 255


@pytest.fixture
def two(here):
    models.two_inputs(here / "two.onnx")
    assert convert(["-i", "two.onnx"]) == 0
    return here / "two_net.json"


@pytest.fixture
def tokens(here):
    models.token_net(here / "tokens.onnx")
    assert convert(["-i", "tokens.onnx", "--preserve_io", "datatype"]) == 0
    return here / "tokens_net.json"


def listed(*lines, name="list.txt", end="\n"):
    Path(name).write_bytes("".join(f"{line}{end}" for line in lines).encode())
    return name


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def result(name=OUTPUT, number=0, folder="output", dtype=np.float32):
    return np.fromfile(f"{folder}/Result_{number}/{name}.raw", dtype)


def run(call, model, inputs, *words):
    return call(main, "--model", model, "--backend", "libQnnCpu.so", "--input_list", inputs, *words)


def test_each_line_gives_a_result_folder(call, here, digits, digit):
    for number in range(3):
        (digit + number).tofile(f"{number}.raw")
    answer = run(call, digits, listed("0.raw", "1.raw", "2.raw"))
    assert answer.code == 0
    model = ew.load(digits)
    for number in range(3):
        want = model.run({"Input3": digit + number})[OUTPUT]
        np.testing.assert_array_equal(result(number=number), want.reshape(-1))
    assert "3 inferences on backend cpu, 3 kept in output" in answer.out


@pytest.mark.parametrize(
    "line",
    [
        "a.raw",
        "Input3:=a.raw",
        "a.npy",
        "a.npz",
        "flat.npy",
        '"a b.raw"',
        "a b.raw",
        "Input3:=a b.raw",
        "Input3:='a b.raw'",
    ],
)
def test_inputs_come_in_many_forms(call, here, digits, digit, line):
    digit.tofile("a.raw")
    digit.tofile("a b.raw")
    np.save("a.npy", digit)
    np.save("flat.npy", digit[0])
    np.savez("a.npz", other=digit)
    assert run(call, digits, listed(line)).code == 0
    np.testing.assert_array_equal(result(), ew.load(digits).run({"Input3": digit})[OUTPUT].reshape(-1))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments_empty_lines_and_a_byte_order_mark_are_skipped(call, here, digits, digit, end):
    digit.tofile("a.raw")
    assert run(call, digits, listed("\ufeff# inputs", "", "a.raw", "# a comment", "", end=end)).code == 0
    assert names("output") == ["Result_0", "execution_metadata.yaml", "run.json"]


def test_relative_paths_count_from_the_list_where_the_current_folder_has_none(call, here, digits, digit):
    (here / "deep").mkdir()
    digit.tofile("deep/a.raw")
    listed("a.raw", name="deep/list.txt")
    assert run(call, digits, "deep/list.txt").code == 0


@pytest.mark.parametrize(
    "line",
    [
        "a.raw b.raw",
        "in/a:=a.raw in_b:=b.raw",
        "in_b:=b.raw in_a:=a.raw",
        '"in b":=b.raw "in/a":=a.raw',
        "both.npz",
    ],
)
def test_several_inputs_by_position_by_name_or_in_one_archive(call, here, two, line):
    a, b = np.float32([[1, 2, 3]]), np.float32([[10, 20, 30]])
    a.tofile("a.raw")
    b.tofile("b.raw")
    np.savez("both.npz", **{"in/a": a, "in b": b})
    answer = run(call, two, listed(line))
    assert answer.code == 0, answer.err
    np.testing.assert_array_equal(result("out_0"), (a * b + a).reshape(-1))


def test_the_run_is_described(call, here, tokens):
    np.float32([1, 2, 3, 4, 5]).tofile("a.raw")
    assert run(call, tokens, listed("a.raw")).code == 0
    found = json.loads((here / "output" / "run.json").read_text("utf-8"))
    assert (found["backend"], found["inferences"], found["is_complete"]) == ("cpu", 1, True)
    assert found["inputs"] == [
        {"name": "ids", "dtype": "int64", "shape": [1, 5], "layout": "", "file_dtype": "float32"}
    ]
    best = next(item for item in found["outputs"] if item["name"] == "best")
    assert (best["dtype"], best["file_dtype"], best["file"]) == ("int64", "float32", "best.raw")
    assert found["results"] == {"Result_0": {"ids": ["a.raw"]}}
    metadata = yaml.safe_load((here / "output" / "execution_metadata.yaml").read_text("utf-8"))
    assert metadata["inferences_completed"] == 1
    assert metadata["graphs"][0]["input_tensors"][0]["data_type"] == "QNN_DATATYPE_INT_64"


def test_float_files_become_the_models_type_and_back(call, here, tokens):
    ids = np.array([[3, 1, 4, 1, 9]])
    ids.astype(np.float32).tofile("a.raw")
    assert run(call, tokens, listed("a.raw")).code == 0
    want = ew.load(tokens).run({"ids": ids})["best"]
    np.testing.assert_array_equal(result("best"), want.reshape(-1).astype(np.float32))


@pytest.mark.parametrize(
    "words",
    [["--use_native_input_files"], ["--native_input_tensor_names", "ids"], ["--input_data_type", "native"]],
)
def test_native_input_files_hold_the_models_type(call, here, tokens, words):
    ids = np.array([[3, 1, 4, 1, 9]], np.int64)
    ids.tofile("a.raw")
    assert run(call, tokens, listed("a.raw"), *words).code == 0
    want = ew.load(tokens).run({"ids": ids})["rows"]
    np.testing.assert_array_equal(result("rows"), want.reshape(-1))


@pytest.mark.parametrize("words", [["--use_native_output_files"], ["--output_data_type", "native_only"]])
def test_native_output_files_hold_the_models_type(call, here, tokens, words):
    np.float32([[3, 1, 4, 1, 9]]).tofile("a.raw")
    assert run(call, tokens, listed("a.raw"), *words).code == 0
    want = ew.load(tokens).run({"ids": np.array([[3, 1, 4, 1, 9]])})["best"]
    np.testing.assert_array_equal(result("best_native", dtype=np.int64), want.reshape(-1))


def test_an_unknown_native_input_is_guessed(call, here, tokens):
    answer = run(call, tokens, listed("a.raw"), "--native_input_tensor_names", "idx")
    assert (answer.code, "did you mean 'ids'?" in answer.err) == (2, True)


def test_lines_of_single_elements_are_combined_into_a_batch(call, here):
    models.two_inputs(here / "m.onnx", batch=2)
    assert convert(["-i", "m.onnx"]) == 0
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    for number, row in enumerate(rows):
        row.tofile(f"{number}.raw")
    assert run(call, "m_net.json", listed(*(f"{n}.raw {n}.raw" for n in range(4)))).code == 0
    for number in range(2):
        want = rows[2 * number : 2 * number + 2] ** 2 + rows[2 * number : 2 * number + 2]
        np.testing.assert_allclose(result("out_0", number), want.reshape(-1))
    found = json.loads((here / "output" / "run.json").read_text("utf-8"))
    assert found["results"]["Result_1"]["in/a"] == ["2.raw", "3.raw"]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (("0.raw 0.raw",) * 3, "3 lines of one element each do not fill batches of 2"),
        (("0.raw 0.raw", "all.raw all.raw"), "others single elements"),
    ],
)
def test_lines_that_do_not_fill_batches_are_an_error(call, here, lines, why):
    models.two_inputs(here / "m.onnx", batch=2)
    assert convert(["-i", "m.onnx"]) == 0
    np.zeros(3, np.float32).tofile("0.raw")
    np.zeros(6, np.float32).tofile("all.raw")
    answer = run(call, "m_net.json", listed(*lines))
    assert (answer.code, why in answer.err) == (3, True)


def test_debug_writes_every_tensor(call, here, two):
    np.float32([1, 2, 3]).tofile("a.raw")
    assert run(call, two, listed("a.raw a.raw"), "--debug").code == 0
    assert names("output/Result_0") == ["mid.raw", "out_0.raw"]
    np.testing.assert_array_equal(result("mid"), [1, 4, 9])


@pytest.mark.parametrize("value", ["mid", "two:mid", "mid,out_0"])
def test_tensors_may_be_asked_for(call, here, two, value):
    np.float32([1, 2, 3]).tofile("a.raw")
    assert run(call, two, listed("a.raw a.raw"), "--set_output_tensors", value).code == 0
    assert names("output/Result_0") == ["mid.raw", "out_0.raw"]


@pytest.mark.parametrize("mark", ["%", "#"])
def test_the_list_may_ask_for_tensors_and_layers(call, here, two, mark):
    np.float32([1, 2, 3]).tofile("a.raw")
    layer = next(iter(json.loads(two.read_text("utf-8"))["graph"]["nodes"]))
    head = f"{mark}{'mid' if mark == '%' else layer}"
    assert run(call, two, listed(head, "a.raw a.raw")).code == 0
    assert names("output/Result_0") == ["mid.raw", "out_0.raw"]


@pytest.mark.parametrize(
    ("value", "why"),
    [("midd", "did you mean 'mid'?"), ("other:mid", "names graph 'other', the model has 'two'")],
)
def test_tensors_that_are_not_there_are_an_error(call, here, two, value, why):
    np.float32([1, 2, 3]).tofile("a.raw")
    answer = run(call, two, listed("a.raw a.raw"), "--set_output_tensors", value)
    assert (answer.code, why in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        (["--num_inferences", "5"], (5, 5)),
        (["--num_inferences", "1"], (1, 1)),
        (["--num_inferences", "5", "--keep_num_outputs", "2"], (2, 5)),
        (["--keep_num_outputs", "0"], (0, 2)),
        (["--duration", "0"], (0, 0)),
    ],
)
def test_the_number_of_runs_and_of_kept_results(call, here, digits, digit, words, counts):
    digit.tofile("a.raw")
    assert run(call, digits, listed("a.raw", "a.raw"), *words).code == 0
    found = json.loads((here / "output" / "run.json").read_text("utf-8"))
    assert (len(found["results"]), found["inferences"]) == counts
    assert sum(name.startswith("Result_") for name in names("output")) == counts[0]


def test_a_duration_runs_over_the_list_again(call, here, digits, digit):
    digit.tofile("a.raw")
    assert run(call, digits, listed("a.raw"), "--duration", "0.3", "--keep_num_outputs", "1").code == 0
    assert json.loads((here / "output" / "run.json").read_text("utf-8"))["inferences"] > 3


def test_a_profile_says_what_was_measured(call, here, digits, digit):
    digit.tofile("a.raw")
    answer = run(call, digits, listed("a.raw", "a.raw"), "--profiling_level", "basic")
    log = json.loads((here / "output" / "qnn-profiling-data_0.log").read_text("utf-8"))
    assert [event["message"] for event in log["events"]] == ["INIT", "EXECUTE", "EXECUTE"]
    assert all(event["time"] >= 0 and event["unit"] == "US" for event in log["events"])
    assert "Execute Stats (Average):\n    NetRun: " in answer.out
    assert "NetRun IPS (includes IO and misc. time): " in answer.out


def test_a_detailed_profile_has_every_op_of_every_run(call, here, digits, digit):
    digit.tofile("a.raw")
    assert run(call, digits, listed("a.raw", "a.raw"), "--profiling_level", "detailed").code == 0
    log = json.loads((here / "output" / "qnn-profiling-data_0.log").read_text("utf-8"))
    nodes = [event for event in log["events"] if event["message"] == "NODE"]
    assert {event["run"] for event in nodes if event.get("op") == "Conv2d"} == {0, 1}
    assert log["inferences"] == 2
    assert log["wall"] > 0


@pytest.mark.parametrize(
    "name", ["libQnnCpu.so", "QnnCpu.dll", "/opt/qnn/libQnnCpu.so", r"C:\qnn\QnnCpu.dll", "cpu", "CPU"]
)
def test_the_cpu_backend_has_many_names(call, here, digits, digit, name):
    digit.tofile("a.raw")
    answer = call(main, "--model", digits, "--backend", name, "--input_list", listed("a.raw"))
    assert answer.code == 0


@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("QnnHta.dll", 4, "backend 'Hta' is the Hexagon Tensor Accelerator"),
        ("libQnnCup.so", 2, "did you mean 'libQnnCpu.so'?"),
        ("", 2, "backend '' is unknown"),
    ],
)
def test_other_backends_are_answered_clearly(call, here, digits, name, code, why):
    answer = call(main, "--model", digits, "--backend", name, "--input_list", listed("a.raw"))
    assert (answer.code, why in answer.err) == (code, True)


def test_the_saver_records_the_run_instead_of_computing_it(call, here, digits, digit):
    digit.tofile("a.raw")
    words = ("--model", digits, "--backend", "libQnnSaver.so", "--input_list", listed("a.raw"))
    answer = call(main, *words)
    assert (answer.code, "on backend saver (recorded, not computed)" in answer.out) == (0, True)
    assert '"call": "graphExecute"' in (here / "saver_output" / "saver_output.jsonl").read_text()


def test_htp_computes_a_float_model_in_half_precision(call, here, digits, digit):
    digit.tofile("a.raw")
    answer = call(main, "--model", digits, "--backend", "htp-sim", "--input_list", listed("a.raw"))
    assert answer.code == 0, answer.err
    (output,) = here.glob("output/Result_0/*.raw")
    scores = np.fromfile(output, np.float32)
    np.testing.assert_array_equal(scores, scores.astype(np.float16))


def test_the_model_may_be_named_by_any_of_its_files(call, here, two):
    np.float32([1, 2, 3]).tofile("a.raw")
    for name in ("two.cpp", "two.bin", "two_net.json"):
        assert run(call, name, listed("a.raw a.raw")).code == 0


@pytest.mark.parametrize(
    ("model", "code", "why"),
    [
        ("m.so", 3, "'m.so' does not exist"),
        ("a.onnx", 2, "qnn-onnx-converter -i a.onnx"),
        ("none_net.json", 3, "does not exist"),
        ("alone.cpp", 3, "'alone_net.json' does not exist"),
        ("a_net.json,b_net.json", 3, "'a_net.json' does not exist"),
    ],
)
def test_models_that_cannot_be_run_are_answered_clearly(call, here, model, code, why):
    answer = run(call, model, listed("a.raw"))
    assert (answer.code, why in answer.err) == (code, True)


def test_wrong_sizes_are_reported_all_at_once(call, here, digits, digit):
    digit.tofile("good.raw")
    digit.astype(np.float64).tofile("wide.raw")
    np.save("turned.npy", digit.transpose(0, 3, 1, 2))
    np.save("words.npy", np.array([["a" * 40]]))
    (here / "empty.raw").write_bytes(b"")
    answer = run(
        call, digits, listed("good.raw", "wide.raw", "turned.npy", "empty.raw", "none.raw", "words.npy")
    )
    assert answer.code == 3
    assert "5 problems" in answer.err
    assert "the file has 6272 bytes, expected 3136 for float32 [1, 28, 28, 1]" in answer.err
    assert "the array has the shape [1, 1, 28, 28], expected [1, 28, 28, 1]" in answer.err
    assert "the file has 0 bytes" in answer.err
    assert "file 'none.raw' does not exist" in answer.err
    assert not (here / "output").exists()


def test_a_size_that_fits_the_models_type_is_explained(call, here, tokens):
    np.arange(5).tofile("a.raw")
    answer = run(call, tokens, listed("a.raw"))
    assert "the size fits int64: add --use_native_input_files" in answer.err


@pytest.mark.parametrize(
    ("lines", "code", "why"),
    [
        ((), 3, "names no files"),
        (("# only a comment",), 3, "names no files"),
        (("in/c:=a.raw in_b:=a.raw",), 2, "did you mean 'in/a'?"),
        (("in/a:=a.raw",), 3, "missing: 'in b'"),
        (("a.raw",), 3, "1 files are given for 2 inputs"),
        (("a.raw in_b:=a.raw",), 3, "mixes files with and without names"),
        (("in/a:=a.raw in/a:=a.raw in_b:=a.raw",), 3, "named twice"),
        (("in/a:= in_b:=a.raw",), 3, "a name is given without a file"),
        ((". .",), 3, "is a folder, expected a file"),
    ],
)
def test_a_bad_list_is_one_message_with_the_line(call, here, two, lines, code, why):
    np.float32([1, 2, 3]).tofile("a.raw")
    answer = run(call, two, listed(*lines))
    assert (answer.code, why in answer.err) == (code, True), answer.err
    assert not (here / "output").exists()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x00\x01"])
def test_a_list_that_is_no_text_is_an_error(call, here, two, content):
    (here / "list.txt").write_bytes(content)
    assert run(call, two, "list.txt").code == 3


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 cut", b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'shape': (1"]
)
@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_damaged_arrays_are_one_message(call, here, digits, name, content):
    (here / name).write_bytes(content)
    answer = run(call, digits, listed(name))
    assert (answer.code, f"no readable {name[1:]} file" in answer.err) == (3, True)


def test_arrays_of_objects_are_not_loaded(call, here, digits):
    np.save("a.npy", np.array([{"a": 1}], object), allow_pickle=True)
    answer = run(call, digits, listed("a.npy"))
    assert (answer.code, "expected numbers" in answer.err) == (3, True)


def test_an_output_folder_that_is_a_file_is_an_error(call, here, digits, digit):
    digit.tofile("a.raw")
    (here / "out").write_text("mine", "utf-8")
    answer = run(call, digits, listed("a.raw"), "--output_dir", "out")
    assert (answer.code, "expected a folder" in answer.err) == (2, True)


def test_a_second_run_replaces_the_results(call, here, digits, digit):
    digit.tofile("a.raw")
    (digit * 0).tofile("zero.raw")
    assert run(call, digits, listed("a.raw")).code == 0
    first = result().copy()
    assert run(call, digits, listed("zero.raw")).code == 0
    assert not np.array_equal(result(), first)
    assert names("output/Result_0") == [f"{OUTPUT}.raw"]


def test_the_report_comes_as_json_too(call, here, digits, digit):
    digit.tofile("a.raw")
    found = json.loads(run(call, digits, listed("a.raw"), "--json").out)
    assert found["record"]["outputs"][0]["file"] == f"{OUTPUT}.raw"


def test_a_run_that_is_stopped_leaves_whole_results_only(here, digits, digit):
    digit.tofile("a.raw")
    code = "import sys; from edgewright.tools.qnn_net_run import main; sys.exit(main())"
    words = ["--model", str(digits), "--backend", "cpu", "--input_list", listed("a.raw"), "--duration", "60"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )
    deadline = time.monotonic() + 60
    while not (here / "output" / "Result_20").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (143, b"stopped\n")
    folders = [p for p in (here / "output").iterdir() if p.is_dir()]
    assert all(p.name.startswith("Result_") for p in folders)
    assert all((p / f"{OUTPUT}.raw").stat().st_size == 40 for p in folders)
    found = json.loads((here / "output" / "run.json").read_text("utf-8"))
    assert (found["is_complete"], len(found["results"])) == (False, found["inferences"])
