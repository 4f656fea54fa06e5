"""Which value gets which type and encoding, and what is converted where."""

import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from edgewright.core.errors import BadInput, UsageError
from edgewright.core.numbers import DType
from edgewright.ir.dims import symbol
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.op import REGISTRY
from edgewright.ir.traits import HtpPrecision
from edgewright.ir.types import TensorType
from edgewright.ir.verify import verify
from edgewright.ops import reference
from edgewright.ops.activation import Relu, Relu6, Sigmoid, Tanh
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseGreater,
    ElementWiseMaximum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseRsqrt, ElementWiseSquareRoot, IsNan
from edgewright.ops.gather import Gather
from edgewright.ops.matmul import MatMul
from edgewright.ops.norm import LayerNorm
from edgewright.ops.pool import PoolMax2d
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.recurrent import Recurrent
from edgewright.ops.reduce import ReduceMean
from edgewright.ops.reduce_order import Argmax
from edgewright.ops.reduce_softmax import Softmax
from edgewright.quantize.overrides import KnownEncodings, ResolvedEncodings
from edgewright.quantize.pins import Origin, Pin, Placed
from edgewright.quantize.quantized_graph import QuantizedGraph
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.rules import RULES
from tests.unit.quantize.nets import Engine, Net, samples
from tests.unit.quantize.simulate import simulated

PLAIN = QuantizationRequest()


def pinned(pins: dict[str, Pin]) -> KnownEncodings:
    return KnownEncodings(resolved=ResolvedEncodings(pins))


def quantized(graph: Graph, request: QuantizationRequest = PLAIN, pins=None, data=None) -> QuantizedGraph:
    found = quantize_graph(graph, request, data or samples(graph), Engine(), pinned(pins or {}))
    verify(found.graph)
    return found


def outputs_of(graph: Graph, kind: type) -> list[TensorType]:
    return [graph.types[node.outputs[0]] for node in graph.nodes if isinstance(node.op, kind)]


def signal_to_noise(graph: Graph, other: Graph) -> float:
    """On the samples it was calibrated with: what lies outside their ranges would be clipped."""
    meant = simulated(other)
    noise = signal = 0.0
    for sample in samples(graph):
        wanted = Engine().prepare(graph, graph.outputs).run(sample)
        found = reference.run(meant, sample)
        for a, b in zip(graph.outputs, meant.outputs, strict=True):
            signal += float(np.square(wanted[a].astype(np.float64)).sum())
            noise += float(np.square(wanted[a].astype(np.float64) - found[b]).sum())
    return 10 * np.log10(signal / max(noise, 1e-30))


def classifier() -> Graph:
    net = Net()
    stem = net.unary(Relu(), net.conv(net.x, 6))
    block = net.emit(ElementWiseAdd(), net.conv(net.unary(Relu6(), net.depthwise(stem)), 6), stem)
    pool = net.emit(PoolMax2d(filter_size=(2, 2), stride=(2, 2), pad_amount=((0, 0), (0, 0))), block)
    flat = net.emit(Reshape(shape=(1, 96)), pool)
    return net.done(net.unary(Softmax(axis=1), net.dense(flat, 5)))


WIDTHS = {
    "w8a8": (QuantizationRequest(), 25),
    "w8a16": (QuantizationRequest(act_bw=16), 34),
    "w4a16": (QuantizationRequest(act_bw=16, weight_bw=4), 11),
    "w16a16": (QuantizationRequest(act_bw=16, weight_bw=16), 60),
    "w8a8, one encoding": (QuantizationRequest(per_channel=False, param_schema="symmetric"), 22),
    "w8a8, rows": (QuantizationRequest(per_row=True), 25),
    "w8a8, bias 8": (QuantizationRequest(bias_bw=8), 20),
    "w8a8, symmetric": (QuantizationRequest(act_schema="symmetric"), 20),
    "w8a8, asymmetric weights": (QuantizationRequest(per_channel=False), 22),
    "w4a16, blocks": (QuantizationRequest(act_bw=16, weight_bw=4, block_size=2, per_row=True), 13),
}


