"""Attention with masks of every form, in 8 bits: what is masked takes no steps from the scores."""

from collections.abc import Callable

import numpy as np
import pytest

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMaximum,
    ElementWiseMultiply,
    ElementWiseSelect,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseNot
from edgewright.ops.matmul import MatMul
from edgewright.ops.reduce_softmax import Softmax
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from tests.unit.quantize.nets import Engine, Net
from tests.unit.quantize.simulate import simulated

LENGTH, WIDTH = 12, 16
LEAST = float(np.finfo(np.float32).min)
# What the same attention without any mask reaches is 33 dB; masks that take the steps leave less than 10.
ENOUGH_DB = 28.0
Feed = dict[str, np.ndarray]
Masking = Callable[["Attention", str], str]


class Attention(Net):
    """One head, or several layers of one, with whatever a mask needs beside it."""

    def __init__(self) -> None:
        super().__init__(1, LENGTH, WIDTH)

    def layer(self, x: str, masked: Masking) -> str:
        query, key, value = (self.dense_rows(x, WIDTH) for _ in range(3))
        scores = self.emit(MatMul(transpose_in1=True), query, key)
        scores = self.emit(ElementWiseMultiply(), scores, self.number(0.5))
        return self.emit(MatMul(), self.unary(Softmax(axis=2), masked(self, scores)), value)

    def number(self, number: float) -> str:
        return self.add_constant(np.array(number, np.float32))

    def causal(self, least: float) -> str:
        return self.add_constant(np.triu(np.full((LENGTH, LENGTH), least, np.float32), 1))

    def hidden(self, name: str, dtype: DType) -> str:
        """An input that says what is real: 1 for a token, 0 for a filling."""
        if name not in self.graph.inputs:
            self.graph.add_input(name, TensorType((1, 1, LENGTH), dtype))
        return name

    def added(self, scores: str, mask: str) -> str:
        return self.emit(ElementWiseAdd(), scores, mask)


def add_constant(least: float) -> Masking:
    return lambda net, scores: net.added(scores, net.causal(least))


def add_product(least: float) -> Masking:
    """(1 - mask) * least, from whole numbers."""

    def masked(net: Attention, scores: str) -> str:
        kept = net.emit(Cast(dtype=DType.FLOAT_32), net.hidden("mask", DType.INT_64))
        hidden = net.emit(ElementWiseSubtract(), net.number(1), kept)
        return net.added(scores, net.emit(ElementWiseMultiply(), hidden, net.number(least)))

    return masked


def subtract_product(net: Attention, scores: str) -> str:
    kept = net.emit(Cast(dtype=DType.FLOAT_32), net.hidden("mask", DType.INT_64))
    hidden = net.emit(ElementWiseSubtract(), net.number(1), kept)
    far = net.emit(ElementWiseMultiply(), hidden, net.number(1e9))
    return net.emit(ElementWiseSubtract(), scores, far)


def add_difference(net: Attention, scores: str) -> str:
    """Mask * 1e9 - 1e9."""
    kept = net.emit(Cast(dtype=DType.FLOAT_32), net.hidden("mask", DType.INT_64))
    far = net.emit(ElementWiseMultiply(), kept, net.number(1e9))
    return net.added(scores, net.emit(ElementWiseSubtract(), far, net.number(1e9)))


def choose(least: float) -> Masking:
    """The score or the least number, by a mask of booleans."""

    def masked(net: Attention, scores: str) -> str:
        return net.emit(ElementWiseSelect(), net.hidden("kept", DType.BOOL_8), scores, net.number(least))

    return masked


def add_chosen(least: float) -> Masking:
    """Zero or the least number, by the opposite of a mask, then added."""

    def masked(net: Attention, scores: str) -> str:
        hidden = net.emit(ElementWiseNot(), net.hidden("kept", DType.BOOL_8))
        return net.added(scores, net.emit(ElementWiseSelect(), hidden, net.number(least), net.number(0.0)))

    return masked


def add_twice(net: Attention, scores: str) -> str:
    """Causal, then fillings, with the least number as a floor."""
    masked = add_product(LEAST)(net, net.added(scores, net.causal(-np.inf)))
    return net.emit(ElementWiseMaximum(), masked, net.number(LEAST))


def choose_twice(net: Attention, scores: str) -> str:
    causal = net.add_constant(np.tril(np.ones((LENGTH, LENGTH), np.bool_)))
    inner = net.emit(ElementWiseSelect(), causal, scores, net.number(-np.inf))
    return choose(-np.inf)(net, inner)


def mask_before_scaling(net: Attention, scores: str) -> str:
    return net.emit(ElementWiseDivide(), add_constant(-1e9)(net, scores), net.number(2.0))


