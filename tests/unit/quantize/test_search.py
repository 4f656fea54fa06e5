"""What is done to come closer to the float model: flat ends, even channels, a search among schemes."""

from dataclasses import replace

import numpy as np
import pytest

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ir.op import Op
from edgewright.ops.activation import HardSwish, Relu, Relu6, Sigmoid
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.quantize.encodings import compute_covered_range
from edgewright.quantize.judge import Judge
from edgewright.quantize.noise import Noise
from edgewright.quantize.observers import Extremes
from edgewright.quantize.quantized_graph import QuantizedGraph
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.search import RangeSearch
from edgewright.quantize.tails import Tails
from edgewright.quantize.weights.even_channels import (
    even_channels,
    list_values_before_depthwise,
    measure_channel_reach,
)
from edgewright.quantize.weights.gates import list_values_before_gates, split_gates
from tests.unit.quantize.nets import Engine, Net


def samples(
    count: int = 12, spread: float = 1.0, shape: tuple[int, ...] = (1, 8, 8, 4)
) -> list[dict[str, Array]]:
    random = np.random.default_rng(9)
    return [{"x": (random.normal(size=shape) * spread).astype(np.float32)} for _ in range(count)]


def noise_db(graph: Graph, done: QuantizedGraph, feeds: list[dict[str, Array]]) -> float:
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
    graph = quantize_graph(net.graph, QuantizationRequest(), samples(spread=6.0), Engine()).graph
    low, high = compute_covered_range(graph.types[conv].encoding, graph.types[conv].dtype)
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
    graph, engine, feeds = uneven(activation), Engine(), samples()
    values = list_values_before_depthwise(graph)
    reach = measure_channel_reach(graph, values, feeds, engine)
    twin, count = even_channels(graph, reach)
    assert count == len(values) == 1
    _, after = measure_channel_reach(twin, values, feeds, engine)[values[0]]
    assert after == pytest.approx(np.full(4, reach[values[0]][1].max()), rel=1e-4)
    assert_means_the_same(twin, graph, feeds)


def test_even_channels_need_no_activation_between_the_convolutions() -> None:
    graph, engine, feeds = uneven(None), Engine(), samples()
    values = list_values_before_depthwise(graph)
    twin, count = even_channels(graph, measure_channel_reach(graph, values, feeds, engine))
    assert count == len(values) == 1
    low, high = measure_channel_reach(twin, values, feeds, engine)[values[0]]
    sizes = np.maximum(-low, high)
    assert sizes == pytest.approx(np.full(4, sizes.max()), rel=1e-4)
    assert_means_the_same(twin, graph, feeds)


def uneven(activation: Op | None, scales: tuple[float, ...] = (1, 0.5, 0.2, 0.1)) -> Graph:
    """A convolution with channels of these sizes, an activation and a depthwise convolution."""
    net = Net()
    conv = net.conv(net.x, 4)
    for place in (1, 2):
        name = net.graph.nodes[0].inputs[place]
        net.graph.constants[name] = net.graph.constants[name] * np.float32(scales)
    net.graph.outputs = [net.depthwise(conv if activation is None else net.emit(activation, conv))]
    # Small channels have large weights behind them, as training leaves them.
    name = net.graph.producer(net.graph.outputs[0]).inputs[1]
    net.graph.constants[name] = net.graph.constants[name] / np.float32(scales)
    return net.graph


def assert_means_the_same(twin: Graph, graph: Graph, feeds: list[dict[str, Array]]) -> None:
    name, engine = graph.outputs[0], Engine()
    before, after = (engine.prepare(one, [name]) for one in (graph, twin))
    for feed in feeds:
        expected = before.run(feed)[name]
        np.testing.assert_allclose(after.run(feed)[name], expected, atol=1e-4 * np.abs(expected).max())


def test_a_hard_swish_taken_apart_keeps_the_meaning_and_evens_the_channels() -> None:
    graph, engine, feeds = uneven(HardSwish()), Engine(), samples()
    values = list_values_before_gates(graph)
    reach = measure_channel_reach(graph, values, feeds, engine)
    twin, count = split_gates(graph, reach)
    assert count == len(values) == 1
    assert not any(isinstance(node.op, HardSwish) for node in twin.nodes)
    assert_means_the_same(twin, graph, feeds)
    before, after = (spread_of(one, values, feeds) for one in (graph, twin))
    assert before > 5
    assert after < 2


def spread_of(graph: Graph, values: list[str], feeds: list[dict[str, Array]]) -> float:
    """The largest channel over the smallest one."""
    low, high = measure_channel_reach(graph, values, feeds, Engine())[values[0]]
    sizes = np.maximum(np.maximum(low, -3 * high.max()) * -1, high)
    return float(sizes.max() / sizes.min())


