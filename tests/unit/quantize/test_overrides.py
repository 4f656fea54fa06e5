"""Encodings of files and of the source model: found by their names, checked, applied, and counted."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew
from edgewright.artifacts.encodings import parse_encodings, write_encodings
from edgewright.core.errors import EdgewrightError, Problems, UsageError
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph
from edgewright.ir.verify import verify
from edgewright.ops.activation import Relu
from edgewright.ops.quant import Dequantize, Quantize
from edgewright.ops.rearrange import Reshape
from edgewright.passes.pipeline import FINISH, LAYOUT, SIMPLIFY, run_passes
from edgewright.quantize.overrides import KnownEncodings, resolve_encodings
from edgewright.quantize.pins import Origin
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.source_encodings import take_source_encodings
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding, list_encodings
from tests.unit.quantize.nets import Engine, Net, samples
from tests.unit.quantize.simulate import simulated


def network() -> Graph:
    net = Net()
    one = net.unary(Relu(), net.conv(net.x, 6))
    two = net.conv(one, 4)
    graph = net.done(net.dense(net.emit(Reshape(shape=(1, 256)), two), 3))
    conv, relu, other, _, dense = graph.nodes
    graph.source_names |= {
        conv.inputs[1]: "conv1.weight",
        conv.inputs[2]: "conv1.bias",
        relu.outputs[0]: "relu1_out",
        other.inputs[1]: "conv2.weight",
        other.outputs[0]: "conv2_out",
        dense.inputs[1]: "fc.weight",
    }
    return graph


def value(graph: Graph, source: str) -> str:
    return next(v for v, name in graph.source_names.items() if name == source)


def quantized(graph: Graph, tensors, known=(), **fields):
    request = QuantizationRequest(overrides=EncodingSet(tuple(tensors)), **fields)
    return quantize_graph(graph, request, samples(graph), Engine(), KnownEncodings(tensors=known))


def eight(name: str, *scales: float, offset: int = -128, **more) -> TensorEncoding:
    fields = {"scales": scales or (0.1,), "offsets": (offset,) * max(len(scales), 1), **more}
    return TensorEncoding(name, 8, **fields)


def single(*scales):
    """Scales as QNN stores them."""
    return tuple(float(np.float32(scale)) for scale in scales)


def test_an_activation_of_a_file_keeps_its_scale_and_offset():
    graph = network()
    found = quantized(graph, [eight("relu1_out", 0.037, offset=-11)])
    encoding = found.graph.types[value(graph, "relu1_out")].encoding
    assert (encoding.scales, encoding.offsets) == (single(0.037), (-11,))
    assert found.graph.types[value(graph, "conv2_out")].encoding.scales != single(0.037)


def test_channels_of_a_file_lie_along_the_output_channels_of_our_layout():
    graph = network()
    scales = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06)
    found = quantized(graph, [eight("conv1.weight", *scales)])
    kind = found.graph.types[value(graph, "conv1.weight")]
    assert (kind.dtype, kind.encoding.axis, kind.encoding.scales) == (
        DType.SFIXED_POINT_8,
        3,
        single(*scales),
    )
    assert set(kind.encoding.offsets) == {0}


def test_a_width_alone_is_calibrated_in_that_width():
    graph = network()
    found = quantized(graph, [TensorEncoding("relu1_out", 16)])
    assert found.graph.types[value(graph, "relu1_out")].dtype == DType.UFIXED_POINT_16


def test_a_float_entry_keeps_its_op_in_float():
    graph = network()
    found = quantized(graph, [TensorEncoding("conv2.weight", 16, is_float=True)])
    types = [found.graph.types[value(graph, name)].dtype for name in ("conv2.weight", "conv2_out")]
    assert types == [DType.FLOAT_16, DType.FLOAT_16]
    assert found.report.converts == 2


def test_a_line_says_how_many_came_from_the_file_and_how_many_did_not():
    graph = network()
    tensors = [eight("relu1_out"), eight("conv1.weight", 0.01), eight("batchnorm_out")]
    found = quantized(graph, tensors, known={"batchnorm_out"})
    counts = found.report.counts()
    assert counts[Origin.FILE] == 3  # the convolution before the Relu writes the Relu's encoding too
    assert found.report.coverage().startswith("encodings: 3 from the file, ")
    assert "1 ignored" in found.report.coverage()
    assert found.report.ignored == ["batchnorm_out"]


def test_a_name_that_nobody_knows_is_refused_with_the_nearest_one():
    with pytest.raises(UsageError, match="name the tensor 'conv1") as caught:
        resolve_encodings(network(), [eight("conv1.weigth")])
    assert caught.value.do == "did you mean 'conv1.weight'?"


def test_all_unknown_names_are_reported_at_once():
    with pytest.raises(Problems) as caught:
        resolve_encodings(network(), [eight("a"), eight("b"), eight("conv1.weight")])
    assert len(caught.value.errors) == 2


def lpbq(name: str, **more) -> TensorEncoding:
    fields = {"scales": (0.01,) * 4, "offsets": (-8,) * 4, "block_size": 2, "block_scales": (3,) * 12, **more}
    return TensorEncoding(name, 4, **fields)


BAD = {
    "three bits": (
        TensorEncoding("relu1_out", 3, scales=(0.1,), offsets=(0,)),
        r"3 bits, expected one of \[8, 16\]",
    ),
    "four bit activation": (
        TensorEncoding("relu1_out", 4),
        r"4 bits, expected one of \[8, 16\] for this activation",
    ),
    "float of 8": (
        TensorEncoding("relu1_out", 8, is_float=True),
        r"expected one of \[16, 32\] for this float",
    ),
    "channels of an activation": (eight("relu1_out", 0.1, 0.2), "2 encodings are given for an activation"),
    "asymmetric channels": (eight("conv1.weight", *[0.1] * 6, offset=-100), "offset -100, expected -128"),
    "too few channels": (
        eight("conv1.weight", *[0.1] * 5),
        "5 encodings are given, expected one, or one for each of 6",
    ),
    "wide bias": (
        TensorEncoding("conv1.bias", 32, scales=(0.1,), offsets=(-5,)),
        "expected a symmetric encoding",
    ),
    "blocks of a bias": (lpbq("conv1.bias"), "expected one of"),
    "blocks that do not fit": (
        lpbq("conv2.weight", block_scales=(3,) * 9),
        "9 blocks of 2 are given, expected 12",
    ),
    "asymmetric blocks": (lpbq("conv2.weight", offsets=(-3,) * 4), "the blocks are asymmetric"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_entry_that_does_not_fit_its_tensor_is_refused(name):
    tensor, message = BAD[name]
    with pytest.raises(EdgewrightError, match=message) as caught:
        resolve_encodings(network(), [tensor])
    assert caught.value.where.tensor == tensor.name


def test_blocks_of_a_file_are_applied():
    graph = network()
    found = quantized(graph, [lpbq("conv2.weight")], act_bw=16)
    kind = found.graph.types[value(graph, "conv2.weight")]
    assert (kind.encoding.axis, kind.encoding.block_axis, kind.encoding.bitwidth) == (3, 2, 4)
    verify(found.graph)


@pytest.mark.parametrize("version", ["0.6.1", "1.0.0", "2.0.0"])
@pytest.mark.parametrize("bits", [8, 16])
def test_encodings_that_were_dumped_give_the_same_graph_without_data(version, bits):
    graph = network()
    first = quantize_graph(graph, QuantizationRequest(act_bw=bits, per_row=True), samples(graph), Engine())
    text = write_encodings(list_encodings(first.graph), version)
    again = EncodingSet(parse_encodings(text.encode()).tensors)
    second = quantize_graph(graph, QuantizationRequest(act_bw=bits, per_row=True, overrides=again))
    assert second.graph.types == first.graph.types
    for name, array in first.graph.constants.items():
        np.testing.assert_array_equal(second.graph.constants[name], array)


def test_a_file_may_name_a_tensor_in_the_layout_of_the_source():
    weights = np.random.default_rng(1).normal(size=(5, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["features"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["features"], ["out"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 5, 8, 8])],
        [numpy_helper.from_array(weights, "w")],
    )
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    found = ew.convert(source).graph
    tensors = [eight("w", *[0.02] * 5), eight("features", 0.5, offset=-100), eight("image", 0.03)]
    pins = resolve_encodings(found, tensors).pins
    conv = next(node for node in found.nodes if node.op.qnn_name() == "Conv2d")
    assert pins[conv.inputs[1]].placed.encoding.axis == 3
    assert pins[conv.outputs[0]].placed.encoding.offsets == (-100,)
    assert pins["image"].placed.encoding.scales == single(0.03)


# A model that was trained with quantization


def qdq_model(*, has_relu: bool = True) -> onnx.ModelProto:
    random = np.random.default_rng(2)
    stored = random.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    tensors = {
        "w_q": stored,
        "w_scale": np.linspace(0.005, 0.02, 4).astype(np.float32),
        "w_zero": np.zeros(4, np.int8),
        "x_scale": np.float32(0.02),
        "x_zero": np.uint8(128),
        "y_scale": np.float32(0.03),
        "y_zero": np.uint8(0),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "x_scale", "x_zero"], ["x_q"]),
        helper.make_node("DequantizeLinear", ["x_q", "x_scale", "x_zero"], ["x_d"]),
        helper.make_node("DequantizeLinear", ["w_q", "w_scale", "w_zero"], ["w"], axis=0),
        helper.make_node("Conv", ["x_d", "w"], ["conv"]),
        *([helper.make_node("Relu", ["conv"], ["relu"])] if has_relu else []),
        helper.make_node("QuantizeLinear", ["relu" if has_relu else "conv", "y_scale", "y_zero"], ["y_q"]),
        helper.make_node("DequantizeLinear", ["y_q", "y_scale", "y_zero"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "qat",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 4])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in tensors.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])


def taken(model: onnx.ModelProto) -> tuple[Graph, KnownEncodings]:
    graph = ew.convert(model).graph.copy()
    entries = take_source_encodings(graph)
    run_passes(graph, (*SIMPLIFY, *LAYOUT, *FINISH), is_checked=True)
    return graph, KnownEncodings(entries)


@pytest.mark.parametrize("has_relu", [True, False], ids=["relu", "relu left out"])
def test_a_model_trained_with_quantization_keeps_its_encodings_and_its_results(has_relu):
    model = qdq_model(has_relu=has_relu)
    graph, known = taken(model)
    assert not [node for node in graph.nodes if isinstance(node.op, (Quantize, Dequantize))]
    assert graph.outputs == ["y"]
    result = quantize_graph(graph, QuantizationRequest(), known=known)
    verify(result.graph)
    assert result.report.counts() == {Origin.SOURCE: len(result.report.tensors)}
    x = np.random.default_rng(3).normal(size=(1, 3, 6, 6)).astype(np.float32)
    wanted = ew.convert(model).run({"x": x})["y"]
    meant = simulated(result.graph)
    got = Engine().prepare(meant, meant.outputs).run({"x": x})[meant.outputs[0]]
    # The engine may round a product the other way where it lies between two steps.
    assert np.abs(got - wanted).max() <= 0.0301
    assert np.mean(np.abs(got - wanted) > 1e-4) < 0.02


def test_a_file_wins_over_the_encodings_of_the_model():
    graph, known = taken(qdq_model())
    pins = known.resolve(graph, None).pins
    name = next(v for v in pins if graph.source_names.get(v, v) == "relu" or v == "y")
    given = EncodingSet((eight(graph.source_names.get(name, name), 0.7, offset=0),))
    result = quantize_graph(graph, QuantizationRequest(overrides=given), known=known)
    assert result.graph.types[name].encoding.scales == single(0.7)


def test_encodings_a_channel_replace_one_for_the_whole_weight_of_the_model():
    graph = network()
    known = KnownEncodings([eight("conv1.weight", 0.01)])
    replaced = quantize_graph(graph, QuantizationRequest(per_channel=True), samples(graph), Engine(), known)
    kept = quantize_graph(graph, QuantizationRequest(per_channel=False), samples(graph), Engine(), known)
    weights = value(graph, "conv1.weight")
    assert len(replaced.graph.types[weights].encoding.scales) == 6
    assert kept.graph.types[weights].encoding.scales == single(0.01)


def test_the_widths_of_a_hand_written_file_are_read():
    text = {"activation_encodings": {}, "param_encodings": {}, "activation_bitwidth": 16}
    assert parse_encodings(json.dumps(text).encode()).act_bits == 16
