"""Encodings are listed, ignored, kept as nodes and used alone by every converter."""

import json

import numpy as np
import onnxruntime
import pytest

import edgewright as ew
from edgewright.core.numbers import DType
from edgewright.tools.qairt_converter import main as qairt_converter
from edgewright.tools.qairt_quantizer import main as qairt_quantizer
from edgewright.tools.qnn_onnx_converter import main as onnx_converter
from tests.cli.models import DIGITS_MODEL

OUTPUT = "Plus214_Output_0"


@pytest.fixture(scope="module")
def digits():
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        return stored["images"][::25, None].astype(np.float32)


@pytest.fixture(scope="module")
def trained(digits, tmp_path_factory):
    """The digit classifier with QuantizeLinear and DequantizeLinear in it."""
    folder = tmp_path_factory.mktemp("trained")
    return ew.quantize(DIGITS_MODEL, digits, act_quantizer="tf").save(folder / "trained.onnx").onnx


@pytest.fixture
def overrides(tmp_path):
    entries = {"Input3": [{"bitwidth": 8, "min": 0.0, "max": 510.0}]}
    (tmp_path / "o.json").write_text(json.dumps({"activation_encodings": entries, "param_encodings": {}}))
    return tmp_path / "o.json"


def listed(path):
    document = json.loads(path.read_text())
    return {
        entry["name"]: entry for kind in ("activation", "param") for entry in document[f"{kind}_encodings"]
    }


def wanted(path, digits):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, {"Input3": image[None]})[0] for image in digits])


def found(path, digits, backend="cpu"):
    model = ew.load(path)
    shape = model.inputs[0].shape
    feeds = [{"Input3": image.reshape(shape)} for image in digits]
    return np.concatenate([model.run(feed, backend=backend)[OUTPUT] for feed in feeds])


def test_the_legacy_converter_lists_encodings(call, trained, tmp_path):
    words = ("-o", tmp_path / "m.cpp", "--float_fallback", "--dump_encoding_json")
    answer = call(onnx_converter, "-i", trained, *words)
    assert (answer.code, f"wrote {tmp_path / 'm_encoding.json'}" in answer.out) == (0, True)
    assert listed(tmp_path / "m_encoding.json")["Input3"]["scale"] == pytest.approx([1.0], rel=1e-3)


def test_what_the_legacy_converter_lists_gives_the_same_model_as_overrides(call, digits, tmp_path):
    digits[3].tofile(tmp_path / "0.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path}/0.raw\n")
    # With overrides a converter leaves the optional rewrites out (guide 10562): the same graph needs -n here.
    words = ("--input_list", tmp_path / "list.txt", "--dump_encoding_json", "-n", "-o", tmp_path / "a.cpp")
    assert call(onnx_converter, "-i", DIGITS_MODEL, *words).code == 0
    again = ("--quantization_overrides", tmp_path / "a_encoding.json", "-o", tmp_path / "b.cpp")
    answer = call(onnx_converter, "-i", DIGITS_MODEL, *again)
    assert (answer.code, " 0 calibrated, 0 ignored" in answer.out) == (0, True)
    assert (tmp_path / "a.bin").read_bytes() == (tmp_path / "b.bin").read_bytes()
    first, second = (ew.load(tmp_path / f"{name}_net.json") for name in "ab")
    assert first.encodings() == second.encodings()


def test_without_quantization_a_listing_is_idle_and_that_is_said(call, trained, tmp_path):
    answer = call(onnx_converter, "-i", trained, "-o", tmp_path / "m.cpp", "--dump_encoding_json")
    assert (answer.code, "have no effect: --dump_encoding_json" in answer.err) == (0, True)
    assert not (tmp_path / "m_encoding.json").exists()


def test_qairt_lists_what_it_keeps(call, trained, overrides, tmp_path):
    words = ("-o", tmp_path / "m.dlc", "--quantization_overrides", overrides, "--dump_encoding_json")
    assert call(qairt_converter, "-i", trained, *words).code == 0
    entries = listed(tmp_path / "m_encoding.json")
    assert entries["Input3"]["scale"] == pytest.approx([2.0])
    assert len(entries) > 5


def test_qairt_ignores_encodings_where_asked(call, trained, tmp_path):
    words = ("-o", tmp_path / "m.dlc", "--ignore_encodings", "--dump_encoding_json")
    answer = call(qairt_converter, "-i", trained, *words)
    assert (answer.code, "are kept" in answer.out) == (0, False)
    assert listed(tmp_path / "m_encoding.json") == {}
    answer = call(qairt_quantizer, "--input_dlc", tmp_path / "m.dlc", "--float_fallback")
    assert "the DLC keeps no encodings: everything stays in floating point" in answer.out