def test_the_search_takes_a_hard_swish_apart_where_that_brings_the_outputs_closer() -> None:
    feeds = samples(12, 4.0)
    graph = uneven(HardSwish(), (4, 1, 0.1, 0.05))
    done = quantize_graph(graph, QuantizationRequest(act_quantizer="auto"), feeds, Engine())
    assert any("took 1 HardSwish apart" in note for note in done.report.notes)
    assert (
        noise_db(graph, done, feeds)
        < noise_db(graph, quantize_graph(graph, QuantizationRequest(), feeds, Engine()), feeds) - 3
    )


def test_a_hard_swish_with_even_channels_stays_one_op() -> None:
    graph, feeds = uneven(HardSwish(), (1, 1, 1, 1)), samples()
    done = quantize_graph(graph, QuantizationRequest(act_quantizer="auto"), feeds, Engine())
    assert any(isinstance(node.op, HardSwish) for node in done.graph.nodes)
    assert not any("HardSwish apart" in note for note in done.report.notes)


@pytest.mark.parametrize(
    ("activation", "values_of"),
    [(Relu(), list_values_before_depthwise), (HardSwish(), list_values_before_gates)],
)
def test_no_scale_moves_where_an_encoding_is_pinned(activation, values_of) -> None:
    graph = uneven(activation)
    first, last = graph.nodes[0], graph.nodes[-1]
    assert values_of(graph)
    for name in (first.inputs[1], first.outputs[0], last.inputs[0], last.inputs[1]):
        assert not values_of(graph, {name})


def tails_of(ends: list[float]) -> Tails:
    tails = Tails()
    for high in ends:
        tails.add({"v": Extremes.from_bounds(0.0, high)})
    return tails


def reached(elements: int, bits: int = 8, ends: tuple[float, ...] = (6.0, 7.0, 8.0, 10.0)) -> float:
    """The upper end for values of which a sample has so many elements."""
    seen = Extremes.from_bounds(0.0, max(ends))
    found = tails_of(list(ends)).extend_range("v", seen, elements, bits)
    assert found.low[0] == 0.0
    return float(found.high[0])


def test_a_range_goes_beyond_what_few_elements_showed() -> None:
    assert 12 < reached(10) < 25
    assert 10 < reached(1000) < reached(10)
    assert reached(10_000_000) == 10.0
    assert reached(10, bits=16) > reached(10)


def test_a_range_whose_ends_never_vary_stays_as_it_is() -> None:
    assert reached(10, ends=(10.0, 10.0, 10.0)) == 10.0
    assert reached(10, ends=(10.0,)) == 10.0


def test_outputs_of_few_elements_are_not_cut_off_in_other_data() -> None:
    net = Net(1, 16)
    net.graph.outputs = [net.dense(net.x, 3)]
    feeds, others = samples(20, shape=(1, 16)), samples(400, shape=(1, 16))
    request = QuantizationRequest()
    plain = quantize_graph(net.graph, request, feeds, Engine())
    found = quantize_graph(net.graph, replace(request, act_quantizer="auto"), feeds, Engine())
    assert noise_db(net.graph, found, others) < noise_db(net.graph, plain, others) - 3


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
    done = quantize_graph(graph, QuantizationRequest(act_quantizer="auto"), feeds, Engine())
    found = noise_db(graph, done, feeds)
    for request in (QuantizationRequest(), QuantizationRequest(act_quantizer="percentile")):
        assert found <= noise_db(graph, quantize_graph(graph, request, feeds, Engine()), feeds) + 0.3
    assert any(note.startswith("search: ranges") for note in done.report.notes)


def test_sixteen_bits_leave_room_for_more_than_was_seen() -> None:
    graph, feeds = outlying()
    louder = [{"x": feed["x"] * np.float32(1.8)} for feed in feeds]
    request = QuantizationRequest(act_bw=16)
    plain = quantize_graph(graph, request, feeds, Engine())
    roomy = quantize_graph(graph, replace(request, act_quantizer="auto"), feeds, Engine())
    assert noise_db(graph, roomy, louder) < noise_db(graph, plain, louder) - 20


@pytest.mark.parametrize(("gained_db", "is_given_up"), [(2.0, False), (4.0, True)])
def test_room_for_data_to_come_is_given_up_for_much_only(gained_db: float, is_given_up: bool) -> None:
    graph, feeds = outlying()
    search = RangeSearch(graph, QuantizationRequest(act_bw=16), {}, Judge(graph, feeds, Engine()))
    tight = replace(search.choice, ranges=("min-max",) * len(search.choice.ranges))
    signal = np.ones((1, 20))
    before, after = (Noise(signal, signal * 10 ** (db / 10), 1) for db in (-40.0, -40.0 - gained_db))
    kept = search._take(tight, after, before)
    assert (kept is after, search.choice == tight) == (is_given_up, is_given_up)


def test_few_samples_calibrate_and_judge() -> None:
    graph, feeds = outlying()
    done = quantize_graph(graph, QuantizationRequest(act_quantizer="auto"), feeds[:1], Engine())
    assert noise_db(graph, done, feeds[:1]) < -20