@pytest.mark.parametrize("name", WIDTHS)
def test_a_network_keeps_its_meaning_as_well_as_its_bits_allow(name):
    request, decibels = WIDTHS[name]
    graph = classifier()
    found = quantized(graph, request)
    assert signal_to_noise(graph, found.graph) > decibels
    assert found.report.converts == 0
    assert (found.graph.inputs, found.graph.outputs) == (graph.inputs, graph.outputs)


def test_the_given_graph_is_left_as_it_is():
    graph = classifier()
    before = {name: (graph.types[name], array.tobytes()) for name, array in graph.constants.items()}
    quantized(graph)
    assert before == {name: (graph.types[name], array.tobytes()) for name, array in graph.constants.items()}
    assert all(graph.types[name].encoding is None for name in graph.types)


def test_weights_biases_and_activations_have_the_types_that_were_asked_for():
    graph = quantized(classifier(), QuantizationRequest(act_bw=16, weight_bw=4)).graph
    conv = next(node for node in graph.nodes if node.op.qnn_name() == "Conv2d")
    x, weights, bias = (graph.types[value] for value in conv.inputs)
    assert (x.dtype, x.encoding.bitwidth) == (DType.UFIXED_POINT_16, 16)
    assert (weights.dtype, weights.encoding.bitwidth, weights.encoding.axis) == (DType.SFIXED_POINT_8, 4, 3)
    assert np.abs(graph.constants[conv.inputs[1]]).max() == 7
    assert (bias.dtype, bias.encoding.bitwidth, bias.encoding.axis) == (DType.SFIXED_POINT_32, 32, 0)


def test_a_bias_has_the_scale_of_input_times_weights():
    graph = quantized(classifier()).graph
    for node in graph.nodes:
        if node.op.qnn_name() in {"Conv2d", "DepthWiseConv2d", "FullyConnected"}:
            x, weights, bias = (graph.types[value].encoding for value in node.inputs)
            np.testing.assert_allclose(bias.scales, np.multiply(weights.scales, x.scales[0]))
            assert set(bias.offsets) == {0}


def test_channels_lie_along_the_output_axis_of_every_kind_of_weights():
    net = Net(2, 8, 8, 4)
    flat = net.emit(Reshape(shape=(2, 512)), net.depthwise(net.conv(net.x, 8)))
    product = net.emit(MatMul(), net.dense(flat, 6), net.weights(6, 3))
    turned = net.emit(MatMul(transpose_in1=True), product, net.weights(5, 3))
    graph = quantized(net.done(turned), QuantizationRequest(per_row=True)).graph
    found = [graph.types[node.inputs[1]] for node in graph.nodes if len(node.inputs) > 1]
    assert [(t.encoding.axis, len(t.encoding.scales)) for t in found] == [
        (3, 8),
        (3, 8),
        (0, 6),
        (1, 3),
        (0, 5),
    ]
    assert all(t.dtype == DType.SFIXED_POINT_8 and set(t.encoding.offsets) == {0} for t in found)


def test_rows_have_encodings_of_their_own_only_where_asked():
    graph = quantized(classifier(), QuantizationRequest(per_row=False)).graph
    dense = next(node for node in graph.nodes if node.op.qnn_name() == "FullyConnected")
    assert graph.types[dense.inputs[1]].encoding.axis is None


def test_ops_that_move_data_read_and_write_one_encoding():
    net = Net()
    a, b = net.conv(net.x, 4), net.unary(Relu(), net.conv(net.x, 4))
    joined = net.emit(Concat(axis=3), a, b)
    turned = net.emit(Transpose(perm=(0, 3, 1, 2)), joined)
    graph = quantized(net.done(net.emit(Reshape(shape=(1, 512)), turned))).graph
    encodings = {graph.types[value].encoding for value in (a, b, joined, turned, graph.outputs[0])}
    assert len(encodings) == 1
    assert not outputs_of(graph, Convert)


