"""basic-pitch ships one network as ONNX, as TFLite and as a SavedModel: the results are the same."""

import numpy as np
import pytest

import edgewright as ew
from tests.e2e.packages import package

MOST = 1e-4
# What the formats call the same outputs.
OUTPUTS = {
    "onset": "StatefulPartitionedCall:2",
    "note": "StatefulPartitionedCall:1",
    "contour": "StatefulPartitionedCall:0",
}


@pytest.fixture(scope="module")
def results():
    """A tone of 440 Hz through each of the three."""
    folder = package("basic-pitch", "0.4.0") / "basic_pitch" / "saved_models" / "icassp_2022"
    tone = np.sin(2 * np.pi * 440 * np.arange(43844) / 22050).astype(np.float32).reshape(1, -1, 1)
    found = {}
    for name in ("nmp.onnx", "nmp.tflite", "nmp"):
        model = ew.convert(folder / name, batch=None if name == "nmp.tflite" else 1)
        found[name] = model.run({model.inputs[0].name: tone})
    return found


@pytest.mark.slow
@pytest.mark.parametrize("output", OUTPUTS)
def test_the_three_formats_agree(results, output):
    saved = results["nmp"][output]
    for name in ("nmp.onnx", "nmp.tflite"):
        other = results[name][OUTPUTS[output]]
        assert np.abs(other - saved).max() <= MOST * np.ptp(saved)


@pytest.mark.slow
def test_the_tone_is_found(results):
    # Notes begin at MIDI 21; 440 Hz is 69.
    assert results["nmp"]["note"].mean(axis=(0, 1)).argmax() + 21 == 69
