"""Which file a name stands for, and that no file of one kind is written over one of another."""

import shutil
from pathlib import Path

import pytest

import edgewright as ew
from edgewright.core.errors import UsageError
from edgewright.model.saving import choose_format
from tests.cli.models import DIGITS_MODEL


@pytest.fixture(scope="module")
def model():
    return ew.convert(DIGITS_MODEL)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("m.dlc", None, ("dlc", "m.dlc")),
        ("m.qdq.onnx", None, ("onnx", "m.qdq.onnx")),
        ("m_net.json", None, ("cpp", "m_net.json")),
        ("m", None, ("cpp", "m")),
        ("m", "dlc", ("dlc", "m.dlc")),
        ("m.v2", "onnx", ("onnx", "m.v2.onnx")),
        ("m.onnx", "onnx", ("onnx", "m.onnx")),
        ("m.bin", "cpp", ("cpp", "m.bin")),
        ("m.bin", "dlc", ("dlc", "m.bin.dlc")),
    ],
)
def test_the_suffix_says_the_format_unless_it_is_given(name, given, expected):
    assert choose_format(Path(name), given) == (expected[0], Path(expected[1]))


@pytest.mark.parametrize(
    ("name", "given", "text", "advice"),
    [
        ("m.bin", None, "may be the weights of a C++ source or a context", "name it m.cpp for the source"),
        ("m.DLC", None, "the suffix '.DLC', expected .dlc, .onnx or .cpp", "format='dlc'"),
        ("m.tflite", None, "the suffix '.tflite'", "format='dlc'"),
        ("m.onnx", "dlc", "format dlc under the suffix of onnx", "name it m.dlc"),
        ("m.bin", "context", "is compiled for a chip", "edgewright.compile(model, 'm.bin', target="),
        ("m.dlc", "qdq", "format is 'qdq', expected one of: dlc, onnx, cpp, context", ""),
    ],
)
def test_a_name_that_says_nothing_or_two_things_is_refused(model, tmp_path, name, given, text, advice):
    with pytest.raises(UsageError) as refusal:
        model.save(tmp_path / name, format=given)
    assert text in refusal.value.what
    assert advice.partition("'m.bin'")[0] in refusal.value.do
    assert not list(tmp_path.iterdir())


def test_weights_and_a_context_of_one_name_do_not_replace_each_other(model, tmp_path):
    model.save(tmp_path / "q.cpp")
    weights = (tmp_path / "q.bin").read_bytes()
    with pytest.raises(UsageError, match=r"q.bin' would be overwritten, it is not a context binary but"):
        ew.compile(model, tmp_path / "q.bin", backend="cpu")
    assert (tmp_path / "q.bin").read_bytes() == weights
    ew.compile(model, tmp_path / "c.bin", backend="cpu")
    ew.compile(model, tmp_path / "c.bin", backend="cpu")
    shutil.copy(tmp_path / "q_net.json", tmp_path / "c_net.json")
    with pytest.raises(UsageError, match=r"it is not the weights file of a converted model but a context"):
        model.save(tmp_path / "c.cpp")


@pytest.mark.parametrize("name", ["m.dlc", "m.onnx", "m.cpp"])
def test_a_file_is_replaced_by_one_of_its_own_kind_only(model, tmp_path, name):
    path = tmp_path / name
    path.write_text("notes of mine")
    with pytest.raises(UsageError, match=r"it is not .* but text"):
        model.save(path)
    assert path.read_text() == "notes of mine"
    path.unlink()
    model.save(path)
    model.save(path)


def test_the_source_model_is_not_written_over(tmp_path):
    path = Path(shutil.copy(DIGITS_MODEL, tmp_path / "m.onnx"))
    with pytest.raises(UsageError, match="it is not an ONNX model that Edgewright wrote"):
        ew.convert(path).save(path)
    assert path.read_bytes() == DIGITS_MODEL.read_bytes()


@pytest.mark.parametrize("name", ["m.dlc", "m.onnx", "m.cpp", "m.json"])
def test_a_context_gets_no_suffix_of_another_kind(model, tmp_path, name):
    with pytest.raises(UsageError, match=r"expected \.bin for a context binary"):
        ew.compile(model, tmp_path / name, backend="cpu")
