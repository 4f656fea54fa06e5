"""Every command and snippet of a report, pasted as it is in another folder, for models of several kinds."""

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from edgewright.tools.umbrella import main as umbrella
from tests.cli.context_models import IS_NATIVE, NO_WHEEL
from tests.cli.models import DIGITS_MODEL, FLOAT, INT64

MODELS = DIGITS_MODEL.parent
# Stands for a phone that is connected: files go to a folder, commands run there.
ADB = """#!/bin/sh
word=$1; shift
phone() { printf %s "$1" | sed "s#/data/local/tmp/edgewright#$PHONE#g"; }
case $word in
push)
  for last; do :; done
  for file; do [ "$file" = "$last" ] || cp -r "$file" "$(phone "$last")" || exit 1; done ;;
pull) cp -r "$(phone "$1")" . ;;
shell) sh -c "$(phone "$*")" ;;
esac
"""


def make_odd_model(folder: Path) -> tuple[Path, Path]:
    """Inputs and outputs whose names are no identifiers; without their signs two look alike."""
    draw = np.random.default_rng(0)
    weights = {
        "w w": draw.normal(size=(4, 3, 3, 3)) * 0.3,
        "v": draw.normal(size=(4, 5)) * 0.5,
        "table": draw.normal(size=(10, 4)),
    }
    nodes = [
        helper.make_node("Conv", ["1st input/x", "w w"], ["conv.out:0"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv.out:0"], ["a.b"]),
        helper.make_node("GlobalAveragePool", ["a.b"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gather", ["table", "token ids"], ["rows"]),
        helper.make_node("ReduceMean", ["rows"], ["row"], axes=[1], keepdims=0),
        helper.make_node("Add", ["flat", "row"], ["sum"]),
        helper.make_node("MatMul", ["sum", "v"], ["a:b"]),
    ]
    graph = helper.make_graph(
        nodes,
        "odd",
        [
            helper.make_tensor_value_info("1st input/x", FLOAT, [1, 3, 8, 8]),
            helper.make_tensor_value_info("token ids", INT64, [1, 6]),
        ],
        [
            helper.make_tensor_value_info("a:b", FLOAT, [1, 5]),
            helper.make_tensor_value_info("a.b", FLOAT, [1, 4, 8, 8]),
        ],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    path, data = folder / "odd names.onnx", folder / "odd data.npz"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    arrays = {"1st input/x": draw.normal(size=(30, 3, 8, 8)), "token ids": draw.integers(0, 10, (30, 6))}
    arrays["1st input/x"] = arrays["1st input/x"].astype(np.float32)
    np.savez(data, **arrays)
    return path, data


def make_digits(folder: Path, *, is_scaled: bool) -> Path:
    """30 digits, channel last and from 0 to 1, or as they are."""
    with np.load(MODELS.parent / "data" / "digits.npz") as stored:
        images, labels = stored["images"][:30].astype(np.float32), stored["labels"][:30]
    path = folder / "digits.npz"
    np.savez(path, image=images[..., None] / 255 if is_scaled else images[:, None], labels=labels)
    return path


def build(folder: Path, model: Path, data: Path, precision: str) -> Path:
    """The folder of a build."""
    out = folder / "my build"
    words = ("build", model, "--data", data, "--target", "SM8650", "--precision", precision, "-o", out)
    assert umbrella([str(word) for word in words]) == 0
    return out


@pytest.fixture(scope="module", params=["frozen graph", "tflite", "odd names", "half precision"])
def built(request, tmp_path_factory):
    """Builds of several kinds of models."""
    folder = tmp_path_factory.mktemp("snippets")
    if request.param == "frozen graph":
        scaled = make_digits(folder, is_scaled=True)
        return build(folder, MODELS / "mnist_cnn_fakequant_frozen.pb", scaled, "w8a8")
    if request.param == "tflite":
        scaled = make_digits(folder, is_scaled=True)
        return build(folder, MODELS / "mnist_dscnn_int8.tflite", scaled, "w8a8")
    if request.param == "odd names":
        return build(folder, *make_odd_model(folder), "w8a8")
    return build(folder, MODELS / "mnist_cntk.onnx", make_digits(folder, is_scaled=False), "fp16")


@pytest.fixture
def paste(tmp_path):
    """Runs a snippet as a user would, in a folder where nothing is."""
    phone, tools, sdk = tmp_path / "phone", tmp_path / "tools", tmp_path / "sdk"
    tools.mkdir()
    (tools / "adb").write_text(ADB)
    (tools / "adb").chmod(0o755)
    for path in list_sdk_files(sdk):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#!/bin/sh\nexec qnn-net-run "$@"\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    paths = [str(tools), str(Path(sys.executable).parent), os.environ["PATH"]]
    more = {"PATH": os.pathsep.join(paths), "PHONE": str(phone), "QAIRT_SDK_ROOT": str(sdk)}

    def run(snippet: str) -> str:
        command = [sys.executable, "-c", snippet] if is_python(snippet) else ["bash", "-euc", snippet]
        done = subprocess.run(
            command,
            cwd=elsewhere,
            env=os.environ | more,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{snippet}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


def list_sdk_files(sdk: Path) -> list[Path]:
    """What a phone's recipe takes from the SDK."""
    return [
        sdk / "bin/aarch64-android/qnn-net-run",
        sdk / "lib/aarch64-android/libQnnHtp.so",
        sdk / "lib/aarch64-android/libQnnHtpV75Stub.so",
        sdk / "lib/hexagon-v75/unsigned/libQnnHtpV75Skel.so",
    ]


def list_snippets(built: Path) -> list[str]:
    """All that has a button to copy it, as a browser gives it."""
    page = (built / "report.html").read_text(encoding="utf-8")
    return [
        html.unescape(text) for text in re.findall(r'<div class="code">.*?<pre>(.*?)</pre>', page, re.DOTALL)
    ]


def is_python(snippet: str) -> bool:
    """Whether it is not for a shell."""
    return snippet.startswith(("import ", "from "))


@pytest.mark.slow
def test_every_snippet_runs_as_it_is_pasted(built, paste):
    snippets = list_snippets(built)
    assert len(snippets) >= 4
    for snippet in snippets:
        paste(snippet)


@pytest.mark.slow
@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
def test_names_are_the_same_everywhere(built, paste):
    record = json.loads((built / "report.json").read_text())
    names = {tensor["name"] for tensor in record["contract"]}
    specs = json.loads((built / "input_specs.json").read_text())
    assert names == {tensor["name"] for part in ("inputs", "outputs") for tensor in specs[part]}
    assert {item["output"] for item in record["accuracy"]} <= names
    wrapper = onnx.load(next((built / "context_binaries").glob("*_ctx.onnx")))
    assert names == {value.name for value in (*wrapper.graph.input, *wrapper.graph.output)}
    binary = built / "context_binaries" / "htp_context.bin"
    said = "qnn-context-binary-utility --json_file info.json --context_binary"
    described = json.loads(paste(f"{said} '{binary}' > /dev/null; cat info.json"))
    stored = json.dumps(described)
    assert all(f'"name": "{name}"' in stored for name in names)


@pytest.mark.slow
@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
def test_onnx_runtime_takes_the_types_of_the_source_and_gives_what_the_emulator_gives(built, paste):
    record = json.loads((built / "report.json").read_text())
    wrapper = onnx.load(next((built / "context_binaries").glob("*_ctx.onnx")))
    kinds = {
        value.name: helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type).name
        for value in (*wrapper.graph.input, *wrapper.graph.output)
    }
    expected = {"sfixed_point_8": "int8", "ufixed_point_8": "uint8"}
    for tensor in record["contract"]:
        assert kinds[tensor["name"]] == expected.get(tensor["source_dtype"], tensor["source_dtype"])
    (node,) = (node for node in wrapper.graph.node if node.op_type == "EPContext")
    overrides = {a.name: a.s.decode() for a in node.attribute}.get("io_name_overrides", "")
    renamed = {name for name in (*node.input, *node.output) if name not in kinds}
    assert {pair.split("=")[0] for pair in overrides.split(";") if pair} == renamed


@pytest.mark.slow
@pytest.mark.skipif(not IS_NATIVE, reason=NO_WHEEL)
def test_onnx_runtime_computes_what_the_emulator_computes(built, paste):
    runtime, python = (
        next(snippet for snippet in list_snippets(built) if is_python(snippet) and word in snippet)
        for word in ("onnxruntime_qnn", "edgewright")
    )
    outputs = [read_arrays(paste(snippet)) for snippet in (runtime, python)]
    assert outputs[0].keys() == outputs[1].keys()
    kinds = {t["name"]: t for t in json.loads((built / "report.json").read_text())["contract"]}
    for name, found in outputs[0].items():
        kind, values = kinds[name], found
        if "fixed_point" in kind["source_dtype"]:
            values = kind["scale"] * (found + kind["offset"])
        assert np.allclose(values, outputs[1][name], rtol=1e-3, atol=1e-3 * np.abs(values).max())


def read_arrays(text: str) -> dict[str, np.ndarray]:
    """What snippets print of arrays: a name, a shape, ten values."""
    found = re.findall(r"^(\S+) \([\d, ]*\) \[([^]]*)\]", text, re.MULTILINE)
    return {name: np.array(values.split(), float) for name, values in found}