def test_a_part_with_a_range_of_its_own_is_converted_before_it_is_joined():
    net = Net()
    gate, wide = net.unary(Sigmoid(), net.conv(net.x, 4)), net.conv(net.x, 4)
    graph = quantized(net.done(net.emit(Concat(axis=3), gate, wide))).graph
    (converted,) = outputs_of(graph, Convert)
    assert graph.types[gate].encoding == Encoding((1 / 256,), (0,))
    assert converted.encoding == graph.types[wide].encoding == graph.types[graph.outputs[0]].encoding


@pytest.mark.parametrize(
    ("op", "bits", "is_symmetric", "wanted"),
    [
        (Sigmoid(), 8, False, (1 / 256, 0)),
        (Softmax(axis=3), 16, False, (1 / 65536, 0)),
        (Sigmoid(), 16, True, (1 / 32768, 0)),
        (Tanh(), 16, False, (1 / 32768, -32768)),
        (Tanh(), 8, False, (1 / 128, -128)),
    ],
)
def test_functions_with_a_known_range_have_the_encoding_of_the_rule(op, bits, is_symmetric, wanted):
    net = Net()
    graph = net.done(net.unary(op, net.conv(net.x, 4)))
    found = quantized(
        graph, QuantizationRequest(act_bw=bits, act_schema="symmetric" if is_symmetric else "asymmetric")
    )
    encoding = found.graph.types[graph.outputs[0]].encoding
    assert (encoding.scales[0], encoding.offsets[0]) == wanted
    assert set(found.report.rules) & {"unit-range", "tanh-range"}
    assert next(r for r in found.report.tensors if r.kind == "output").origin == Origin.RULE


def test_a_convolution_before_a_relu_writes_the_encoding_of_the_relu():
    net = Net()
    conv = net.conv(net.x, 4)
    graph = quantized(net.done(net.unary(Relu(), conv))).graph
    assert graph.types[conv].encoding == graph.types[graph.outputs[0]].encoding
    assert graph.types[conv].encoding.offsets == (0,)


def test_a_value_that_others_read_keeps_its_negative_part():
    net = Net()
    conv = net.conv(net.x, 4)
    graph = quantized(net.done(net.unary(Relu(), conv), net.unary(Tanh(), conv))).graph
    assert graph.types[conv].encoding.offsets[0] < 0


def test_integers_booleans_and_indices_stay_what_they_are():
    net = Net()
    conv = net.conv(net.x, 4)
    best, above = net.emit(Argmax(axis=3), conv), net.emit(ElementWiseGreater(), conv, net.x)
    picked = net.emit(Gather(axis=3), conv, net.add_constant(np.array([2, 0], np.int32)))
    graph = quantized(net.done(best, above, picked)).graph
    assert graph.types[best].dtype == net.graph.types[best].dtype
    assert graph.types[above].dtype == DType.BOOL_8
    assert graph.types[picked].encoding == graph.types[conv].encoding
    indices = next(node for node in graph.nodes if isinstance(node.op, Gather)).inputs[1]
    assert graph.constants[indices].tolist() == [2, 0]


def test_what_is_compared_has_one_width():
    net = Net()
    wide, narrow = net.conv(net.x, 4), net.unary(Relu(), net.x)
    limit = net.add_constant(np.array([0.25], np.float32))
    above, beyond = net.emit(ElementWiseGreater(), wide, narrow), net.emit(ElementWiseGreater(), limit, wide)
    graph = quantized(net.done(above, beyond), pins={wide: Pin(16)}).graph
    for node in (graph.producer(above), graph.producer(beyond)):
        assert {graph.types[value].dtype for value in node.inputs} == {DType.UFIXED_POINT_16}


