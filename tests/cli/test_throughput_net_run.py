"""qnn-throughput-net-run: threads on several backends at once, their results, and how they end."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.tools.qnn_context_binary_generator import main as generate
from edgewright.tools.qnn_throughput_net_run import main
from tests.cli.context_models import IS_NATIVE, NO_WHEEL, inputs, quantized_net

OUTPUT = "Plus214_Output_0"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pictures(here, digits):
    """Three inputs and the outputs that they give, as lists of raw files."""
    found = np.random.default_rng(3).random((3, 1, 28, 28, 1), np.float32) * 255
    model = ew.load(digits)
    for number, picture in enumerate(found):
        picture.tofile(f"{number}.raw")
        model.run({"Input3": picture})[OUTPUT].tofile(f"golden_{number}.raw")
    Path("in.txt").write_text("".join(f"{n}.raw\n" for n in range(3)))
    Path("golden.txt").write_text("".join(f"golden_{n}.raw\n" for n in range(3)))
    return found


@pytest.fixture
def run(call, here, digits):
    """Runs a case of threads; the first backend, model and context are those of the digit classifier."""

    def started(*threads, model=(), backends=(), models=(), contexts=(), iteration=1, words=()):
        base = {
            "modelName": "digits",
            "modelPath": str(digits),
            "inputPath": "in.txt",
            "inputDataType": "FLOAT",
        }
        case = {
            "backends": [{"backendName": "cpu", "backendPath": "libQnnCpu.so"}, *backends],
            "models": [base | dict(model), *models],
            "contexts": [{"contextName": "c"}, *contexts],
            "testCase": {"iteration": iteration, "threads": list(threads)},
        }
        Path("case.json").write_text(json.dumps(case))
        answer = call(main, "--config", "case.json", "--output", "results.json", *words)
        return answer, json.loads(Path("results.json").read_text()) if answer.code == 0 else None

    return started


def thread(name="t", **more):
    return {"threadName": name, "backend": "cpu", "context": "c", "model": "digits", **more}


def test_threads_run_as_often_as_asked(run, pictures):
    answer, found = run(thread("a", loop=5), thread("b", loop=7), iteration=3)
    assert answer.code == 0, answer.err
    assert [(t["name"], t["executions"]) for t in found["threads"]] == [("a", 15), ("b", 21)]
    assert (found["iterations"], found["executions"], found["is_complete"]) == (3, 36, True)
    assert found["throughput"] == pytest.approx(36 / found["seconds"])
    assert "a:graphExecute: 15 runs" in answer.out
    assert f"TotalTime: {found['seconds'] * 1e6:.0f} us" in answer.out


def test_latencies_come_in_order_and_fit_into_the_time(run, pictures):
    _, found = run(thread(loop=50))
    (measured,) = found["threads"]
    latency = measured["graphs"][0]["latency"]
    ordered = [latency[key] for key in ("least", "p50", "p90", "p95", "p99", "p999", "most")]
    assert ordered == sorted(ordered)
    assert 0 < latency["mean"] * 50 / 1e6 <= measured["seconds"]


def test_a_loop_of_seconds_lasts_so_long(run, pictures):
    _, found = run(thread(loopUnit="second", loop=1))
    assert 1 <= found["seconds"] < 10
    assert found["executions"] > 3


def test_an_interval_lies_between_executions(run, pictures):
    _, found = run(thread(loop=4, interval=100_000))
    assert 0.3 <= found["seconds"] < 5


def test_threads_are_at_work_at_the_same_time(run, pictures):
    """Two threads that mostly wait take the time of one."""
    _, found = run(thread("a", loop=6, interval=100_000), thread("b", loop=6, interval=100_000))
    assert 0.5 <= found["seconds"] < 0.95


@pytest.mark.parametrize("more", [{}, {"executeAsynchronous": True}, {"loadInputDataInLoop": True}])
def test_outputs_are_compared_with_the_ground_truth(run, pictures, more):
    model = {"postProcessor": "MSE", "groundTruthPath": "golden.txt"}
    answer, found = run(thread(loop=7, **more), model=model)
    (error,) = found["threads"][0]["graphs"][0]["errors"]
    assert (error["name"], error["executions"]) == (OUTPUT, 7)
    assert error["worst"] < 1e-3
    assert "Mean squared errors:" in answer.out


@pytest.mark.parametrize("more", [{}, {"executeAsynchronous": True}])
def test_threads_that_share_a_model_do_not_disturb_each_other(run, pictures, more):
    model = {"postProcessor": "MSE", "groundTruthPath": "golden.txt"}
    answer, found = run(*(thread(name, loop=60, **more) for name in "abcd"), model=model)
    assert answer.code == 0, answer.err
    errors = [error for measured in found["threads"] for error in measured["graphs"][0]["errors"]]
    assert [error["executions"] for error in errors] == [60] * 4
    assert max(error["worst"] for error in errors) < 1e-3


@pytest.mark.slow
def test_memory_stays_the_same_however_long_threads_run(run, pictures):
    threads = [thread(name, loopUnit="second", loop=10) for name in "abcd"]
    run(*threads)  # what is allocated once
    _, found = run(*threads)
    assert found["executions"] > 1000
    assert found["memory"]["end"] - found["memory"]["ready"] < 8


def test_a_wrong_ground_truth_gives_its_error(run, pictures):
    golden = np.fromfile("golden_1.raw", np.float32)
    (golden + 3).tofile("golden_1.raw")
    _, found = run(thread(loop=3), model={"postProcessor": "MSE", "groundTruthPath": "golden.txt"})
    (error,) = found["threads"][0]["graphs"][0]["errors"]
    assert error["worst"] == pytest.approx(9, rel=1e-3)
    assert error["mean"] == pytest.approx(3, rel=1e-3)


def test_the_example_of_the_guide_compares_nothing_without_a_ground_truth(run, pictures):
    answer, found = run(thread(loop=2), model={"postProcessor": "MSE"})
    assert answer.code == 0, answer.err
    assert "'models[0].postProcessor' has no effect: 'models[0].groundTruthPath'" in answer.err
    assert not found["threads"][0]["graphs"][0]["errors"]


def test_integers_are_not_compared_where_outputs_are_real(run, pictures):
    answer, _ = run(thread(), model={"postProcessor": "MSE_INT8", "groundTruthPath": "golden.txt"})
    assert (answer.code, "compares integers of 8 bits, the output is float_32" in answer.err) == (3, True)


@pytest.mark.parametrize(("save", "kept"), [("NATIVE_LAST", ["Result_5"]), ("NATIVE_ALL", 6)])
def test_outputs_are_saved_for_each_thread(run, pictures, digits, save, kept):
    model = {"saveOutput": save, "outputPath": "out"}
    _, found = run(thread("a", loop=3), thread("b", loop=3), model=model, iteration=2)
    assert sorted(path.name for path in Path("out").iterdir()) == ["a", "b"]
    folders = sorted(path.name for path in Path("out/a").iterdir())
    assert folders == (kept if isinstance(kept, list) else [f"Result_{n}" for n in range(kept)])
    want = ew.load(digits).run({"Input3": pictures[2]})[OUTPUT]
    np.testing.assert_array_equal(np.fromfile(f"out/b/Result_5/{OUTPUT}_native.raw", np.float32), want[0])
    assert found["threads"][0]["graphs"][0]["saved"] == len(folders)


@pytest.mark.parametrize(
    ("form", "endings"),
    [("FLOAT_ONLY", [""]), ("NATIVE_ONLY", ["_native"]), ("FLOAT_AND_NATIVE", ["", "_native"])],
)
def test_outputs_have_the_form_that_is_asked_for(run, pictures, form, endings):
    run(thread(), model={"saveOutput": "NATIVE_LAST", "outputPath": "out", "outputDataType": form})
    found = sorted(path.name for path in Path("out/t/Result_0").iterdir())
    assert found == sorted(f"{OUTPUT}{ending}.raw" for ending in endings)


def test_random_data_needs_no_files_and_is_the_same_each_time(run):
    model = {"saveOutput": "NATIVE_LAST", "outputPath": "out"}
    kept = []
    for _ in range(2):
        answer, _ = run(thread(useRandomData=True), model=model)
        assert answer.code == 0, answer.err
        kept.append(np.fromfile(f"out/t/Result_0/{OUTPUT}_native.raw", np.float32))
    np.testing.assert_array_equal(*kept)
    assert np.ptp(kept[0]) > 0


def test_a_model_may_be_made_anew_in_each_iteration(run, pictures):
    answer, found = run(thread(initModelInLoop=True), iteration=3)
    assert (answer.code, found["executions"]) == (0, 3)
    assert found["threads"][0]["init"] > 0


def test_a_context_binary_is_loaded(run, call, here, digits, pictures):
    words = ("--model", digits, "--backend", "cpu", "--binary_file", "c", "--output_dir", ".")
    assert call(generate, *words).code == 0
    answer, found = run(thread(loop=2), model={"modelPath": "c.bin", "loadFromCachedBinary": True})
    assert (answer.code, found["executions"]) == (0, 2)
    answer, _ = run(thread(), model={"modelPath": "c.bin"})
    assert (answer.code, 'set "loadFromCachedBinary": true' in answer.err) == (3, True)


def test_several_backends_work_at_once(run, here, pictures):
    quantized_net(here)
    for number, image in enumerate(inputs(count=2)):
        image.tofile(f"image_{number}.raw")
    Path("images.txt").write_text("image_0.raw\nimage_1.raw\n")
    net = {"modelName": "net", "modelPath": "net.dlc", "inputPath": "images.txt", "inputDataType": "FLOAT"}
    names = ["htp-sim", *(["htp-native"] if IS_NATIVE else [])]
    backends = [{"backendName": name, "backendPath": name} for name in names]
    threads = [thread(name, backend=name, model="net", loop=4) for name in names]
    answer, found = run(thread("cpu", loop=4), *threads, backends=backends, models=[net])
    assert answer.code == 0, answer.err
    used = [measured["backend"] for measured in found["threads"]]
    assert used[:2] == ["cpu", "htp (simulation)"]
    assert not IS_NATIVE or "native emulator" in used[2]
    assert all(measured["executions"] == 4 for measured in found["threads"])


@pytest.mark.parametrize("level", ["BASIC", "DETAILED"])
def test_a_profile_is_written_for_each_thread(run, pictures, level):
    backend = {"backendName": "measured", "backendPath": "cpu", "profilingLevel": level}
    threads = [thread(name, backend="measured", loop=3) for name in "ab"]
    answer, found = run(*threads, backends=[backend], model={"outputPath": "out"})
    assert answer.code == 0, answer.err
    for name in "ab":
        log = json.loads(Path("out", name, "qnn-profiling-data_0.log").read_text())
        messages = [event["message"] for event in log["events"]]
        assert (messages.count("EXECUTE"), messages[0], log["inferences"]) == (3, "INIT", 3)
        assert ("NODE" in messages) is (level == "DETAILED")
    assert found["threads"][0]["graphs"][0]["profile"] == "out/a/qnn-profiling-data_0.log"


def test_a_recorder_does_not_execute_asynchronously(run, pictures):
    backend = {"backendName": "saver", "backendPath": "libQnnSaver.so"}
    answer, _ = run(thread(backend="saver", executeAsynchronous=True), backends=[backend])
    assert (answer.code, "takes one execution at a time" in answer.err) == (4, True)


def test_a_recorder_records_one_thread(run, pictures):
    backend = {"backendName": "saver", "backendPath": "libQnnSaver.so"}
    answer, _ = run(thread("a", backend="saver"), thread("b", backend="saver"), backends=[backend])
    assert (answer.code, "threads a, b use backend saver" in answer.err) == (4, True)
    assert run(thread("a", backend="saver"), thread("b"), backends=[backend])[0].code == 0


def test_what_is_wrong_with_a_file_of_a_thread_is_reported(run, pictures):
    Path("1.raw").write_bytes(b"short")
    answer, _ = run(thread())
    assert (answer.code, "the file has 5 bytes, expected 3136" in answer.err) == (3, True)


@pytest.mark.parametrize(
    ("thread_name", "model", "words", "why"),
    [
        (
            "a",
            {"saveOutput": "NATIVE_LAST", "outputPath": "0.raw"},
            (),
            "'0.raw' is a file, expected a folder",
        ),
        ("a" * 300, {}, (), "expected the name of a folder"),
        ("a", {}, ("--output", "0.raw/results.json"), "'0.raw' is a file, expected a folder"),
        ("a", {}, ("--output", "."), "cannot write '.': it is a folder"),
    ],
)
def test_what_cannot_be_written_is_reported_before_anything_runs(
    run, pictures, thread_name, model, words, why
):
    long = thread(thread_name, loopUnit="second", loop=4)
    began = time.monotonic()
    answer, _ = run(long, model=model, words=words)
    assert (answer.code in {2, 3}, why in answer.err) == (True, True), answer.err
    assert time.monotonic() - began < 4


def test_a_model_whose_graphs_are_all_skipped_is_an_error(run, pictures):
    answer, _ = run(thread("a"), model={"inputPath": "__"})
    assert (answer.code, "skips all graphs" in answer.err) == (2, True)


def test_a_thread_that_fails_ends_the_others(run, pictures, digits):
    """The file is there when inputs are checked, and gone after the first executions."""
    Path("doomed.txt").write_text("doomed.raw\n")
    pictures[0].tofile("doomed.raw")
    doomed = {
        "modelName": "doomed",
        "modelPath": str(digits),
        "inputPath": "doomed.txt",
        "inputDataType": "FLOAT",
    }
    long = {"loopUnit": "second", "loop": 60}
    threads = thread("long", **long), thread("bad", model="doomed", loadInputDataInLoop=True, **long)
    timer = threading.Timer(2, Path("doomed.raw").unlink)
    timer.start()
    began = time.monotonic()
    answer, _ = run(*threads, models=[doomed])
    timer.join()
    assert (answer.code, "doomed.raw" in answer.err, "thread 'bad'" in answer.err) == (3, True, True), (
        answer.err
    )
    assert time.monotonic() - began < 40


@pytest.mark.parametrize(
    ("iteration", "interval", "number", "code"),
    [
        (-1, 0, signal.SIGINT, 0),
        (-1, 10_000, signal.SIGTERM, 0),
        (1000, 10_000, signal.SIGINT, 130),
        (1000, 0, signal.SIGTERM, 143),
    ],
)
def test_a_signal_ends_all_threads_and_the_results_are_written(
    here, digits, iteration, interval, number, code
):
    out, found = stopped("cpu", digits, iteration, interval, number, code)
    assert (found["stopped_by"], found["is_complete"]) == (number, code == 0)
    assert all(measured["executions"] > 0 for measured in found["threads"])
    assert b"a:graphExecute: " in out


@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
def test_a_terminal_that_interrupts_the_worker_too_gets_the_results(here):
    _, found = stopped("htp-native", quantized_net(here), -1, 0, signal.SIGINT, 0)
    assert all(measured["executions"] > 0 for measured in found["threads"])


def stopped(backend, model, iteration, interval, number, code):
    """What two threads print and find before a signal to the whole group, as a terminal sends it."""
    case = {
        "backends": [{"backendName": "cpu", "backendPath": backend}],
        "models": [
            {"modelName": "digits", "modelPath": str(model), "saveOutput": "NATIVE_ALL", "outputPath": "out"}
        ],
        "contexts": [{"contextName": "c"}],
        "testCase": {
            "iteration": iteration,
            "threads": [
                thread(name, useRandomData=True, loopUnit="second", loop=60, interval=interval)
                for name in "ab"
            ],
        },
    }
    Path("case.json").write_text(json.dumps(case))
    words = ["--config", "case.json", "--output", "results.json"]
    started = "import sys; from edgewright.tools.qnn_throughput_net_run import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", started, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not all(Path("out", name, "Result_3").exists() for name in "ab") and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, b"Traceback" in err) == (code, False), err
    return out, json.loads(Path("results.json").read_text())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is not JSON"),
        (b"\xff\xfe\x00", "the file is not JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"backends": [], "backends": []}', "key 'backends' appears twice"),
        (b'{"backends": NaN}', "backends[0] is 'nan', expected an object"),
        (b"[]", "the file is a list, expected an object"),
        (b'{"backends\\n\\u001b": []}', "key 'backends\\n\\x1b' is unknown"),
    ],
)
def test_a_file_that_is_no_case_is_one_error(call, here, content, why):
    Path("case.json").write_bytes(content)
    answer = call(main, "--config", "case.json")
    assert (answer.code, why in answer.err) == (3, True), answer.err


def test_a_case_that_is_not_there_is_one_error(call, here):
    answer = call(main, "--config", "none.json")
    assert (answer.code, "'none.json' does not exist" in answer.err) == (3, True)


def test_results_are_printed_as_json_too(run, pictures):
    answer, found = run(thread(loop=2), words=("--json",))
    assert json.loads(answer.out) == found
