"""The encodings of a model in mixed precision are overrides that every converter takes."""

import json

import numpy as np
import pytest

import edgewright as ew
from edgewright.artifacts.encodings import write_encodings
from edgewright.frontends.conversion import Rewrites
from edgewright.ir.graph import Graph
from edgewright.quantize.mixed.calibrated import Calibrated, Widths
from edgewright.quantize.portable import list_portable_encodings
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.tools.qairt_converter import main as qairt_converter
from edgewright.tools.qairt_quantizer import main as qairt_quantizer
from edgewright.tools.qnn_onnx_converter import main as onnx_converter
from edgewright.tools.quantize_command import main as quantize
from tests.cli.models import DIGITS_MODEL
from tests.unit.quantize.nets import Engine

OUTPUT = "Plus214_Output_0"


@pytest.fixture(scope="module")
def digits():
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        return stored["images"][::25, None, None].astype(np.float32)


@pytest.fixture(scope="module")
def source() -> Graph:
    return ew.convert(DIGITS_MODEL).fixed_graph()


@pytest.fixture(scope="module")
def mixed(source, digits) -> Graph:
    """The digit classifier: the end in 16 bits, the first weights in 4, the second ones in 16."""
    feeds = [{"Input3": image} for image in digits]
    base = quantize_graph(source, QuantizationRequest(per_row=True), feeds, Engine())
    found = Calibrated(base, feeds, Engine())
    weights, groups = list(found.parts.weights), list(found.parts.groups)
    wide, small, fine = groups[2:], weights[:1], weights[1:2]
    return found.quantize(Widths(frozenset(wide), small=frozenset(small), fine=frozenset(fine))).graph


@pytest.fixture
def noise(source, digits):
    """How far a model is from the float one, in dB."""
    expected = [ew.Model.of(source).run({"Input3": image})[OUTPUT] for image in digits]
    signal = sum(np.square(array).sum() for array in expected)

    def measured(model: ew.Model) -> float:
        shape = model.inputs[0].shape
        found = [model.run({"Input3": image.reshape(shape)})[OUTPUT] for image in digits]
        gaps = [a - b for a, b in zip(expected, found, strict=True)]
        return float(10 * np.log10(sum(np.square(gap).sum() for gap in gaps) / signal))

    return measured


@pytest.fixture
def overrides(source, mixed, tmp_path):
    model = ew.convert(DIGITS_MODEL, rewrites=Rewrites(is_simplified=False))
    found = list_portable_encodings(mixed, source, model.fixed_graph(), model.source_tensors)
    path = tmp_path / "mixed.json"
    path.write_text(write_encodings(found, "0.6.1"))
    return path


@pytest.fixture
def listed(digits, tmp_path):
    for place, image in enumerate(digits):
        image.tofile(tmp_path / f"{place}.raw")
    (tmp_path / "list.txt").write_text("".join(f"{tmp_path}/{i}.raw\n" for i in range(len(digits))))
    np.savez(tmp_path / "digits.npz", Input3=digits)
    return tmp_path / "list.txt"


def legacy(call, overrides, listed):
    folder = overrides.parent
    words = ("-i", DIGITS_MODEL, "--quantization_overrides", overrides, "--input_list", listed)
    return call(onnx_converter, *words, "-o", folder / "m.cpp"), folder / "m_net.json"


def modern(call, overrides, listed):
    folder = overrides.parent
    words = ("-i", DIGITS_MODEL, "--quantization_overrides", overrides, "-o", folder / "f.dlc")
    assert call(qairt_converter, *words).code == 0
    words = ("--input_dlc", folder / "f.dlc", "--input_list", listed, "--output_dlc", folder / "m.dlc")
    return call(qairt_quantizer, *words), folder / "m.dlc"


def own(call, overrides, listed):
    folder = overrides.parent
    words = ("--data", folder / "digits.npz", "--quantization_overrides", overrides, "--act_quantizer", "tf")
    return call(quantize, DIGITS_MODEL, *words, "-o", folder / "m.dlc"), folder / "m.dlc"


@pytest.mark.parametrize("way", [legacy, modern, own])
def test_every_converter_takes_them_and_gives_values_the_same_widths(
    call, way, mixed, overrides, listed, noise
) -> None:
    answer, path = way(call, overrides, listed)
    assert answer.code == 0, answer.err
    model = ew.load(path)
    assert (
        bits_by_name(model.fixed_graph()).items()
        >= {
            "Input3": 8,
            "ReLU32_Output_0": 8,
            "ReLU114_Output_0": 16,
            OUTPUT: 16,
            "Parameter5": 4,
            "Parameter87": 16,
        }.items()
    )
    assert noise(model) == pytest.approx(noise(ew.Model.of(mixed)), abs=1.5)


def bits_by_name(graph: Graph) -> dict[str, int]:
    kinds = {graph.source_names.get(value, value): kind for value, kind in graph.types.items()}
    return {name: kind.encoding.bitwidth for name, kind in kinds.items() if kind.encoding is not None}


def test_values_that_rewrites_took_away_have_the_width_of_what_is_made_of_them(overrides) -> None:
    entries = json.loads(overrides.read_text())["activation_encodings"]
    assert entries["Convolution110_Output_0"] == [{"bitwidth": 16, "dtype": "int"}]
    assert entries["Convolution28_Output_0"][0]["bitwidth"] == 8
    assert not [name for name in entries if "_bias_" in name]