def test_a_table_that_is_looked_up_shares_its_encoding_with_what_is_found():
    net = Net()
    indices = net.graph.add_input("ids", TensorType((3,), DType.INT_32))
    table = net.weights(10, 4)
    found = net.emit(Gather(axis=0), table, indices)
    data = [{**s, "ids": np.array([1, 5, 9], np.int32)} for s in samples_of_floats(net.graph)]
    graph = quantized(net.done(net.conv(net.x, 2), net.emit(Tanh(), found)), data=data).graph
    assert graph.types[found].encoding == graph.types[table].encoding
    assert graph.constants[table].dtype == np.uint8


def samples_of_floats(graph: Graph):
    names = [name for name in graph.inputs if graph.types[name].dtype.is_float]
    random = np.random.default_rng(0)
    return [
        {name: random.normal(size=graph.types[name].static_shape()).astype(np.float32) for name in names}
        for _ in range(4)
    ]


def test_a_cast_keeps_its_types_between_two_conversions():
    net = Net()
    whole = net.emit(Cast(dtype=DType.INT_32), net.conv(net.x, 4))
    back = net.emit(Cast(dtype=DType.FLOAT_32), whole)
    graph = quantized(net.done(net.conv(back, 2))).graph
    assert [t.dtype for t in outputs_of(graph, Cast)] == [DType.INT_32, DType.FLOAT_32]
    assert [t.dtype for t in outputs_of(graph, Convert)] == [DType.FLOAT_32, DType.UFIXED_POINT_8]


def test_a_constant_read_in_two_ways_is_stored_in_two_ways():
    net = Net(1, 4)
    table = net.weights(4, 4)
    product = net.emit(MatMul(), net.x, table)
    graph = quantized(net.done(net.emit(ElementWiseMultiply(), product, table))).graph
    (one, other) = (node.inputs[1] for node in graph.nodes)
    assert {one, other} == set(graph.constants)
    assert {graph.types[one].dtype, graph.types[other].dtype} == {DType.SFIXED_POINT_8, DType.UFIXED_POINT_8}
    assert graph.source_names[other] == table


def test_ops_without_fixed_point_stay_float_and_are_listed():
    net = Net(3, 2, 4)
    conv = net.unary(Tanh(), net.x)
    graph = net.done(net.unary(IsNan(), conv), net.unary(Sigmoid(), conv))
    found = quantized(graph)
    assert [t.dtype for t in outputs_of(found.graph, Convert)] == [DType.FLOAT_32]
    assert len(found.report.rules["float-only"]) == 1


def test_the_precision_of_every_op_is_that_of_the_backend_table():
    table = json.loads((files("edgewright") / "_data" / "ops.json").read_text())
    listed = {name: table[name]["backends"] for name in REGISTRY if table.get(name, {}).get("backends")}
    for name, backends in listed.items():
        precision = REGISTRY[name].htp_precision
        if not backends["HTP_INT8"] and not backends["HTP_INT16"]:
            assert precision in {HtpPrecision.FLOAT, HtpPrecision.UNLISTED}, name
        elif precision == HtpPrecision.EIGHT_BITS:
            assert not backends["HTP_INT16"], name
        else:
            # Recurrent layers carry the error of each step to the next.
            is_recurrent = issubclass(REGISTRY[name], Recurrent)
            assert precision == (HtpPrecision.FLOAT if is_recurrent else HtpPrecision.FIXED_POINT), name


def test_float_parts_can_be_half_precision():
    net = Net()
    conv = net.conv(net.x, 4)
    graph = net.done(net.conv(conv, 4))
    pins = {graph.outputs[0]: Pin(16, Placed(DType.FLOAT_16))}
    found = quantized(graph, QuantizationRequest(float_bw=16), pins).graph
    last = found.nodes[-1]
    assert found.types[found.outputs[0]].dtype == DType.FLOAT_16
    assert [found.types[value].dtype for value in last.inputs] == [DType.FLOAT_16] * 3
    assert found.constants[last.inputs[1]].dtype == np.float16


