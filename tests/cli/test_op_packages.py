"""qnn-op-package-generator, custom ops in converters, and compiled packages in runs."""

import ctypes
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.run.op_packages import load_op_packages
from edgewright.tools.qairt_converter import main as convert_dlc
from edgewright.tools.qairt_quantizer import main as quantize_dlc
from edgewright.tools.qnn_model_lib_generator import main as generate_library
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.qnn_onnx_converter import main as convert
from edgewright.tools.qnn_op_package_generator import main as generate
from tests.cli.models import image_net
from tests.cli.op_packages import PYTHON, WOBBLE, XML, expected, wobble_net
from tests.interrupts import LineStop, Stop

X = np.float32([[0.5, -1, 0.25, 2], [1, 2, 3, 4]])
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The package generated, filled in and compiled; its library of shapes beside it."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "Strange.xml").write_text(XML)
    assert generate(["-p", str(folder / "Strange.xml"), "-o", str(folder), "-cop"]) == 0
    (folder / "Strange/src/ops/Wobble.cpp").write_text(WOBBLE)
    for place in ("Strange", "Strange/ConverterOpPackage"):
        command = [
            "make",
            "-s",
            "-C",
            str(folder / place),
            f"PYTHON={sys.executable}",
            "CXX=g++ -Wall -Werror",
        ]
        subprocess.run(command, check=True)
    X.tofile(folder / "x.raw")
    (folder / "list.txt").write_text(f"{folder}/x.raw\n")
    return folder


def cpu_library(built):
    return f"{built}/Strange/libs/x86_64-linux-clang/libStrange.so"


def shape_library(built):
    return f"{built}/Strange/ConverterOpPackage/libs/x86_64-linux-clang/libConverterOpPackage.so"


def converted(call, built, tmp_path, factor=3.0, *more):
    wobble_net(tmp_path / "m.onnx", factor)
    words = ("-opc", built / "Strange.xml", "-cpl", shape_library(built))
    answer = call(convert, "-i", tmp_path / "m.onnx", "-o", tmp_path / "m.cpp", *words, *more)
    assert answer.code == 0, answer.err
    return tmp_path / "m_net.json"


def run(call, built, tmp_path, model, *words):
    listed = ("--input_list", built / "list.txt", "--output_dir", tmp_path / "out")
    return call(net_run, "--model", model, "--backend", "cpu", *listed, *words)


def result(tmp_path):
    return np.fromfile(tmp_path / "out/Result_0/y.raw", np.float32).reshape(2, 3)


def test_a_custom_op_runs_from_its_compiled_package(call, built, tmp_path):
    model = converted(call, built, tmp_path)
    packages = f"{cpu_library(built)}:StrangeInterfaceProvider:CPU"
    answer = run(call, built, tmp_path, model, "--op_packages", packages)
    assert answer.code == 0, answer.err
    assert "'libStrange.so' is an op package: it is code" in answer.err
    assert np.allclose(result(tmp_path), expected(X), atol=1e-6)


def test_the_model_names_the_package_and_its_parameters(call, built, tmp_path):
    text = converted(call, built, tmp_path).read_text()
    assert '"package": "Strange"' in text.replace('"package":"Strange"', '"package": "Strange"')
    cpp = (tmp_path / "m.cpp").read_text()
    assert '"Strange", "Wobble"' in cpp.replace("\n", " ")
    assert '.name = "shifts"' in cpp


def test_a_custom_op_is_calibrated_and_quantized(call, built, tmp_path):
    packages = ("--op_package_lib", f"{cpu_library(built)}:StrangeInterfaceProvider")
    model = converted(call, built, tmp_path, 3.0, "--input_list", built / "list.txt", *packages)
    answer = run(call, built, tmp_path, model, "--op_packages", packages[1])
    assert answer.code == 0, answer.err
    error = np.abs(result(tmp_path) - expected(X)).max()
    assert 0 < error < 0.05


