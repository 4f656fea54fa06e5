"""Every kind of file opens, and one that does not says why."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

import edgewright as ew
from edgewright.abi.libraries import find_libraries
from edgewright.core.errors import BadInput, EdgewrightError
from edgewright.view.document import make_document
from edgewright.view.open_view import open_view
from edgewright.view.viewer import list_folder
from tests.optional import NEEDS_TORCH
from tests.unit.view.sample_models import save_convolution


@pytest.fixture(scope="module")
def quantized(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_convolution(folder / "small.onnx")
    data = np.random.default_rng(0).standard_normal((4, 1, 3, 8, 8)).astype(np.float32)
    return ew.quantize(folder / "small.onnx", data)


def list_types(model):
    return [node["type"] for node in make_document(model)["graphs"][0]["nodes"]]


@pytest.mark.parametrize("suffix", [".cpp", ".bin"])
def test_a_source_and_its_weights_are_shown_by_the_json_beside_them(quantized, tmp_path, suffix):
    files = quantized.save(tmp_path / "small.cpp")
    model = open_view(files.cpp.with_suffix(suffix))
    assert (model.title, model.format) == ("small_net.json", "QNN net.json")


@pytest.mark.parametrize("backend", ["htp-sim", "htp-native"])
def test_a_context_shows_its_graphs_as_far_as_the_file_tells(quantized, tmp_path, backend):
    if backend == "htp-native" and find_libraries() is None:
        pytest.skip("the wheel onnxruntime-qnn is not installed")
    ew.compile(quantized, tmp_path / "small.bin", target="SM8650", backend=backend)
    model = open_view(tmp_path / "small.bin")
    types = list_types(model)
    assert types[0] == "Input"
    assert types[-1] == "Output"
    assert ("Conv2d" if backend == "htp-sim" else "Compiled graph") in types


def test_encodings_are_boxes_without_lines(quantized, tmp_path):
    (tmp_path / "small.encodings").write_text(json.dumps(quantized.encodings()))
    model = open_view(tmp_path / "small.encodings")
    assert model.format == "encodings"
    assert {"Activation", "Parameter"} <= set(list_types(model))
    assert model.graphs[0].tensors["weights"].encoding is not None


def test_a_build_folder_is_its_model_coloured_by_the_report(quantized, tmp_path):
    quantized.save(tmp_path / "small.dlc")
    graph = open_view(tmp_path / "small.dlc").graphs[0]
    node = next(node for node in graph.nodes if node.type == "Conv2d")
    layer = {"tensor": node.outputs[0], "source": "?", "sim_db": 31.5, "own_db": None, "emulator_db": "x"}
    report = {"artifacts": [{"path": "small.dlc"}], "layers": [layer, 3], "target": "SM8650", "verdict": []}
    (tmp_path / "report.json").write_text(json.dumps(report))
    model = open_view(tmp_path)
    (overlay,) = model.overlays[graph.name]
    assert (overlay.key, overlay.values, overlay.is_low_worse) == ("sqnr", {node.name: 31.5}, True)
    assert ("target", "SM8650") in model.facts
    assert make_document(model)["graphs"][0]["overlayAtFirst"] == 0


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ("[]", "not an object"),
        ("{", "not JSON"),
        ("{}", "no DLC"),
        ('{"artifacts": [{"path": "../x.dlc"}]}', r"'\.\.'"),
        ('{"artifacts": [{"path": "/etc/x.dlc"}]}', "absolute"),
    ],
)
def test_a_report_is_not_trusted(tmp_path, report, message):
    (tmp_path / "report.json").write_text(report)
    with pytest.raises(EdgewrightError, match=message):
        open_view(tmp_path)


@pytest.mark.parametrize("marks", [pytest.param(0, marks=NEEDS_TORCH)])
def test_a_program_of_pytorch_is_shown_with_its_own_ops(tmp_path, marks):
    import torch

    from edgewright.frontends._common.input_spec import InputSpec

    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval()
    torch.jit.trace(module, torch.zeros(1, 4)).save(tmp_path / "small.pt")
    model = open_view(tmp_path / "small.pt", InputSpec(input_shapes={"input": (1, 4)}))
    assert any("linear" in kind for kind in list_types(model)), marks


def test_a_folder_offers_its_models_and_opens_none(tmp_path):
    (tmp_path / "broken.dlc").write_bytes(b"nothing")
    (tmp_path / "notes.txt").write_text("no model")
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "report.json").write_text("{}")
    (tmp_path / "notes").mkdir()
    openers = list_folder(tmp_path)
    assert list(openers) == ["broken.dlc", "built"]
    with pytest.raises(EdgewrightError):
        openers["broken.dlc"]()
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="holds no model"):
        list_folder(tmp_path / "empty")
    with pytest.raises(BadInput, match="no folder"):
        list_folder(tmp_path / "missing")


@pytest.mark.skipif(sys.platform != "linux", reason="signals of POSIX")
@pytest.mark.parametrize("module", ["umbrella", "qnn_netron"])
def test_the_commands_serve_a_page_until_they_are_stopped(tmp_path, module):
    save_convolution(tmp_path / "small.onnx")
    words = ["view", str(tmp_path / "small.onnx")] if module == "umbrella" else ["-w", str(tmp_path)]
    code = f"import sys; from edgewright.tools.{module} import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *words, "--no_browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        address = process.stdout.readline().split()[4]
        with urllib.request.urlopen(f"{address}api/models", timeout=20) as answer:
            assert json.load(answer)["models"] == [{"title": "small.onnx"}]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 128 + signal.SIGINT
