"""Hostile models and files on the command line: one message, the right exit code, nothing written."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import edgewright.abi
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.qnn_onnx_converter import main as convert
from edgewright.tools.umbrella import main as edgewright_main
from tests.cli.models import DIGITS_MODEL

HEADERS = Path(edgewright.abi.__file__).parent / "csrc"
NAMES = [
    "../../up",
    "/etc/absolute",
    'quote"; int main() {} //',
    "*/ comment end",
    "new\nline",
    "back\\slash",
    "ünï∂",
    "x" * 5000,
    "con",
    "int",
    "9digits",
    "%s%n",
    "${HOME}`id`",
    "nul\0",
    "??/",
]


def named(name):
    """Two layers in which everything has that name."""
    weights = np.ones((1, 1, 1, 1), np.float32)
    nodes = [
        h.make_node("Conv", [f"{name}_in", f"{name}_w"], [f"{name}_mid"], name=name),
        h.make_node("Relu", [f"{name}_mid"], [name], name=f"{name}_relu"),
    ]
    graph = h.make_graph(
        nodes,
        name,
        [h.make_tensor_value_info(f"{name}_in", T.FLOAT, (1, 1, 2, 2))],
        [h.make_tensor_value_info(name, T.FLOAT, (1, 1, 2, 2))],
        [onnx.numpy_helper.from_array(weights, f"{name}_w")],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=10)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_of_a_model_reach_neither_file_names_nor_source_as_they_are(call, tmp_path, name):
    inside = tmp_path / "a" / "b" / "c"
    inside.mkdir(parents=True)
    (inside / "m.onnx").write_bytes(named(name).SerializeToString())
    assert call(convert, "-i", inside / "m.onnx", "-o", inside / "m.cpp").code == 0
    np.ones((1, 2, 2, 1), np.float32).tofile(inside / "x.raw")
    (inside / "list.txt").write_text(f"{inside / 'x.raw'}\n")
    words = ("--model", inside / "m_net.json", "--backend", "cpu", "--input_list", inside / "list.txt")
    answer = call(net_run, *words, "--output_dir", inside / "out")
    assert answer.code == 0, answer.err
    made = {path.relative_to(tmp_path).parts[:3] for path in tmp_path.rglob("*") if path.is_file()}
    assert made == {("a", "b", "c")}
    (result,) = (inside / "out" / "Result_0").iterdir()
    assert all(c.isascii() and (c.isalnum() or c in "_.-") for c in result.name)
    assert len(result.name) < 256


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_the_source_of_a_model_with_such_names_compiles(call, tmp_path):
    before = ["x", *NAMES[:-1]]
    nodes = [h.make_node("Softplus", [a], [b], name=b) for a, b in zip(before, NAMES, strict=True)]
    graph = h.make_graph(
        nodes,
        "*/ #error",
        [h.make_tensor_value_info("x", T.FLOAT, (1, 2))],
        [h.make_tensor_value_info(NAMES[-1], T.FLOAT, (1, 2))],
    )
    proto = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=10)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    assert call(convert, "-i", tmp_path / "m.onnx", "-o", tmp_path / "m.cpp").code == 0
    flags = ["-std=gnu++17", "-Wall", "-Werror", "-fsyntax-only", f"-I{HEADERS}"]
    done = subprocess.run(["g++", *flags, tmp_path / "m.cpp"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def damaged(kind):
    data = DIGITS_MODEL.read_bytes()
    return {
        "empty": b"",
        "one byte": b"\x08",
        "half": data[: len(data) // 2],
        "zeros": bytes(10_000),
        "text": b"this is not a model\n" * 100,
        "flipped": data[:200] + bytes(b ^ 0xFF for b in data[200:400]) + data[400:],
        "a zip": b"PK\x03\x04" + bytes(1000),
        "a pickle": b"\x80\x04\x95" + bytes(1000),
        "ones": b"\xff" * 10_000,
    }[kind]


KINDS = ["empty", "one byte", "half", "zeros", "text", "flipped", "a zip", "a pickle", "ones"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "words",
    [
        (convert, "-i", "m.onnx", "-o", "out/m.cpp"),
        (convert, "-i", "m.onnx", "--dry_run"),
        (edgewright_main, "inspect", "m.onnx"),
        (edgewright_main, "inspect", "m.onnx", "--json"),
        (edgewright_main, "convert", "m.onnx", "-o", "out/m.cpp"),
        (edgewright_main, "run", "m.onnx", "--random", "-o", "out"),
    ],
    ids=["converter", "dry run", "inspect", "inspect json", "convert", "run"],
)
def test_a_damaged_model_is_one_message_and_nothing_is_written(call, tmp_path, monkeypatch, words, kind):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(damaged(kind))
    answer = call(*words)
    assert answer.code == 3
    assert answer.err.count("error[") == 1
    assert "m.onnx" in answer.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["m.onnx"]


@pytest.fixture
def endless(tmp_path):
    """A pipe that nobody writes to: opening it would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_pipe_or_a_device_in_place_of_a_file_is_refused(call, endless, digits, tmp_path):
    for place in (endless, Path("/dev/zero"), tmp_path):
        assert call(convert, "-i", place, "-o", tmp_path / "m.cpp").code == 3
        assert call(edgewright_main, "inspect", place).code == 3
        (tmp_path / "list.txt").write_text(f"{place}\n")
        words = ("--model", digits, "--backend", "cpu", "--output_dir", tmp_path / "out")
        assert call(net_run, *words, "--input_list", tmp_path / "list.txt").code == 3
        assert call(net_run, *words, "--input_list", place).code == 3
        assert call(net_run, "--model", place, "--backend", "cpu", "--input_list", "x").code in (2, 3)
    assert not (tmp_path / "out").exists()