def test_a_model_library_with_a_custom_op_runs(call, built, tmp_path):
    converted(call, built, tmp_path)
    words = ("-c", tmp_path / "m.cpp", "-b", tmp_path / "m.bin", "-t", "x86_64-linux-clang")
    assert call(generate_library, *words, "-o", tmp_path / "m.so").code == 0
    packages = ("--op_packages", f"{cpu_library(built)}:StrangeInterfaceProvider")
    assert run(call, built, tmp_path, tmp_path / "m.so", *packages).code == 0
    assert np.allclose(result(tmp_path), expected(X), atol=1e-6)


def test_dlcs_hold_custom_ops_and_are_quantized(call, built, tmp_path):
    wobble_net(tmp_path / "m.onnx")
    words = ("-opc", built / "Strange.xml", "-cpl", shape_library(built))
    assert call(convert_dlc, "-i", tmp_path / "m.onnx", "-o", tmp_path / "m.dlc", *words).code == 0
    package = f"{cpu_library(built)}:StrangeInterfaceProvider"
    words = ("--input_dlc", tmp_path / "m.dlc", "--output_dlc", tmp_path / "q.dlc", "-opl", package)
    assert call(quantize_dlc, *words, "--input_list", built / "list.txt").code == 0
    assert run(call, built, tmp_path, tmp_path / "q.dlc", "--op_packages", package).code == 0
    assert np.allclose(result(tmp_path), expected(X), atol=0.05)


@pytest.mark.parametrize(
    ("factor", "words"),
    [(13.0, "thirteen is not a factor"), (14.0, "the op's function of the op package returned 8000")],
)
def test_a_package_that_fails_is_one_error_with_exit_code_7(call, built, tmp_path, factor, words):
    model = converted(call, built, tmp_path, factor)
    packages = ("--op_packages", f"{cpu_library(built)}:StrangeInterfaceProvider")
    answer = run(call, built, tmp_path, model, *packages)
    assert (answer.code, words in answer.err) == (7, True)
    assert answer.err.count("error[") == 1


def test_no_line_at_which_a_run_is_stopped_makes_a_later_answer_of_a_package_wrong(call, built, tmp_path):
    model = ew.load(converted(call, built, tmp_path))
    load_op_packages([f"{cpu_library(built)}:StrangeInterfaceProvider"])
    model.run({"x": X})
    with LineStop() as counted:
        model.run({"x": X})
    drawn = random.Random(5)
    for number in range(8):
        with pytest.raises(Stop), LineStop(drawn.randint(1, counted.count)):
            model.run({"x": X})
        other = X + np.float32(number)
        assert np.allclose(model.run({"x": other})["y"], expected(other), atol=1e-6)


def test_a_provider_that_is_not_there_says_so(call, built, tmp_path):
    model = converted(call, built, tmp_path)
    answer = run(call, built, tmp_path, model, "--op_packages", f"{cpu_library(built)}:Nobody")
    assert answer.code == 6
    assert "the library has no function 'Nobody'" in answer.err


