import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.analyse.channel_gains import find_channel_gains
from edgewright.analyse.layers import measure_layers

RANDOM = np.random.default_rng(1)
FACTORS = (2.0 ** RANDOM.integers(-2, 3, 16)).astype(np.float32)
FIRST, SECOND = (RANDOM.normal(0, 1, (16, 16)).astype(np.float32) for _ in range(2))


def net(tmp_path, first, second, between):
    """x -> a product -> what is between -> a product -> y."""
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["made"]),
        *between,
        helper.make_node("MatMul", ["read", "w2"], ["y"]),
    ]
    shapes = [helper.make_tensor("heads", TensorProto.INT64, [3], [4, 2, 8])]
    shapes += [helper.make_tensor("rows", TensorProto.INT64, [2], [4, 16])]
    weights = [
        helper.make_tensor(n, TensorProto.FLOAT, w.shape, w) for n, w in (("w1", first), ("w2", second))
    ]
    io = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", io[:1], io[1:], [*weights, *shapes])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return ew.convert(path)


HEADS = (
    helper.make_node("Reshape", ["made", "heads"], ["a"]),
    helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0, 2]),
    helper.make_node("Abs", ["b"], ["c"]),
    helper.make_node("Transpose", ["c"], ["d"], perm=[1, 0, 2]),
    helper.make_node("Reshape", ["d", "rows"], ["read"]),
)
SUM = (helper.make_node("Relu", ["made"], ["a"]), helper.make_node("Add", ["a", "made"], ["read"]))


def scaled(tmp_path, between):
    """The net, its quantized form after channels between the products were scaled, and samples."""
    source = net(tmp_path, FIRST, SECOND, between)
    twin = net(tmp_path, FIRST * FACTORS, SECOND / FACTORS[:, None], between)
    samples = [{"x": RANDOM.normal(0, 1, (4, 16)).astype(np.float32)} for _ in range(8)]
    quantized = ew.quantize(twin, samples, act_bw=16, act_quantizer="tf").fixed_graph()
    return source.fixed_graph(), quantized, samples


@pytest.mark.parametrize(("between", "lost"), [(SUM, 0), (HEADS, 1)], ids=["sum", "heads"])
def test_scales_between_two_products_end_at_the_second(tmp_path, between, lost):
    source, quantized, samples = scaled(tmp_path, between)
    gains = find_channel_gains(source, quantized)
    layers = {layer.source: layer for layer in measure_layers(source, quantized, samples)}
    assert gains.is_plain("y")
    assert layers["y"].sim_db > 25
    np.testing.assert_allclose(1 / gains.known["made"], FACTORS, rtol=0.05)
    # What cannot be told is left out, not taken for noise.
    assert ("c" in gains.unknown) == bool(lost)
    assert min(layer.sim_db for layer in layers.values()) > 25
