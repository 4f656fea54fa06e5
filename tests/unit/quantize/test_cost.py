"""What a precision costs: bits times multiply-accumulates, and bytes of weights."""

from dataclasses import replace

import pytest

from edgewright.ops.activation import Relu
from edgewright.quantize.cost import compute_relative_cost, count_stored_bytes
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from tests.unit.quantize.nets import Engine, Net, samples


def small_net():
    net = Net()
    return net.done(net.conv(net.unary(Relu(), net.conv(net.x, 8)), 4))


@pytest.mark.parametrize(
    ("widths", "cost"), [((8, 8), 1.0), ((8, 16), 2.0), ((4, 8), 0.5), ((4, 16), 1.0), ((16, 16), 4.0)]
)
def test_cost_is_the_product_of_both_widths_over_that_of_w8a8(widths, cost) -> None:
    graph = small_net()
    request = QuantizationRequest(weight_bw=widths[0], act_bw=widths[1])
    done = quantize_graph(graph, request, samples(graph), Engine())
    # The Relu has no weights: it counts one 8-bit MAC for each element.
    assert compute_relative_cost(done.graph, graph) == pytest.approx(cost, rel=0.02)


def test_half_precision_costs_as_much_as_16_bits_by_16() -> None:
    graph = small_net()
    done = quantize_graph(graph, QuantizationRequest(float_bw=16))
    assert compute_relative_cost(done.graph, graph) == pytest.approx(4.0, rel=0.02)


def test_weights_of_4_bits_are_counted_packed() -> None:
    graph = small_net()
    eight, four = (
        quantize_graph(graph, replace(QuantizationRequest(), weight_bw=bits), samples(graph), Engine()).graph
        for bits in (8, 4)
    )
    weights = 3 * 3 * (4 * 8 + 8 * 4)
    assert count_stored_bytes(eight) - count_stored_bytes(four) == weights // 2
    assert count_stored_bytes(eight) == weights + 4 * (8 + 4)
