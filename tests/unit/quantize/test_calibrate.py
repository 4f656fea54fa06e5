"""Calibration: what streams through the graph is measured exactly, and nothing is kept."""

import tracemalloc

import numpy as np
import pytest

from edgewright.core.errors import BadInput, UsageError
from edgewright.core.events import Work, listen_to_progress
from edgewright.ops import reference
from edgewright.ops.activation import Relu
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.elementwise_unary import ElementWiseSquareRoot
from edgewright.quantize.calibrate import check_constants, observe_extremes, observe_histograms
from edgewright.quantize.observers import Histogram
from tests.unit.quantize.nets import Engine, Net, samples


def residual():
    net = Net()
    stem = net.unary(Relu(), net.conv(net.x, 6))
    return net.done(net.emit(ElementWiseAdd(), net.conv(stem, 6), stem))


def every_value(graph):
    return [*graph.inputs, *(value for node in graph.nodes for value in node.outputs)]


def all_values(graph, data):
    full = graph.copy()
    full.outputs = every_value(graph)
    runs = [{**reference.run(full, sample), **sample} for sample in data]
    return {value: np.stack([run[value] for run in runs]) for value in full.outputs}


def test_extremes_are_those_of_all_samples_together():
    graph = residual()
    data = samples(graph)
    wanted = all_values(graph, data)
    found = observe_extremes(graph, every_value(graph), data, Engine())
    for value, array in wanted.items():
        np.testing.assert_allclose(
            [found[value].low[0], found[value].high[0]], [array.min(), array.max()], rtol=1e-5
        )


def test_one_pass_returns_two_numbers_for_each_value_and_one_for_a_relu():
    graph, engine = residual(), Engine()
    makers = [node for node in graph.nodes if node.outputs[0] not in graph.outputs]
    observe_extremes(graph, [node.outputs[0] for node in makers], samples(graph, 5), engine)
    assert engine.runs == 5
    relus = sum(isinstance(node.op, Relu) for node in makers)
    assert relus > 0
    assert set(engine.returned) == {2 * len(makers) - relus}


def test_histograms_count_every_element_of_all_samples():
    graph = residual()
    data = samples(graph)
    wanted = all_values(graph, data)
    engine = Engine()
    extremes = observe_extremes(graph, every_value(graph), data, engine)
    found = observe_histograms(graph, extremes, data, engine)
    for value, array in wanted.items():
        exact = Histogram.of(array, bins=2048)
        assert found[value].counts.sum() == array.size
        # The engine and the reference differ in the last bits: an element may fall into the next bin.
        assert np.abs(np.cumsum(found[value].counts - exact.counts)).max() <= 0.01 * array.size


def test_the_memory_does_not_grow_with_the_number_of_samples():
    net = Net(1, 64, 64, 8)
    graph = net.done(net.conv(net.x, 16))
    values = every_value(graph)

    class Endless:
        def __init__(self, count):
            self.count = count

        def __iter__(self):
            for seed in range(self.count):
                yield samples(graph, 1, seed)[0]

    def peak(count):
        tracemalloc.start()
        extremes = observe_extremes(graph, values, Endless(count), Engine())
        observe_histograms(graph, extremes, Endless(count), Engine())
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(2)
    assert peak(40) < peak(5) * 1.2 + 100_000


def test_progress_is_reported_sample_by_sample():
    graph = residual()
    heard: list[tuple[str, int | None, int]] = []

    class Ear:
        def start_work(self, work: Work) -> None:
            heard.append((work.title, work.total, work.done))

        advance_work = end_work = start_work

    with listen_to_progress(Ear()):
        observe_extremes(graph, graph.outputs, samples(graph, 3), Engine())
    assert heard == [("calibrating", 3, done) for done in (0, 1, 2, 3, 3)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_sample_with_a_number_that_is_none_is_named(bad):
    graph = residual()
    data = samples(graph, 4)
    data[2]["x"][0, 1, 2, 3] = bad
    with pytest.raises(BadInput, match=r"sample 2 has 1 times (NaN|infinity)") as caught:
        observe_extremes(graph, graph.outputs, data, Engine())
    assert caught.value.where.tensor == "x"


def test_nan_that_the_model_makes_itself_is_found():
    net = Net()
    shifted = net.emit(ElementWiseAdd(), net.conv(net.x, 4), net.add_constant(np.array(2.0, np.float32)))
    root = net.unary(ElementWiseSquareRoot(), shifted)
    graph = net.done(net.unary(Relu(), root))
    with pytest.raises(BadInput, match="the float model computes NaN for sample 0") as caught:
        observe_extremes(graph, [root], samples(graph), Engine())
    assert caught.value.where.tensor == root


def test_overflow_is_found_where_it_happens():
    net = Net()
    high = net.emit(ElementWiseAdd(), net.conv(net.x, 4), net.add_constant(np.array(3e38, np.float32)))
    big = net.emit(ElementWiseAdd(), high, high)
    graph = net.done(net.unary(Relu(), big))
    with pytest.raises(BadInput, match="values from inf to inf for sample 0"):
        observe_extremes(graph, [big], samples(graph), Engine())


def test_infinities_of_the_model_itself_are_masks():
    net = Net()
    mask = net.add_constant(np.array([0, -np.inf, 0, 0], np.float32))
    masked = net.emit(ElementWiseAdd(), net.conv(net.x, 4), mask)
    found = observe_extremes(net.done(masked), [masked], samples(net.graph), Engine())
    assert found[masked].low[0] == -65504
    assert found[masked].high[0] < 100


def test_no_samples_are_refused():
    graph = residual()
    with pytest.raises(UsageError, match="there are no calibration samples"):
        observe_extremes(graph, graph.outputs, [], Engine())


def test_weights_with_nan_are_named():
    graph = residual()
    name = next(iter(graph.constants))
    graph.constants[name] = np.full_like(graph.constants[name], np.nan)
    graph.source_names[name] = "block1.conv.weight"
    with pytest.raises(BadInput, match="the weights have 216 times NaN") as caught:
        check_constants(graph, graph.constants)
    assert caught.value.where.tensor == "block1.conv.weight"
