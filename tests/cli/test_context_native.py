"""Context binaries of the genuine HTP library, and ONNX Runtime's own QNN provider as their client."""

import json
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import edgewright as ew
from edgewright.config.context import EpContext
from edgewright.model.saving import load_graph
from edgewright.run.context.ep_context import export_ep_context
from edgewright.tools.qnn_context_binary_generator import main as generate
from edgewright.tools.qnn_context_binary_utility import main as describe
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.umbrella import main as edgewright
from tests.cli.context_models import IS_NATIVE, NO_WHEEL, input_list, inputs, mobile_net, quantized_net

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
CLIENT = Path(__file__).with_name("run_ep_context.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two quantized models, and a context binary of the first for SM8550."""
    folder = tmp_path_factory.mktemp("native")
    quantized_net(folder, "net")
    quantized_net(folder, "twin")
    input_list(folder)
    words = ["--model", folder / "net.dlc", "--backend", "libQnnHtp.so", "--target", "SM8550"]
    assert generate([*map(str, words), "--output_dir", str(folder)]) == 0
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def run(call, *words, backend="htp-native", lists="list_8.txt"):
    flags = ("--use_native_output_files", "--input_list", lists)
    return call(net_run, "--backend", backend, *flags, *words)


def results(folder):
    return [(folder / f"Result_{number}" / "features_native.raw").read_bytes() for number in range(3)]


def stored_inputs(folder):
    """The images as the quantized graph stores them, in its layout."""
    found = load_graph(folder / "net.dlc").types["image"]
    return [found.encoding.encode(image, found.dtype) for image in inputs()]


def in_onnx_runtime(folder, model, arrays, *flags):
    np.savez(folder / "given.npz", *arrays)
    words = [sys.executable, CLIENT, model, folder / "given.npz", folder / "found.npz", *flags]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(folder / "found.npz") as found:
        return [found[key] for key in sorted(found)]


def test_a_retrieved_context_gives_what_the_model_gives(call, here):
    (here / "soc.json").write_text('{"devices": [{"soc_model": 43}]}')
    answer = run(
        call, "--retrieve_context", "net.bin", "--output_dir", "a", "--use_mmap", "--validate_binary"
    )
    assert answer.code == 0, answer.err
    assert "on backend htp (native emulator, SoC 43)" in answer.out
    assert "validated by the System library" in answer.out
    assert run(call, "--model", "net.dlc", "--output_dir", "b", "--config_file", "soc.json").code == 0
    assert results(here / "a") == results(here / "b")


def test_onnx_runtimes_own_provider_gives_the_same_bytes_through_the_onnx_file(call, here):
    assert call(edgewright, "export-ep-context", "net.bin", "-o", "net_ctx.onnx").code == 0
    run(call, "--retrieve_context", "net.bin", "--output_dir", "ours")
    found = in_onnx_runtime(here, "net_ctx.onnx", stored_inputs(here), "--all-on-qnn")
    assert [array.tobytes() for array in found] == results(here / "ours")


def test_an_embedded_binary_with_float_io_gives_the_decoded_values(call, here):
    words = ("net.bin", "-o", "deep/net_ctx.onnx", "--embed", "--float_io")
    assert call(edgewright, "export-ep-context", *words).code == 0
    run(call, "--retrieve_context", "net.bin", "--output_dir", "ours")
    encoding = load_graph(here / "net.dlc").types["features"].encoding
    found = in_onnx_runtime(here, "deep/net_ctx.onnx", inputs())
    for array, raw in zip(found, results(here / "ours"), strict=True):
        wanted = encoding.decode(np.frombuffer(raw, np.uint8).reshape(array.shape))
        np.testing.assert_allclose(array, wanted, rtol=1e-6)


@pytest.mark.slow
def test_a_network_like_mobilenet_gives_the_same_bytes_in_onnx_runtime(here):
    images = inputs(64, 4)
    model = ew.convert(mobile_net(here / "mobile.onnx"))
    quantized = ew.quantize(model, [{"image": image} for image in images], act_quantizer="tf")
    compiled = ew.compile(quantized, "mobile.bin", target="SM8650", backend="htp-native")
    export_ep_context(EpContext(context_binary="mobile.bin", output_path="mobile_ctx.onnx"))
    kinds = quantized.fixed_graph().types
    stored = [kinds["image"].encoding.encode(image, kinds["image"].dtype) for image in images]
    found = in_onnx_runtime(here, "mobile_ctx.onnx", stored, "--all-on-qnn")
    for image, array in zip(images, found, strict=True):
        ours = compiled.run({"image": image})["features"]
        np.testing.assert_array_equal(kinds["features"].encoding.decode(array), ours)


def test_the_onnx_file_says_what_a_provider_needs(call, here):
    assert call(edgewright, "export-ep-context", "net.bin", "-o", "said.onnx").code == 0
    model = onnx.load(here / "said.onnx")
    (node,) = model.graph.node
    said = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    assert (node.op_type, node.domain) == ("EPContext", "com.microsoft")
    assert (said["embed_mode"], said["ep_cache_context"], said["main_context"]) == (0, b"net.bin", 1)
    assert (said["source"], said["partition_name"]) == (b"QNN", b"net")
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.UINT8


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("net.bin", "-o", "elsewhere/net.onnx"), "add --copy or --embed"),
        (("net.bin", "--graph", "nte"), "did you mean 'net'?"),
        (("net.bin", "-o", "net.bin"), "would be overwritten"),
        (("net.bin", "-o", "net.bin", "--embed"), "would be overwritten"),
        (("net.bin", "--embed", "--copy"), "were given together"),
    ],
)
def test_a_wrapper_that_would_not_work_is_refused(call, here, words, why):
    answer = call(edgewright, "export-ep-context", *words)
    assert (answer.code, why in answer.err) == (2, True), answer.err


