"""What HTP asks for is written out without a change of meaning."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import UnsupportedFeature
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import REGISTRY
from edgewright.ir.text import parse
from edgewright.ir.types import TensorType
from edgewright.ir.verify import verify
from edgewright.model.model import Model
from edgewright.ops import reference
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWisePower
from edgewright.ops.gather import Gather, GatherElements, GatherNd
from edgewright.ops.matmul import MatMul
from edgewright.passes.graph_pass import PASSES
from edgewright.passes.htp.replace_biased_matmul import check_biases
from tests.native.nets import clamp_net
from tests.native.op_cases import in_form, sample_graph

# Pass -> op, sample and form that it is for.
FIRES = {
    "widen_conv_1d": [
        ("Conv1d", "bias", "w8a8"),
        ("DepthWiseConv1d", "plain", None),
        ("TransposeConv1d", "group", None),
    ],
    "flatten_rows": [("FullyConnected", "keep_dims", "w8a8")],
    "move_softmax_axis": [("Softmax", "axis", None), ("Softmax", "axis", "w8a8")],
    "wrap_indices": [("Gather", "vector", None), ("GatherNd", "elements", None), ("ScatterNd", "none", None)],
    "complete_norms": [
        ("LayerNorm", "beta_only", None),
        ("RmsNorm", "plain", "w8a8"),
        ("RmsNorm", "plain", "w8a16"),
    ],
    "compare_to_zero": [("Cast", "to_bool", None)],
    "spell_softplus": [("ElementWiseSoftplus", label, None) for label in ("plain", "beta", "high_threshold")],
    "spell_hard_swish": [("HardSwish", "plain", None)],
    "write_neurons": [("ElementWiseSoftplus", "plain", None), ("ElementWiseSoftplus", "plain", "w8a8")],
    "replace_reciprocals": [
        ("ElementWiseUnary", "reciprocal", None),
        ("ElementWiseUnary", "reciprocal", "w8a8"),
    ],
    "pad_ceil_windows": [("PoolAvg2d", "ceil", None), ("PoolMax2d", "ceil", "w8a8")],
    "unroll_recurrent": [
        *((op, sample.label, None) for op in ("Lstm", "Gru") for sample in REGISTRY[op].samples()),
    ],
    "convert_around_moves": [
        ("ResizeNearestNeighbor", "smaller", "w8a8"),
        ("ScatterElements", "add", "w8a16"),
    ],
}


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, cases in FIRES.items() for case in cases], ids=str
)
def test_a_pass_fires_keeps_the_meaning_and_settles(name, case):
    op, label, form = case
    (sample,) = (item for item in REGISTRY[op].samples() if item.label == label)
    graph, feed = sample_graph(sample)
    if form is not None:
        graph = in_form(graph, feed, form)
        feed = {
            n: graph.types[n].encoding.encode(a, graph.types[n].dtype) if graph.types[n].encoding else a
            for n, a in feed.items()
        }
    before = reference.run(graph, feed)
    assert PASSES[name](graph) >= 1
    verify(graph, after=name)
    found = reference.run(graph, feed)
    # Encoded twice (a Convert more, a norm's weight centred anew) may be one step apart.
    for value, wanted in before.items():
        step = 1 if graph.types[value].encoding is not None else 1e-5
        np.testing.assert_allclose(found[value].astype(float), wanted.astype(float), atol=step, rtol=0)
    assert PASSES[name].function(graph) == 0


def product(op, shape, weights, **options):
    random = np.random.default_rng(2)
    graph = Graph("g")
    graph.add_input("x", TensorType(shape))
    graph.add_constant("w", random.normal(size=weights).astype(np.float32))
    graph.add_constant("b", random.normal(size=weights[-1]).astype(np.float32) * 3)
    graph.add(Node("n", op, ["x", "w", "b"], ["y"]))
    graph.outputs = ["y"]
    x = random.normal(size=shape).astype(np.float32)
    fixed = ew.quantize(Model.of(graph), [{"x": x}], act_quantizer="tf", **options).fixed_graph()
    return fixed, {"x": fixed.types["x"].encoding.encode(x, fixed.types["x"].dtype)}


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-0.4, 0.5), (0.3, 1.0), (-0.5, -0.2)])
def test_a_clamp_with_an_encoding_beyond_its_bounds_is_written_out(bits, bounds):
    graph = clamp_net(bounds, bits)
    feed = {"x": np.arange(256, dtype=graph.types["x"].dtype.numpy).reshape(1, 4, 4, 16) << (bits - 8)}
    before = reference.run(graph, feed)["y"]
    assert PASSES["keep_clamps"](graph) == 1
    verify(graph, after="keep_clamps")
    # The clamp may be dropped now: what it writes cannot hold anything else.
    clamp = next(node for node in graph.nodes if node.op.is_clamp)
    kept = graph.types[clamp.outputs[0]].encoding
    low, high = ((limit + kept.offsets[0]) * kept.scales[0] for limit in (0, (1 << bits) - 1))
    assert low >= min(bounds[0], 0) - kept.scales[0]
    assert high <= max(bounds[1], 0) + kept.scales[0]
    after = reference.run(graph, feed)["y"]
    np.testing.assert_allclose(after.astype(float), before.astype(float), atol=1, rtol=0)
    assert PASSES["keep_clamps"].function(graph) == 0


def test_a_clamp_whose_encoding_ends_at_its_bounds_stays():
    graph = clamp_net((0.0, 1.0), 8, written=(0.0, 1.0))
    assert PASSES["keep_clamps"](graph) == 0


@pytest.mark.parametrize(("exponent", "ops"), [(0.5, 1), (2, 1), (3, 2), (4, 2), (1.5, 0)])
def test_small_powers_of_floats_become_products_and_roots(exponent, ops):
    graph = Graph("g")
    graph.add_input("x", TensorType((2, 3)))
    graph.add_constant("e", np.float32([exponent]))
    graph.add(Node("n", ElementWisePower(), ["x", "e"], ["y"]))
    graph.outputs = ["y"]
    feed = {"x": np.float32([[0, 0.5, 1], [1.5, 2, 3]])}
    before = reference.run(graph, feed)["y"]
    assert PASSES["multiply_powers"](graph) == (ops > 0)
    verify(graph, after="multiply_powers")
    assert len(graph.nodes) == max(ops, 1)
    np.testing.assert_allclose(reference.run(graph, feed)["y"], before, rtol=1e-6)
    assert PASSES["multiply_powers"](graph) == 0


@pytest.mark.parametrize(
    ("op", "indices", "ops"),
    [
        (Gather(axis=1), [2, 0, -1], ["Cast", "Gather", "Cast"]),
        (GatherElements(axis=1), [[2, 0], [1, -1]], ["Cast", "GatherElements", "Cast"]),
        (GatherNd(), [[[0, 2], [1, -1]]], ["Cast", "Reshape", "Gather", "Cast"]),
        (GatherNd(), [[1], [0], [-1]], ["Cast", "Reshape", "Gather", "Cast"]),
    ],
    ids=str,
)
def test_booleans_are_gathered_as_integers_and_tuples_are_places(op, indices, ops):
    graph = Graph("g")
    graph.add_input("x", TensorType((2, 3), DType.BOOL_8))
    graph.add_constant("i", np.asarray(indices, np.int32))
    graph.add(Node("n", op, ["x", "i"], ["y"]))
    graph.outputs = ["y"]
    feed = {"x": np.asarray([[True, False, True], [False, False, True]])}
    before = reference.run(graph, feed)["y"]
    assert PASSES["gather_integers"](graph)
    verify(graph, after="gather_integers")
    assert [node.op.qnn_name() for node in graph.nodes] == ops
    np.testing.assert_array_equal(reference.run(graph, feed)["y"], before)
    assert PASSES["gather_integers"](graph) == 0


@pytest.mark.parametrize(
    ("dtype", "index", "count"),
    [(np.int8, [100, 2], 1), (np.uint64, [100, 2], 1), (np.int32, [300, 0], 0), (np.int32, [0, -5], 0)],
)
def test_places_need_more_bits_than_indices_and_wrong_indices_stay(dtype, index, count):
    graph = Graph("g")
    graph.add_input("x", TensorType((300, 4), DType.INT_32))
    graph.add_constant("i", np.asarray([index], dtype))
    graph.add(Node("n", GatherNd(), ["x", "i"], ["y"]))
    graph.outputs = ["y"]
    assert PASSES["gather_integers"](graph) == count
    if count:
        x = np.arange(1200, dtype=np.int32).reshape(300, 4)
        assert reference.run(graph, {"x": x})["y"].tolist() == [402]


WIDE = Conv2d(stride=(1, 1), pad_amount=((1, 1), (1, 1)))


def test_blocks_of_wide_filters_become_eight_bits_exactly():
    graph, feed = product(WIDE, (1, 4, 4, 32), (3, 3, 32, 8), act_bw=16, weight_bw=4, block_size=16)
    before = reference.run(graph, feed)["y"]
    assert PASSES["expand_blocks"](graph) == 1
    weights = graph.types[graph.node("n").inputs[1]]
    assert (weights.dtype, weights.encoding.block_axis, weights.encoding.bitwidth) == (
        DType.SFIXED_POINT_8,
        None,
        8,
    )
    np.testing.assert_array_equal(reference.run(graph, feed)["y"], before)


def test_a_product_with_bias_becomes_fully_connected():
    graph, feed = product(MatMul(), (4, 32), (32, 8))
    before = reference.run(graph, feed)["y"]
    assert PASSES["replace_biased_matmul"](graph) == 1
    assert graph.node("n").op.qnn_name() == "FullyConnected"
    np.testing.assert_array_equal(reference.run(graph, feed)["y"], before)


def test_a_biased_product_of_a_transposed_input_becomes_fully_connected_too():
    graph, feed = product(MatMul(transpose_in0=True), (32, 4), (32, 8))
    before = reference.run(graph, feed)["y"]
    assert PASSES["replace_biased_matmul"](graph) == 2
    assert [node.op.qnn_name() for node in graph.nodes] == ["Transpose", "FullyConnected"]
    np.testing.assert_array_equal(reference.run(graph, feed)["y"], before)
    check_biases(graph)


def test_a_bias_that_htp_would_forget_is_refused():
    graph = Graph("g")
    for name, shape in {"a": (3, 4), "b": (4, 5)}.items():
        graph.add_input(name, TensorType(shape, DType.UFIXED_POINT_8, None, Encoding((0.1,), (-128,))))
    graph.add_constant("c", np.ones(5, np.float32))
    kind = TensorType((3, 5), DType.UFIXED_POINT_8, None, Encoding((0.2,), (-128,)))
    graph.add(Node("n", MatMul(), ["a", "b", "c"], ["y"]), [kind])
    assert PASSES["replace_biased_matmul"](graph) == 0
    with pytest.raises(UnsupportedFeature, match="a bias, which HTP forgets"):
        check_biases(graph)


def test_a_narrow_bias_of_channels_gets_the_scales_of_their_sums():
    graph, feed = product(WIDE, (1, 4, 4, 8), (3, 3, 8, 8), bias_bw=8)
    before = reference.run(graph, feed)["y"].astype(int)
    assert PASSES["fit_biases"](graph) == 1
    bias, weights = (graph.types[graph.node("n").inputs[index]] for index in (2, 1))
    scale = graph.types["x"].encoding.scales[0]
    assert bias.dtype == DType.SFIXED_POINT_32
    np.testing.assert_allclose(bias.encoding.scales, [scale * item for item in weights.encoding.scales])
    assert np.abs(reference.run(graph, feed)["y"].astype(int) - before).max() <= 1


def multiply_by_constant(dtype, constant):
    """An elementwise product of what is quantized in one sign and a constant in the other."""
    graph = Graph("g")
    graph.add_input(
        "x", TensorType((2, 3), dtype, None, Encoding((0.1,), (-100 if "UFIXED" in dtype.name else 3,)))
    )
    stored = np.array([-128, 0, 127]) + (128 if "UFIXED" in constant.name else 0)
    encoding = Encoding((0.02,), (-28,))
    graph.add_constant("c", stored.astype(constant.numpy), TensorType((3,), constant, None, encoding))
    kind = TensorType((2, 3), dtype, None, Encoding((0.3,), (-7,)))
    graph.add(Node("n", REGISTRY["ElementWiseMultiply"](), ["x", "c"], ["y"]), [kind])
    graph.outputs.append("y")
    return graph


SIGNS = (DType.UFIXED_POINT_8, DType.SFIXED_POINT_8)


@pytest.mark.parametrize(("dtype", "constant"), [SIGNS, SIGNS[::-1]])
def test_a_constant_of_the_other_sign_keeps_its_values(dtype, constant):
    graph = multiply_by_constant(dtype, constant)
    feed = {"x": np.array([[0, 60, 120], [3, 7, 9]], dtype.numpy)}
    before = reference.run(graph, feed)["y"]
    assert PASSES["unify_signs"](graph) == 1
    assert {graph.types[name].dtype for name in graph.node("n").inputs} == {dtype}
    verify(graph)
    np.testing.assert_array_equal(reference.run(graph, feed)["y"], before)
    assert PASSES["unify_signs"](graph) == 0


def test_a_mask_of_the_least_float_becomes_one_that_fixed_point_holds():
    graph = parse(
        "graph g {\n  input scores: float_32[1,3]\n  input hidden: float_32[1,3]\n"
        "  const least: float_32[1] = [-3.4028235e38]\n"
        "  bias = ElementWiseMultiply(hidden, least)\n  masked = ElementWiseAdd(scores, bias)\n"
        "  y = Softmax(masked)\n  output y\n}\n"
    )
    feed = {"scores": np.float32([[1, 2, 3]]), "hidden": np.float32([[0, 0, 1]])}
    before = reference.run(graph, feed)["y"]
    assert PASSES["bound_masks"](graph) == 1
    assert float(graph.constants[graph.node("bias").inputs[1]][0]) == -1e4
    np.testing.assert_array_equal(reference.run(graph, feed)["y"], before)


@pytest.mark.parametrize("number", range(1, 30))
def test_no_step_of_a_layer_takes_the_name_of_its_result(number):
    (sample,) = (item for item in REGISTRY["Gru"].samples() if item.label == "plain")
    graph, feed = sample_graph(sample)
    (node,) = graph.nodes
    kinds, name = graph.output_types(node), f"layer_{number}"
    before = list(reference.run(graph, feed).values())
    graph.remove(node)
    outputs = [name, *node.outputs[1:]]
    graph.add(Node("layer", node.op, node.inputs, outputs, source="layer"), kinds)
    graph.outputs = [name, *graph.outputs[1:]]
    assert PASSES["unroll_recurrent"](graph) == 1
    verify(graph, after="unroll_recurrent")
    for found, wanted in zip(reference.run(graph, feed).values(), before, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
