"""Networks as ONNX exporters write them: fewer ops after the passes, and ONNX Runtime's results."""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew
from edgewright.frontends.conversion import Rewrites


class Onnx:
    """Builds an ONNX model node by node, with random weights."""

    def __init__(self, *shape: int | str) -> None:
        self._random = np.random.default_rng(11)
        self.nodes, self.weights = [], []
        self.x = "x"
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]

    def weight(self, *shape: int, low: float = -1.0) -> str:
        return self.constant(self._random.uniform(low, 1, shape).astype(np.float32))

    def constant(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def batchnorm(self, x: str, channels: int) -> str:
        scale, shift, mean = (self.weight(channels) for _ in range(3))
        return self.op("BatchNormalization", x, scale, shift, mean, self.weight(channels, low=0.5))

    def done(self, output: str) -> onnx.ModelProto:
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "net", self.inputs, [result], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def conv_net(axes: int, batch: int | str = 1) -> onnx.ModelProto:
    m = Onnx(batch, 3, *(8,) * axes)
    x, channels = m.x, 3
    for _ in range(2):
        x = m.op("Conv", x, m.weight(4, channels, *(3,) * axes), pads=[1] * 2 * axes)
        x = m.op("Relu", m.batchnorm(x, 4))
        channels = 4
    return m.done(x)


def depthwise_net() -> onnx.ModelProto:
    m = Onnx(1, 4, 8, 8)
    x = m.batchnorm(m.op("Conv", m.x, m.weight(4, 1, 3, 3), group=4), 4)
    clipped = m.op("Clip", x, m.constant(np.float32(0)), m.constant(np.float32(6)))
    return m.done(m.batchnorm(m.op("ConvTranspose", clipped, m.weight(4, 3, 2, 2), strides=[2, 2]), 3))


def shuffle_net() -> onnx.ModelProto:
    m = Onnx(1, 6, 4, 4)
    x = m.op("Conv", m.x, m.weight(6, 6, 1, 1))
    parts = m.op("Reshape", x, m.constant(np.array([1, 2, 3, 4, 4])))
    swapped = m.op("Transpose", parts, perm=[0, 2, 1, 3, 4])
    back = m.op("Reshape", swapped, m.constant(np.array([1, 6, 4, 4])))
    return m.done(m.op("Conv", back, m.weight(2, 6, 1, 1)))


def mobile_block() -> onnx.ModelProto:
    """Squeeze, excite and swish as PyTorch exports them."""
    m = Onnx(1, 4, 6, 6)
    x = m.op("Conv", m.x, m.weight(8, 4, 1, 1))
    hard = m.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)
    x = m.op("Mul", x, hard)
    squeezed = m.op("Conv", m.op("GlobalAveragePool", x), m.weight(8, 8, 1, 1))
    x = m.op("Mul", x, m.op("Sigmoid", squeezed))
    return m.done(m.op("Add", m.op("Conv", x, m.weight(4, 8, 1, 1)), m.x))


def head() -> onnx.ModelProto:
    m = Onnx("batch", 3, 4, 4)
    x = m.op("Relu", m.op("Conv", m.x, m.weight(5, 3, 3, 3)))
    flat = m.op("Flatten", m.op("MaxPool", x, kernel_shape=[2, 2]))
    return m.done(m.op("Gemm", flat, m.weight(7, 5), m.weight(7), transB=1))


def layer_norm() -> onnx.ModelProto:
    m = Onnx(2, 5, 8)
    mean = m.op("ReduceMean", m.x, axes=[-1])
    centred = m.op("Sub", m.x, mean)
    spread = m.op("ReduceMean", m.op("Pow", centred, m.constant(np.float32(2))), axes=[-1])
    root = m.op("Sqrt", m.op("Add", spread, m.constant(np.float32(1e-5))))
    normed = m.op("Div", centred, root)
    scaled = m.op("Mul", normed, m.weight(8))
    return m.done(m.op("Add", scaled, m.weight(8)))


NETS = {
    "conv_1d": (conv_net(1), {"Conv2d": 2, "Relu": 2, "Transpose": 2}),
    "conv_2d": (conv_net(2), {"Conv2d": 2, "Relu": 2, "Transpose": 2}),
    "conv_3d": (conv_net(3), {"Conv3d": 2, "Relu": 2, "Transpose": 2}),
    "symbolic_batch": (conv_net(2, "batch"), {"Conv2d": 2, "Relu": 2, "Transpose": 2}),
    "depthwise": (depthwise_net(), {"DepthWiseConv2d": 1, "Relu6": 1, "TransposeConv2d": 1, "Transpose": 2}),
    "shuffle": (shuffle_net(), {"Conv2d": 2, "ChannelShuffle": 1, "Transpose": 2}),
    "mobile_block": (mobile_block(), {"HardSwish": 1, "ElementWiseMultiply": 1, "Transpose": 2}),
    "head": (head(), {"Conv2d": 1, "PoolMax2d": 1, "FullyConnected": 1, "Transpose": 1}),
    "layer_norm": (layer_norm(), {"LayerNorm": 1}),
}


def feed_of(model: onnx.ModelProto, batch: int) -> dict[str, np.ndarray]:
    dims = model.graph.input[0].type.tensor_type.shape.dim
    shape = [dim.dim_value or batch for dim in dims]
    return {"x": np.random.default_rng(1).normal(size=shape).astype(np.float32)}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize(
    "rewrites", [Rewrites(), Rewrites(is_simplified=False), Rewrites(left_out=("fold_batchnorm",))]
)
def test_results_are_those_of_onnx_runtime(name: str, rewrites: Rewrites) -> None:
    model, _ = NETS[name]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    converted = ew.convert(model, rewrites=rewrites)
    for batch in (1, 3):
        inputs = feed_of(model, batch)
        (expected,) = session.run(None, inputs)
        (found,) = converted.run(inputs).values()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("name", NETS)
def test_the_network_has_the_ops_it_should_have(name: str) -> None:
    model, wanted = NETS[name]
    found = Counter(node.op.qnn_name() for node in ew.convert(model).graph.nodes)
    assert {op: found[op] for op in wanted} == wanted
    assert found["Batchnorm"] == 0


def test_batch_norms_stay_where_folding_is_switched_off() -> None:
    graph = ew.convert(NETS["conv_2d"][0], rewrites=Rewrites(left_out=("fold_batchnorm",))).graph
    assert Counter(node.op.qnn_name() for node in graph.nodes)["Batchnorm"] == 2


def test_a_convolution_keeps_the_gamma_and_beta_of_its_batch_norm() -> None:
    model, _ = NETS["conv_2d"]
    stored = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    norm = next(node for node in model.graph.node if node.op_type == "BatchNormalization")
    first = next(node for node in ew.convert(model).graph.nodes if node.op.qnn_name() == "Conv2d")
    np.testing.assert_array_equal(first.notes["gamma"], stored[norm.input[1]])
    np.testing.assert_array_equal(first.notes["beta"], stored[norm.input[2]])
