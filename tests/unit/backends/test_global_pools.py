"""Means over images: the engine's pool where they are small, which adds up in single precision."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend


def make_network(kind, places):
    """A convolution of one place, the mean of its results, and their product."""
    weight = np.random.default_rng(1).uniform(0.1, 1, size=(8, 3, 1, 1)).astype(np.float32)
    attributes = {"axes": [2, 3], "keepdims": 1} if kind == "ReduceMean" else {}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node(kind, ["c"], ["p"], **attributes),
        helper.make_node("Mul", ["c", "p"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, *places])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "net", [x], [y], [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("kind", "places", "size", "kernel"),
    [
        ("ReduceMean", (9, 8), (9, 8), "GlobalAveragePool"),
        ("ReduceMean", (512, 512), (512, 512), "ReduceMean"),
        ("ReduceMean", ("h", "v"), (512, 512), "ReduceMean"),
        ("GlobalAveragePool", ("h", "v"), (5, 11), "ReduceMean"),
    ],
)
def test_a_mean_is_the_engines_pool_only_where_no_sum_is_lost(kind, places, size, kernel):
    proto = make_network(kind, places)
    session = find_backend("cpu").prepare(
        ew.convert(proto).fixed_graph(), RunOptions(threads=1, is_profiled=True)
    )
    source = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    # Far from zero: what single precision loses of a long sum is a thousandth of it.
    feed = {"x": np.random.default_rng(2).uniform(100, 101, size=(1, 3, *size)).astype(np.float32)}
    np.testing.assert_allclose(session.run(feed)["y"], source.run(None, feed)[0], rtol=1e-5)
    assert kernel in {time.kernel for time in session.node_times()}
