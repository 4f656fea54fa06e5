"""Recurrent layers of every kind on the genuine libraries: each precision, on every path that leads there."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.artifacts.model_library.toolchains import NoToolchain, find_toolchain
from edgewright.core.errors import Problems
from edgewright.core.numbers import Array
from edgewright.model.quantize import QuantizedModel
from edgewright.tools.qnn_context_binary_generator import main as generate_context
from edgewright.tools.qnn_model_lib_generator import main as generate_library
from edgewright.tools.qnn_net_run import main as net_run
from tests.native.recurrent_cases import Recurrent, cases

# How near to the float model each precision comes at least, in dB, whatever the layer.
NEAREST = {"fp16": 50.0, "w8a8": 15.0, "w8a16": 38.0}
# The emulator cuts the rest of 128 numbers that become 8 bits, instead of rounding it: half a step at most.
APART = {"fp16": 12.0, "w8a8": 9.0, "w8a16": 6.0}
CASES = list(cases())
QUICK = ("LSTM-bidirectional", "GRU-forward", "GRU-no-bias", "RNN-forward")
PATHS = ("LSTM-states-batch", "GRU-bidirectional", "RNN-forward")
HOST = "x86_64-linux-clang"


def quantize(case: Recurrent, precision: str) -> QuantizedModel:
    model = ew.convert(case.model())
    if precision == "fp16":
        return ew.quantize(model, float_bw=16)
    samples = [case.feed(seed) for seed in range(4)]
    return ew.quantize(model, samples, act_bw=16 if precision == "w8a16" else 8, act_quantizer="tf")


def measure(expected: Mapping[str, Array], found: Mapping[str, Array]) -> float:
    """The signal-to-noise ratio of all outputs together."""
    signal = sum(float(np.square(expected[name]).sum()) for name in expected)
    noise = sum(float(np.square(expected[name] - found[name]).sum()) for name in expected)
    return 10 * np.log10(signal / noise)


def check_agreement(case: Recurrent, precision: str) -> None:
    expected = ew.convert(case.model()).run(case.feed())
    quantized = quantize(case, precision)
    simulated, native = (
        measure(expected, quantized.run(case.feed(), backend=backend))
        for backend in ("htp-sim", "htp-native")
    )
    assert min(simulated, native) >= NEAREST[precision], (simulated, native)
    assert native >= simulated - APART[precision], (simulated, native)


@pytest.mark.parametrize("case", [case for case in CASES if case.id in QUICK], ids=lambda case: case.id)
def test_half_precision_is_near_the_float_model(case):
    check_agreement(case, "fp16")


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(NEAREST))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_layer_is_near_the_float_model_in_every_precision(case, precision):
    check_agreement(case, precision)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_a_network_of_one_layer_that_is_quantized_runs_in_half_precision(op):
    case = Recurrent("layer", op)
    model = ew.convert(case.model(), outputs=["y0"])
    quantized = ew.quantize(model, [case.feed(seed) for seed in range(2)], weight_bw=8, act_bw=8)
    expected = model.run(case.feed())
    for backend in ("htp-sim", "htp-native"):
        assert measure(expected, quantized.run(case.feed(), backend=backend)) >= NEAREST["fp16"]


def write_inputs(case: Recurrent, folder: Path) -> Path:
    for name, array in case.feed().items():
        array.tofile(folder / f"{name}.raw")
    listed = folder / "list.txt"
    listed.write_text(" ".join(f"{name}:={folder / name}.raw" for name in case.feed()) + "\n")
    return listed


def read_outputs(folder: Path, like: Mapping[str, Array]) -> dict[str, Array]:
    """What a run of a tool left, as arrays like others."""
    return {
        name: np.fromfile(folder / "Result_0" / f"{name}.raw", np.float32).reshape(array.shape)
        for name, array in like.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(NEAREST))
@pytest.mark.parametrize("case", [case for case in CASES if case.id in PATHS], ids=lambda case: case.id)
def test_all_paths_to_the_library_give_the_same(case, precision, tmp_path):
    quantized = quantize(case, precision)
    expected = quantized.run(case.feed(), backend="htp-native")
    dlc = quantized.save(tmp_path / "model.dlc").dlc
    found = {
        "loaded": ew.load(dlc).run(case.feed(), backend="htp-native"),
        "compiled": ew.compile(quantized, tmp_path / "compiled.bin", backend="htp-native").run(case.feed()),
    }
    listed = ["--input_list", str(write_inputs(case, tmp_path)), "--backend", "htp-native"]
    made = ["--backend", "htp-native", "--binary_file", "context", "--output_dir", str(tmp_path)]
    from_dlc = ["--model", "libQnnModelDlc.so", "--dlc_path", str(dlc)]
    assert generate_context([*from_dlc, *made]) == 0
    for name, words in {
        "dlc": from_dlc,
        "context": ["--retrieve_context", str(tmp_path / "context.bin")],
    }.items():
        assert net_run([*words, *listed, "--output_dir", str(tmp_path / name)]) == 0
        found[name] = read_outputs(tmp_path / name, expected)
    for path, outputs in found.items():
        for name, array in expected.items():
            np.testing.assert_allclose(outputs[name], array, rtol=0, atol=1e-6, err_msg=f"{path}: {name}")


@pytest.mark.skipif(isinstance(find_toolchain(HOST), NoToolchain), reason="no compiler for x86_64 Linux")
def test_a_model_library_does_not_hand_its_layers_to_the_library(tmp_path):
    (case,) = (case for case in CASES if case.id == "GRU-forward")
    quantized = quantize(case, "fp16")
    expected = quantized.run(case.feed(), backend="htp-native")
    files = quantized.save(tmp_path / "model.cpp")
    words = ["-c", str(files.cpp), "-b", str(files.bin), "-t", HOST, "-o", str(tmp_path / "libmodel.so")]
    assert generate_library(words) == 0
    listed = ["--input_list", str(write_inputs(case, tmp_path)), "--output_dir", str(tmp_path / "out")]
    assert net_run(["--model", str(tmp_path / "libmodel.so"), "--backend", "htp-native", *listed]) == 0
    found = read_outputs(tmp_path / "out", expected)
    np.testing.assert_array_equal(found["y"], expected["y"])


@pytest.mark.parametrize("backend", ["htp-sim", "htp-native"])
def test_a_layer_that_is_too_long_is_refused_with_the_remedy(backend):
    case = Recurrent("long", "GRU", layers=2, steps=401)
    with pytest.raises(Problems, match="800 steps in all, this Gru has 401 of 802"):
        quantize(case, "fp16").run(case.feed(), backend=backend)
