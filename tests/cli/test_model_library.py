"""qnn-model-lib-generator, and what qnn-net-run and the context generator make of its libraries."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import edgewright as ew
from edgewright.artifacts.model_library.builder import HEADERS
from edgewright.artifacts.model_library.toolchains import NoToolchain, find_toolchain
from edgewright.model.model import Model
from edgewright.model.saving import load_graph
from edgewright.tools.qairt_converter import main as convert_dlc
from edgewright.tools.qnn_context_binary_generator import main as compile_context
from edgewright.tools.qnn_model_lib_generator import main as generate
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.qnn_onnx_converter import main as convert
from tests.cli.models import DIGITS_MODEL, save, two_inputs
from tests.unit.quantize.nets import Net, samples

pytestmark = pytest.mark.skipif(
    isinstance(find_toolchain("x86_64-linux-clang"), NoToolchain), reason="no compiler for x86_64 Linux"
)
HOST = "x86_64-linux-clang"
# Composes nothing: it does what the test wants instead.
HOSTILE = """
#include <cstdlib>
#include <stdexcept>
extern "C" __attribute__((visibility("default"))) int QnnModel_composeGraphs() {{ {body} }}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The digit classifier, quantized: its files, its library, its list of inputs."""
    folder = tmp_path_factory.mktemp("library")
    rng = np.random.default_rng(3)
    for index in range(2):
        rng.random((1, 28, 28, 1), np.float32).tofile(folder / f"{index}.raw")
    (folder / "list.txt").write_text("".join(f"{folder}/{index}.raw\n" for index in range(2)))
    words = ["-i", str(DIGITS_MODEL), "-o", str(folder / "digits.cpp")]
    assert convert([*words, "--input_list", str(folder / "list.txt"), "--use_per_channel_quantization"]) == 0
    words = ["-c", str(folder / "digits.cpp"), "-b", str(folder / "digits.bin"), "-t", HOST]
    assert generate([*words, "-o", str(folder / "lib")]) == 0
    return folder


def library(made):
    return made / "lib" / HOST / "libdigits.so"


def outputs(call, made, out, *words):
    listed = ("--input_list", made / "list.txt", "--output_dir", out)
    answer = call(net_run, *listed, *words)
    assert answer.code == 0, answer.err
    return [path.read_bytes() for path in sorted(out.glob("Result_*/*.raw"))]


def test_blocks_of_4_bit_weights_survive_their_library(call, tmp_path):
    net = Net(2, 6, 8)
    graph = net.done(net.dense_rows(net.x, 16))
    data = samples(graph)
    quantized = ew.quantize(Model.of(graph), data, weight_bw=4, act_bw=16, block_size=4)
    files = quantized.save(tmp_path / "m.cpp")
    assert call(generate, "-c", files.cpp, "-b", files.bin, "-t", HOST, "-o", tmp_path / "m.so").code == 0
    (name,) = graph.outputs
    found = Model.of(load_graph(tmp_path / "m.so")).run(data[0])[name]
    np.testing.assert_array_equal(found, quantized.run(data[0])[name])


def hostile(tmp_path, body):
    (tmp_path / "bad.cpp").write_text(HOSTILE.format(body=body))
    target = tmp_path / "bad.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-w", tmp_path / "bad.cpp", "-o", target], check=True)
    return target


def run_bad(call, tmp_path, target):
    (tmp_path / "list.txt").write_text("nothing.raw\n")
    return call(net_run, "--model", target, "--backend", "cpu", "--input_list", tmp_path / "list.txt")


@pytest.mark.parametrize("backend", ["libQnnCpu.so", "htp-sim"])
def test_a_library_and_its_net_json_give_the_same_bytes(call, made, tmp_path, backend):
    from_library = outputs(call, made, tmp_path / "so", "--model", library(made), "--backend", backend)
    net_json = made / "digits_net.json"
    from_json = outputs(call, made, tmp_path / "json", "--model", net_json, "--backend", backend)
    assert len(from_library) == 2
    assert from_library == from_json


def test_running_a_library_says_that_it_is_code(call, made, tmp_path):
    words = ("--input_list", made / "list.txt", "--output_dir", tmp_path / "out")
    answer = call(net_run, "--model", library(made), "--backend", "cpu", *words)
    assert "'libdigits.so' is a model library: it is code" in answer.err


def test_a_context_of_the_library_runs_as_the_library_does(call, made, tmp_path):
    words = ("--model", library(made), "--backend", "htp-sim", "--output_dir", tmp_path)
    assert call(compile_context, *words, "--binary_file", "c").code == 0
    direct = outputs(call, made, tmp_path / "a", "--model", library(made), "--backend", "htp-sim")
    context = ("--retrieve_context", tmp_path / "c.bin", "--backend", "htp-sim")
    assert outputs(call, made, tmp_path / "b", *context) == direct


def test_several_libraries_and_other_models_run_together(call, made, tmp_path):
    dlc = tmp_path / "float.dlc"
    assert convert_dlc(["-i", str(DIGITS_MODEL), "-o", str(dlc)]) == 0
    lists = f"{made / 'list.txt'},{made / 'list.txt'}"
    words = ("--model", f"{library(made)},{dlc}", "--backend", "cpu", "--input_list", lists)
    assert call(net_run, *words, "--output_dir", tmp_path / "out").code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir()) == ["digits", "float"]


def test_another_prefix_is_found_by_its_name(call, tmp_path):
    two_inputs(tmp_path / "sum.onnx")
    words = ("-i", tmp_path / "sum.onnx", "-o", tmp_path / "sum.cpp")
    assert call(convert, *words, "--overwrite_model_prefix").code == 0
    target = tmp_path / "sum.so"
    assert call(generate, "-c", tmp_path / "sum.cpp", "-b", tmp_path / "sum.bin", "-t", HOST, "-o", target)
    np.float32([[1, 2, 3]]).tofile(tmp_path / "a.raw")
    (tmp_path / "list.txt").write_text(f"in_a:={tmp_path}/a.raw in_b:={tmp_path}/a.raw\n")
    words = ("--model", target, "--backend", "cpu", "--input_list", tmp_path / "list.txt")
    refused = call(net_run, *words)
    assert refused.code == 6
    assert "it has no function 'QnnModel_composeGraphs'" in refused.err
    assert call(net_run, *words, "--model_prefix", "sum", "--output_dir", tmp_path / "out").code == 0
    assert np.fromfile(tmp_path / "out/Result_0/out_0.raw", np.float32).tolist() == [2, 6, 12]


def test_an_op_without_one_of_its_inputs_survives_the_library(call, tmp_path):
    nodes = [
        helper.make_node("Clip", ["x", "", "high"], ["c"]),
        helper.make_node("Mul", ["c", "w"], ["y"]),
    ]
    constants = {"high": np.float32(0.5), "w": np.arange(4, dtype=np.float32)}
    save(tmp_path / "clip.onnx", nodes, [("x", 1, [1, 4])], [("y", 1, [1, 4])], constants)
    assert call(convert, "-i", tmp_path / "clip.onnx", "-o", tmp_path / "clip.cpp").code == 0
    target = tmp_path / "clip.so"
    words = ("-c", tmp_path / "clip.cpp", "-b", tmp_path / "clip.bin", "-t", HOST, "-o", target)
    assert call(generate, *words).code == 0
    np.float32([[1, -1, 0.25, 2]]).tofile(tmp_path / "x.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path}/x.raw\n")
    words = ("--model", target, "--backend", "cpu", "--input_list", tmp_path / "list.txt")
    assert call(net_run, *words, "--output_dir", tmp_path / "out").code == 0
    assert np.fromfile(tmp_path / "out/Result_0/y.raw", np.float32).tolist() == [0, -1, 0.5, 1.5]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("std::abort();", "ended its process with SIGABRT"),
        ("*(volatile int*)0 = 1; return 0;", "ended its process with SIGSEGV"),
        ('throw std::runtime_error("no weights today");', "no weights today"),
        ("std::exit(3);", "ended its process with exit code 3"),
        ("return 4;", "could not compose its graphs: MODEL_GRAPH_ERROR (4)"),
    ],
)
def test_a_library_that_fails_is_one_error_with_exit_code_7(call, tmp_path, body, words):
    answer = run_bad(call, tmp_path, hostile(tmp_path, body))
    assert answer.code == 7
    assert words in answer.err
    assert answer.err.count("error[") == 1


def test_a_library_that_composes_nothing_is_refused(call, tmp_path):
    answer = run_bad(call, tmp_path, hostile(tmp_path, "return 0;"))
    assert (answer.code, "composed no graph" in answer.err) == (3, True)


def test_a_library_for_another_machine_is_refused_before_it_runs(call, made, tmp_path):
    target = tmp_path / "libother.so"
    shutil.copy(library(made), target)
    with target.open("r+b") as file:
        file.seek(18)
        file.write((183).to_bytes(2, "little"))
    answer = run_bad(call, tmp_path, target)
    assert answer.code == 6
    assert "the library is for aarch64, this machine is x86_64" in answer.err
    assert "it is code" not in answer.err


def test_a_library_with_a_function_that_is_nowhere_says_which(call, tmp_path):
    source = tmp_path / "open.cpp"
    source.write_text('void nowhere(); extern "C" int QnnModel_composeGraphs() { nowhere(); return 0; }')
    command = ["g++", "-shared", "-fPIC", str(source), "-o", str(tmp_path / "open.so")]
    subprocess.run(command, check=True)
    answer = run_bad(call, tmp_path, tmp_path / "open.so")
    assert (answer.code, "nowhere" in answer.err) == (6, True)


def test_a_cut_off_library_is_refused(call, made, tmp_path):
    target = tmp_path / "libcut.so"
    target.write_bytes(library(made).read_bytes()[:3000])
    assert run_bad(call, tmp_path, target).code in {6, 7}
    target.write_bytes(b"not a library at all" * 10)
    answer = run_bad(call, tmp_path, target)
    assert (answer.code, "expected a shared library (ELF)" in answer.err) == (3, True)


def test_a_source_without_its_weights_is_refused_before_compiling(call, made, tmp_path):
    answer = call(generate, "-c", made / "digits.cpp", "-t", HOST, "-o", tmp_path / "a.so")
    assert answer.code == 3
    assert "the source reads 6 weights that are not there" in answer.err
    assert "-b" in answer.err
    assert not (tmp_path / "a.so").exists()


def test_a_source_that_does_not_compile_names_the_line(call, tmp_path):
    (tmp_path / "bad.cpp").write_text("int x = ; int net_composeGraphs();\n")
    answer = call(generate, "-c", tmp_path / "bad.cpp", "-t", HOST, "-o", tmp_path / "a.so")
    assert answer.code == 3
    assert "model.cpp:1:9" in answer.err


def test_what_cannot_be_built_is_said_and_the_rest_is_built(call, made, tmp_path, monkeypatch):
    for name in ("ANDROID_NDK_ROOT", "ANDROID_NDK_HOME", "ANDROID_NDK"):
        monkeypatch.delenv(name, raising=False)
    words = ("-c", made / "digits.cpp", "-b", made / "digits.bin", "-o", tmp_path, "-l", "net")
    answer = call(generate, *words)
    assert answer.code == 0
    assert "left out aarch64-android: no Android NDK is set" in answer.out
    asked = call(generate, *words, "-t", f"{HOST} x86_64-windows-msvc")
    assert asked.code == 6
    assert "x86_64-windows-msvc: a library for Windows needs MSVC" in asked.err
    assert (tmp_path / HOST / "libnet.so").exists()


def test_an_unknown_target_is_a_usage_error_with_the_nearest(call, made, tmp_path):
    answer = call(generate, "-c", made / "digits.cpp", "-t", "x86_64-linux-clan", "-o", tmp_path)
    assert (answer.code, "x86_64-linux-clang" in answer.err) == (2, True)


@pytest.mark.slow
def test_the_same_source_gives_the_same_bytes(call, made, tmp_path):
    words = ("-c", made / "digits.cpp", "-b", made / "digits.bin", "-t", HOST, "-o", tmp_path / "again.so")
    assert call(generate, *words).code == 0
    assert (tmp_path / "again.so").read_bytes() == library(made).read_bytes()


def test_an_aarch64_library_is_built_where_the_cross_compiler_is(call, made, tmp_path):
    chain = find_toolchain("aarch64-ubuntu-gcc9.4")
    if isinstance(chain, NoToolchain):
        pytest.skip(chain.reason)
    words = ("-c", made / "digits.cpp", "-b", made / "digits.bin", "-t", chain.target, "-o", tmp_path)
    assert call(generate, *words).code == 0
    content = (tmp_path / chain.target / "libdigits.so").read_bytes()
    assert int.from_bytes(content[18:20], "little") == 183
    assert b"QnnModel_composeGraphs" in content


def test_a_folder_without_an_ndk_says_what_is_missing(tmp_path):
    found = find_toolchain("aarch64-android", {**os.environ, "ANDROID_NDK_ROOT": str(tmp_path)})
    assert "ANDROID_NDK_ROOT is" in found.reason
    tools = tmp_path / "toolchains/llvm/prebuilt" / f"linux-{os.uname().machine}" / "bin"
    tools.mkdir(parents=True)
    (tools / "aarch64-linux-android21-clang++").touch()
    found = find_toolchain("aarch64-android", {**os.environ, "ANDROID_NDK_ROOT": str(tmp_path)})
    assert found.compiler.endswith("aarch64-linux-android21-clang++")


def test_a_source_in_the_style_of_other_converters_compiles_and_runs(call, tmp_path):
    np.float32([1, 2, 3, 4]).tofile(tmp_path / "w.raw")
    np.float32([10, 20, 30, 40]).tofile(tmp_path / "x.raw")
    with tarfile.open(tmp_path / "m.bin", "w", format=tarfile.USTAR_FORMAT) as tar:
        tar.add(tmp_path / "w.raw", "w.raw")
    source = Path(__file__).parents[1] / "e2e" / "csrc" / "converter_style.cpp"
    words = ("-c", source, "-b", tmp_path / "m.bin", "-t", HOST, "-o", tmp_path / "m.so")
    assert call(generate, *words).code == 0
    (tmp_path / "list.txt").write_text(f"{tmp_path}/x.raw\n")
    listed = ("--input_list", tmp_path / "list.txt", "--output_dir", tmp_path / "out")
    assert call(net_run, "--model", tmp_path / "m.so", "--backend", "cpu", *listed).code == 0
    assert np.fromfile(tmp_path / "out/Result_0/y.raw", np.float32).tolist() == [11, 22, 33, 44]


@pytest.mark.slow
def test_an_aarch64_library_makes_the_same_calls(call, made, tmp_path):
    """Composed on an emulated processor, by a program that writes down what it is asked for."""
    chain = find_toolchain("aarch64-ubuntu-gcc9.4")
    if isinstance(chain, NoToolchain) or shutil.which("qemu-aarch64") is None:
        pytest.skip("aarch64-linux-gnu-g++ and qemu-aarch64 are not both installed")
    words = (
        "-c",
        made / "digits.cpp",
        "-b",
        made / "digits.bin",
        "-t",
        chain.target,
        "-o",
        tmp_path / "arm.so",
    )
    assert call(generate, *words).code == 0
    recorder = Path(__file__).parents[1] / "e2e" / "csrc" / "recorder.cpp"
    flags = ["-std=gnu++17", f"-I{HEADERS}", str(recorder), "-ldl"]
    subprocess.run([chain.compiler, *flags, "-o", tmp_path / "arm"], check=True)
    subprocess.run(["g++", *flags, "-o", tmp_path / "host"], check=True)
    emulator = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
    arm = [*emulator, tmp_path / "arm", tmp_path / "arm.so", "QnnModel", "plain"]
    host = [tmp_path / "host", library(made), "QnnModel", "plain"]
    on_arm, on_host = (subprocess.run(c, check=True, capture_output=True).stdout for c in (arm, host))
    assert b"freed 0" in on_arm
    assert on_arm == on_host
