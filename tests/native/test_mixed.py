"""Graphs of mixed precision on the genuine emulator: it takes them, and the simulation agrees."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.ops.activation import Relu, Sigmoid
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.pool import PoolAvg2d
from edgewright.quantize.cost import get_bits
from edgewright.quantize.mixed.calibrated import Calibrated
from edgewright.quantize.mixed.cheapest import measure_effects
from edgewright.quantize.mixed.moves import May, apply_moves, order_moves
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from tests.unit.quantize.nets import Engine, Net, samples

REQUEST = QuantizationRequest(per_row=True, float_bw=16)


def network():
    """Convolutions, a depthwise one, a residual sum, a pool, dense layers: what widths meet in."""
    net = Net()
    first = net.unary(Relu(), net.conv(net.x, 8))
    apart = net.unary(Relu(), net.depthwise(first))
    back = net.conv(apart, 8, size=1)
    total = net.emit(ElementWiseAdd(), first, back)
    pooled = net.emit(
        PoolAvg2d(filter_size=(8, 8), stride=(8, 8), pad_amount=((0, 0), (0, 0))),
        net.unary(Relu(), net.conv(total, 8)),
    )
    return net.done(net.unary(Sigmoid(), net.dense(pooled, 6)))


@pytest.fixture(scope="module")
def steps():
    graph = network()
    feeds = samples(graph, 6)
    base = quantize_graph(graph, REQUEST, feeds, Engine())
    found = Calibrated(base, feeds, Engine())
    effects, _ = measure_effects(found, feeds, Engine())
    return found, effects, order_moves(found.graph, found.parts, effects, May()), feeds


@pytest.mark.parametrize("part", [0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0])
def test_the_emulator_takes_any_widths_along_the_list_and_agrees(steps, part: float) -> None:
    found, effects, moved, feeds = steps
    graph = found.quantize(apply_moves(moved[: round(part * len(moved))], effects.small)).graph
    name = graph.outputs[0]
    given = graph.types["x"]
    x = feeds[0]["x"]
    inputs = {"x": x.astype(np.float16) if given.encoding is None else given.encoding.encode(x, given.dtype)}
    simulated = find_backend("htp-sim").prepare(graph, RunOptions(threads=1)).run(inputs)[name]
    emulated = find_backend("htp-native").prepare(graph, RunOptions()).run(inputs)[name]
    kind = graph.types[name]
    first, second = (a if kind.encoding is None else kind.encoding.decode(a) for a in (simulated, emulated))
    # Two steps of 8 bits of a range of 1: values on the way differ by one of theirs.
    assert np.abs(first.astype(np.float64) - second).max() <= 2 / 256
    widths = {get_bits(graph.types[value]) for node in graph.nodes for value in node.outputs}
    assert part < 0.35 or 16 in widths
