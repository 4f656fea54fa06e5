"""The GPU in the tools that measure, compare and evaluate."""

import json
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import UnsupportedFeature
from edgewright.tools.qnn_accuracy_debugger import main as debug
from edgewright.tools.qnn_accuracy_evaluator import main as evaluate
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.qnn_throughput_net_run import main as measure_throughput

pytestmark = pytest.mark.slow
MODEL = Path(__file__).parents[2] / "examples/models/mnist_cntk.onnx"
OUTPUT = "Plus214_Output_0"
IMAGE = np.random.default_rng(3).random((1, 1, 28, 28), np.float32)
CONFIGURATION = """\
model:
  dataset: {path: ., inputlist_file: list.txt}
  inference-engine:
    model_path: %s
    inference_schemas:
      - inference_schema: {name: onnxrt, precision: fp32, is_ref: True}
      - inference_schema: {name: qnn, backend: gpu, precision: fp32}
  evaluator:
    comparator: {type: snr}
"""


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ew.convert(MODEL).save("digits.dlc")
    IMAGE.tofile("image.raw")
    Path("list.txt").write_text("image.raw\n")


def test_throughput_counts_runs_on_the_gpu():
    thread = {"threadName": "t", "backend": "b", "context": "c", "model": "m", "loopUnit": "count", "loop": 3}
    config = {
        "backends": [{"backendName": "b", "backendPath": "libQnnGpu.so", "profilingLevel": "BASIC"}],
        "models": [{"modelName": "m", "modelPath": "digits.dlc", "inputPath": "list.txt"}],
        "contexts": [{"contextName": "c"}],
        "testCase": {"iteration": 1, "threads": [thread]},
    }
    Path("config.json").write_text(json.dumps(config))
    assert measure_throughput(["--config", "config.json", "--output", "out.json"]) == 0
    found = json.loads(Path("out.json").read_text())
    assert found["executions"] == 3
    assert found["threads"][0]["backend"].startswith("gpu")


def test_a_profile_of_a_run_has_the_ops_of_the_graph():
    options = ["--model", "digits.dlc", "--backend", "libQnnGpu.so", "--input_list", "list.txt"]
    assert net_run([*options, "--profiling_level", "detailed"]) == 0
    assert b"Convolution110" in next(Path("output").glob("qnn-profiling-data*.log")).read_bytes()


def test_times_on_a_gpu_are_no_times_of_a_simulation(capsys):
    from edgewright.tools.umbrella import main

    assert main(["profile", str(MODEL), "--backend", "gpu"]) == 0
    shown = capsys.readouterr().out
    assert "Slowest ops on gpu" in shown
    assert "simulation" not in shown


def test_the_debugger_finds_the_layers_of_a_gpu_alike():
    options = ["--model_path", str(MODEL), "--runtime", "gpu", "--input_list", "list.txt"]
    tensors = ["--input_tensor", "Input3", "1,1,28,28", "image.raw", "--output_tensor", OUTPUT]
    assert debug([*options, *tensors, "--default_verifier", "SQNR", "--working_dir", "found"]) == 0
    table = next(Path("found/verification").glob("*/summary.csv"))
    rows = {line.split(",")[0]: line for line in table.read_text().splitlines()}
    assert float(rows[OUTPUT].rsplit(",", 1)[1]) > 100


def test_op_by_op_a_gpu_computes_the_float_model_as_the_cpu_does():
    result = ew.debug(MODEL, [{"Input3": IMAGE}], backends=("cpu", "gpu"))
    (comparison,) = result.backends
    assert comparison.ops == 5
    assert not comparison.differences


def test_an_evaluation_runs_the_float_model_on_the_gpu():
    Path("config.yaml").write_text(CONFIGURATION % MODEL)
    assert evaluate(["-config", "config.yaml", "-work_dir", "done"]) == 0
    assert "gpu" in Path("done/metrics-info.csv").read_text()


def test_quantization_options_are_not_ranked_on_a_gpu():
    with pytest.raises(UnsupportedFeature, match="float models only"):
        ew.evaluate(MODEL, [{"Input3": IMAGE}], backend="gpu", folder="ranked")
    assert not Path("ranked").exists()