def test_without_its_package_an_op_has_no_meaning_in_a_fresh_process(built, tmp_path, call):
    model = converted(call, built, tmp_path)
    code = "import sys; from edgewright.tools.qnn_net_run import main; sys.exit(main(sys.argv[1:]))"
    words = ["--model", str(model), "--backend", "cpu", "--input_list", str(built / "list.txt")]
    command = [sys.executable, "-c", code, *words, "--output_dir", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "op 'Wobble' of package 'Strange' has no meaning here" in done.stderr
    (tmp_path / "ops.py").write_text(PYTHON)
    done = subprocess.run(
        [*command, "--op_packages", str(tmp_path / "ops.py")], capture_output=True, check=False
    )
    assert done.returncode == 0
    assert np.allclose(result(tmp_path), expected(X), atol=1e-6)


def test_a_shape_that_nobody_tells_is_one_error(built, tmp_path, call):
    wobble_net(tmp_path / "m.onnx")
    answer = call(convert, "-i", tmp_path / "m.onnx", "-o", tmp_path / "m.cpp", "-opc", built / "Strange.xml")
    assert answer.code == 4
    assert "the shape of output 0 of op 'Wobble' is neither in the model nor told by package" in answer.err
    assert "--converter_op_package_lib" in answer.err


def test_a_package_is_not_replaced_unless_asked(call, built, tmp_path):
    words = ("-p", built / "Strange.xml", "-o", tmp_path)
    assert call(generate, *words).code == 0
    (tmp_path / "Strange/src/ops/Wobble.cpp").write_text("mine")
    again = call(generate, *words)
    assert (again.code, "exists already" in again.err) == (2, True)
    assert (tmp_path / "Strange/src/ops/Wobble.cpp").read_text() == "mine"
    assert call(generate, *words, "-f").code == 0
    assert "REGISTER_OP" in (tmp_path / "Strange/src/ops/Wobble.cpp").read_text()


def test_a_folder_that_is_no_package_is_never_removed(call, built, tmp_path):
    (tmp_path / "Strange").mkdir()
    (tmp_path / "Strange/thesis.txt").write_text("years of work")
    answer = call(generate, "-p", built / "Strange.xml", "-o", tmp_path, "-f")
    assert (answer.code, "is not a generated op package" in answer.err) == (2, True)
    assert (tmp_path / "Strange/thesis.txt").exists()


def test_a_package_for_cpu_and_htp_has_a_folder_for_each(call, built, tmp_path):
    both = XML.replace("</SupportedBackend>", "</SupportedBackend><SupportedBackend>HTP</SupportedBackend>")
    (tmp_path / "both.xml").write_text(both)
    assert call(generate, "-p", tmp_path / "both.xml", "-o", tmp_path).code == 0
    htp = (tmp_path / "StrangeHtp/src/ops/Wobble.cpp").read_text()
    assert "GraphStatus wobbleImpl(TensorType& out, const TensorType& in_0, const Tensor& factor" in htp
    assert 'DEF_PACKAGE_PARAM_ORDER("Wobble",' in htp
    assert (tmp_path / "StrangeCpu/Makefile").exists()


def test_packages_for_gpu_and_dsp_build_as_frames_with_both_names_of_their_provider(call, built, tmp_path):
    words = "".join(f"<SupportedBackend>{name}</SupportedBackend>" for name in ("GPU", "DSP", "HTP"))
    (tmp_path / "all.xml").write_text(XML.replace("</SupportedBackend>", f"</SupportedBackend>{words}"))
    answer = call(generate, "-p", tmp_path / "all.xml", "-o", tmp_path, "-cop")
    assert answer.code == 0, answer.err
    named = re.findall(r"next: fill in (\S+), then run make there", answer.out)
    assert sorted(Path(folder).name for folder in named) == [
        "Strange",
        "StrangeCpu",
        "StrangeDsp",
        "StrangeGpu",
        "StrangeHtp",
    ]
    assert all((Path(folder) / "Makefile").is_file() for folder in named)
    assert "__kernel void wobble(" in (tmp_path / "StrangeGpu/src/ops/Wobble.cpp").read_text()
    make = ["make", "-s", "-C", tmp_path / "StrangeGpu", f"PYTHON={sys.executable}"]
    subprocess.run(make, check=True, capture_output=True, text=True)
    (library,) = (tmp_path / "StrangeGpu").rglob("libStrange.so")
    loaded = ctypes.CDLL(str(library))
    assert all(hasattr(loaded, f"Strange{word}InterfaceProvider") for word in ("", "GPU"))
    # The frame for the DSP has nothing of Hexagon in it: this machine's compiler builds it, too.
    make = [
        "make",
        "-s",
        "-C",
        tmp_path / "StrangeDsp",
        f"PYTHON={sys.executable}",
        "HEXAGON_FLAGS=-Wall -Werror",
    ]
    subprocess.run([*make, "HEXAGON_CXX=g++"], check=True, capture_output=True, text=True)
    (library,) = (tmp_path / "StrangeDsp").rglob("libStrange.so")
    loaded = ctypes.CDLL(str(library))
    assert all(hasattr(loaded, f"Strange{word}InterfaceProvider") for word in ("", "DSP"))
    assert "StrangeHTPInterfaceProvider" in (tmp_path / "StrangeHtp/src/StrangeInterface.cpp").read_text()


@pytest.mark.parametrize(
    ("backend", "goal", "missing"),
    [
        ("Htp", "all", ("QNN_SDK_ROOT", "HTP/core", "X86_CXX", "libnative", "HEXAGON_CXX")),
        ("Htp", "htp_device", ("QNN_SDK_ROOT", "HTP/core", "HEXAGON_CXX")),
        ("Dsp", "all", ("HEXAGON_CXX",)),
    ],
)
def test_a_build_says_all_that_this_machine_lacks_for_it(call, tmp_path, backend, goal, missing):
    words = "".join(f"<SupportedBackend>{name}</SupportedBackend>" for name in ("HTP", "DSP"))
    (tmp_path / "two.xml").write_text(XML.replace("<SupportedBackend>CPU</SupportedBackend>", words))
    assert call(generate, "-p", tmp_path / "two.xml", "-o", tmp_path).code == 0
    # As on a machine without either SDK, but with a tree of our own.
    given = [
        f"QNN_SDK_ROOT={tmp_path}",
        "HEXAGON_SDK_ROOT=",
        "X86_CXX=no-such-clang",
        f"PYTHON={sys.executable}",
    ]
    make = ["make", "-C", tmp_path / f"Strange{backend}", *given]
    done = subprocess.run([*make, goal], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert all(word in done.stderr for word in missing), done.stderr
    assert ("X86_CXX" in done.stderr) == ("X86_CXX" in missing)
    assert subprocess.run([*make, "clean"], capture_output=True, check=False).returncode == 0


def test_text_of_the_xml_cannot_leave_its_comment(call, built, tmp_path):
    assert call(generate, "-p", built / "Strange.xml", "-o", tmp_path).code == 0
    source = (tmp_path / "Strange/src/ops/Wobble.cpp").read_text()
    assert "*/ #error" not in source


def test_a_package_may_make_ops_of_qnn_itself(call, tmp_path):
    own = XML.replace("<Name>Wobble</Name>", "<Name>Relu</Name>")
    own = own.replace(
        "<SupportedBackend>", "<UseDefaultTranslation>true</UseDefaultTranslation><SupportedBackend>"
    )
    (tmp_path / "own.xml").write_text(own)
    image_net(tmp_path / "m.onnx")
    words = ("-i", tmp_path / "m.onnx", "-o", tmp_path / "m.cpp", "-opc", tmp_path / "own.xml")
    assert call(convert, *words).code == 0
    source = " ".join((tmp_path / "m.cpp").read_text().split())
    assert '"Strange", "Relu"' in source
    assert '"qti.aisw", "Conv2d"' in source
    (tmp_path / "own.xml").write_text(own.replace("<Name>Relu</Name>", "<Name>Rellu</Name>"))
    answer = call(convert, *words)
    assert (answer.code, "QNN has no op of that name" in answer.err) == (3, True)


def test_after_a_crash_the_package_is_started_again(call, built, tmp_path):
    packages = ("--op_packages", f"{cpu_library(built)}:StrangeInterfaceProvider")
    bad = converted(call, built, tmp_path, 13.0)
    assert run(call, built, tmp_path, bad, *packages).code == 7
    good = converted(call, built, tmp_path, 3.0)
    assert run(call, built, tmp_path, good, *packages).code == 0
    assert np.allclose(result(tmp_path), expected(X), atol=1e-6)


def test_a_described_op_that_the_model_lacks_is_warned_of(call, built, tmp_path):
    image_net(tmp_path / "m.onnx")
    words = ("-i", tmp_path / "m.onnx", "-o", tmp_path / "m.cpp", "-opc", built / "Strange.xml")
    answer = call(convert, *words)
    assert answer.code == 0
    assert "op 'Wobble' of package 'Strange' was not found in the model" in answer.err
    assert "was not found" not in call(convert, *words[:4]).err


def test_a_package_for_htp_that_is_not_there_is_an_error(call, built, tmp_path):
    model = converted(call, built, tmp_path)
    answer = run(call, built, tmp_path, model, "--op_packages", "nope.so:X:HTP")
    assert (answer.code, "file 'nope.so' does not exist" in answer.err) == (3, True)