def test_the_source_of_a_binary_is_not_written_over_by_its_wrapper(call, here, tmp_path):
    for name in ("net.bin", "net.onnx"):
        (tmp_path / name).write_bytes((here / name).read_bytes())
    answer = call(edgewright, "export-ep-context", tmp_path / "net.bin")
    assert answer.code == 2
    assert "net.onnx' already exists and holds another model" in answer.err
    assert (tmp_path / "net.onnx").read_bytes() == (here / "net.onnx").read_bytes()
    (tmp_path / "net.onnx").unlink()
    for _ in range(2):
        assert call(edgewright, "export-ep-context", tmp_path / "net.bin").code == 0


def test_a_copy_stands_beside_the_file_in_another_folder(call, here):
    assert call(edgewright, "export-ep-context", "net.bin", "-o", "copied/net.onnx", "--copy").code == 0
    assert (here / "copied" / "net.bin").read_bytes() == (here / "net.bin").read_bytes()


def test_two_builds_in_fresh_processes_give_the_same_bytes(here):
    module = "from edgewright.tools.qnn_context_binary_generator import main; import sys; sys.exit(main())"
    words = ["--model", "net.dlc", "--backend", "htp-native", "--target", "SM8550", "--binary_file", "again"]
    subprocess.run([sys.executable, "-c", module, *words], check=True, capture_output=True)
    assert (here / "output" / "again.bin").read_bytes() == (here / "net.bin").read_bytes()


def test_the_utility_tells_chip_architecture_versions_and_memory(call, here):
    answer = call(describe, "--context_binary", "net.bin", "--json")
    found = json.loads(answer.out)
    info = found["info"]
    assert (info["backendId"], info["socModel"], info["dspArch"]) == (6, 43, 73)
    assert info["buildId"].startswith("v2.")
    assert info["coreApiVersion"]["major"] == 2
    blob = info["graphs"][0]["info"]["graphBlobInfo"]["info"]
    assert blob["vtcmSize"] > 0
    assert "spillFillBufferSize" in blob
    assert found["edgewright"]["soc"].startswith("SM8550")


def test_settings_of_a_graph_reach_the_compiler(call, here):
    graphs = [{"graph_names": ["net"], "vtcm_mb": 2, "O": 3, "hvx_threads": 2}]
    (here / "graphs.json").write_text(json.dumps({"graphs": graphs, "devices": [{"dsp_arch": "v79"}]}))
    words = ("--model", "net.dlc", "--backend", "htp-native", "--config_file", "graphs.json")
    assert call(generate, *words, "--binary_file", "set").code == 0
    info = json.loads(call(describe, "--context_binary", "output/set.bin", "--json").out)["info"]
    blob = info["graphs"][0]["info"]["graphBlobInfo"]["info"]
    assert (blob["vtcmSize"], blob["optimizationLevel"], blob["numHvxThreads"]) == (2, 3, 2)
    assert (info["socModel"], info["dspArch"]) == (69, 79)


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("--target", "SM8550"), 0, "yes: net.bin on SM8550"),
        (("--target", "v73", "--device_version", "2.99"), 0, "yes: "),
        (("--target", "SM8550", "--device_version", "2.31"), 4, "the device has QNN 2.31, older than the 2."),
        (("--target", "SM8450"), 4, "compiled for v73, SM8450 is the older v69"),
        (("--target", "SM8650"), 4, "compiled for v73, SM8650 is the newer v75"),
        (("--target", "SSG2115P"), 4, "MB of VTCM, SSG2115P has 2"),
    ],
)
def test_check_answers_for_a_chip_and_a_version(call, here, words, code, why):
    answer = call(edgewright, "check", "net.bin", *words)
    assert (answer.code, why in answer.out) == (code, True), answer.out


