"""What the engine's own rewrites must leave alone."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew


def test_zeros_between_a_convolution_and_a_maximum_are_numbers():
    weight = np.ones((2, 3, 3, 3), np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Pad", ["c", "amounts"], ["p"]),
        helper.make_node("MaxPool", ["p"], ["y"], kernel_shape=[3, 3], strides=[2, 2]),
    ]
    constants = [
        numpy_helper.from_array(weight, "w"),
        numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1]), "amounts"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 3, 3])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, constants)
    model = ew.convert(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))
    (result,) = model.run({"x": np.full((1, 3, 8, 8), -1, np.float32)}).values()
    # All sums are -27: a window at the border has zeros, one inside has none.
    np.testing.assert_array_equal(result[0, 0], [[0, 0, 0], [0, -27, -27], [0, -27, -27]])
