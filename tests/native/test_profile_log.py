"""Logs that the genuine System library writes: what we read of one is what its CSV says."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.artifacts.profile_log.reader import read_log

pytest.importorskip("onnxruntime_qnn", reason="the wheel onnxruntime-qnn is not installed")

MODEL = Path(__file__).parents[2] / "examples" / "models" / "mnist_cntk.onnx"
RUN = """
import sys
import numpy as np
import onnxruntime, onnxruntime_qnn
name = "QNNExecutionProvider"
onnxruntime.register_execution_provider_library(name, onnxruntime_qnn.get_library_path())
devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == name]
wishes = {"backend_path": onnxruntime_qnn.get_qnn_htp_path()}
wishes |= {"profiling_level": sys.argv[2], "profiling_file_path": sys.argv[3]}
options = onnxruntime.SessionOptions()
options.add_provider_for_devices(devices[:1], wishes)
session = onnxruntime.InferenceSession(sys.argv[1], options)
feed = {session.get_inputs()[0].name: np.ones((1, 1, 28, 28), np.float32)}
for _ in range(3):
    session.run(None, feed)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("qdq") / "model.onnx"
    generator = np.random.default_rng(0)
    data = [{"Input3": generator.random((1, 1, 28, 28), np.float32) * 255} for _ in range(3)]
    ew.quantize(MODEL, data, act_quantizer="tf").save(path)
    return path


@pytest.mark.parametrize("level", [pytest.param("basic", marks=pytest.mark.slow), "detailed"])
def test_a_log_of_the_provider_says_what_its_csv_says(model, tmp_path, level):
    file = tmp_path / "profile.csv"
    subprocess.run(
        [sys.executable, "-c", RUN, model, level, file], check=True, capture_output=True, timeout=300
    )
    from_log, from_csv = read_log(tmp_path / "profile_qnn.log"), read_log(file)
    told = [(e.message, e.time, e.unit, e.level, e.identifier) for e in from_log.events]
    assert told == [(e.message, e.time, e.unit, e.level, e.identifier) for e in from_csv.events]
    assert from_log.inferences == 3
    assert from_log.origin == "qnn"
    assert any(event.message == "NODE" for event in from_log.events) == (level == "detailed")
