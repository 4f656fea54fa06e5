"""Layout: spatial networks work channel last throughout, and nothing is transposed in vain."""

import numpy as np
import pytest

from edgewright.ir.dims import symbol
from edgewright.ir.graph import Graph
from edgewright.ir.op import Op
from edgewright.ir.text import parse
from edgewright.ir.verify import verify
from edgewright.ops.activation import Relu, Sigmoid
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.layout.orders import order_channel_first, order_channel_last
from edgewright.passes.layout.spatial_io import drop_io_transposes
from edgewright.passes.pipeline import LAYOUT, run_passes
from tests.unit.passes.nets import SPATIAL, Net, cnn_head, feed, results, transposes


def laid_out(graph: Graph) -> Graph:
    run_passes(graph, LAYOUT, is_checked=True)
    return graph


@pytest.mark.parametrize("name", SPATIAL)
def test_a_spatial_network_keeps_transposes_only_at_inputs_and_outputs(name: str) -> None:
    graph = SPATIAL[name]()
    inputs = feed(graph)
    before = results(graph, inputs)
    laid_out(graph)
    assert transposes(graph) <= 2
    for found, expected in zip(results(graph, inputs), before, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", SPATIAL)
def test_with_spatial_io_a_spatial_network_has_no_transposes(name: str) -> None:
    graph = SPATIAL[name]()
    inputs = feed(graph)
    before = results(graph, inputs)
    laid_out(graph)
    drop_io_transposes(graph)
    verify(graph)
    assert transposes(graph) == 0
    turned = {name: np.transpose(array, order_channel_last(array.ndim)) for name, array in inputs.items()}
    for found, expected in zip(results(graph, turned), before, strict=True):
        back = np.transpose(found, order_channel_first(found.ndim)) if found.ndim > 2 else found
        np.testing.assert_allclose(back, expected, rtol=1e-5, atol=1e-5)


def test_io_that_must_stay_keeps_its_transposes_and_names() -> None:
    graph = laid_out(SPATIAL["chain"]())
    output = graph.outputs[0]
    assert drop_io_transposes(graph, keep=("x", output)) == 0
    assert drop_io_transposes(graph, keep=("x",)) == 1
    assert graph.outputs == [output]
    assert graph.types[output].layout == "NHWC"
    assert graph.types["x"].shape == (1, 4, 6, 6)


def two_readers(op: Op, *shape: int) -> Graph:
    net = Net(1, 8, 4)
    turned = net.transpose(net.x, (0, 2, 1))
    left, right = net.emit(Relu(), turned), net.emit(Sigmoid(), turned)
    return net.done(net.emit(op, left, net.random(*shape)), net.emit(op, right, net.random(*shape)))


def test_an_op_that_reads_a_transpose_twice_is_not_made_to_transpose_twice() -> None:
    assert transposes(laid_out(two_readers(FullyConnected(keep_dims=True), 3, 8))) == 1


def test_a_transpose_goes_where_products_behind_other_ops_can_swap() -> None:
    assert transposes(laid_out(two_readers(MatMul(), 8, 3))) == 0


def test_a_transpose_that_a_model_asks_for_stays() -> None:
    graph = laid_out(
        parse("""
            graph main {
              input x: float_32[2,3,4,5]
              t = Transpose(x) {perm=(0, 2, 3, 1)}
              y = Relu(t)
              output y
            }
        """)
    )
    assert [type(node.op) for node in graph.nodes] == [Transpose, Relu]


def test_a_graph_output_that_is_a_turned_value_keeps_its_name() -> None:
    net = Net()
    x = net.relu(net.conv(net.x, 4))
    turned = net.transpose(x, (0, 2, 3, 1))
    graph = laid_out(net.done(turned, x))
    assert graph.outputs == [turned, x]
    assert transposes(graph) == 2  # the input's, and the one that gives x channel first


def test_values_keep_the_names_of_the_source_in_the_name_map() -> None:
    net = Net()
    x = net.conv(net.x, 4)
    activated = net.relu(x)
    graph = laid_out(net.done(net.conv(activated, 4)))
    (relu,) = (node for node in graph.nodes if isinstance(node.op, Relu))
    assert graph.source_names[relu.outputs[0]] == activated


def test_a_symbolic_size_does_not_hinder_the_layout() -> None:
    net = Net(symbol("batch"), 4, symbol("h"), symbol("w"))
    x = net.relu(net.conv(net.x, 4))
    graph = laid_out(net.done(net.conv(x, 4)))
    assert transposes(graph) == 2


def test_a_mask_of_one_channel_is_spatial_first_too() -> None:
    net = Net()
    mask = net.emit(Sigmoid(), net.relu(net.conv(net.x, 1)))
    graph = net.done(mask)
    run_passes(graph, [name for name in LAYOUT if name != "transpose_to_reshape"], is_checked=True)
    drop_io_transposes(graph)
    assert transposes(graph) == 0
    assert graph.types[mask].layout == "NHWC"


def test_a_product_of_a_swapped_matrix_swaps_it_itself() -> None:
    graph = laid_out(
        parse("""
            graph main {
              input a: float_32[2,3,4]
              input b: float_32[2,5,4]
              t = Transpose(b) {perm=(0, 2, 1)}
              y = MatMul(a, t)
              output y
            }
        """)
    )
    assert [node.op for node in graph.nodes] == [MatMul(transpose_in1=True)]


def test_a_transpose_of_single_axes_is_a_reshape() -> None:
    graph = laid_out(
        parse("""
            graph main {
              input x: float_32[2,7,1,1]
              t = Transpose(x) {perm=(0, 2, 3, 1)}
              y = Relu(t)
              output y
            }
        """)
    )
    assert [node.op.qnn_name() for node in graph.nodes] == ["Reshape", "Relu"]


def test_the_weights_behind_a_flattening_take_its_transpose() -> None:
    graph = cnn_head()
    inputs = feed(graph)
    before = results(graph, inputs)
    laid_out(graph)
    assert transposes(graph) == 1  # the input's
    np.testing.assert_allclose(results(graph, inputs)[0], before[0], rtol=1e-5, atol=1e-5)


def test_weights_that_are_not_known_leave_the_transpose_before_them() -> None:
    graph = laid_out(
        parse("""
            graph main {
              input x: float_32[1,2,3,4]
              input w: float_32[5,24]
              t = Transpose(x) {perm=(0, 3, 1, 2)}
              r = Reshape(t) {shape=(1, 24)}
              y = FullyConnected(r, w)
              output y
            }
        """)
    )
    assert transposes(graph) == 1


WIDENED = "i = Reshape(x) {shape=(2, 1, 3, 4)} "


@pytest.mark.parametrize(
    ("body", "ops"),
    [
        (
            "r = Reshape(x) {shape=(2, 3, 1, 4)} y = Transpose(r) {perm=(0, 2, 3, 1)}",
            [Transpose(perm=(0, 2, 1)), Reshape(shape=(2, 1, 4, 3))],
        ),
        (
            "r = Reshape(x) {shape=(1, 2, 3, 4)} y = Transpose(r) {perm=(0, 2, 3, 1)}",
            [Transpose(perm=(1, 2, 0)), Reshape(shape=(1, 3, 4, 2))],
        ),
        (
            WIDENED + "s = Sigmoid(i) t = Transpose(s) {perm=(0, 3, 1, 2)} y = Reshape(t) {shape=(2, 4, 3)}",
            [Reshape(shape=(2, 1, 3, 4)), Sigmoid(), Reshape(shape=(2, 3, 4)), Transpose(perm=(0, 2, 1))],
        ),
        (
            "r = Reshape(x) {shape=(2, 3, 2, 2)} y = Transpose(r) {perm=(0, 2, 3, 1)}",
            [Reshape(shape=(2, 3, 2, 2)), Transpose(perm=(0, 2, 3, 1))],
        ),
    ],
)
def test_transposes_stand_where_there_are_fewer_axes(body: str, ops: list[Op]) -> None:
    graph = parse(f"graph main {{ input x: float_32[2,3,4] {body} output y }}")
    inputs = feed(graph)
    before = results(graph, inputs)[0]
    run_passes(graph, ("narrow_transposes",), is_checked=True)
    assert [node.op for node in graph.nodes] == ops
    np.testing.assert_array_equal(results(graph, inputs)[0], before)