@pytest.mark.parametrize("source", [("--model", "net.dlc"), ("--retrieve_context", "net.bin")])
def test_the_library_measures_each_op_and_says_on_what(call, here, source):
    words = ("--profiling_level", "detailed", "--output_dir", "measured", "--num_inferences", "2")
    answer = run(call, *source, *words)
    assert answer.code == 0, answer.err
    log = json.loads((here / "measured" / "qnn-profiling-data_0.log").read_text())
    told = [event for event in log["events"] if event["source"] == "BACKEND"]
    assert all("(host emulation)" in event["identifier"] for event in told)
    assert any(event["unit"] == "CYCLES" and "OpId" in event["identifier"] for event in told)
    assert sum(event["message"] == "EXECUTE" for event in log["events"] if event["source"] == "NETRUN") == 2


def test_the_strict_mode_refuses_a_context_for_another_chip(call, here):
    outer = {"context_configs": {"cache_compatibility_mode": "strict"}, "devices": [{"soc_model": 57}]}
    (here / "strict.json").write_text(json.dumps(outer))
    answer = run(call, "--retrieve_context", "net.bin", "--config_file", "strict.json")
    assert (answer.code, "compiled for v73" in answer.err) == (4, True)


def test_the_strict_mode_needs_no_device(call, here):
    (here / "strict.json").write_text('{"context_configs": {"cache_compatibility_mode": "strict"}}')
    answer = run(call, "--retrieve_context", "net.bin", "--config_file", "strict.json")
    assert answer.code == 0, answer.err
    assert "no device is named: the emulator runs as the chip that the context was compiled for" in answer.out


def test_loading_is_part_of_the_set_up_of_a_retrieved_context(call, here):
    words = ("--profiling_level", "basic", "--output_dir", "loaded")
    answer = run(call, "--retrieve_context", "net.bin", *words)
    assert answer.code == 0, answer.err
    log = json.loads((here / "loaded" / "qnn-profiling-data_0.log").read_text())
    spans = {event["message"]: event["time"] for event in log["events"] if event["source"] == "NETRUN"}
    # Loading starts the library in a process of its own, which takes far longer than a run of this network.
    assert spans["INIT"] > 20_000, log["events"]


def test_optrace_gives_the_schematics_that_traces_of_a_device_need(call, here):
    words = ("--model", "net.dlc,twin.dlc", "--backend", "htp-native", "--output_dir", "traced")
    answer = call(generate, *words, "--profiling_option", "optrace")
    assert (answer.code, "needs --profiling_level detailed" in answer.err) == (2, True)
    traced = ("--profiling_level", "detailed", "--profiling_option", "optrace")
    answer = call(generate, *words, *traced)
    assert answer.code == 0, answer.err
    for name in ("net", "twin"):
        schematic = (here / "traced" / f"{name}_schematic.bin").read_bytes()
        assert b"q::Input" in schematic
        assert f"{name}_schematic.bin" in answer.out
    assert not list(here.glob("*schematic*"))
    answer = run(call, "--retrieve_context", "net.bin", *traced)
    assert (answer.code, "the libraries for x86 give no trace of a run" in answer.err) == (4, True)


def test_platform_options_of_the_generator_reach_the_library(call, here):
    words = ("--model", "net.dlc", "--backend", "htp-native", "--binary_file", "odd")
    answer = call(generate, *words, "--platform_options", "no_such_key:1")
    assert answer.code != 0
    assert "refuses the platform options 'no_such_key:1'" in answer.err