def test_a_float_layer_between_two_integer_ones_has_conversions_on_both_sides():
    net = Net()
    one = net.conv(net.x, 4)
    two = net.conv(one, 4)
    three = net.conv(two, 4)
    graph = net.done(three)
    found = quantized(graph, pins={two: Pin(32, Placed(DType.FLOAT_32))})
    assert found.graph.types[two].dtype == DType.FLOAT_32
    assert [t.dtype for t in outputs_of(found.graph, Convert)] == [DType.FLOAT_32, DType.UFIXED_POINT_8]
    assert found.graph.types[one].encoding is not None
    assert found.graph.types[three].encoding is not None


@pytest.mark.parametrize("place", [1, 2], ids=["weights", "bias"])
def test_float_weights_or_bias_make_the_whole_product_float(place):
    net = Net()
    graph = net.done(net.conv(net.x, 4))
    name = graph.nodes[0].inputs[place]
    found = quantized(graph, pins={name: Pin(32, Placed(DType.FLOAT_32))}).graph
    types = [found.types[value].dtype for value in (*found.nodes[-1].inputs, *found.outputs)]
    assert types == [DType.FLOAT_32] * 4


def test_what_is_only_moved_for_float_readers_stays_float():
    net = Net()
    flat = net.emit(Reshape(shape=(1, 256)), net.x)
    graph = net.done(net.dense(flat, 3))
    found = quantized(graph, pins={graph.outputs[0]: Pin(32, Placed(DType.FLOAT_32))}).graph
    assert not outputs_of(found, Convert)
    assert found.types["x"].dtype == DType.FLOAT_32


def test_a_wider_layer_reads_its_input_in_its_own_width():
    net = Net()
    one = net.conv(net.x, 4)
    two = net.conv(one, 4)
    graph = net.done(net.conv(two, 4))
    found = quantized(graph, pins={two: Pin(16)}).graph
    assert found.types[two].dtype == DType.UFIXED_POINT_16
    widened, narrowed = outputs_of(found, Convert)
    assert (widened.encoding.bitwidth, narrowed.encoding.bitwidth) == (16, 8)
    assert found.types[one].encoding.bitwidth == 8


def test_without_data_only_what_is_pinned_or_follows_is_fixed_point():
    net = Net()
    conv = net.conv(net.x, 4)
    flat = net.emit(Reshape(shape=(1, 256)), conv)
    graph = net.done(net.dense(flat, 3))
    eight = Placed(DType.UFIXED_POINT_8, Encoding((0.05,), (-128,)))
    weights = Placed(DType.SFIXED_POINT_8, Encoding((0.01,), (0,)))
    pins = {"x": Pin(8, eight), conv: Pin(8, eight), graph.nodes[0].inputs[1]: Pin(8, weights)}
    found = quantize_graph(graph, QuantizationRequest(), known=pinned(pins))
    verify(found.graph)
    assert found.graph.types[flat].dtype in {DType.UFIXED_POINT_8, DType.FLOAT_32}
    assert found.graph.types[conv].encoding == eight.encoding
    dense = next(node for node in found.graph.nodes if node.op.qnn_name() == "FullyConnected")
    assert [found.graph.types[v].dtype for v in dense.inputs] == [DType.FLOAT_32] * 3
    assert found.report.converts == 1


def test_without_data_a_pin_goes_through_ops_that_move_data():
    net = Net()
    conv = net.conv(net.x, 4)
    flat = net.emit(Reshape(shape=(1, 256)), conv)
    graph = net.done(net.dense(flat, 3))
    eight = Placed(DType.UFIXED_POINT_8, Encoding((0.05,), (-128,)))
    weights = Pin(8, Placed(DType.SFIXED_POINT_8, Encoding((0.01,), (0,))))
    pins = {"x": Pin(8, eight), flat: Pin(8, eight), graph.outputs[0]: Pin(8, eight)}
    pins |= {node.inputs[1]: weights for node in graph.nodes if len(node.inputs) > 1}
    found = quantize_graph(graph, QuantizationRequest(), known=pinned(pins))
    assert found.graph.types[conv].encoding == eight.encoding
    assert not found.report.converts


