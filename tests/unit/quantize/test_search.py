"""What is done to come closer to the float model: flat ends, even channels, a search among schemes."""

from dataclasses import replace

import numpy as np
import pytest

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ops.activation import HardSwish, Relu, Relu6, Sigmoid
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.quantize.encodings import covered_range
from edgewright.quantize.quantizer import Quantized, quantize_graph
from edgewright.quantize.schemes import Percentile
from edgewright.quantize.settings import Settings
from edgewright.quantize.weights.even_channels import channel_maxima, evened
from tests.unit.quantize.nets import Engine, Net


def samples(
    count: int = 12, spread: float = 1.0, shape: tuple[int, ...] = (1, 8, 8, 4)
) -> list[dict[str, Array]]:
    random = np.random.default_rng(9)
    return [{"x": (random.normal(size=shape) * spread).astype(np.float32)} for _ in range(count)]


def noise_db(graph: Graph, done: Quantized, feeds: list[dict[str, Array]]) -> float:
    """Noise over signal of the first output."""
    name, kinds = graph.outputs[0], done.graph.types
    plain, fixed = Engine().prepare(graph, [name]), Engine().prepare(done.graph, [name])
    kind = kinds["x"]
    signal = noise = 0.0
    for feed in feeds:
        expected = plain.run(feed)[name].astype(np.float64)
        found = fixed.run({"x": kind.encoding.encode(feed["x"], kind.dtype)})[name]
        real = kinds[name].encoding.decode(found)
        signal, noise = signal + np.square(expected).sum(), noise + np.square(expected - real).sum()
    return 10 * np.log10(noise / signal)


def before(net: Net, *activations: str) -> tuple[float, float]:
    """The range that the value before the given functions is stored with."""
    conv = net.conv(net.x, 6)
    results = []
    for name in activations:
        if name == "swish":
            results.append(net.emit(ElementWiseMultiply(), conv, net.emit(Sigmoid(), conv)))
        else:
            results.append(net.emit({"hard-swish": HardSwish, "sigmoid": Sigmoid}[name](), conv))
    net.graph.outputs = results if activations else [conv]
    graph = quantize_graph(net.graph, Settings(), samples(spread=6.0), Engine()).graph
    low, high = covered_range(graph.types[conv].encoding, graph.types[conv].dtype)
    return float(low[0]), float(high[0])


def test_a_value_is_cut_where_the_function_behind_it_is_flat() -> None:
    whole = before(Net())
    assert whole[0] < -20
    assert before(Net(), "hard-swish") == pytest.approx((-3.0, whole[1]), abs=0.2)
    assert before(Net(), "sigmoid") == pytest.approx((-6.24, 6.24), abs=0.1)
    assert before(Net(), "swish") == pytest.approx((-9.1, whole[1]), abs=0.3)


def test_a_value_with_another_reader_keeps_its_range() -> None:
    assert before(Net(), "sigmoid", "hard-swish")[1] == pytest.approx(before(Net())[1], abs=0.5)


@pytest.mark.parametrize("activation", [Relu(), Relu6()], ids=["relu", "relu6"])
def test_even_channels_keep_the_meaning_and_reach_equally_far(activation) -> None:
    net = Net()
    conv = net.conv(net.x, 4)
    weights = next(n for n in net.graph.nodes).inputs[1]
    net.graph.constants[weights] = net.graph.constants[weights] * np.float32([1, 0.5, 0.2, 0.1])
    relu = net.emit(activation, conv)
    net.graph.outputs = [net.depthwise(relu)]
    feeds, engine = samples(), Engine()
    maxima = channel_maxima(net.graph, feeds, engine)
    twin, count = evened(net.graph, maxima)
    assert count == 1
    after = channel_maxima(twin, feeds, engine)[relu]
    assert after == pytest.approx(np.full(4, maxima[relu].max()), rel=1e-4)
    for feed in feeds:
        name = net.graph.outputs[0]
        expected = engine.prepare(net.graph, [name]).run(feed)[name]
        found = engine.prepare(twin, [name]).run(feed)[name]
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def outlying() -> tuple[Graph, list[dict[str, Array]]]:
    """A network whose activations have rare values of a hundred times the others'."""
    net = Net(1, 8, 8, 4)
    x = net.emit(Relu(), net.conv(net.x, 8))
    net.graph.outputs = [net.conv(x, 4)]
    feeds = samples(16)
    for feed in feeds:
        feed["x"][0, 0, 0, 0] = 100.0
    return net.graph, feeds


def test_the_search_is_no_worse_than_any_single_scheme_and_says_what_it_chose() -> None:
    graph, feeds = outlying()
    done = quantize_graph(graph, Settings(is_searched=True), feeds, Engine())
    found = noise_db(graph, done, feeds)
    for settings in (Settings(), Settings(act_scheme=Percentile())):
        assert found <= noise_db(graph, quantize_graph(graph, settings, feeds, Engine()), feeds) + 0.3
    assert any(note.startswith("search: ranges") for note in done.report.notes)


def test_sixteen_bits_leave_room_for_more_than_was_seen() -> None:
    graph, feeds = outlying()
    louder = [{"x": feed["x"] * np.float32(1.8)} for feed in feeds]
    settings = Settings(act_bits=16)
    plain = quantize_graph(graph, settings, feeds, Engine())
    roomy = quantize_graph(graph, replace(settings, is_searched=True), feeds, Engine())
    assert noise_db(graph, roomy, louder) < noise_db(graph, plain, louder) - 20


def test_few_samples_calibrate_and_judge() -> None:
    graph, feeds = outlying()
    done = quantize_graph(graph, Settings(is_searched=True), feeds[:1], Engine())
    assert noise_db(graph, done, feeds[:1]) < -20
