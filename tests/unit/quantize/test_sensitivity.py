"""What rounding each part of a graph does to its outputs, and what it costs to find out."""

import numpy as np
import pytest

from edgewright.ir.text import parse
from edgewright.ops.activation import Relu
from edgewright.quantize.sensitivity import Probe, Steps, measure_sensitivity
from tests.unit.quantize.nets import Engine, Net, samples


def chain(count: int = 6):
    """Convolutions one after the other, and the values between them."""
    net = Net()
    values = [net.x]
    for _ in range(count):
        values.append(net.unary(Relu(), net.conv(values[-1], 4)))
    return net.done(values[-1]), values


def probes(values, sizes):
    return [Probe(v, {v: Steps(size, -1e6, 1e6)}) for v, size in zip(values, sizes, strict=True)]


def by_hand(graph, value: str, size: float, feeds) -> float:
    """The noise of rounding one value alone, computed op by op."""
    noise = signal = 0.0
    for feed in feeds:
        plain, rounded = (computed(graph, feed, value, step) for step in (0.0, size))
        noise, signal = noise + np.square(plain - rounded).sum(), signal + np.square(plain).sum()
    return float(noise / signal)


def computed(graph, feed, value: str, size: float):
    found = {**graph.constants, **feed}
    for name in (*graph.inputs, *(node.outputs[0] for node in graph.nodes)):
        node = graph.producer(name)
        if node is not None:
            found[name] = node.op.compute(*(found[other] for other in node.inputs))[0]
        if name == value and size:
            found[name] = (np.round(found[name] / size) * size).astype(np.float32)
    return found[graph.outputs[0]].astype(np.float64)


def test_each_part_is_measured_as_if_it_alone_were_rounded() -> None:
    graph, values = chain(3)
    feeds, sizes = samples(graph, 2), [0.1, 0.4, 0.05]
    found = measure_sensitivity(graph, probes(values[:3], sizes), [graph.outputs], feeds, Engine())
    for value, size in zip(values[:3], sizes, strict=True):
        assert found.effects[value] == pytest.approx(by_hand(graph, value, size, feeds), rel=0.02)


def test_the_first_value_that_sees_noise_counts() -> None:
    graph, values = chain(3)
    feeds = samples(graph, 2)
    parts = probes([values[1], values[3]], [0.1, 0.1])
    both = measure_sensitivity(graph, parts, [(values[2], values[3])], feeds, Engine()).effects
    middle = measure_sensitivity(graph, parts, [(values[2],)], feeds, Engine()).effects
    last = measure_sensitivity(graph, parts, [(values[3],)], feeds, Engine()).effects
    assert both[values[1]] == middle[values[1]] != last[values[1]]
    assert both[values[3]] == last[values[3]] > 1e-6 > middle[values[3]]


def test_ends_of_the_range_count_as_rounding_does() -> None:
    graph, values = chain(2)
    feeds = samples(graph, 2)
    fine, cut = (Probe(values[1], {values[1]: Steps(1e-3, 0.0, high)}) for high in (1e6, 0.5))
    wide = measure_sensitivity(graph, [fine], [graph.outputs], feeds, Engine()).effects[values[1]]
    assert (
        measure_sensitivity(graph, [cut], [graph.outputs], feeds, Engine()).effects[values[1]] > 1000 * wide
    )


def test_rounded_weights_are_measured_too() -> None:
    graph, _ = chain(2)
    weights = graph.nodes[0].inputs[1]
    feeds, array = samples(graph, 2), graph.constants[weights]
    coarse, fine = (
        Probe(weights, constants={weights: (np.round(array / size) * size).astype(np.float32)})
        for size in (0.1, 0.01)
    )
    effects = [
        measure_sensitivity(graph, [p], [graph.outputs], feeds, Engine()).effects[weights]
        for p in (coarse, fine)
    ]
    assert effects[0] == pytest.approx(100 * effects[1], rel=0.5)


@pytest.mark.parametrize("count", [2, 3, 8, 40])
def test_the_cost_stays_below_ten_passes_of_the_float_graph(count: int) -> None:
    graph, values = chain(30)
    engine = Engine()
    found = measure_sensitivity(
        graph, probes(values, [0.1] * 31), [graph.outputs], samples(graph, count), engine
    )
    assert set(found.effects) == set(values)
    assert engine.runs == found.runs <= 10 * count
    assert found.passes == found.runs / count


def test_parts_that_are_measured_together_share_what_was_found_by_their_weights() -> None:
    graph, values = chain(30)
    feeds = samples(graph, 1)
    parts = [Probe(v, {v: Steps(0.1, -1e6, 1e6)}, weight=1 + i % 2) for i, v in enumerate(values)]
    found = measure_sensitivity(graph, parts, [graph.outputs], feeds, Engine()).effects
    assert found[values[1]] == pytest.approx(2 * found[values[0]])


def test_a_graph_in_half_precision_is_measured_as_one_of_floats() -> None:
    """Steps and weights are in single precision, and what 16 bits hold is no number in half precision."""
    graph = parse(
        "graph g {\n  input x: float_16[1,4]\n  const w: float_16[1,4] = [0.5, 1.0, 2.0, 3.0]\n"
        "  product = ElementWiseMultiply(x, w)\n  y = Relu(product)\n  output y\n}\n"
    )
    random = np.random.default_rng(0)
    feeds = [{"x": random.normal(0, 1, (1, 4)).astype(np.float16)} for _ in range(3)]
    rounded = np.array([[0.25, 1.25, 2.25, 2.75]], np.float32)
    parts = [Probe("w", constants={"w": rounded}), Probe("product", {"product": Steps(1e-5, -100.0, 100.0)})]
    parts.append(Probe("coarse", {"product": Steps(0.5, -100.0, 100.0)}))
    found = measure_sensitivity(graph, parts, [graph.outputs], feeds, Engine()).effects
    assert 0 <= found["product"] < 1e-5 < found["w"]
    assert found["coarse"] > 1e-3