def test_two_graphs_run_from_one_context(call, here):
    words = ("--model", "net.dlc,twin.dlc", "--backend", "htp-native")
    answer = call(generate, *words, "--binary_file", "both", "--profiling_level", "detailed")
    assert answer.code == 0, answer.err
    log = json.loads((here / "output" / "qnn-profiling-data_0.log").read_text())
    assert "host emulation" in log["events"][0]["identifier"]
    assert {event["unit"] for event in log["events"]} <= {"US", "CYCLES", "COUNT", "BYTES"}
    words = ("--retrieve_context", "output/both.bin", "--output_dir", "pair")
    answer = run(call, *words, lists="list_8.txt,list_8.txt")
    assert answer.code == 0, answer.err
    assert results(here / "pair" / "net") == results(here / "pair" / "twin")
    answer = call(edgewright, "export-ep-context", "output/both.bin")
    assert (answer.code, "it has: net, twin" in answer.err) == (2, True)


def test_shared_weights_make_a_smaller_binary_which_the_emulator_cannot_load(call, here):
    (here / "share.json").write_text('{"context": {"weight_sharing_enabled": true}}')
    words = ("--model", "net.dlc,twin.dlc", "--backend", "htp-native")
    assert call(generate, *words, "--binary_file", "apart").code == 0
    answer = call(generate, *words, "--binary_file", "shared", "--config_file", "share.json")
    assert (answer.code, "the emulator does not load" in answer.out) == (0, True), answer.err
    sizes = [(here / "output" / f"{name}.bin").stat().st_size for name in ("shared", "apart")]
    assert sizes[0] < sizes[1]
    # Measured with 2.51: the library itself ends; the caller must not.
    answer = run(call, "--retrieve_context", "output/shared.bin", lists="list_8.txt,list_8.txt")
    assert answer.code in {0, 7}
    assert run(call, "--retrieve_context", "net.bin").code == 0


@pytest.mark.parametrize("damage", ["cut", "head", "junk"])
def test_a_damaged_binary_is_one_error_and_the_caller_goes_on(call, here, damage):
    whole = (here / "net.bin").read_bytes()
    rng = np.random.default_rng(7)
    content = {
        "cut": whole[: len(whole) // 3],
        "head": bytes(64) + whole[64:],
        "junk": rng.bytes(5000),
    }[damage]
    (here / "bad.bin").write_bytes(content)
    for answer in (
        call(describe, "--context_binary", "bad.bin"),
        run(call, "--retrieve_context", "bad.bin"),
        call(edgewright, "check", "bad.bin", "--target", "SM8650"),
    ):
        assert answer.code in {3, 7}, (answer.out, answer.err)
        assert answer.err.count("error[") == 1
        assert "bad.bin" in answer.err
    assert call(describe, "--context_binary", "net.bin").code == 0


@pytest.mark.slow
def test_bits_that_flip_anywhere_give_an_answer_or_one_error(call, here):
    whole = (here / "net.bin").read_bytes()
    rng = np.random.default_rng(9)
    for number in range(20):
        damaged = bytearray(whole)
        # Most of a binary is padding: half of the places are in its first part, where the metadata is.
        limit = len(whole) if number % 2 else 4096
        for place in rng.integers(0, limit, 8):
            damaged[place] ^= 1 << int(rng.integers(8))
        (here / "flipped.bin").write_bytes(damaged)
        answer = run(call, "--retrieve_context", "flipped.bin", "--output_dir", "flipped")
        assert answer.code in {0, 2, 3, 7}, (number, answer.err)
        assert answer.err.count("error[") == (answer.code != 0), answer.err
    assert run(call, "--retrieve_context", "net.bin").code == 0


def test_without_the_libraries_a_genuine_binary_says_what_is_missing(call, here, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    answer = call(describe, "--context_binary", "net.bin")
    assert (answer.code, "pip install 'edgewright[native]'" in answer.err) == (6, True)
    answer = call(generate, "--model", "net.dlc", "--backend", "libQnnHtp.so", "--binary_file", "fallback")
    assert (answer.code, answer.out.startswith("backend htp-sim")) == (0, True)
    answer = call(generate, "--model", "net.dlc", "--backend", "htp-native")
    assert answer.code == 6


def test_a_context_of_the_simulation_is_refused_by_the_wrapper(call, here):
    assert call(generate, "--model", "net.dlc", "--backend", "htp-sim", "--binary_file", "sim").code == 0
    answer = call(edgewright, "export-ep-context", "output/sim.bin")
    assert (answer.code, "--backend htp-native" in answer.err) == (4, True)
