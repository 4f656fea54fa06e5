"""Encodings that were spoiled are found, wherever they are; fresh ones are not called odd."""

import random
from dataclasses import replace

import numpy as np
import pytest

import edgewright as ew
from edgewright.analyse.comparison_points import list_layers
from edgewright.analyse.odd_encodings import ODD_DB, find_odd_encodings, list_shared_values
from edgewright.ir.encodings import Encoding
from tests.browser.sample_build import digits, mnist
from tests.cli.test_accuracy_debugger import square_net

DIGITS = digits()[0][:12]


def spoil(graph, value, factor):
    """A copy whose value, and what shares its encoding, has another range."""
    twin = graph.copy()
    encoding = graph.types[value].encoding
    other = Encoding(
        tuple(scale * factor for scale in encoding.scales), encoding.offsets, None, encoding.bitwidth
    )
    for name in list_shared_values(graph, value):
        twin.types[name] = replace(graph.types[name], encoding=other)
    return twin


def square_models(tmp_path):
    rng = np.random.default_rng(2)
    feeds = [{"image": rng.standard_normal((1, 3, 8, 8)).astype(np.float32)} for _ in range(6)]
    model = ew.convert(square_net(tmp_path / "m.onnx"))
    return model, feeds


@pytest.mark.parametrize(
    ("scheme", "seed"), [("tf", 0), ("tf", 1), ("tf", 2), pytest.param("auto", 3, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("decibels", [2, 26])
def test_a_spoiled_encoding_is_the_first_one_named(tmp_path, scheme, seed, decibels):
    model, feeds = square_models(tmp_path)
    graph = ew.quantize(model, feeds, act_quantizer=scheme).fixed_graph()
    layers = [point.value for point in list_layers(graph) if graph.types[point.value].encoding is not None]
    value = random.Random(seed).choice(layers)
    odd = find_odd_encodings(model.fixed_graph(), spoil(graph, value, 10 ** (decibels / 20)), feeds)
    assert odd[0].layer == graph.source_names.get(value, value)
    # Few values, such as those of a pool, round by chance.
    assert 0.4 * decibels < odd[0].excess_db < 1.6 * decibels
    assert [entry for entry in odd[1:] if entry.excess_db >= ODD_DB] == []


def test_an_encoding_that_cuts_values_is_odd_too():
    source, quantized = mnist("w8a8")
    graph = quantized.fixed_graph()
    value = next(
        value for value in graph.types if graph.source_names.get(value, value) == "Pooling66_Output_0"
    )
    odd = find_odd_encodings(source.fixed_graph(), spoil(graph, value, 0.25), DIGITS)
    # The pool passes on what it reads: the layer before it has the same encoding.
    assert odd[0].layer == "ReLU32_Output_0"
    assert odd[0].high < odd[0].fresh_high


def test_fresh_encodings_are_not_odd(tmp_path):
    model, feeds = square_models(tmp_path)
    graph = ew.quantize(model, feeds, act_quantizer="tf").fixed_graph()
    odd = find_odd_encodings(model.fixed_graph(), graph, feeds)
    assert [entry for entry in odd if entry.excess_db >= ODD_DB] == []


def spoil_constant(graph, value, factor):
    twin = spoil_types(graph, [value], factor)
    real = graph.types[value].encoding.decode(graph.constants[value])
    twin.constants[value] = twin.types[value].encoding.encode(real, graph.types[value].dtype)
    return twin


def spoil_types(graph, names, factor):
    twin = graph.copy()
    for name in names:
        encoding = graph.types[name].encoding
        wide = Encoding(
            tuple(s * factor for s in encoding.scales), encoding.offsets, encoding.axis, encoding.bitwidth
        )
        twin.types[name] = replace(graph.types[name], encoding=wide)
    return twin


@pytest.mark.parametrize("widths", [{}, {"weight_bw": 4}, {"per_channel": False, "bias_bw": 8}])
@pytest.mark.parametrize("decibels", [2, 26])
def test_a_spoiled_constant_is_the_first_one_named(tmp_path, widths, decibels):
    model, feeds = square_models(tmp_path)
    graph = ew.quantize(model, feeds, act_quantizer="tf", **widths).fixed_graph()
    (value,) = [name for name in graph.constants if graph.source_names.get(name, name) == "w2"]
    odd = find_odd_encodings(model.fixed_graph(), spoil_constant(graph, value, 10 ** (decibels / 20)), feeds)
    assert (odd[0].source, odd[0].layer, odd[0].is_weight) == ("w2", "/c2/out", True)
    assert [entry for entry in odd[1:] if entry.excess_db >= ODD_DB] == []


def test_values_of_sixteen_bits_are_no_exception(tmp_path):
    model, feeds = square_models(tmp_path)
    graph = ew.quantize(model, feeds, act_quantizer="tf", act_bw=16).fixed_graph()
    (value,) = [name for name in graph.types if graph.source_names.get(name, name) == "/sum"]
    odd = find_odd_encodings(model.fixed_graph(), spoil(graph, value, 10 ** (2 / 20)), feeds)
    assert odd[0].layer == "/sum"


@pytest.mark.parametrize("algorithm", ["cle", "adaround", "smooth"])
def test_changed_weights_are_not_called_odd(tmp_path, algorithm):
    model, feeds = square_models(tmp_path)
    graph = ew.quantize(model, feeds, act_quantizer="tf", algorithms=[algorithm]).fixed_graph()
    odd = find_odd_encodings(model.fixed_graph(), graph, feeds)
    assert [entry.describe() for entry in odd if entry.excess_db >= ODD_DB] == []