def test_qairt_keeps_the_nodes_of_activations_where_asked(call, trained, digits, tmp_path):
    assert call(qairt_converter, "-i", trained, "-o", tmp_path / "m.dlc", "--keep_quant_nodes").code == 0
    graph = ew.load(tmp_path / "m.dlc").graph
    kinds = [node.op.qnn_name() for node in graph.nodes]
    assert kinds.count("Quantize") == kinds.count("Dequantize") > 2
    want = wanted(trained, digits)
    step = (want.max() - want.min()) / 255
    assert np.abs(found(tmp_path / "m.dlc", digits) - want).max() <= 1.5 * step


def test_a_dlc_with_the_nodes_of_activations_is_quantized_all_the_same(call, trained, digits, tmp_path):
    assert call(qairt_converter, "-i", trained, "-o", tmp_path / "m.dlc", "--keep_quant_nodes").code == 0
    digits[0].transpose(1, 2, 0).tofile(tmp_path / "0.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path}/0.raw\n")
    words = ("--input_list", tmp_path / "list.txt", "--bias_bitwidth", 32)
    answer = call(qairt_quantizer, "--input_dlc", tmp_path / "m.dlc", *words)
    assert answer.code == 0, answer.err
    assert "Quantize" in [n.op.qnn_name() for n in ew.load(tmp_path / "m.quantized.dlc").graph.nodes]


def test_qairt_quantizes_at_once_from_the_encodings_of_the_model(call, trained, digits, tmp_path):
    answer = call(qairt_converter, "-i", trained, "-o", tmp_path / "m.dlc", "--float_fallback")
    assert (answer.code, " from the model" in answer.out) == (0, True)
    assert f"wrote {tmp_path / 'm.dlc'}" in answer.out
    assert "float32 1,1,28,28" in answer.out
    graph = ew.load(tmp_path / "m.dlc").graph
    assert graph.types["Input3"].dtype == DType.UFIXED_POINT_8
    agreed = found(tmp_path / "m.dlc", digits).argmax(-1) == wanted(trained, digits).argmax(-1)
    assert agreed.all()


def test_converting_and_quantizing_at_once_is_the_same_as_one_after_the_other(call, trained, tmp_path):
    (tmp_path / "once").mkdir()
    words = ("--float_fallback", "--dump_encoding_json")
    assert call(qairt_converter, "-i", trained, "-o", tmp_path / "once" / "m.dlc", *words).code == 0
    assert call(qairt_converter, "-i", trained, "-o", tmp_path / "m.dlc").code == 0
    assert call(qairt_quantizer, "--input_dlc", tmp_path / "m.dlc", *words).code == 0
    once, twice = (ew.load(tmp_path / name) for name in ("once/m.dlc", "m.quantized.dlc"))
    assert once.encodings() == twice.encodings()
    for name, array in once.graph.constants.items():
        np.testing.assert_array_equal(array, twice.graph.constants[name])
    listings = [tmp_path / name for name in ("once/m_encoding.json", "m.quantized_encoding.json")]
    assert listings[0].read_bytes() == listings[1].read_bytes()


def test_qairt_quantizes_at_once_from_overrides(call, overrides, tmp_path):
    words = ("-o", tmp_path / "m.dlc", "--float_fallback", "--quantization_overrides", overrides)
    answer = call(qairt_converter, "-i", DIGITS_MODEL, *words)
    assert (answer.code, "encodings: 2 from the file" in answer.out) == (0, True)
    graph = ew.load(tmp_path / "m.dlc").graph
    assert graph.types["Input3"].encoding.scales[0] == pytest.approx(2.0)
    assert graph.types[OUTPUT].dtype == DType.FLOAT_32


def test_what_stays_float_may_be_half(call, overrides, tmp_path):
    words = ("--float_fallback", "--quantization_overrides", overrides, "--float_bitwidth", 16)
    assert call(qairt_converter, "-i", DIGITS_MODEL, "-o", tmp_path / "m.dlc", *words).code == 0
    dtypes = {t.dtype for t in ew.load(tmp_path / "m.dlc").graph.types.values()}
    assert DType.FLOAT_16 in dtypes
    assert DType.FLOAT_32 not in dtypes


@pytest.mark.parametrize("tool", [onnx_converter, qairt_converter])
@pytest.mark.parametrize("other", ["--quantization_overrides", "--float_fallback"])
def test_ignoring_encodings_goes_with_nothing_that_uses_them(call, tool, other, overrides):
    words = (other, overrides) if "overrides" in other else (other,)
    answer = call(tool, "-i", DIGITS_MODEL, "--ignore_encodings", *words)
    assert answer.code == 2
    assert f"options '--ignore_encodings' and '{other}' were given together" in answer.err