def test_the_second_operand_of_a_wide_product_is_symmetric_and_restricted():
    net = Net(2, 4, 4)
    other = net.unary(Tanh(), net.graph.add_input("y", TensorType((2, 4, 4))))
    scaled = net.emit(ElementWiseMultiply(), other, net.add_constant(np.array(3.0, np.float32)))
    found = quantized(net.done(net.emit(MatMul(), net.x, scaled)), QuantizationRequest(act_bw=16))
    # HTP's products of elements write the type they read: a conversion makes it signed.
    assert found.graph.types[scaled].dtype == DType.UFIXED_POINT_16
    kind = found.graph.types[found.graph.producer(found.graph.outputs[0]).inputs[1]]
    assert kind.dtype == DType.SFIXED_POINT_16
    assert kind.encoding.offsets == (0,)
    assert found.report.rules["wide-product"]
    assert found.report.converts == 1


def make_keys(*, is_read_elsewhere: bool) -> tuple[Graph, str]:
    """A value that is turned and then stands second in a product of matrices."""
    net = Net(1, 4, 6)
    given = net.graph.add_input("y", TensorType((1, 4, 6)))
    keys = net.emit(ElementWiseAdd(), given, given)
    turned = net.emit(Transpose(perm=(0, 2, 1)), keys)
    results = [net.emit(MatMul(), net.x, turned)]
    if is_read_elsewhere:
        results.append(net.unary(Sigmoid(), keys))
    return net.done(*results), turned


def test_what_only_stands_second_has_the_steps_that_it_is_read_in():
    graph, turned = make_keys(is_read_elsewhere=False)
    data = [{"x": np.ones((1, 4, 6), np.float32), "y": np.linspace(-0.4, 3, 24).reshape(1, 4, 6)}]
    data = [{name: array.astype(np.float32) for name, array in sample.items()} for sample in data]
    first = quantized(graph, QuantizationRequest(act_bw=16), data=data).graph
    stored = first.types[turned]
    read = first.types[first.producer(first.outputs[0]).inputs[1]]
    assert stored.dtype == DType.UFIXED_POINT_16
    assert (read.dtype, read.encoding.offsets) == (DType.SFIXED_POINT_16, (0,))
    assert read.encoding.scales == stored.encoding.scales
    # Given back, encodings make the same model.
    pins = {
        value: Pin(16, Placed(first.types[value].dtype, first.types[value].encoding))
        for value in ("y", first.producer(turned).inputs[0], turned)
    }
    second = quantized(graph, QuantizationRequest(act_bw=16), pins=pins, data=data).graph
    assert second.types[second.producer(second.outputs[0]).inputs[1]] == read


def test_what_is_read_elsewhere_as_well_keeps_its_range():
    graph, turned = make_keys(is_read_elsewhere=True)
    found = quantized(graph, QuantizationRequest(act_bw=16)).graph
    read = found.types[found.producer(found.outputs[0]).inputs[1]]
    assert read.encoding.scales != found.types[turned].encoding.scales


def test_wide_weights_are_narrowed_for_old_processors():
    request = QuantizationRequest(act_bw=16, weight_bw=16)
    net = Net()
    graph = net.done(net.conv(net.x, 4))
    old = quantized(graph, replace(request, architecture=69))
    new = quantized(graph, replace(request, architecture=73))
    weights = graph.nodes[0].inputs[1]
    assert old.graph.types[weights].encoding.bitwidth == 8
    assert "wide-weights" in old.report.rules
    assert new.graph.types[weights].encoding.bitwidth == 16


