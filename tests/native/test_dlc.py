"""Our DLCs and the genuine libraries: opened by the System library, compiled from their records."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.qnn.backend import HtpNativeBackend
from edgewright.backends.qnn.runtime import QnnRuntime
from edgewright.core.errors import BadInput, UnsupportedFeature
from edgewright.model.saving import load_graph

INPUT, OUTPUT = "Input3", "Plus214_Output_0"
FORMS = {
    "float": None,
    "w8a8": {},
    "w8a8-per-tensor": {"per_channel": False},
    "w8a16": {"act_bw": 16},
    "w4a16": {"act_bw": 16, "weight_bw": 4},
    "w4a16-blocks": {"act_bw": 16, "weight_bw": 4, "block_size": 4},
}


@pytest.fixture(scope="module")
def digits():
    images = np.load("examples/data/digits.npz")["images"][:20].astype(np.float32)
    return [{INPUT: image.reshape(1, 1, 28, 28)} for image in images]


@pytest.mark.parametrize("form", FORMS)
def test_a_dlc_is_opened_by_the_genuine_reader_and_runs_as_the_direct_build(form, digits, tmp_path):
    model = ew.convert("examples/models/mnist_cntk.onnx")
    if FORMS[form] is not None:
        model = ew.quantize(model, digits, act_quantizer="tf", **FORMS[form])
    path = model.save(tmp_path / "m.dlc").dlc
    with QnnRuntime() as runtime:
        runtime.open_dlc(path)
    stored = ew.load(path)
    for sample in digits[:3]:
        wanted = model.run(sample, backend="htp-native")[OUTPUT]
        shaped = {INPUT: sample[INPUT].reshape(stored.inputs[0].shape)}
        np.testing.assert_array_equal(stored.run(shaped, backend="htp-native")[OUTPUT], wanted)
        simulated = model.run(sample, backend="htp-sim" if FORMS[form] is not None else "cpu")[OUTPUT]
        np.testing.assert_allclose(wanted, simulated, rtol=0, atol=0.02 * np.abs(simulated).max())
    assert HtpNativeBackend().prepare(load_graph(path), RunOptions()).placement()


def test_junk_is_no_dlc_and_the_runtime_goes_on(tmp_path):
    junk = tmp_path / "junk.dlc"
    junk.write_bytes(b"no zip at all" * 50)
    with QnnRuntime() as runtime:
        with pytest.raises(BadInput, match=r"System library returned \d+ for the file, expected a DLC"):
            runtime.open_dlc(junk)
        assert runtime.is_alive
        assert "Conv2d" in runtime.operations()


def test_graphs_are_not_built_by_the_system_library_and_the_error_says_why(tmp_path):
    path = ew.convert("examples/models/mnist_cntk.onnx").save(tmp_path / "m.dlc").dlc
    with QnnRuntime() as runtime:
        with pytest.raises(UnsupportedFeature, match="QNN_SDK_VERSION"):
            runtime.compose(path)
        assert runtime.is_alive
