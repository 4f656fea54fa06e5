"""The guide's workflow, command by command, for three real models: every artifact computes the same."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.tools import (
    qnn_context_binary_generator,
    qnn_context_binary_utility,
    qnn_model_lib_generator,
    qnn_net_run,
    qnn_onnx_converter,
    qnn_profile_viewer,
    qnn_tensorflow_converter,
    qnn_tflite_converter,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("g++") or shutil.which("clang++")),
        reason="no C++ compiler: install g++ or clang++",
    ),
]

ROOT = Path(__file__).parents[2]
TARGET = "x86_64-linux-clang"
SAMPLES = 8


@dataclass(frozen=True)
class Case:
    """A model, how it is converted, and what its pixels are."""

    name: str
    converter: object
    file: str
    words: tuple[str, ...]
    scale: float


CASES = (
    Case("onnx", qnn_onnx_converter, "mnist_cntk.onnx", ("--input_list", "list.txt"), 1.0),
    Case(
        "tensorflow",
        qnn_tensorflow_converter,
        "mnist_cnn_fakequant_frozen.pb",
        ("--float_fallback",),
        1 / 255,
    ),
    Case("tflite", qnn_tflite_converter, "mnist_dscnn_int8.tflite", (), 1 / 255),
)


def done(tool, *words):
    assert tool.main([str(word) for word in words]) == 0, words


def ran(folder, *words, backend):
    """The results of all samples, as bytes by file name."""
    done(qnn_net_run, *words, "--backend", backend, "--input_list", "list.txt", "--output_dir", folder)
    files = sorted(Path(folder).glob("Result_*/*.raw"))
    assert len(files) >= SAMPLES
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def converted(request, tmp_path, monkeypatch):
    """A folder with model.cpp, model.bin, model_net.json, the library of it and its DLC."""
    case = request.param
    monkeypatch.chdir(tmp_path)
    source = ROOT / "examples" / "models" / case.file
    images = np.load(ROOT / "examples" / "data" / "digits.npz")["images"][:SAMPLES]
    for number, image in enumerate(images):
        (image.astype(np.float32) * np.float32(case.scale)).tofile(f"{number}.raw")
    Path("list.txt").write_text("".join(f"{number}.raw\n" for number in range(SAMPLES)))
    done(case.converter, "--input_network", source, "--output_path", "model.cpp", *case.words)
    words = ("-c", "model.cpp", "-b", "model.bin", "-t", TARGET, "-l", "model", "-o", "libs")
    done(qnn_model_lib_generator, *words)
    ew.load("model_net.json").save("model.dlc")
    return case


@pytest.mark.parametrize("backend", ["libQnnCpu.so", "libQnnHtp.so"])
def test_library_net_json_dlc_and_context_binary_compute_the_same(converted, backend):
    library = f"libs/{TARGET}/libmodel.so"
    wanted = ran("from_library", "--model", library, backend=backend)
    assert ran("from_json", "--model", "model_net.json", backend=backend) == wanted
    dlc = ("--model", "libQnnModelDlc.so", "--dlc_path", "model.dlc")
    assert ran("from_dlc", *dlc, backend=backend) == wanted
    words = ("--model", library, "--backend", backend, "--binary_file", "context", "--output_dir", "binary")
    done(qnn_context_binary_generator, *words)
    done(
        qnn_context_binary_utility,
        "--context_binary",
        "binary/context.bin",
        "--json_file",
        "binary/context.json",
    )
    assert ran("from_context", "--retrieve_context", "binary/context.bin", backend=backend) == wanted


def test_the_profile_of_a_run_from_the_binary_is_shown(converted, capsys):
    words = ("--model", f"libs/{TARGET}/libmodel.so", "--backend", "libQnnHtp.so", "--binary_file", "context")
    done(qnn_context_binary_generator, *words)
    words = ("--retrieve_context", "output/context.bin", "--profiling_level", "detailed")
    ran("profiled", *words, backend="libQnnHtp.so")
    capsys.readouterr()
    log = "profiled/qnn-profiling-data_0.log"
    done(qnn_profile_viewer, "--input_log", log, "--output", "profile.csv")
    text = capsys.readouterr().out
    assert "Execute Stats (Average):" in text
    assert ":OpId_" in text
    assert Path("profile.csv").read_text().count("EXECUTE") >= SAMPLES


def test_most_digits_are_recognised(converted):
    labels = np.load(ROOT / "examples" / "data" / "digits.npz")["labels"][:SAMPLES]
    ran("out", "--model", f"libs/{TARGET}/libmodel.so", backend="libQnnHtp.so")
    found = [
        np.fromfile(next(Path(f"out/Result_{n}").glob("*.raw")), np.float32).argmax() for n in range(SAMPLES)
    ]
    assert sum(a == b for a, b in zip(found, labels, strict=True)) >= SAMPLES - 1
