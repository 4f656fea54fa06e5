"""What is no file where a file is expected, for everything that reads one: pipes, devices, links, folders."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
from onnx import helper as h

from edgewright.backends.saver.recording import CALLS
from tests.hostile.artifacts import sound
from tests.hostile.case import Case, Content
from tests.hostile.llm_cases import folder
from tests.hostile.onnx_cases import model
from tests.hostile.tool_cases import FILES

PLACE = "in/place"


def _listen(path: Path) -> None:
    """A socket; its name may be short only."""
    with socket.socket(socket.AF_UNIX) as made:
        before = Path.cwd()
        os.chdir(path.parent)
        made.bind(path.name)
        os.chdir(before)


ODD: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a device without an end": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a folder": Path.mkdir,
    "a socket": _listen,
}
QUANTIZE = ("edgewright", "quantize", "in/m.onnx", "-o", "out/m.dlc", "--data")
RUN = ("qnn-net-run", "--model", "in/m.dlc", "--backend", "cpu", "--output_dir", "out", "--input_list")
BUILD = ("edgewright", "build", "in/m.onnx", "--data", "in/x.npy", "--target", "SM8650", "-o", "out/b")
QAIRT = ("qairt-converter", "-i", "in/m.onnx", "-o", "out/m.dlc")
# Words by what is read, with {} for its path; the ending tells many readers what it is.
READERS: dict[str, tuple[str, ...]] = {
    **{
        f"a model {ending}": ("edgewright", "convert", "{}" + ending, "-o", "out/m.cpp")
        for ending in (".onnx", ".tflite", ".pb", ".pt", ".pt2")
    },
    **{
        f"a file {ending}": ("edgewright", "inspect", "{}" + ending)
        for ending in (".dlc", "_net.json", ".so", ".bin", "")
    },
    **{f"samples {ending}": (*QUANTIZE, "{}" + ending) for ending in (".npy", ".npz", ".txt", ".csv", ".wav")},
    "a model to view": ("edgewright", "view", "{}.onnx", "--export", "out/v.html"),
    "an input list": (*RUN, "{}"),
    "overrides": (*QAIRT, "--quantization_overrides", "{}"),
    "an I/O configuration": (*QAIRT, "--io_config", "{}"),
    "custom I/O": ("qnn-onnx-converter", "-i", "in/m.onnx", "-o", "out/m.cpp", "--custom_io", "{}"),
    "an op package": ("qnn-op-package-generator", "-p", "{}", "-o", "out"),
    "a log": ("qnn-profile-viewer", "--input_log", "{}", "--output", "out/p.csv"),
    "a source": ("qnn-model-lib-generator", "-c", "{}.cpp", "-o", "out"),
    "weights of a source": ("qnn-model-lib-generator", "-c", "in/m.cpp", "-b", "{}.bin", "-o", "out"),
    "a context": ("qnn-context-binary-utility", "--context_binary", "{}", "--json_file", "out/c.json"),
    "a context to run": ("qnn-net-run", "--retrieve_context", "{}", "--backend", "cpu", "--input_list", "in/list.txt", "--output_dir", "out"),
    "a context to wrap": ("edgewright", "export-ep-context", "{}", "-o", "out/m.onnx"),
    "a throughput test": ("qnn-throughput-net-run", "--config", "{}", "--output", "out/r.json"),
    "a benchmark": ("qnn-bench", "-c", "{}", "-o", "out"),
    "a check": ("qnn-quantization-checker", "--config_file", "{}", "--model", "in/m.onnx", "--input_list", "in/list.txt", "--output_dir", "out"),
    "a backend's settings": ("qnn-context-binary-generator", "--model", "in/m_net.json", "--backend", "cpu", "--binary_file", "c", "--output_dir", "out", "--config_file", "{}"),
    "an evaluation": ("qnn-accuracy-evaluator", "-config", "{}.yaml", "-work_dir", "out"),
    "a sweep": ("edgewright", "sweep", "{}.yaml", "-o", "out"),
    "labels": (*BUILD, "--labels", "{}"),
    "a metric": (*BUILD, "--metric", "{}.py:f"),
    "a GGUF file": ("edgewright", "llm", "quantize", "{}.gguf", "-o", "out/m.gguf"),
    "a text": ("edgewright", "llm", "quantize", "in/m", "--calib", "{}.txt", "-o", "out/m.gguf"),
    "tokens": ("edgewright", "llm", "quantize", "in/m", "--calib", "{}.npy", "-o", "out/m.gguf"),
    "tokens to judge by": ("edgewright", "llm", "eval", "in/m", "--text", "{}.npy"),
}  # fmt: skip
# Files that are found by other files or in folders.
INSIDE = {
    "a sound of a folder": ((*QUANTIZE, "in/data"), "in/data/a.wav"),
    "a picture of a folder": ((*QUANTIZE, "in/data"), "in/data/a.png"),
    "an array of a folder": ((*QUANTIZE, "in/data"), "in/data/a.npy"),
    "a file of a list": ((*RUN, "in/named.txt"), "in/y.raw"),
    "external data": (("edgewright", "convert", "in/outside.onnx", "-o", "out/m.cpp"), "in/w.bin"),
    "calls of a recording": (("edgewright", "replay", "in/s", "--backend", "cpu", "-o", "out"), f"in/s/{CALLS}"),
    "the record of a build": (("edgewright", "compare-builds", "in/a", "in/a", "-o", "out/c.html"), "in/a/report.json"),
}  # fmt: skip


def _make_outside() -> bytes:
    """A model with external data."""
    stored = onnx.TensorProto(name="w", dims=[4], data_type=1, data_location=1)
    stored.external_data.add(key="location", value="w.bin")
    return model([h.make_node("Add", ["x", "w"], ["y"])], weights=[stored]).SerializeToString()


def list_cases() -> Iterator[Case]:
    """Every reader with every odd thing."""
    named = {what: _fill(words) for what, words in READERS.items()}
    beside = {"in/m.cpp": sound("m.cpp"), "in/named.txt": "in/y.raw\n", "in/outside.onnx": _make_outside()}
    for what, (words, place) in {**named, **INSIDE}.items():
        checkpoint = folder() if "in/m" in words else {}
        for label, make in ODD.items():
            files: dict[str, Content] = {**FILES, **beside, **checkpoint, place: make}
            yield Case(f"{what} that is {label}", words, files, (2, 3, 4, 6))


def _fill(words: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The words with the path, and the path."""
    filled = tuple(word.format(PLACE) for word in words)
    named = next(word for word in filled if word.startswith(PLACE))
    return filled, named.partition(":")[0]


CASES = list(list_cases())