def test_a_bias_that_is_too_large_for_32_bits_raises_the_scale_of_the_weights():
    net = Net()
    graph = net.done(net.conv(net.x, 4))
    bias = graph.nodes[0].inputs[2]
    graph.constants[bias] = np.array([0.1, 3e5, -0.2, 0.3], np.float32)
    graph.constants[graph.nodes[0].inputs[1]] *= 1e-3
    data = [{"x": sample["x"] * 1e-4} for sample in samples(graph)]
    found = quantized(graph, data=data)
    stored = found.graph.constants[bias].astype(np.float64) * found.graph.types[bias].encoding.scales
    np.testing.assert_allclose(stored, graph.constants[bias], rtol=1e-3)
    assert found.report.rules["bias-scale"]


def test_scores_behind_a_mask_keep_their_steps():
    net = Net(1, 6, 6)
    mask = net.add_constant(np.triu(np.full((6, 6), -1e9, np.float32), 1))
    graph = net.done(net.unary(Softmax(axis=2), net.emit(ElementWiseAdd(), net.x, mask)))
    found = quantized(graph)
    assert found.report.rules["masked-softmax"]
    assert signal_to_noise(graph, found.graph) > 25


def test_a_mask_of_the_least_float_has_steps_that_the_scores_can_be_added_to():
    net = Net(1, 6, 6)
    mask = net.add_constant(np.triu(np.full((6, 6), np.finfo(np.float32).min), 1))
    graph = net.done(net.unary(Softmax(axis=2), net.emit(ElementWiseAdd(), net.x, mask)))
    found = quantized(graph)
    encoding, stored = found.graph.types[mask].encoding, found.graph.constants[mask]
    assert encoding.scales[0] < 1, "steps of 1e36 leave nothing of what they are added to"
    masked = encoding.decode(stored)
    assert (masked[np.tril_indices(6)] == 0).all()
    assert masked[0, 1] < -10
    assert signal_to_noise(graph, found.graph) > 25


@pytest.mark.parametrize("bits", [8, 16])
def test_a_mask_of_infinity_keeps_the_scores(bits):
    net = Net(1, 6, 6)
    mask = net.add_constant(np.triu(np.full((6, 6), -np.inf, np.float32), 1))
    graph = net.done(net.unary(Softmax(axis=2), net.emit(ElementWiseAdd(), net.x, mask)))
    found = quantized(graph, QuantizationRequest(act_bw=bits))
    assert found.report.rules["masked-softmax"]
    assert signal_to_noise(graph, found.graph) > 25


def test_the_largest_of_a_value_and_minus_infinity_is_the_value():
    net = Net(1, 6, 6)
    least = net.add_constant(np.array(-np.inf, np.float32))
    graph = net.done(net.emit(ElementWiseMaximum(), net.x, least))
    assert signal_to_noise(graph, quantized(graph).graph) > 35


def spelled_out_norm(*, is_squared_mean: bool) -> Graph:
    """A layer norm by its parts: the variance as a mean of squares, or as the one minus the other."""
    net = Net(4, 6, 32)
    x = net.dense_rows(net.x, 32)
    mean = net.emit(ReduceMean(axes=(2,), keep_dims=True), x)
    centred = net.emit(ElementWiseSubtract(), x, mean)
    squares = net.emit(ElementWiseMultiply(), *((x, x) if is_squared_mean else (centred, centred)))
    spread = net.emit(ReduceMean(axes=(2,), keep_dims=True), squares)
    if is_squared_mean:
        spread = net.emit(ElementWiseSubtract(), spread, net.emit(ElementWiseMultiply(), mean, mean))
    root = net.unary(
        ElementWiseRsqrt(), net.emit(ElementWiseAdd(), spread, net.add_constant(np.array(1e-5, np.float32)))
    )
    gain = net.emit(ElementWiseMultiply(), root, net.weights(32, scale=1.0))
    return net.done(net.dense_rows(net.emit(ElementWiseMultiply(), centred, gain), 8))


