"""Means over images of open sizes: the engine's pool, where nothing but the speed may differ."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend


def test_a_pool_over_an_image_of_an_open_size_is_one_in_the_engine():
    weight = np.random.default_rng(1).normal(size=(8, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["p"]),
        helper.make_node("Mul", ["c", "p"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w_"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "net", [x], [y], [numpy_helper.from_array(weight, "w")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = RunOptions(threads=1, is_profiled=True)
    session = find_backend("cpu").prepare(ew.convert(proto).fixed_graph(), options)
    source = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for size in ((9, 8), (5, 11)):
        feed = {"x": np.random.default_rng(2).normal(size=(1, 3, *size)).astype(np.float32)}
        np.testing.assert_allclose(session.run(feed)["y"], source.run(None, feed)[0], rtol=1e-5, atol=1e-6)
    kernels = {time.kernel for time in session.node_times()}
    assert "GlobalAveragePool" in kernels
    assert "ReduceMean" not in kernels
