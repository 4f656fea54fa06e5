"""Dynamically quantized models: the engine gets the integer ops that the source had."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgewright import convert
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.cpu.dynamic import with_integer_ops
from edgewright.backends.cpu.export import export_graph
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ops import reference
from edgewright.ops.source import SourceOp


def model(
    kind: str,
    weights: Array,
    shape: tuple[int, ...],
    order: tuple[int, ...] | None = None,
    **attributes: object,
) -> onnx.ModelProto:
    """x quantized by its own range, multiplied with weights of zero point 3, and scaled back."""
    order = order or tuple(range(len(shape)))
    nodes = [
        helper.make_node("Transpose", ["x"], ["turned"], perm=order),
        helper.make_node("DynamicQuantizeLinear", ["turned"], ["q", "scale", "zero"]),
        helper.make_node(kind, ["q", "w", "zero", "w_zero"], ["sum"], **attributes),
        helper.make_node("Cast", ["sum"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["real", "scale"], ["y"]),
    ]
    stored = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(weights.dtype.type(3), "w_zero")]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    io = [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("sum", TensorProto.INT32, None),
    ]
    graph = helper.make_graph(nodes, "g", [x], io, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def weights(*shape: int, dtype: type[np.generic] = np.int8) -> Array:
    low = 0 if dtype == np.uint8 else -127
    return np.random.default_rng(2).integers(low, low + 250, shape).astype(dtype)


CASES = {
    "product": model("MatMulInteger", weights(24, 10), (2, 5, 24)),
    "long-product": model("MatMulInteger", weights(3000, 6), (4, 3000)),
    "turned-product": model("MatMulInteger", weights(24, 10), (2, 24, 5), (0, 2, 1)),
    "unsigned": model("MatMulInteger", weights(24, 10, dtype=np.uint8), (5, 24)),
    "convolution": model(
        "ConvInteger", weights(6, 4, 3, 3, dtype=np.uint8), (1, 4, 9, 8), pads=[1, 0, 1, 2], strides=[2, 1]
    ),
    "long-convolution": model("ConvInteger", weights(5, 200, 3, 3), (1, 200, 6, 7), pads=[1, 1, 1, 1]),
    "groups": model("ConvInteger", weights(6, 2, 3, 3), (1, 4, 9, 8), group=2),
    "depthwise": model("ConvInteger", weights(4, 1, 3, 3), (1, 4, 9, 8), group=4),
    "one-axis": model("ConvInteger", weights(6, 4, 3), (2, 4, 11), dilations=[2]),
}


def converted(proto: onnx.ModelProto, folder: Path) -> Graph:
    onnx.save(proto, folder / "m.onnx")
    return convert(folder / "m.onnx").fixed_graph()


def feed(graph: Graph) -> dict[str, Array]:
    shape = graph.types["x"].static_shape()
    return {"x": np.random.default_rng(9).normal(0.3, 1, shape).astype(np.float32)}


@pytest.mark.parametrize("name", CASES)
def test_integer_ops_are_found_again_and_mean_the_same(name: str, tmp_path: Path) -> None:
    graph = converted(CASES[name], tmp_path)
    kinds = [node.op.type for node in with_integer_ops(graph).nodes if isinstance(node.op, SourceOp)]
    assert sorted(kinds) == sorted(["DynamicQuantizeLinear", CASES[name].graph.node[2].op_type])
    x = feed(graph)
    session = CpuBackend().prepare(graph, RunOptions(threads=1))
    assert set(session.placement().values()) == {"engine"}
    found, expected = session.run(x), reference.run(graph, x)
    source = onnxruntime.InferenceSession(CASES[name].SerializeToString(), providers=["CPUExecutionProvider"])
    real, whole = source.run(["y", "sum"], x)
    np.testing.assert_array_equal(found["sum"], whole)
    np.testing.assert_array_equal(expected["sum"], whole)
    np.testing.assert_allclose(found["y"], real, rtol=1e-6)


def lstm(direction: str) -> onnx.ModelProto:
    """A DynamicQuantizeLSTM of 5 units for a sequence of 7 steps."""
    directions = 2 if direction == "bidirectional" else 1
    random = np.random.default_rng(4)
    arrays = {
        "w": weights(directions, 3, 20),
        "r": weights(directions, 5, 20),
        "b": random.normal(size=(directions, 40)).astype(np.float32),
        "w_scale": random.uniform(0.005, 0.01, directions).astype(np.float32),
        "r_scale": random.uniform(0.005, 0.01, directions).astype(np.float32),
        "nothing": np.zeros(directions, np.int8),
    }
    inputs = ["x", "w", "r", "b", "", "", "", "", "w_scale", "nothing", "r_scale", "nothing"]
    node = helper.make_node(
        "DynamicQuantizeLSTM", inputs, ["y"], domain="com.microsoft", hidden_size=5, direction=direction
    )
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (7, 1, 3))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    stored = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(
        helper.make_graph([node], "g", [x], [y], stored), opset_imports=opsets, ir_version=8
    )


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_an_lstm_of_integers_is_one_again(direction: str, tmp_path: Path) -> None:
    proto = lstm(direction)
    graph = converted(proto, tmp_path)
    x = feed(graph)
    source = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (wanted,) = source.run(None, x)
    found = CpuBackend().prepare(graph, RunOptions(threads=1)).run(x)["y"]
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(reference.run(graph, x)["y"], wanted, atol=2e-6)


def test_an_exported_lstm_has_ops_of_onnx_only(tmp_path: Path) -> None:
    model, _ = export_graph(converted(lstm("forward"), tmp_path))
    assert {opset.domain for opset in model.opset_import} == {""}
    assert "LSTM" in [node.op_type for node in model.graph.node]


def test_values_inside_are_still_there_when_asked_for(tmp_path: Path) -> None:
    graph = converted(CASES["product"], tmp_path)
    inside = [node.outputs[0] for node in graph.nodes if node.outputs[0] not in graph.outputs]
    session = CpuBackend().prepare(graph, RunOptions(threads=1, extra_outputs=tuple(inside)))
    x = feed(graph)
    found, expected = session.run(x), reference.run(graph, x, inside)
    for value in inside:
        np.testing.assert_allclose(found[value], expected[value], rtol=1e-6, atol=1e-6, err_msg=value)


def test_another_range_is_left_as_it_is(tmp_path: Path) -> None:
    graph = converted(CASES["product"], tmp_path)
    (name,) = [n for n, array in graph.constants.items() if array.size == 1 and array.item() == 255]
    graph.constants[name] = np.asarray(254, np.float32)
    kinds = [node.op.type for node in with_integer_ops(graph).nodes if isinstance(node.op, SourceOp)]
    assert kinds == ["MatMulInteger"]


def test_a_graph_without_them_is_not_copied(tmp_path: Path) -> None:
    graph = Graph()
    assert with_integer_ops(graph) is graph
