"""Padding, filters and transposes that HTP computes wrongly or refuses are written in another way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgewright as ew
from edgewright.ir.graph import Graph, Node
from edgewright.ir.text import parse
from edgewright.ir.types import TensorType
from edgewright.ir.verify import verify
from edgewright.model.model import Model
from edgewright.ops import reference
from edgewright.ops.activation import Sigmoid, Tanh
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.gather import Gather
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.norm import LayerNorm, RmsNorm
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.rearrange_fill import Pad, Scheme
from edgewright.ops.rearrange_slice import Split
from edgewright.ops.reduce import ReduceMax
from edgewright.ops.reduce_softmax import Softmax
from edgewright.passes.graph_pass import PASSES
from edgewright.passes.htp.split_transposes import MOST_AXES, split_order
from edgewright.passes.pipeline import HTP, run_passes


@st.composite
def transposes(draw):
    rank = draw(st.integers(6, 9))
    shape = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    return tuple(shape), tuple(draw(st.permutations(range(rank))))


def single(op, shape):
    graph = Graph("g")
    graph.add_input("x", TensorType(shape))
    graph.add(Node("n", op, ["x"], ["y"]))
    graph.outputs = ["y"]
    return graph


def count(shape, start=0):
    return np.arange(start, start + np.prod(shape), dtype=np.float32).reshape(shape)


@given(case=transposes())
def test_several_transposes_of_five_axes_do_the_work_of_one(case):
    shape, perm = case
    moved = x = count(shape)
    for sizes, order in split_order(shape, perm):
        assert len(sizes) == len(order) <= MOST_AXES
        moved = moved.reshape(sizes).transpose(order)
    np.testing.assert_array_equal(moved.reshape([shape[axis] for axis in perm]), x.transpose(perm))


def test_windows_are_moved_by_one_transpose_of_five_axes():
    shape, order = next(split_order((1, 4, 7, 4, 7, 32), (0, 1, 3, 2, 4, 5)))
    assert (shape, order) == ((4, 7, 4, 224), (0, 2, 1, 3))


@given(case=transposes())
def test_no_tensor_between_two_reshapes_keeps_more_than_five_axes(case):
    shape, perm = case
    flat = (int(np.prod(shape)),)
    graph = Graph("g")
    graph.add_input("x", TensorType(flat))
    graph.add(Node("a", Reshape(shape=shape), ["x"], ["u"]))
    graph.add(Node("b", Transpose(perm=perm), ["u"], ["v"]))
    graph.add(Node("c", Reshape(shape=flat), ["v"], ["y"]))
    graph.outputs = ["y"]
    feed = {"x": count(flat)}
    before = reference.run(graph, feed)["y"]
    run_passes(graph, HTP, is_checked=True)
    assert max(graph.types[value].rank for value in graph.types) <= MOST_AXES
    np.testing.assert_array_equal(reference.run(graph, feed)["y"], before)


@pytest.mark.parametrize("amounts", [((0, 0), (1, 1)), ((3, 0), (0, 9)), ((7, 5), (2, 1))], ids=str)
def test_a_repeated_edge_is_mirrored_until_it_is_wide_enough(amounts):
    graph = single(Pad(scheme=Scheme.EDGE, pad_amount=amounts), (2, 3))
    feed = {"x": count((2, 3))}
    before = reference.run(graph, feed)["y"]
    assert PASSES["mirror_edges"](graph) == 1
    assert all(node.op.scheme == Scheme.MIRROR_SYMMETRIC for node in graph.nodes)
    np.testing.assert_array_equal(reference.run(graph, feed)["y"], before)


@pytest.mark.parametrize("bits", [None, 8, 16])
@pytest.mark.parametrize("amounts", [((0, 0), (0, 1)), ((1, 0), (2, 3))], ids=str)
def test_a_constant_behind_the_last_axis_is_concatenated(amounts, bits):
    graph = single(Pad(scheme=Scheme.CONSTANT, pad_amount=amounts, pad_constant_value=2.5), (2, 3))
    feed = {"x": count((2, 3), start=-2)}
    if bits is not None:
        graph = ew.quantize(Model.of(graph), [feed], act_bw=bits).fixed_graph()
        kind = graph.types["x"]
        feed = {"x": kind.encoding.encode(feed["x"], kind.dtype)}
    before = reference.run(graph, feed)["y"]
    assert PASSES["append_channels"](graph) == 1
    assert all(node.op.pad_amount[-1][1] == 0 for node in graph.nodes if isinstance(node.op, Pad))
    np.testing.assert_array_equal(reference.run(graph, feed)["y"], before)


def test_padding_in_front_of_the_last_axis_stays():
    graph = single(Pad(scheme=Scheme.CONSTANT, pad_amount=((1, 1), (2, 0))), (2, 3))
    assert PASSES["append_channels"](graph) == 0


PADDED = ((1, 1), (1, 0))
NONE = ((0, 0), (0, 0))


@pytest.mark.parametrize("bits", [None, 8])
@pytest.mark.parametrize(
    ("kind", "size", "stride", "pads", "is_grown"),
    [
        (Conv2d, 9, 2, PADDED, True),
        (DepthWiseConv2d, 9, 2, NONE, True),
        (Conv2d, 1, 2, PADDED, True),
        (DepthWiseConv2d, 1, 3, NONE, True),
        (Conv2d, 1, 2, NONE, False),
        (Conv2d, 9, 1, PADDED, False),
        (DepthWiseConv2d, 3, 2, PADDED, False),
    ],
)
def test_filters_that_are_computed_wrongly_grow_by_zeros(kind, size, stride, pads, is_grown, bits):
    random = np.random.default_rng(0)
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 11, 11, 4)))
    channels = 1 if kind is DepthWiseConv2d else 4
    graph.add_constant("w", random.normal(size=(size, size, channels, 4)).astype(np.float32))
    graph.add(Node("n", kind(stride=(stride, stride), pad_amount=pads), ["x", "w"], ["y"]))
    graph.outputs = ["y"]
    feed = {"x": random.normal(size=(1, 11, 11, 4)).astype(np.float32)}
    if bits is not None:
        graph = ew.quantize(Model.of(graph), [feed], act_bw=bits).fixed_graph()
        x = graph.types["x"]
        feed = {"x": x.encoding.encode(feed["x"], x.dtype)}
    before = reference.run(graph, feed)["y"]
    assert PASSES["grow_filters"](graph) == is_grown
    grown = graph.constants[graph.node("n").inputs[1]].shape[:2]
    # In 8 bits channels that are left over want longer filters.
    is_long = bits == 8 and kind is DepthWiseConv2d and size == 9
    assert grown == ((9, 17) if is_long else (size + is_grown, size + is_grown))
    np.testing.assert_allclose(reference.run(graph, feed)["y"], before, rtol=1e-5, atol=1e-5)
    assert PASSES["grow_filters"].function(graph) == 0


@pytest.mark.parametrize(
    ("size", "stride", "behind", "output_padding", "grown"),
    [(2, 2, 0, 1, 3), (3, 3, 0, 2, 5), (3, 3, 1, 2, 4), (3, 2, 0, 1, 3), (3, 2, 1, 1, 3), (4, 2, 0, 1, 5)],
)
def test_transposed_filters_reach_all_places_of_the_output(size, stride, behind, output_padding, grown):
    op = TransposeConv2d(
        stride=(stride, 1), pad_amount=((0, behind), (0, 0)), output_padding=(output_padding, 0)
    )
    random = np.random.default_rng(0)
    filters = random.normal(size=(size, 1, 4, 5)).astype(np.float32)
    graph, feed = graph_of(op, (1, 4, 3, 4), constants=[filters])
    before = reference.run(graph, feed)["y0"]
    assert PASSES["grow_filters"](graph) == (grown > size)
    assert graph.constants[graph.node("n").inputs[1]].shape[0] == grown
    verify(graph, after="grow_filters")
    np.testing.assert_allclose(reference.run(graph, feed)["y0"], before, rtol=1e-5, atol=1e-5)


def assert_lowered(graph, feed, name):
    before = reference.run(graph, feed)
    assert PASSES[name](graph) >= 1
    verify(graph, after=name)
    busy = [node for node in graph.nodes if not isinstance(node.op, Reshape | Transpose)]
    ranks = [graph.types[value].rank for node in busy for value in (*node.inputs, *node.outputs) if value]
    assert max(ranks) <= MOST_AXES
    for value, expected in before.items():
        np.testing.assert_allclose(reference.run(graph, feed)[value], expected, rtol=1e-5, atol=1e-5)
    assert PASSES[name].function(graph) == 0


def graph_of(op, *shapes, outputs=1, constants=()):
    graph = Graph("g")
    for index, shape in enumerate(shapes):
        graph.add_input(f"x{index}", TensorType(shape))
    for index, array in enumerate(constants):
        graph.add_constant(f"c{index}", array)
    values = [f"y{index}" for index in range(outputs)]
    graph.add(Node("n", op, [*graph.inputs, *graph.constants], values))
    graph.outputs = values
    random = np.random.default_rng(3)
    return graph, {
        name: random.normal(size=graph.types[name].shape).astype(np.float32) for name in graph.inputs
    }


SIX = (1, 2, 3, 4, 2, 3)


@pytest.mark.parametrize(
    ("op", "shapes", "outputs"),
    [
        (ElementWiseNeg(), [SIX], 1),
        (ElementWiseAdd(), [SIX, (2, 1, 4, 2, 1)], 1),
        (ElementWiseAdd(), [(2, 1, 4, 1, 2, 3), (1, 3, 4, 2, 2, 3)], 1),
        (Split(axis=3, split_index=(1, 3)), [SIX], 3),
        (Concat(axis=0), [SIX, SIX], 1),
        (Softmax(axis=5), [SIX], 1),
        (ReduceMax(axes=(2, 3)), [SIX], 1),
        (ReduceMax(axes=(0, 5), keep_dims=True), [SIX], 1),
        (MatMul(), [SIX, (1, 2, 3, 1, 3, 5)], 1),
    ],
    ids=str,
)
def test_axes_that_an_op_treats_alike_become_one(op, shapes, outputs):
    assert_lowered(*graph_of(op, *shapes, outputs=outputs), "lower_ranks")


def test_five_axes_become_fewer_only_for_ops_that_take_four():
    graph, feed = graph_of(Tanh(), (2, 3, 1, 2, 3))
    assert_lowered(graph, feed, "lower_ranks")
    assert graph.types[graph.node("n").inputs[0]].rank == 1
    assert PASSES["lower_ranks"](graph_of(Sigmoid(), (2, 3, 1, 2, 3))[0]) == 0


def test_indices_of_two_axes_are_taken_as_a_vector():
    indices = np.asarray([[0, 2], [1, 1], [2, 0]], np.int32)
    assert_lowered(*graph_of(Gather(axis=2), (1, 2, 3, 4, 2), constants=[indices]), "lower_ranks")


def test_rows_of_six_axes_are_multiplied_as_a_matrix():
    weights = np.random.default_rng(5).normal(size=(7, 3)).astype(np.float32)
    assert_lowered(*graph_of(FullyConnected(), SIX, constants=[weights]), "lower_ranks")


@pytest.mark.parametrize("kind", [LayerNorm, RmsNorm])
@pytest.mark.parametrize(
    ("shape", "axes"), [((2, 3, 4), (1,)), ((2, 3, 4, 5), (1, 3)), ((2, 3, 2, 2, 4), (4,))], ids=str
)
def test_a_norm_gets_its_axes_at_the_end_of_a_matrix(kind, shape, axes):
    random = np.random.default_rng(0)
    weights = [random.normal(size=[shape[axis] for axis in axes]).astype(np.float32) for _ in range(2)]
    graph, feed = graph_of(kind(axes=axes), shape, constants=weights)
    assert_lowered(graph, feed, "arrange_norms")
    (norm,) = (node for node in graph.nodes if isinstance(node.op, kind))
    assert norm.op.axes == (1,)


def test_the_beta_of_an_rms_norm_of_floats_is_added_behind_it():
    weights = [np.asarray([1, 2, 3], np.float32), np.asarray([4, 5, 6], np.float32)]
    graph, feed = graph_of(RmsNorm(axes=(1,)), (2, 3), constants=weights)
    assert_lowered(graph, feed, "arrange_norms")
    assert [node.op.qnn_name() for node in graph.nodes] == ["RmsNorm", "ElementWiseAdd"]


@pytest.mark.parametrize(
    ("maker", "is_separated"),
    [
        ("fc = FullyConnected(x, w)", True),
        ("fc = ElementWiseAdd(x, z)", True),
        ("fc = ElementWiseAdd(x, w)", False),
    ],
)
def test_an_activation_of_floats_is_kept_apart_from_a_sum(maker, is_separated):
    graph = parse(
        "graph g {\n  input x: float_32[2,2]\n  input z: float_32[2,2]\n"
        f"  const w: float_32[2,2] = [1, 2, 3, 4]\n  {maker}\n  y = Sigmoid(fc)\n  output y\n}}\n"
    )
    feed = {"x": count((2, 2)), "z": count((2, 2), start=5)}
    before = reference.run(graph, feed)["y"]
    assert PASSES["separate_activations"](graph) == is_separated
    np.testing.assert_array_equal(reference.run(graph, feed)["y"], before)
    assert PASSES["separate_activations"].function(graph) == 0


def test_an_activation_in_fixed_point_stays_with_its_sum():
    graph, feed = graph_of(FullyConnected(), (2, 2), constants=[count((2, 2))])
    graph.add(Node("s", Sigmoid(), ["y0"], ["z"]))
    graph.outputs = ["z"]
    fixed = ew.quantize(Model.of(graph), [feed]).fixed_graph()
    assert PASSES["separate_activations"](fixed) == 0


@pytest.mark.parametrize("bits", [None, 8, 16])
@pytest.mark.parametrize("is_padding_counted", [False, True])
@pytest.mark.parametrize(("shape", "size", "stride"), [((2, 1, 1, 3), 3, 1), ((1, 4, 2, 3), 5, 2)], ids=str)
def test_an_average_over_more_than_there_is_becomes_a_product(shape, size, stride, is_padding_counted, bits):
    op = PoolAvg2d(
        filter_size=(size, size),
        stride=(stride, stride),
        pad_amount=((size // 2, size // 2), (size // 2, size // 2)),
        count_pad_for_edges=is_padding_counted,
    )
    graph, feed = graph_of(op, shape)
    if bits is not None:
        graph = ew.quantize(Model.of(graph), [feed], act_bw=bits).fixed_graph()
        feed = {"x0": graph.types["x0"].encoding.encode(feed["x0"], graph.types["x0"].dtype)}
    before = reference.run(graph, feed)["y0"].astype(float)
    assert PASSES["multiply_small_pools"](graph) == 1
    verify(graph, after="multiply_small_pools")
    # Weights have eight bits.
    tolerance = 1e-5 if bits is None else 0.01 * (1 << bits)
    np.testing.assert_allclose(reference.run(graph, feed)["y0"].astype(float), before, atol=tolerance)


def test_a_pool_of_windows_that_fit_stays():
    op = PoolAvg2d(filter_size=(3, 3), stride=(1, 1), pad_amount=((1, 1), (1, 1)))
    assert PASSES["multiply_small_pools"](graph_of(op, (1, 3, 4, 2))[0]) == 0
