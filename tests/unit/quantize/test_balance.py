"""Balance between activations and weights in transformers."""

import numpy as np
import pytest

from edgewright.core.errors import UsageError
from edgewright.ir.graph import Graph
from edgewright.ops.activation import Relu, Sigmoid
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.ops.matmul import MatMul
from edgewright.ops.norm import LayerNorm, RmsNorm
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.ops.rearrange_slice import Split
from edgewright.ops.reduce_softmax import Softmax
from edgewright.quantize.judge import Judge
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.weights.balance import balance_graph
from tests.unit.quantize.nets import Engine, Net, samples

REQUEST = QuantizationRequest(per_row=True, algorithms=("smooth",))
TOKENS, CHANNELS, HEADS = 6, 16, 4


def _net() -> Net:
    return Net(1, TOKENS, CHANNELS)


def _with_outliers(net: Net, width: int = CHANNELS) -> str:
    """Gains of which two are far larger than the others."""
    gains = np.ones(width, np.float32)
    gains[[2, 9]] = 40.0
    return net.add_constant(gains)


def _after_a_norm(op=LayerNorm(axes=(2,))) -> Graph:  # noqa: B008 - frozen
    net = _net()
    x = net.emit(op, net.x, _with_outliers(net))
    return net.done(net.dense_rows(x, 8), net.dense_rows(x, 5))


def _heads(net: Net, x: str) -> str:
    split = net.emit(Reshape(shape=(1, TOKENS, HEADS, CHANNELS // HEADS)), x)
    return net.emit(Transpose(perm=(0, 2, 1, 3)), split)


def _attention() -> Graph:
    net = _net()
    query, key = _heads(net, net.dense_rows(net.x, CHANNELS)), _heads(net, net.dense_rows(net.x, CHANNELS))
    values = net.dense_rows(net.x, CHANNELS)
    weights = net.graph.producer(values).inputs[1]
    net.graph.constants[weights][[3, 12]] *= 40
    scores = net.unary(Softmax(axis=3), net.emit(MatMul(transpose_in1=True), query, key))
    mixed = net.emit(Transpose(perm=(0, 2, 1, 3)), net.emit(MatMul(), scores, _heads(net, values)))
    return net.done(net.dense_rows(net.emit(Reshape(shape=(1, TOKENS, CHANNELS)), mixed), 8))


def _read(net: Net, x: str, outliers: list[int]) -> Graph:
    """A product that makes up for channels that are far larger than the others."""
    found = net.dense_rows(x, 8)
    net.graph.constants[net.graph.producer(found).inputs[1]][:, outliers] /= 40
    return net.done(found)


def _gated() -> Graph:
    net = _net()
    both = net.dense_rows(net.x, 2 * CHANNELS)
    net.graph.constants[net.graph.producer(both).inputs[1]][[CHANNELS + 1, CHANNELS + 7]] *= 40
    gate, up = net.emit_all(Split(axis=2, split_index=(CHANNELS,)), both)
    return _read(net, net.emit(ElementWiseMultiply(), up, net.unary(Sigmoid(), gate)), [1, 7])


def _through_relu() -> Graph:
    net = _net()
    hidden = net.dense_rows(net.x, CHANNELS)
    net.graph.constants[net.graph.producer(hidden).inputs[1]][5] *= 40
    return _read(net, net.unary(Relu(), hidden), [5])


CASES = {
    "layer norm": _after_a_norm,
    "rms norm": lambda: _after_a_norm(RmsNorm(axes=(2,))),
    "values of attention": _attention,
    "gated product": _gated,
    "relu": _through_relu,
}


@pytest.mark.parametrize("name", CASES)
def test_channels_that_reach_far_are_balanced_for_2_db_at_least(name):
    graph = CASES[name]()
    feeds = samples(graph, 24)
    judge = Judge(graph, feeds, Engine())
    work, notes = balance_graph(graph, REQUEST, {}, judge)
    assert notes[0].startswith("smooth: balanced ")
    plain, balanced = (judge.measure_plain_noise(each, REQUEST, {}) for each in (graph, work))
    assert balanced.measure_gain(plain).decibels > 2
    assert judge.measure_noise(work).sqnr_db > 90, "the float graph computes what it did"


def test_a_norm_that_something_else_reads_stays_as_it_is():
    net = _net()
    x = net.emit(LayerNorm(axes=(2,)), net.x, _with_outliers(net))
    graph = net.done(net.emit(ElementWiseAdd(), net.dense_rows(x, CHANNELS), x))
    feeds = samples(graph, 9)
    work, notes = balance_graph(graph, REQUEST, {}, Judge(graph, feeds, Engine()))
    assert work is graph
    assert notes == ["smooth: left out, no activation of products can be scaled where it is made"]


def test_balance_that_gains_nothing_is_left_out_and_said():
    net = _net()
    hidden = net.dense_rows(net.x, CHANNELS)
    net.graph.constants[net.graph.producer(hidden).inputs[1]][:] = np.eye(CHANNELS)
    found = net.dense_rows(net.unary(Relu(), hidden), 8)
    weights = net.graph.constants[net.graph.producer(found).inputs[1]]
    weights[:] = np.sign(weights)
    feeds = [
        {"x": np.random.default_rng(n).uniform(-1, 1, (1, TOKENS, CHANNELS)).astype(np.float32)}
        for n in range(30)
    ]
    notes = quantize_graph(net.done(found), REQUEST, feeds, Engine()).report.notes
    assert notes[0].startswith(("smooth: left out, it gains ", "smooth: left out, no share of it gains "))


def test_without_samples_balance_says_what_it_lacks():
    found = quantize_graph(_through_relu(), REQUEST)
    assert found.report.notes == ["smooth: left out, it needs samples"]


def test_no_samples_at_all_is_one_error():
    with pytest.raises(UsageError, match="there are no calibration samples"):
        quantize_graph(_attention(), REQUEST, [], Engine())