def mask_and_reshape(net: Attention, scores: str) -> str:
    masked = add_product(LEAST)(net, net.reshape(scores, (1, 1, LENGTH, LENGTH)))
    return net.reshape(masked, (1, LENGTH, LENGTH))


def add_biases_with_mask(net: Attention, scores: str) -> str:
    """Biases for distances and the mask in one constant: the biases must keep their steps."""
    places = np.arange(LENGTH)
    biases = -0.5 * np.abs(places[:, None] - places[None]).astype(np.float32)
    biases[np.triu_indices(LENGTH, 1)] = LEAST
    return net.added(scores, net.add_constant(biases))


def add_input(net: Attention, scores: str) -> str:
    """A mask that comes with the data."""
    return net.added(scores, net.hidden("far", DType.FLOAT_32))


FORMS: dict[str, Masking] = {
    "add -1e9": add_constant(-1e9),
    "add least": add_constant(LEAST),
    "add infinity": add_constant(-np.inf),
    "add half's least": add_constant(-65504.0),
    "multiply and add": add_product(LEAST),
    "multiply by -10000": add_product(-10000.0),
    "subtract": subtract_product,
    "multiply and subtract": add_difference,
    "choose infinity": choose(-np.inf),
    "choose least": choose(LEAST),
    "choose, then add": add_chosen(-np.inf),
    "two masks": add_twice,
    "two choices": choose_twice,
    "before scaling": mask_before_scaling,
    "between reshapes": mask_and_reshape,
    "with biases": add_biases_with_mask,
    "from the data": add_input,
}


def make_feeds(graph: Graph, count: int = 8) -> list[Feed]:
    random = np.random.default_rng(1)
    feeds = []
    for _ in range(count):
        kept = (np.arange(LENGTH) < random.integers(5, LENGTH + 1)).reshape(1, 1, LENGTH)
        known = {
            "x": random.normal(size=(1, LENGTH, WIDTH)).astype(np.float32),
            "mask": kept.astype(np.int64),
            "kept": kept,
            "far": np.where(kept, 0, LEAST).astype(np.float32),
        }
        feeds.append({name: known[name] for name in graph.inputs})
    return feeds


def measure(graph: Graph, request: QuantizationRequest, feeds: list[Feed]) -> float:
    """The signal over the noise of the quantized graph, in dB."""
    made = quantize_graph(graph, request, feeds, Engine())
    meant, session = simulated(made.graph), Engine().prepare(graph, graph.outputs)
    noise = signal = 0.0
    for feed in feeds:
        expected, results = session.run(feed), reference.run(meant, feed)
        for name, other in zip(graph.outputs, meant.outputs, strict=True):
            signal += float(np.square(expected[name], dtype=np.float64).sum())
            noise += float(np.square(expected[name].astype(np.float64) - results[other]).sum())
    return 10 * np.log10(signal / max(noise, 1e-30))


@pytest.mark.parametrize("form", FORMS)
def test_a_mask_of_any_form_leaves_the_scores_their_steps(form: str) -> None:
    net = Attention()
    graph = net.done(net.dense_rows(net.layer(net.x, FORMS[form]), 8))
    assert measure(graph, QuantizationRequest(), make_feeds(graph)) > ENOUGH_DB


@pytest.mark.parametrize("form", ["add least", "multiply and add", "choose infinity"])
def test_sixteen_bits_keep_what_they_have_beside_a_mask(form: str) -> None:
    net = Attention()
    graph = net.done(net.dense_rows(net.layer(net.x, FORMS[form]), 8))
    assert measure(graph, QuantizationRequest(act_bw=16, weight_bw=16), make_feeds(graph)) > 60


def test_a_mask_that_layers_share_is_bounded_for_all_of_them() -> None:
    net = Attention()
    mask = net.causal(LEAST)
    x = net.x
    for _ in range(2):
        x = net.layer(x, lambda net, scores: net.added(scores, mask))
    graph = net.done(net.dense_rows(x, 8))
    assert measure(graph, QuantizationRequest(), make_feeds(graph)) > ENOUGH_DB - 4


def test_a_constant_that_is_more_than_a_mask_stays_as_it_is_elsewhere() -> None:
    net = Attention()
    mask = net.causal(-1e6)
    attended = net.layer(net.x, lambda net, scores: net.added(scores, mask))
    graph = net.done(
        net.dense_rows(attended, 8), net.emit(ElementWiseAdd(), mask, net.dense_rows(net.x, LENGTH))
    )
    made = quantize_graph(graph, QuantizationRequest(), make_feeds(graph), Engine())
    record = next(record for record in made.report.tensors if record.name == graph.outputs[1])
    assert record.low == pytest.approx(-1e6, rel=0.1)
