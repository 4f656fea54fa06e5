"""Algorithms alone and together: what loses on samples held apart is dropped, and notes are true."""

import re
from dataclasses import replace

import numpy as np
import pytest

from edgewright.ir.graph import Graph
from edgewright.ops.activation import Relu
from edgewright.ops.reduce_softmax import Softmax
from edgewright.quantize.quantizer import QuantizedGraph, quantize_graph
from edgewright.quantize.request import QuantizationRequest
from tests.unit.quantize.nets import Engine, Net

REQUEST = QuantizationRequest(act_quantizer="auto", per_row=True)


def _net(*, has_softmax: bool = False) -> Graph:
    net = Net(1, 8, 8, 4)
    x = net.unary(Relu(), net.conv(net.x, 16))
    x = net.unary(Relu(), net.depthwise(x))
    scores = net.dense(net.unary(Relu(), net.conv(x, 8, stride=2)), 5)
    return net.done(net.unary(Softmax(axis=1), scores) if has_softmax else scores)


def _samples(count: int, seed: int) -> list[dict[str, np.ndarray]]:
    """Samples of very different sizes, as real data has them."""
    random = np.random.default_rng(seed)
    sizes = random.lognormal(0.0, 0.3, count)
    return [{"x": (size * random.normal(size=(1, 8, 8, 4))).astype(np.float32)} for size in sizes]


def _measure_db(graph: Graph, quantized: QuantizedGraph, feeds) -> float:
    """Signal over noise as anyone evaluates it: powers over all samples."""
    (name,) = graph.outputs
    kinds = quantized.graph.types
    plain, fixed = Engine().prepare(graph, [name]), Engine().prepare(quantized.graph, [name])
    signal = noise = 0.0
    for feed in feeds:
        expected = plain.run(feed)[name].astype(np.float64)
        stored = fixed.run({"x": kinds["x"].encoding.encode(feed["x"], kinds["x"].dtype)})[name]
        signal += np.square(expected).sum()
        noise += np.square(expected - kinds[name].encoding.decode(stored)).sum()
    return float(10 * np.log10(signal / noise))


def _read_interval(quantized: QuantizedGraph) -> tuple[float, float]:
    low, high = re.search(r"([\d.]+) to ([\d.]+)(?:\)| dB)", quantized.report.notes[-1]).groups()
    return float(low), float(high)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("has_softmax", [False, True], ids=["scores", "probabilities"])
def test_the_figure_of_the_notes_is_that_of_other_data(bits, has_softmax):
    graph = _net(has_softmax=has_softmax)
    quantized = quantize_graph(graph, replace(REQUEST, act_bw=bits), _samples(300, 3), Engine())
    low, high = _read_interval(quantized)
    assert low - 0.5 < _measure_db(graph, quantized, _samples(600, 8)) < high + 0.5


@pytest.mark.parametrize("weight_bw", [4, 8])
def test_asking_for_algorithms_is_no_worse_than_not_asking_on_other_data(weight_bw):
    graph, request = _net(), replace(REQUEST, weight_bw=weight_bw)
    others = _samples(300, 8)
    plain = quantize_graph(graph, request, _samples(90, 3), Engine())
    every = replace(request, algorithms=("cle", "smooth", "seq_mse", "adaround"))
    corrected = quantize_graph(graph, every, _samples(90, 3), Engine())
    gain = _measure_db(graph, corrected, others) - _measure_db(graph, plain, others)
    assert gain > (0.5 if weight_bw == 4 else -0.1)


def test_every_algorithm_that_was_asked_for_is_accounted_for():
    asked = ("cle", "smooth", "seq_mse", "adaround")
    request = replace(REQUEST, weight_bw=4, algorithms=asked)
    notes = quantize_graph(_net(), request, _samples(60, 3), Engine()).report.notes
    kept = re.search(r"algorithms: (.*?) gain", "; ".join(notes))[1]
    for name in asked:
        is_left_out = any(note.startswith(f"{name}: left out, ") for note in notes)
        assert is_left_out != (name in kept.split(", ")), name


def test_a_gain_that_is_claimed_is_found_on_other_data():
    graph, request = _net(), replace(REQUEST, weight_bw=4, algorithms=("adaround",))
    others, feeds = _samples(300, 8), _samples(200, 3)
    plain = quantize_graph(graph, replace(request, algorithms=()), feeds, Engine())
    rounded = quantize_graph(graph, request, feeds, Engine())
    claimed = next(note for note in rounded.report.notes if note.startswith("algorithms: adaround gain"))
    found = _measure_db(graph, rounded, others) - _measure_db(graph, plain, others)
    assert float(re.search(r"gain ([\d.]+) dB", claimed)[1]) == pytest.approx(found, abs=1.0)


def test_two_samples_fit_and_judge_apart_and_no_gain_is_claimed_that_others_do_not_have():
    graph, others = _net(), _samples(200, 8)
    request = replace(REQUEST, act_bw=16, algorithms=("adaround",))
    plain = quantize_graph(graph, replace(request, algorithms=()), _samples(2, 3), Engine())
    asked = quantize_graph(graph, request, _samples(2, 3), Engine())
    gain = _measure_db(graph, asked, others) - _measure_db(graph, plain, others)
    is_left_out = any(note.startswith("adaround: left out") for note in asked.report.notes)
    assert gain == 0 if is_left_out else gain > 0
    assert "1 sample held apart" in asked.report.notes[-1]
