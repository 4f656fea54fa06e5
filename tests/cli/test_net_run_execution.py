"""How qnn-net-run executes: batches, caches, queues, time limits, what is measured, shared memory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import yaml

import edgewright as ew
from edgewright.tools.qnn_context_binary_generator import main as generate
from edgewright.tools.qnn_net_run import main
from edgewright.tools.qnn_onnx_converter import main as convert
from tests.cli import models
from tests.cli.context_models import IS_NATIVE, NO_WHEEL, input_list, quantized_net

OUTPUT = "Plus214_Output_0"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pictures(here):
    """Four inputs of the digit classifier as raw files, and a list of them."""
    found = np.random.default_rng(3).random((4, 1, 28, 28, 1), np.float32) * 255
    for number, picture in enumerate(found):
        picture.tofile(f"{number}.raw")
    (here / "list.txt").write_text("".join(f"{number}.raw\n" for number in range(4)))
    return found


@pytest.fixture
def two(here):
    models.two_inputs(here / "two.onnx")
    assert convert(["-i", "two.onnx"]) == 0
    np.float32([1, 2, 3]).tofile("a.raw")
    (here / "two.txt").write_text("a.raw a.raw\n")
    return here / "two_net.json"


@pytest.fixture
def reads(monkeypatch):
    """The raw files that are read, one entry for each time."""
    found, before = [], np.fromfile
    monkeypatch.setattr(np, "fromfile", lambda path, *more: found.append(str(path)) or before(path, *more))
    return found


def run(call, model, *words, backend="cpu", inputs="list.txt"):
    return call(main, "--model", model, "--backend", backend, "--input_list", inputs, *words)


def configured(**document):
    Path("config.json").write_text(json.dumps(document))
    return ("--config_file", "config.json")


def described(folder="output"):
    return json.loads(Path(folder, "run.json").read_text())


def profile(folder="output"):
    return json.loads(Path(folder, "qnn-profiling-data_0.log").read_text())


def executions():
    return [e for e in profile()["events"] if e["message"] == "EXECUTE" and e["source"] == "NETRUN"]


def results(count, folder="output", size=10):
    return [
        np.fromfile(f"{folder}/Result_{n}/{OUTPUT}.raw", np.float32).reshape(-1, size) for n in range(count)
    ]


def wanted(digits, pictures):
    model = ew.load(digits)
    return [model.run({"Input3": picture})[OUTPUT] for picture in pictures]


QUEUE = {"context_configs": {"async_execute_queue_depth": 3}}


@pytest.mark.parametrize(
    "document",
    [
        QUEUE,
        {"context_configs": {"async_execute_queue_depth": 1}},
        {"async_graph_execution_config": {"input_tensors_creation_tasks_limit": 2}},
        {"async_graph_execution_config": {"execute_enqueue_tasks_limit": 2}},
    ],
)
def test_a_queue_gives_the_results_of_single_runs_in_their_order(call, here, digits, pictures, document):
    answer = run(call, digits, *configured(**document), "--num_inferences", "9")
    assert (answer.code, "note: executions are queued" in answer.out) == (0, True), answer.err
    expected = wanted(digits, pictures)
    for number, found in enumerate(results(9)):
        np.testing.assert_array_equal(found, expected[number % 4])
    assert (described()["inferences"], described()["is_complete"]) == (9, True)


def test_synchronous_runs_are_not_queued_whatever_the_file_says(call, here, digits, pictures):
    answer = run(call, digits, *configured(**QUEUE), "--synchronous")
    assert (answer.code, "queued" in answer.out) == (0, False)


def test_what_fails_in_a_queue_is_reported_as_without_one(call, here, digits, pictures):
    answer = run(call, digits, *configured(**QUEUE), "--timeout", "1", "--num_inferences", "8")
    assert (answer.code, "took more than 1 microseconds and was abandoned" in answer.err) == (7, True)
    assert not (here / "output").exists()


def test_a_recorder_does_not_take_a_queue(call, here, digits, pictures):
    answer = run(call, digits, *configured(**QUEUE), backend="libQnnSaver.so")
    assert (answer.code, "takes one execution at a time" in answer.err) == (4, True)
    assert "add --synchronous" in answer.err


def test_times_of_single_ops_are_measured_one_run_at_a_time(call, here, digits, pictures):
    answer = run(call, digits, *configured(**QUEUE), "--profiling_level", "detailed")
    assert (answer.code, "note: executions are not queued" in answer.out) == (0, True), answer.err


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_a_batch_multiplier_puts_lines_together_and_keeps_the_graph(call, here, digits, pictures, factor):
    answer = run(call, digits, "--batch_multiplier", factor)
    assert answer.code == 0, answer.err
    np.testing.assert_array_equal(
        np.concatenate(results(4 // factor)), np.concatenate(wanted(digits, pictures))
    )
    assert described()["outputs"][0]["shape"] == [factor, 10]
    assert described()["inputs"][0]["shape"][0] == factor
    metadata = yaml.safe_load(Path("output/execution_metadata.yaml").read_text())
    assert metadata["graphs"][0]["output_tensors"][0]["dimensions"] == [factor, 10]


def test_a_file_may_hold_the_whole_multiplied_batch(call, here, digits, pictures):
    pictures.tofile("all.raw")
    Path("list.txt").write_text("all.raw\n")
    assert run(call, digits, "--batch_multiplier", "4").code == 0
    np.testing.assert_array_equal(results(1)[0], np.concatenate(wanted(digits, pictures)))


def test_lines_that_do_not_fill_a_multiplied_batch_are_an_error(call, here, digits, pictures):
    answer = run(call, digits, "--batch_multiplier", "3")
    assert (answer.code, "4 lines of one element each do not fill batches of 3" in answer.err) == (3, True)


@pytest.mark.parametrize(
    "words", [("--max_input_cache_tensor_sets", "-1"), ("--max_input_cache_size_mb", "1")]
)
def test_cached_inputs_are_read_once(call, digits, pictures, words, reads):
    assert run(call, digits, *words, "--num_inferences", "12").code == 0
    assert sorted(reads) == [f"{number}.raw" for number in range(4)]


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ((), 12),
        (("--max_input_cache_tensor_sets", "1"), 1 + 9),
        (("--max_input_cache_tensor_sets", "0"), 12),
        (("--max_input_cache_size_mb", "0"), 12),
    ],
)
def test_what_has_no_room_in_the_cache_is_read_again(call, digits, pictures, words, count, reads):
    assert run(call, digits, *words, "--num_inferences", "12").code == 0
    assert len(reads) == count


def test_an_execution_that_takes_too_long_is_given_up(call, here, digits, pictures):
    answer = run(call, digits, "--timeout", "1")
    assert answer.code == 7
    assert "an execution of graph 'digits' took more than 1 microseconds and was abandoned" in answer.err
    assert "raise --timeout, or leave it out" in answer.err


def test_a_process_that_gave_an_execution_up_ends_with_the_exit_code_of_the_error(here):
    head = '<ir_version: 10, opset_import: ["": 21]>'
    body = "g (float[1500, 1500] x) => (float[1500, 1500] y) { y = MatMul(x, x) }"
    onnx.save(onnx.parser.parse_model(head + body), "slow.onnx")
    assert convert(["-i", "slow.onnx"]) == 0
    np.zeros((1500, 1500), np.float32).tofile("x.raw")
    (here / "x.txt").write_text("x.raw\n")
    started = "import sys; from edgewright.tools.qnn_net_run import main; sys.exit(main())"
    words = ["--model", "slow_net.json", "--backend", "cpu", "--input_list", "x.txt", "--timeout", "1000"]
    answer = subprocess.run(
        [sys.executable, "-c", started, *words], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, "abandoned" in answer.stderr) == (7, True), answer.stderr


@pytest.mark.parametrize("time", ["0", "60000000"])
def test_an_execution_within_its_time_is_as_without_one(call, here, digits, pictures, time):
    assert run(call, digits, "--timeout", time).code == 0
    np.testing.assert_array_equal(np.concatenate(results(4)), np.concatenate(wanted(digits, pictures)))


def test_a_context_that_loads_too_slowly_is_given_up(call, here, digits, pictures):
    words = ("--model", digits, "--backend", "cpu", "--binary_file", "c")
    assert call(generate, *words, "--output_dir", ".").code == 0
    words = ("--retrieve_context", "c.bin", "--backend", "cpu", "--input_list", "list.txt")
    answer = call(main, *words, "--retrieve_context_timeout", "1")
    assert (answer.code, "loading the context took more than 1 microseconds" in answer.err) == (7, True)
    assert call(main, *words, "--retrieve_context_timeout", "60000000").code == 0


def test_both_forms_of_an_output_may_be_written(call, here):
    models.token_net(here / "tokens.onnx")
    assert convert(["-i", "tokens.onnx", "--preserve_io", "datatype"]) == 0
    np.float32([3, 1, 4, 1, 9]).tofile("a.raw")
    Path("list.txt").write_text("a.raw\n")
    assert run(call, "tokens_net.json", "--output_data_type", "float_and_native").code == 0
    floats = np.fromfile("output/Result_0/best.raw", np.float32)
    np.testing.assert_array_equal(np.fromfile("output/Result_0/best_native.raw", np.int64), floats)
    files = {(o["file"], o["file_dtype"]) for o in described()["outputs"] if o["name"] == "best"}
    assert files == {("best.raw", "float32"), ("best_native.raw", "int64")}
    metadata = yaml.safe_load(Path("output/execution_metadata.yaml").read_text())
    names = [tensor["name"] for tensor in metadata["graphs"][0]["output_tensors"]]
    assert len(names) == len(set(names))


def test_profiling_may_be_limited_to_some_executions(call, here, digits, pictures):
    words = ("--profiling_level", "basic", "--graph_profiling_start_delay", "0")
    assert run(call, digits, *words, "--graph_profiling_num_executions", "2").code == 0
    assert (len(executions()), profile()["inferences"]) == (2, 4)


def test_profiling_may_begin_later(call, here, digits, pictures):
    words = ("--profiling_level", "basic", "--graph_profiling_start_delay", "0.2")
    assert run(call, digits, *words, "--duration", "0.6", "--keep_num_outputs", "0").code == 0
    kept = executions()
    assert 0 < len(kept) < described()["inferences"]
    assert all(event["start"] >= 200_000 for event in kept)


def test_the_configuration_limits_the_profile_of_a_graph(call, here, digits, pictures):
    graph = {"graph_name": "digits", "graph_profiling_num_executions": 3}
    words = configured(graph_configs=[graph])
    assert run(call, digits, *words, "--profiling_level", "basic").code == 0
    assert len(executions()) == 3


def test_the_configuration_limits_the_number_of_events(call, here, digits, pictures):
    words = configured(profile_configs={"num_max_events": 3})
    assert run(call, digits, *words, "--profiling_level", "basic").code == 0
    assert (len(profile()["events"]), profile()["dropped"]) == (3, 2)


def test_the_configuration_of_an_unknown_graph_is_an_error(call, here, digits, pictures):
    graph = {"graph_name": "digit", "graph_profiling_num_executions": 3}
    answer = run(call, digits, *configured(graph_configs=[graph]))
    assert (answer.code, "did you mean 'digits'?" in answer.err) == (2, True)


def test_a_delay_without_profiling_is_said_to_do_nothing(call, here, digits, pictures):
    answer = run(call, digits, "--graph_profiling_start_delay", "1")
    assert "these options have no effect: --graph_profiling_start_delay" in answer.err


def test_settings_of_contexts_that_the_cpu_has_not_are_answered(call, here, digits, pictures):
    settings = {"context_priority": "high", "enable_graphs": ["digits"], "memory_limit_hint": 5}
    answer = run(call, digits, *configured(context_configs=settings))
    assert answer.code == 0
    assert "note: context priority 'high' has no effect: the backend is cpu" in answer.out
    assert "note: 'enable_graphs' has no effect" in answer.out
    assert "note: key 'context_configs.memory_limit_hint' has no effect" in answer.out


def test_shared_buffers_and_platform_options_of_the_cpu_are_answered(call, here, digits, pictures):
    answer = run(call, digits, "--shared_buffer", "--platform_options", "a:b")
    assert answer.code == 0
    assert "note: --shared_buffer changes nothing: backend cpu runs in this process" in answer.out
    assert "note: --platform_options has no effect: backend cpu is this machine itself" in answer.out


@pytest.mark.parametrize("value", ["two:mid;digits:Plus30_Output_0", "two:mid"])
def test_tensors_of_one_of_several_graphs_may_be_asked_for(call, here, two, digits, pictures, value):
    words = ("--model", f"{two},{digits}", "--backend", "cpu", "--input_list", "two.txt,list.txt")
    answer = call(main, *words, "--set_output_tensors", value)
    assert answer.code == 0, answer.err
    assert Path("output/two/Result_0/mid.raw").exists()
    assert Path("output/digits/Result_0/Plus30_Output_0.raw").exists() is (";" in value)


def test_a_graph_named_like_a_path_writes_inside_the_output_folder(call, here, two, digits, pictures):
    document = json.loads(two.read_text())
    document["edgewright"]["graph_name"] = "../../elsewhere"
    two.write_text(json.dumps(document))
    words = ("--model", f"{two},{digits}", "--backend", "cpu", "--input_list", "two.txt,list.txt")
    assert call(main, *words, "--output_dir", "a/b").code == 0
    assert not [path for path in here.rglob("Result_0") if not path.is_relative_to(here / "a" / "b")]


def test_a_prefix_without_a_library_is_said_to_do_nothing(call, here, digits, pictures):
    answer = run(call, digits, "--model_prefix", "Other")
    assert (answer.code, "--model_prefix has no effect" in answer.out) == (0, True), answer.err


def test_lists_that_skip_all_graphs_are_an_error(call, here, digits, pictures):
    answer = run(call, digits, inputs="__")
    assert (answer.code, "--input_list skips all graphs" in answer.err) == (2, True)


def test_a_graph_is_skipped_by_two_underscores(call, here, two, digits, pictures):
    words = ("--model", f"{two},{digits}", "--backend", "cpu", "--input_list", "__,list.txt")
    assert call(main, *words).code == 0
    assert [path.name for path in Path("output").iterdir()] == ["digits"]


@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
@pytest.mark.parametrize(
    "words",
    [("--shared_buffer",), ("--batch_multiplier", "2"), ("--perf_profile", "burst"), configured],
    ids=["shared", "batch", "profile", "queue"],
)
def test_the_genuine_library_executes_in_every_way(call, here, words):
    quantized_net(here)
    lists = input_list(here, count=4)
    assert run(call, "net.dlc", backend="htp-native", inputs=lists).code == 0
    words = configured(**QUEUE) if words is configured else words
    answer = run(call, "net.dlc", *words, "--output_dir", "other", backend="htp-native", inputs=lists)
    assert answer.code == 0, answer.err
    np.testing.assert_array_equal(features("other"), features("output"))
    assert ("--perf_profile has no effect: the emulator" in answer.out) is ("--perf_profile" in words)


def features(folder):
    return np.concatenate([np.fromfile(p, np.float32) for p in sorted(Path(folder).glob("Result_*/*.raw"))])
