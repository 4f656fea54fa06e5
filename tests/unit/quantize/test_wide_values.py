"""More bits for what 8 cannot carry in a transformer: which values, at which cost, and never in vain."""

from functools import cache

import numpy as np

from edgewright.ir.graph import Graph
from edgewright.ops.activation import Gelu, Relu
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.norm import LayerNorm
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange import Reshape
from edgewright.ops.reduce_softmax import Softmax
from edgewright.quantize.cost import compute_relative_cost
from edgewright.quantize.judge import Judge
from edgewright.quantize.mixed.calibrated import Calibrated, Widths
from edgewright.quantize.quantized_graph import QuantizedGraph
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from tests.unit.quantize.nets import Engine, Net, samples

LENGTH, WIDTH, FAR = 48, 32, 3
SEARCHED = QuantizationRequest(act_quantizer="auto")
UNIFORM = QuantizationRequest(act_quantizer="auto", uniform=True)


class Encoder(Net):
    """Blocks of attention and a network with a gate, norms before them, sums around them."""

    def __init__(self) -> None:
        super().__init__(1, LENGTH, WIDTH)

    def norm(self, x: str) -> str:
        gamma = np.ones(WIDTH, np.float32)
        gamma[FAR] = 0.01
        return self.emit(LayerNorm(axes=(2,), epsilon=1e-5), x, self.add_constant(gamma), self.weights(WIDTH))

    def block(self, x: str) -> str:
        normed = self.norm(x)
        query, key, value = (self.dense_rows(normed, WIDTH) for _ in range(3))
        # Nearly even probabilities: of 1 / 48, steps of 1 / 256 leave four bits.
        scores = self.emit(MatMul(transpose_in1=True), query, self.shrink(key))
        mixed = self.emit(MatMul(), self.unary(Softmax(axis=2), scores), value)
        x = self.emit(ElementWiseAdd(), x, self.dense_rows(mixed, WIDTH))
        inner = self.unary(Gelu(), self.dense_rows(self.norm(x), 2 * WIDTH))
        return self.emit(ElementWiseAdd(), x, self.dense_rows(inner, WIDTH))

    def shrink(self, x: str) -> str:
        weights = self.graph.producer(x).inputs[1]
        self.graph.constants[weights] = self.graph.constants[weights] * np.float32(0.05)
        return x


def make_encoder() -> Graph:
    net = Encoder()
    # One feature of the stream reaches far, and norms hold it down, as in trained networks.
    far = np.zeros(WIDTH, np.float32)
    far[FAR] = 60
    x = net.emit(ElementWiseAdd(), net.x, net.add_constant(far))
    for _ in range(2):
        x = net.block(x)
    return net.done(net.dense_rows(net.norm(x), 8))


def make_expectation() -> Graph:
    """A place as the mean of places, weighted with shares of a thousand that are nearly even."""
    net = Net(1, 32, 32, 2)
    scores = net.emit(Reshape(shape=(1, 1024)), net.conv(net.x, 1))
    shares = net.unary(Softmax(axis=1), scores)
    places = np.stack([np.linspace(0, 1, 1024), np.cos(np.arange(1024))]).astype(np.float32)
    return net.done(net.emit(FullyConnected(), shares, net.add_constant(places)))


def test_shares_of_a_thousand_have_16_bits_where_something_is_computed_from_them() -> None:
    graph = make_expectation()
    made, feeds = quantize(graph, SEARCHED), samples(graph, 3, seed=9)
    assert any(note.startswith("wide values:") for note in made.report.notes)
    judge = Judge(graph, feeds, Engine())
    assert judge.measure_noise(quantize(graph, UNIFORM).graph).sqnr_db < 15
    assert judge.measure_noise(made.graph).sqnr_db > 30


def quantize(graph: Graph, request: QuantizationRequest) -> QuantizedGraph:
    return quantize_graph(graph, request, samples(graph, 12), Engine())


@cache
def quantize_encoder(request: QuantizationRequest) -> QuantizedGraph:
    return quantize(make_encoder(), request)


def measure_db(graph: Graph, made: QuantizedGraph) -> float:
    return Judge(graph, samples(graph, 12, seed=5), Engine()).measure_noise(made.graph).sqnr_db


def list_wide(graph: Graph) -> list[str]:
    return [v for v, t in graph.types.items() if t.encoding is not None and t.encoding.bitwidth == 16]


def test_a_transformer_gets_the_bits_that_it_needs_for_little() -> None:
    graph, narrow, wide = make_encoder(), quantize_encoder(UNIFORM), quantize_encoder(SEARCHED)
    assert measure_db(graph, narrow) < 30
    assert measure_db(graph, wide) > measure_db(graph, narrow) + 8
    assert compute_relative_cost(wide.graph, wide.source) < 1.3
    assert not list_wide(narrow.graph)


def test_the_report_names_wide_values_and_what_they_cost() -> None:
    made = quantize_encoder(SEARCHED)
    named = made.report.rules["wide-values"]
    assert set(named) <= set(list_wide(made.graph))
    note = next(note for note in made.report.notes if note.startswith("wide values"))
    assert f"{len(named)} have 16 bits" in note
    assert f"{compute_relative_cost(made.graph, made.source):.2f} times the cost" in note
    assert named[0] in note
    assert made.uniform is not None
    assert not list_wide(made.uniform.graph)


def test_a_convolutional_network_stays_as_it_is() -> None:
    net = Net()
    graph = net.done(net.conv(net.unary(Relu(), net.conv(net.x, 8)), 4))
    one, other = quantize(graph, UNIFORM), quantize(graph, SEARCHED)
    assert one.graph.types == other.graph.types
    assert all((one.graph.constants[name] == array).all() for name, array in other.graph.constants.items())


def test_small_probabilities_are_read_in_finer_steps_than_the_rule_gives_them() -> None:
    graph = make_encoder()
    calibrated = Calibrated(quantize_encoder(UNIFORM), samples(graph, 12), Engine())
    probabilities = [node.outputs[0] for node in graph.nodes if isinstance(node.op, Softmax)]
    shares = calibrated.list_finer_copies()
    assert set(shares) == set(probabilities)
    made = calibrated.quantize(Widths(wide=frozenset(probabilities)))
    for value in probabilities:
        assert made.graph.types[value].encoding.scales == (2.0**-16,)
        copies = [n.outputs[0] for n in made.graph.consumers(value) if isinstance(n.op, Convert)]
        assert made.graph.types[copies[0]].encoding.scales[0] < 1 / 1024


def test_the_same_samples_give_the_same_graph() -> None:
    one, other = quantize_encoder(SEARCHED), quantize(make_encoder(), SEARCHED)
    assert one.graph.types == other.graph.types
    assert one.report.notes == other.report.notes
