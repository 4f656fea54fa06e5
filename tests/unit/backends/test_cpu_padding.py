"""What the engine's own rewrites must leave alone."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew
from edgewright.backends.cpu.export import export_graph


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


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("kind", ["Conv", "MaxPool"])
def test_same_padding_of_open_sizes_is_the_engines_own(kind: str, mode: str):
    """No node pads: ONNX Runtime knows the rule."""
    attributes = {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": mode}
    weight = np.random.default_rng(1).normal(size=(4, 3, 3, 2)).astype(np.float32)
    constants = [numpy_helper.from_array(weight, "w")] if kind == "Conv" else []
    node = helper.make_node(kind, ["x", "w"] if constants else ["x"], ["y"], **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w_"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    proto = helper.make_model(
        helper.make_graph([node], "net", [x], [y], constants),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    source = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    model = ew.convert(proto)
    kinds = [node.op_type for node in export_graph(model.graph)[0].graph.node]
    assert kinds.count("Pad") == 0
    for size in ((5, 4), (6, 6), (8, 7), (3, 9), (1, 2)):
        feed = {"x": np.random.default_rng(0).normal(size=(1, 3, *size)).astype(np.float32) - 2}
        np.testing.assert_array_equal(model.run(feed)["y"], source.run(None, feed)[0])


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("dilations", "strides"), [([2, 2], [2, 2]), ([1, 2], [2, 1])])
def test_same_padding_of_windows_with_gaps_is_right_at_open_sizes(mode, dilations, strides):
    """ONNX Runtime has no such padding of its own: zeros around the image stand in for it."""
    weight = np.random.default_rng(1).normal(size=(2, 2, 3, 3)).astype(np.float32)
    attributes = {"dilations": dilations, "strides": strides}

    def make(shape, **more):
        node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes, **more)
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph([node], "net", [x], [y], [numpy_helper.from_array(weight, "w")])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    image = np.random.default_rng(0).normal(size=(1, 2, 7, 8)).astype(np.float32)
    pads = []
    for size, gap, step in zip((7, 8), dilations, strides, strict=True):
        total = max((-(-size // step) - 1) * step + 2 * gap + 1 - size, 0)
        half = total // 2 if mode == "SAME_UPPER" else total - total // 2
        pads.append((half, total - half))
    padded = np.pad(image, [(0, 0), (0, 0), *pads])
    plain = make(list(padded.shape)).SerializeToString()
    source = onnxruntime.InferenceSession(plain, providers=["CPUExecutionProvider"])
    expected = source.run(None, {"x": padded})
    found = ew.convert(make([1, 2, "h", "v"], auto_pad=mode)).run({"x": image})["y"]
    np.testing.assert_allclose(found, expected[0], rtol=1e-5, atol=1e-5)


def test_same_padding_with_gaps_between_windows_runs():
    """ONNX Runtime itself refuses it: the amount of its rule is below zero."""
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[1], strides=[3], auto_pad="SAME_UPPER")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, "w"])
    graph = helper.make_graph(
        [node], "net", [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    )
    model = ew.convert(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))
    found = model.run({"x": np.arange(6, dtype=np.float32).reshape(1, 1, 6)})["y"]
    np.testing.assert_array_equal(found.reshape(-1), [0, 3])
