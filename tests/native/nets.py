"""Small quantized networks for the tests of the genuine libraries."""

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu, ReluMinMax
from edgewright.ops.conv import Conv2d

SIZE = 8


def conv_net(name: str = "net", channels: int = 16, seed: int = 1) -> Graph:
    """A 3x3 convolution and a Relu, 8 bits, a scale for each channel."""
    random = np.random.default_rng(seed)
    graph = Graph(name)
    graph.add_input("x", _activation(channels, 0.02))
    filters = random.integers(-127, 128, (3, 3, channels, channels)).astype(np.int8)
    scales = tuple(random.uniform(0.002, 0.01, channels).tolist())
    encoding = Encoding(scales, (0,) * channels, 3)
    graph.add_constant("w", filters, TensorType(filters.shape, DType.SFIXED_POINT_8, None, encoding))
    conv = Conv2d(stride=(1, 1), pad_amount=((1, 1), (1, 1)))
    graph.add(Node("conv", conv, ["x", "w"], ["c"]), [_activation(channels, 0.1)])
    graph.add(Node("relu", Relu(), ["c"], ["y"]), [_activation(channels, 0.1)])
    graph.outputs = ["y"]
    return graph


def values(channels: int = 16, seed: int = 0) -> np.ndarray:
    """Stored inputs of the network."""
    return np.random.default_rng(seed).integers(0, 256, (1, SIZE, SIZE, channels)).astype(np.uint8)


def clamp_net(bounds: tuple[float, float], bits: int, written: tuple[float, float] = (-2.0, 2.0)) -> Graph:
    """A 3x3 convolution and a clamp, whose encoding may reach further than its bounds."""
    random, shape = np.random.default_rng(5), (1, 4, 4, 16)
    graph = Graph("net")
    graph.add_input("x", _stored(shape, (-2.0, 2.0), bits))
    filters = random.integers(-127, 128, (3, 3, 16, 16)).astype(np.int8)
    weights = TensorType(filters.shape, DType.SFIXED_POINT_8, None, Encoding((0.001,), (0,)))
    graph.add_constant("w", filters, weights)
    conv = Conv2d(stride=(1, 1), pad_amount=((1, 1), (1, 1)))
    graph.add(Node("conv", conv, ["x", "w"], ["c"]), [_stored(shape, (-2.0, 2.0), bits)])
    clamp = ReluMinMax(min_value=bounds[0], max_value=bounds[1])
    graph.add(Node("clamp", clamp, ["c"], ["y"]), [_stored(shape, written, bits)])
    graph.outputs = ["y"]
    return graph


def _stored(shape: tuple[int, ...], covered: tuple[float, float], bits: int) -> TensorType:
    scale = (covered[1] - covered[0]) / ((1 << bits) - 1)
    encoding = Encoding((scale,), (round(covered[0] / scale),), bitwidth=bits)
    return TensorType(shape, DType[f"UFIXED_POINT_{bits}"], None, encoding)


def _activation(channels: int, scale: float) -> TensorType:
    encoding = Encoding((scale,), (-128,))
    return TensorType((1, SIZE, SIZE, channels), DType.UFIXED_POINT_8, None, encoding)
