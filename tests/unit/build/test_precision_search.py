"""What the search of a build may do."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew
from edgewright.ir.text import parse
from edgewright.quantize.run_counter import RunCounter

WIDTH = 300


def make_wide_product() -> onnx.ModelProto:
    """A product whose inverse of moments is more work than all of the float model's runs."""
    weights = np.random.default_rng(1).normal(0, 1, (WIDTH, 5)).astype(np.float32)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, WIDTH])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])]
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "wide", inputs, outputs, [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_a_tiny_network_is_not_left_without_algorithms_for_its_passes(tmp_path) -> None:
    data = np.random.default_rng(0).normal(0, 1, (20, WIDTH)).astype(np.float32)
    record = ew.build(
        make_wide_product(), data, target="SM8650", output=tmp_path / "out", precision="w4a8", max_drop=0.1
    )
    assert not [each for each in record.left_out if each.is_for_time]
    assert [each.name for each in record.candidates] == ["w4a8", "w4a8+algorithms"]


def test_few_passes_of_a_large_network_are_much_work() -> None:
    graph = parse("graph g {\n  input x: float_32[1,6]\n  y = Relu(x)\n  output y\n}\n")
    few, many = (RunCounter(graph, samples) for samples in (10, 1000))
    assert few.cheap_passes == 100 * many.cheap_passes
