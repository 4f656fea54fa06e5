"""What a quantization costs is counted: passes of the float graph over the samples."""

from dataclasses import replace

import numpy as np
import pytest

from edgewright.ir.graph import Graph
from edgewright.ops.activation import Relu
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.quantize import attempts
from edgewright.quantize.meter import Meter
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.weights import frontier
from edgewright.quantize.weights.frontier import Frontier, choose_samples
from tests.unit.quantize.nets import Engine, Net, samples


def _net() -> Graph:
    net = Net(1, 8, 8, 4)
    x = net.unary(Relu(), net.conv(net.x, 8))
    other = net.conv(x, 8)
    return net.done(net.conv(net.emit(ElementWiseAdd(), x, other), 4, stride=2))


def test_one_run_for_each_sample_is_one_pass():
    graph = _net()
    feeds = samples(graph, 6)
    meter = Meter(Engine(), graph, len(feeds))
    session = meter.prepare(graph, graph.outputs)
    for feed in feeds:
        session.run(feed)
    assert meter.passes == pytest.approx(1.0)


def test_a_part_of_a_graph_is_a_part_of_a_pass():
    graph = _net()
    (feed,) = samples(graph, 1)
    meter = Meter(Engine(), graph, 1)
    meter.prepare(graph, [graph.nodes[0].outputs[0]]).run(feed)
    assert 0 < meter.passes < 0.6


def test_plain_ranges_take_one_pass_and_the_report_says_so():
    graph = _net()
    report = quantize_graph(graph, QuantizationRequest(), samples(graph, 9), Engine()).report
    assert report.passes == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("algorithms", [("adaround",), ("cle", "smooth", "seq_mse", "adaround")])
def test_attempts_end_when_the_work_is_used_up(monkeypatch, algorithms):
    monkeypatch.setattr(attempts, "CHEAP", 0)
    monkeypatch.setattr(attempts, "MOST_PASSES", 1.0)
    graph = _net()
    request = QuantizationRequest(act_quantizer="auto", weight_bw=4, algorithms=algorithms)
    notes = quantize_graph(graph, request, samples(graph, 9), Engine()).report.notes
    able = [
        name for name in algorithms if not any(note.startswith(f"{name}: left out, no") for note in notes)
    ]
    assert sum("not tried alone" in note for note in notes) == (len(able) if len(able) > 1 else 0)
    # All together is one attempt, which is always made.
    assert any("adaround" in note for note in notes)


def test_a_frontier_computes_every_node_once_and_gives_the_values_of_the_whole_graph():
    graph = _net()
    feeds = samples(graph, 3)
    meter = Meter(Engine(), graph, len(feeds))
    walk = Frontier(graph, feeds, meter)
    values = [node.outputs[0] for node in graph.nodes]
    whole = Engine().prepare(graph, values)
    for value in values:
        for array, feed in zip(walk.compute(value), feeds, strict=True):
            np.testing.assert_allclose(array, whole.run(feed)[value], rtol=1e-5, atol=1e-6)
    assert meter.passes == pytest.approx(1.0)


def test_weights_that_change_before_they_are_read_count():
    graph = _net()
    feeds = samples(graph, 2)
    changed = graph.copy()
    walk = Frontier(changed, feeds, Engine())
    last = graph.nodes[-1]
    walk.compute(last.inputs[0])
    changed.constants[last.inputs[1]] = np.zeros_like(graph.constants[last.inputs[1]])
    bias = changed.constants[last.inputs[2]] if len(last.inputs) > 2 else 0.0
    assert all(np.allclose(array, bias) for array in walk.compute(last.outputs[0]))


def test_samples_are_as_many_as_memory_allows(monkeypatch):
    graph = _net()
    feeds, values = samples(graph, 12), [node.inputs[0] for node in graph.nodes[1:]]
    assert choose_samples(graph, values, feeds, Engine()) == feeds
    monkeypatch.setattr(frontier, "MOST_BYTES", 1)
    assert len(choose_samples(graph, values, feeds, Engine())) == 4


def test_more_algorithms_never_cost_less_than_none():
    graph, request = _net(), QuantizationRequest(act_quantizer="auto")
    feeds = samples(graph, 9)
    plain = quantize_graph(graph, request, feeds, Engine()).report.passes
    asked = quantize_graph(graph, replace(request, algorithms=("adaround",)), feeds, Engine()).report.passes
    assert 4 < plain < asked
