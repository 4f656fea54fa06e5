"""Context binaries of our own backends: made, described, checked and run without any other library."""

import json
import subprocess
import sys

import numpy as np
import pytest

import edgewright as ew
from edgewright.artifacts.context.frame import open_frame
from edgewright.tools.qnn_context_binary_generator import main as generate
from edgewright.tools.qnn_context_binary_utility import main as describe
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.umbrella import main as edgewright
from tests.cli.context_models import IS_NATIVE, float_net, input_list, quantized_net


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two quantized models and a float one, as DLCs, with lists of inputs."""
    folder = tmp_path_factory.mktemp("contexts")
    quantized_net(folder, "net")
    quantized_net(folder, "other", size=6)
    float_net(folder)
    input_list(folder)
    input_list(folder, 6)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def made(call, *words, model="net.dlc", backend="htp-sim", name="c"):
    answer = call(generate, "--model", model, "--backend", backend, "--binary_file", name, *words)
    assert answer.code == 0, answer.err
    return f"output/{name}.bin"


def run(call, *words, backend="htp-sim", lists="list_8.txt"):
    return call(net_run, "--backend", backend, "--input_list", lists, *words)


def results(folder, number=0):
    found = folder / f"Result_{number}"
    return {file.name: np.fromfile(file, np.float32) for file in sorted(found.iterdir())}


def test_the_weights_of_a_model_are_not_written_over(call, here, tmp_path):
    ew.load("net.dlc").save(tmp_path / "net.cpp")
    weights = (tmp_path / "net.bin").read_bytes()
    words = ("--model", tmp_path / "net_net.json", "--backend", "htp-sim", "--output_dir", tmp_path)
    answer = call(generate, *words)
    assert answer.code == 2
    assert "net.bin' would be overwritten, it is a file of the model that is read" in answer.err
    assert (tmp_path / "net.bin").read_bytes() == weights


@pytest.mark.skipif(IS_NATIVE, reason="the genuine library is here")
def test_a_context_of_the_simulation_says_that_no_device_loads_it(call, here):
    words = ("--model", "net.dlc", "--backend", "libQnnHtp.so", "--output_dir", "said")
    assert "note: made by the simulation" in call(generate, *words).out


@pytest.mark.parametrize(
    ("backend", "model"), [("htp-sim", "net.dlc"), ("cpu", "net.dlc"), ("cpu", "float.dlc")]
)
def test_a_context_runs_as_the_model_does(call, here, backend, model):
    path = made(call, model=model, backend=backend)
    assert run(call, "--retrieve_context", path, "--output_dir", "a", backend=backend).code == 0
    assert run(call, "--model", model, "--output_dir", "b", backend=backend).code == 0
    for number in range(3):
        left, right = results(here / "a", number), results(here / "b", number)
        assert list(left) == list(right)
        for name in left:
            np.testing.assert_array_equal(left[name], right[name])


def test_the_context_says_its_target_graphs_tensors_and_encodings(call, here):
    path = made(call, "--target", "Snapdragon 8 Gen 2", "--optimization_level", "high")
    answer = call(describe, "--context_binary", path, "--json_file", "c.json")
    assert (answer.code, "SM8550 (Snapdragon 8 Gen 2, v73, SoC 43)" in answer.out) == (0, True)
    found = json.loads((here / "c.json").read_text())["info"]
    assert (found["backendId"], found["socModel"], found["dspArch"], found["numGraphs"]) == (6, 43, 73, 1)
    graph = found["graphs"][0]["info"]
    assert graph["graphName"] == "net"
    assert graph["graphBlobInfo"]["info"]["optimizationLevel"] == 3
    tensor = graph["graphInputs"][0]["info"]
    assert (tensor["name"], tensor["dataType"]) == ("image", "QNN_DATATYPE_UFIXED_POINT_8")
    assert tensor["type"] == "QNN_TENSOR_TYPE_APP_WRITE"
    assert tensor["quantizeParams"]["quantizationEncoding"] == "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET"
    assert tensor["quantizeParams"]["scaleOffset"]["scale"] > 0


def test_without_a_name_the_binary_is_named_after_the_model(call, here):
    assert call(generate, "--model", "net.dlc", "--backend", "cpu", "--output_dir", "named").code == 0
    assert [file.name for file in (here / "named").iterdir()] == ["net.bin"]


def test_the_name_gets_one_ending_only(call, here):
    made(call, "--output_dir", "ends", "--backend_binary", "mine", name="a.serialized.bin")
    assert sorted(file.name for file in (here / "ends").iterdir()) == ["a.serialized.bin", "mine.bin"]


def test_the_guides_dlc_spelling_works(call, here):
    made(call, "--dlc_path", "net.dlc", model="libQnnModelDlc.so")


def test_two_models_go_into_one_context_and_run_by_a_list_each(call, here):
    path = made(call, model="net.dlc,other.dlc")
    words = ("--retrieve_context", path, "--output_dir", "both")
    assert run(call, *words, lists="list_8.txt,list_6.txt").code == 0
    assert run(call, "--model", "other.dlc", "--output_dir", "alone", lists="list_6.txt").code == 0
    np.testing.assert_array_equal(
        *(next(iter(results(place).values())) for place in (here / "both" / "other", here / "alone"))
    )
    assert (here / "both" / "net" / "Result_2").is_dir()


def test_a_graph_may_be_skipped_or_left_out_by_the_configuration(call, here):
    path = made(call, model="net.dlc,other.dlc")
    assert run(call, "--retrieve_context", path, "--output_dir", "s", lists="__,list_6.txt").code == 0
    assert [entry.name for entry in (here / "s").iterdir()] == ["other"]
    (here / "only.json").write_text('{"context_configs": {"enable_graphs": ["other"]}}')
    answer = run(call, "--retrieve_context", path, "--config_file", "only.json", lists="list_6.txt")
    assert answer.code == 0
    (here / "none.json").write_text('{"context_configs": {"enable_graphs": ["othr"]}}')
    answer = run(call, "--retrieve_context", path, "--config_file", "none.json", lists="list_6.txt")
    assert (answer.code, "did you mean 'other'?" in answer.err) == (2, True)


def test_the_same_weights_are_stored_once_where_sharing_is_asked_for(call, here):
    quantized_net(here, "twin")
    (here / "share.json").write_text('{"context": {"weight_sharing_enabled": true}}')
    apart = (here / made(call, model="net.dlc,twin.dlc", name="apart")).stat().st_size
    path = made(call, "--config_file", "share.json", model="net.dlc,twin.dlc", name="shared")
    assert (here / path).stat().st_size < apart
    assert run(call, "--retrieve_context", path, lists="list_8.txt,list_8.txt").code == 0


def test_two_graphs_of_one_name_are_refused(call, here):
    (here / "copy.dlc").write_bytes((here / "net.dlc").read_bytes())
    answer = call(generate, "--model", "net.dlc,copy.dlc", "--backend", "htp-sim")
    assert (answer.code, "2 graphs are named 'net'" in answer.err) == (2, True)


def test_intermediate_outputs_are_given_out_and_have_the_values_of_a_debug_run(call, here):
    path = made(call, "--enable_intermediate_outputs")
    assert run(call, "--retrieve_context", path, "--output_dir", "all").code == 0
    assert run(call, "--model", "net.dlc", "--debug", "--output_dir", "debug").code == 0
    found, wanted = results(here / "all"), results(here / "debug")
    assert set(found) == set(wanted)
    assert len(found) > 1
    for name in found:
        np.testing.assert_array_equal(found[name], wanted[name])


def test_named_tensors_are_given_out_beside_the_outputs(call, here):
    run(call, "--model", "net.dlc", "--debug", "--output_dir", "debug")
    names = [file.stem for file in sorted((here / "debug" / "Result_0").iterdir())]
    inner = next(name for name in names if name != "features")
    path = made(call, "--set_output_tensors", f"net:{inner}")
    assert run(call, "--retrieve_context", path, "--output_dir", "set").code == 0
    assert set(results(here / "set")) == {f"{inner}.raw", "features.raw"}


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("--set_output_tensors", "net:nothing"), 2, "which no op of graph 'net' computes"),
        (("--set_output_tensors", "ne:features"), 2, "did you mean 'net'?"),
        (("--enable_intermediate_outputs", "--set_output_tensors", "a:b"), 2, "were given together"),
        (("--dlc_path", "net.dlc"), 2, "--dlc_path goes with --model libQnnModelDlc.so"),
        (("--target", "SM8660"), 2, "nearest: SM8650"),
        (("--target", "SM8250"), 4, "is Hexagon v66"),
        (("--profiling_option", "optrace"), 4, "is for the genuine HTP library, the backend is htp-sim"),
        (("--profiling_level", "detailed"), 4, "use --profiling_level basic"),
        (("--input_output_tensor_mem_type", "memhandle"), 4, "not built yet"),
        (("--optimization_level", "highest"), 2, "low, medium or high"),
        (("--binary_file", "a/b"), 2, "is a path"),
        (("--backend_binary", "c"), 2, "are both 'c.bin'"),
        (("--config_file", "nowhere.json"), 3, "does not exist"),
    ],
)
def test_a_wrong_command_is_one_clear_error_and_writes_nothing(call, here, words, code, why):
    answer = call(
        generate,
        "--model",
        "net.dlc",
        "--backend",
        "htp-sim",
        "--binary_file",
        "c",
        "--output_dir",
        "no",
        *words,
    )
    assert (answer.code, why in answer.err) == (code, True), answer.err
    assert not (here / "no").exists()


@pytest.mark.parametrize(
    ("model", "backend", "code", "why"),
    [
        ("m.so", "cpu", 3, "does not exist"),
        ("m.onnx", "cpu", 2, "is not converted yet"),
        ("none.dlc", "cpu", 3, "does not exist"),
        ("net.dlc", "libQnnHta.so", 4, "only runs on a device"),
        ("net.dlc", "htpp", 2, "did you mean"),
    ],
)
def test_a_model_that_cannot_be_compiled_says_why(call, here, model, backend, code, why):
    answer = call(generate, "--model", model, "--backend", backend)
    assert (answer.code, why in answer.err) == (code, True), answer.err


def test_options_without_effect_are_said(call, here):
    (here / "course.json").write_text('{"htp_config": {"vtcm_mb": 2, "enable_dma": true}, "cpu_config": {}}')
    words = ("--input_list", "list_8.txt", "--platform_options", "a:b", "--config_file", "course.json")
    answer = call(generate, "--model", "net.dlc", "--backend", "htp-sim", *words)
    assert "option --input_list has no effect" in answer.err
    assert "note: --platform_options has no effect: backend htp-sim is this machine itself" in answer.out
    assert "note: key 'htp_config.enable_dma' has no effect" in answer.out
    assert "note: section 'cpu_config' has no effect" in answer.out
    assert "note: no target was named: made for SM8650" in answer.out


def test_settings_reach_the_graph_that_they_name_and_others_are_said(call, here):
    graphs = [{"graph_names": ["net"], "vtcm_mb": 4}, {"graph_names": ["nte"], "vtcm_mb": 8}]
    (here / "graphs.json").write_text(json.dumps({"graphs": graphs}))
    answer = call(
        generate, "--model", "net.dlc", "--backend", "htp-sim", "--config_file", "graphs.json", "--json"
    )
    assert "settings for graph 'nte' have no effect: the model has net" in json.loads(answer.out)["notes"]
    info = call(describe, "--context_binary", "output/net.bin", "--json")
    graph = json.loads(info.out)["info"]["graphs"][0]["info"]
    assert graph["graphBlobInfo"]["info"]["vtcmSize"] == 4


def test_profiling_measures_the_compilation(call, here):
    made(call, "--profiling_level", "basic", "--output_dir", "profiled")
    log = json.loads((here / "profiled" / "qnn-profiling-data_0.log").read_text())
    assert [event["message"] for event in log["events"]] == ["FINALIZE"]


@pytest.mark.parametrize("level", ["detailed", "backend"])
def test_a_run_of_a_context_tells_the_times_of_its_ops(call, here, level):
    assert run(call, "--model", "net.dlc", "--profiling_level", level).code == 0
    log = json.loads((here / "output" / "qnn-profiling-data_0.log").read_text())
    assert any(event["message"] == "NODE" for event in log["events"])


def test_a_context_of_another_backend_says_which_one_it_is_for(call, here):
    answer = run(call, "--retrieve_context", made(call), backend="cpu")
    assert (answer.code, "is a context of htp-sim, the backend is cpu" in answer.err) == (2, True)


def test_mapping_and_validating_are_accepted_and_belong_to_a_context(call, here):
    path = made(call)
    assert run(call, "--retrieve_context", path, "--use_mmap", "--validate_binary").code == 0
    answer = run(call, "--model", "net.dlc", "--use_mmap")
    assert (answer.code, "which it needs" in answer.err) == (2, True)


@pytest.mark.parametrize("place", ["head", "middle", "end", "cut", "empty", "text"])
def test_a_damaged_context_is_one_error_for_every_tool(call, here, place):
    whole = bytearray((here / made(call)).read_bytes())
    places = {"head": 20, "middle": len(whole) // 2, "end": len(whole) - 3}
    if place in places:
        whole[places[place]] ^= 0x40
    content = {"cut": bytes(whole[:-50]), "empty": b"", "text": b"EWCTX\r\n\x1a and nothing"}.get(
        place, bytes(whole)
    )
    (here / "bad.bin").write_bytes(content)
    for answer in (
        call(describe, "--context_binary", "bad.bin"),
        run(call, "--retrieve_context", "bad.bin"),
        call(edgewright, "check", "bad.bin", "--target", "SM8650"),
    ):
        assert answer.code in {3, 6, 7}, answer.err
        assert answer.err.count("error[") == 1


def test_a_context_of_the_simulation_is_for_no_device_and_check_says_so(call, here):
    answer = call(edgewright, "check", made(call), "--target", "SM8650")
    assert answer.code == 4
    assert answer.out.startswith("no: output/c.bin on SM8650 (Snapdragon 8 Gen 3, v75, SoC 57)\n")
    assert "which no device loads" in answer.out
    assert "--backend htp-native --target SM8650" in answer.out


@pytest.mark.parametrize(("name", "kind"), [("net.dlc", "a zip such as a DLC"), ("c.json", "JSON")])
def test_another_kind_of_file_is_named_for_what_it_is(call, here, name, kind):
    (here / "c.json").write_text("{}")
    answer = call(describe, "--context_binary", name)
    assert (answer.code, f"the file is {kind}, expected a context binary" in answer.err) == (3, True)


def test_the_other_commands_take_a_context_of_ours_as_a_model(call, here):
    path = made(call, backend="cpu")
    assert "net" in call(edgewright, "inspect", path).out
    assert call(edgewright, "run", path, "--random").code == 0
    (here / "weights.bin").write_bytes(bytes(1024))
    answer = call(edgewright, "inspect", "weights.bin")
    assert (answer.code, "--retrieve_context" in answer.err) == (3, True)


def test_the_utility_wants_an_existing_folder(call, here):
    answer = call(describe, "--context_binary", made(call), "--json_file", "nowhere/c.json")
    assert (answer.code, "folder 'nowhere' does not exist" in answer.err) == (2, True)


def test_two_builds_in_fresh_processes_give_the_same_bytes(here):
    module = "from edgewright.tools.qnn_context_binary_generator import main; import sys; sys.exit(main())"
    for name in ("one", "two"):
        words = ["--model", "net.dlc", "--backend", "htp-sim", "--binary_file", name]
        subprocess.run([sys.executable, "-c", module, *words], check=True, capture_output=True)
    assert (here / "output" / "one.bin").read_bytes() == (here / "output" / "two.bin").read_bytes()


def test_no_path_of_this_machine_is_in_the_file(call, here):
    description = open_frame(here / made(call)).description.decode()
    assert str(here) not in description
    assert sys.prefix not in description


def test_the_strict_mode_is_refused_where_no_chip_is_compiled_for(call, here):
    (here / "strict.json").write_text('{"context_configs": {"cache_compatibility_mode": "strict"}}')
    answer = run(call, "--retrieve_context", made(call), "--config_file", "strict.json")
    assert (answer.code, "a context of htp-sim is compiled for no chip" in answer.err) == (4, True)
    answer = run(call, "--model", "net.dlc", "--config_file", "strict.json")
    assert (answer.code, "'cache_compatibility_mode' has no effect" in answer.out) == (0, True), answer.err
