"""The document of a model: every node and tensor, in plain JSON, whatever the file."""

import json
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, EdgewrightError
from edgewright.ir.encodings import Encoding
from edgewright.view.document import make_document
from edgewright.view.histograms import BINS, summarise
from edgewright.view.open_view import open_view
from edgewright.view.records import ViewTensor
from tests.unit.view.sample_models import HOSTILE, save_chain, save_convolution

EXAMPLES = Path(__file__).parents[3] / "examples" / "models"


@pytest.fixture
def small(tmp_path):
    save_convolution(tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


@pytest.fixture
def quantized(small):
    data = np.random.default_rng(0).standard_normal((4, 1, 3, 8, 8)).astype(np.float32)
    return ew.quantize(small, data)


def find_node(document, kind):
    return next(node for node in document["graphs"][0]["nodes"] if node["type"] == kind)


def find_overlay(document, key):
    return next(overlay for overlay in document["graphs"][0]["overlays"] if overlay["key"] == key)


def test_a_source_model_keeps_its_own_ops_names_and_parameters(small):
    document = make_document(open_view(small))
    node = find_node(document, "Conv")
    assert (node["name"], node["params"]) == ("conv", [["pads", "[1, 1, 1, 1]"]])
    tensors = document["graphs"][0]["tensors"]
    assert tensors[node["outputs"][0]]["shape"] == [1, 8, 8, 8]
    assert tensors[node["inputs"][1]] == {
        "name": "weights",
        "dtype": "float32",
        "shape": [8, 3, 3, 3],
        "stored": 8 * 27 * 4,
    }
    place = document["graphs"][0]["nodes"].index(node)
    assert find_overlay(document, "macs")["values"][place] == 8 * 8 * 8 * 27


def test_a_placeholder_is_the_input_and_no_second_box():
    document = make_document(open_view(EXAMPLES / "mnist_cnn_fakequant_frozen.pb"))
    types = [node["type"] for node in document["graphs"][0]["nodes"]]
    assert types.count("Input") == 1
    assert not {"Placeholder", "Const"} & set(types)


def test_nodes_of_the_same_name_keep_their_own_figures(tmp_path):
    save_convolution(tmp_path / "twins.onnx", ("twin", "twin"))
    document = make_document(open_view(tmp_path / "twins.onnx"))
    assert [node["name"] for node in document["graphs"][0]["nodes"][1:3]] == ["twin", "twin (2)"]
    assert find_overlay(document, "macs")["values"][1:3] == [8 * 8 * 8 * 27, None]


@pytest.mark.parametrize("suffix", [".dlc", ".cpp"])
def test_a_converted_model_shows_encodings_and_names_of_its_source(quantized, tmp_path, suffix):
    files = quantized.save(tmp_path / f"small{suffix}")
    path = files.dlc if suffix == ".dlc" else files.net_json
    document = make_document(open_view(path))
    node = find_node(document, "Conv2d")
    tensor = document["graphs"][0]["tensors"][node["outputs"][0]]
    assert tensor["encoding"]["bits"] == 8
    assert len(tensor["encoding"]["scales"]) == 1
    assert find_overlay(document, "weight_bits")["values"][document["graphs"][0]["nodes"].index(node)] == 8


def test_a_model_in_memory_is_shown_too(quantized):
    document = make_document(open_view(quantized))
    assert find_node(document, "Conv2d")["source"] in {"wide", "result"}


def test_the_document_is_plain_json_with_every_hostile_name_cut(tmp_path):
    save_chain(tmp_path / "bad.onnx", HOSTILE)
    text = json.dumps(make_document(open_view(tmp_path / "bad.onnx")), allow_nan=False)
    assert len(text) < 100_000
    names = {node["name"] for node in json.loads(text)["graphs"][0]["nodes"]}
    assert HOSTILE[0] in names


def test_json_that_is_no_model_is_refused_with_what_was_expected(tmp_path):
    for content in (b"[]", b"{}", b"no json", b"[" * 100_000):
        (tmp_path / "other.json").write_bytes(content)
        with pytest.raises(BadInput, match=r"no 'graph'|not JSON"):
            open_view(tmp_path / "other.json")


def test_a_file_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(EdgewrightError):
        open_view(tmp_path / "nothing.onnx")


def test_the_histogram_of_stored_integers_is_that_of_the_real_numbers():
    stored = np.array([[0, 128, 255], [0, 0, 255]], np.uint8)
    encoding = Encoding((0.5, 1.0), (-128, 0), axis=0)
    tensor = ViewTensor("w", "ufixed_point_8", (2, 3), encoding, load=lambda: stored)
    summary = summarise(tensor)
    assert (summary["min"], summary["max"]) == (-64.0, 255.0)
    assert summary["channels"]["low"] == [-64.0, 0.0]
    assert sum(summary["counts"]) == 6
    assert len(summary["counts"]) == BINS


@pytest.mark.parametrize(
    "values",
    [[1.0] * 5, [np.nan, 1.0, 2.0], [-1e308, 1e308], [5e-324, 1e-323], [np.inf, -np.inf], []],
    ids=str,
)
def test_any_numbers_have_a_summary(values):
    array = np.array(values, np.float64)
    summary = summarise(ViewTensor("w", "float64", array.shape, load=lambda: array))
    json.dumps(summary, allow_nan=False)
    assert summary["count"] == len(values)