@pytest.mark.parametrize("is_squared_mean", [False, True])
def test_a_norm_that_is_spelled_out_stays_float_between_its_input_and_its_result(is_squared_mean):
    graph = spelled_out_norm(is_squared_mean=is_squared_mean)
    data = [{"x": sample["x"] + 3} for sample in samples(graph)]
    found = quantized(graph, data=data)
    plain = quantized(graph, QuantizationRequest(is_fragile_float=False), data=data)
    assert len(found.report.rules["fragile"]) == len(graph) - 2
    assert found.report.converts == 2
    assert "fragile" not in plain.report.rules
    assert not plain.report.converts


def test_sixteen_bits_are_enough_for_a_root():
    found = quantized(spelled_out_norm(is_squared_mean=False), QuantizationRequest(act_bw=16))
    assert "fragile" not in found.report.rules


def test_arithmetic_that_others_read_too_is_not_drawn_into_a_root():
    net = Net()
    total = net.emit(ElementWiseAdd(), net.conv(net.x, 4), net.x)
    root = net.unary(ElementWiseSquareRoot(), net.emit(ElementWiseMultiply(), total, total))
    found = quantized(net.done(root, net.unary(Tanh(), total)))
    assert len(found.report.rules["fragile"]) == 2
    assert found.graph.types[total].dtype == DType.UFIXED_POINT_8


def test_norms_have_gains_of_the_activations_width_and_biases_of_32_bits():
    net = Net(2, 5, 8)
    graph = net.done(net.emit(LayerNorm(epsilon=1e-5, axes=(2,)), net.x, net.weights(8), net.weights(8)))
    found = quantized(graph, QuantizationRequest(act_bw=16)).graph
    types = [found.types[value].dtype for value in found.nodes[0].inputs]
    assert types == [DType.UFIXED_POINT_16, DType.UFIXED_POINT_16, DType.SFIXED_POINT_32]
    assert signal_to_noise(graph, found) > 60


def test_weights_with_nan_are_refused_before_anything_runs():
    graph = classifier()
    name = next(iter(graph.constants))
    graph.constants[name] = np.full_like(graph.constants[name], np.nan)
    engine = Engine()
    with pytest.raises(BadInput, match="times NaN"):
        quantize_graph(graph, QuantizationRequest(), samples(graph), engine)
    assert not engine.runs


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"act_bw": 4}, r"act_bw=4 is not possible, expected one of \[8, 16\]"),
        ({"weight_bw": 3}, r"weight_bw=3 is not possible, expected one of \[4, 8, 16\]"),
        ({"bias_bw": 16}, r"bias_bw=16 is not possible, expected one of \[8, 32\]"),
        ({"float_bw": 64}, r"float_bw=64 is not possible, expected one of \[16, 32\]"),
        ({"block_size": 16}, "blocks of 16 are asked for weights of 8 bits"),
        ({"steps": (-0x80, 0x8000)}, "do not fit 16 bits"),
    ],
)
def test_requests_that_make_no_sense_are_refused(fields, message):
    with pytest.raises(UsageError, match=message):
        QuantizationRequest(**fields)


def test_every_rule_that_a_report_names_is_explained():
    found = quantized(classifier(), QuantizationRequest(act_bw=16, weight_bw=16, architecture=68))
    assert found.report.rules.keys() <= RULES.keys()
    assert "clamp-in-producer" in found.report.rules


def test_symbolic_shapes_are_quantized_too():
    net = Net()
    graph = net.done(net.unary(Relu(), net.conv(net.x, 4)))
    for value in ("x", *(v for node in graph.nodes for v in node.outputs)):
        kind = graph.types[value]
        graph.types[value] = kind.with_shape((symbol("batch"), *kind.shape[1:]))
    data = [
        {"x": np.random.default_rng(n).normal(size=(n + 1, 8, 8, 4)).astype(np.float32)} for n in range(3)
    ]
    found = quantized(graph, data=data).graph
    assert found.types["x"].shape[0] == symbol("batch")
    assert found.types["x"].dtype == DType.UFIXED_POINT_8
