"""Average pools that HTP computes wrongly become depthwise filters, and mean the same."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ir.verify import verify
from edgewright.model.model import Model
from edgewright.ops import reference
from edgewright.ops.pool import PoolAvg2d
from edgewright.passes.graph_pass import PASSES

STILL, AROUND, BEHIND = ((0, 0), (0, 0)), ((1, 1), (1, 1)), ((0, 1), (0, 1))


def pooled(size, stride, pads, *, is_counted=False, bits=None, shape=(2, 8, 12, 3)):
    graph = Graph("g")
    graph.add_input("x", TensorType(shape))
    op = PoolAvg2d(filter_size=size, stride=stride, pad_amount=pads, count_pad_for_edges=is_counted)
    graph.add(Node("n", op, ["x"], ["y"]))
    graph.outputs = ["y"]
    feed = {"x": np.random.default_rng(3).normal(1, 1, shape).astype(np.float32)}
    if bits is not None:
        graph = ew.quantize(Model.of(graph), [feed], act_bw=bits).fixed_graph()
        feed = {"x": graph.types["x"].encoding.encode(feed["x"], graph.types["x"].dtype)}
    return graph, feed


@pytest.mark.parametrize("bits", [None, 8, 16])
@pytest.mark.parametrize(
    ("size", "stride", "pads", "is_counted"),
    [
        ((5, 5), (2, 2), ((2, 2), (2, 2)), False),
        ((5, 5), (2, 2), ((2, 2), (2, 2)), True),
        ((3, 3), (1, 1), ((1, 0), (0, 1)), False),
        ((2, 2), (1, 1), BEHIND, False),
        ((2, 2), (2, 2), AROUND, True),
        ((1, 3), (1, 1), ((0, 0), (1, 1)), False),
    ],
    ids=str,
)
def test_padding_that_the_library_counts_wrongly_is_that_of_a_filter(size, stride, pads, is_counted, bits):
    graph, feed = pooled(size, stride, pads, is_counted=is_counted, bits=bits)
    before = reference.run(graph, feed)["y"].astype(float)
    assert PASSES["filter_pools"](graph) == 1
    verify(graph, after="filter_pools")
    # Half a step is evened out with the rest; filters of 16 bits have weights of eight.
    tolerance = 1e-5 if bits is None else max(2, 2e-5 * (1 << bits))
    np.testing.assert_allclose(reference.run(graph, feed)["y"].astype(float), before, atol=tolerance)
    assert PASSES["filter_pools"](graph) == 0


@pytest.mark.parametrize("size", [(4, 4), (4, 6), (8, 4)])
def test_integers_of_tiles_are_filtered_at_once(size):
    graph, feed = pooled(size, size, STILL, bits=8)
    before = reference.run(graph, feed)["y"].astype(float)
    assert PASSES["filter_pools"](graph) == 1
    np.testing.assert_allclose(reference.run(graph, feed)["y"].astype(float), before, atol=1)


@pytest.mark.parametrize(
    ("size", "stride", "is_filtered"),
    [((4, 4), (4, 4), False), ((6, 6), (6, 6), True), ((9, 1), (1, 1), True), ((3, 3), (3, 3), False)],
)
def test_floats_are_filtered_where_tiles_have_a_rest_and_windows_are_long(size, stride, is_filtered):
    graph, _ = pooled(size, stride, STILL, shape=(1, 12, 16, 3))
    assert PASSES["filter_pools"](graph) == is_filtered


@pytest.mark.parametrize(
    ("size", "stride", "pads"),
    [
        ((3, 3), (1, 1), AROUND),
        ((3, 3), (2, 2), AROUND),
        ((2, 2), (2, 2), BEHIND),
        ((3, 3), (2, 2), ((0, 1), (0, 0))),
        ((2, 4), (2, 4), STILL),
        ((8, 12), (8, 12), STILL),
    ],
)
@pytest.mark.parametrize("bits", [None, 8])
def test_what_the_library_computes_rightly_stays(size, stride, pads, bits):
    assert PASSES["filter_pools"](pooled(size, stride, pads, bits=bits)[0]) == 0
