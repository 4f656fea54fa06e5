"""Small networks as a frontend builds them: every spatial op between two transposes."""

from collections.abc import Callable

import numpy as np

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.builder import Builder
from edgewright.ir.dims import Dim
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.activation import Relu, Sigmoid
from edgewright.ops.conv import Conv1d, Conv2d, Conv3d, DepthWiseConv2d
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.norm import Batchnorm
from edgewright.ops.pool import PoolAvg2d, PoolMax2d
from edgewright.ops.rearrange import Concat, Transpose
from edgewright.ops.reduce import ReduceMean
from edgewright.ops.reduce_softmax import Softmax
from edgewright.ops.resize import ResizeNearestNeighbor

CONVS: dict[int, type] = {1: Conv1d, 2: Conv2d, 3: Conv3d}


class Net(Builder):
    """A builder of channel-first networks with random weights."""

    def __init__(self, *shape: Dim) -> None:
        super().__init__(Graph("net"))
        self._random = np.random.default_rng(3)
        self.x = self.graph.add_input("x", TensorType(shape or (1, 4, 6, 6)))

    def random(self, *shape: int) -> str:
        return self.add_constant((self._random.normal(size=shape) / 2).astype(np.float32))

    def conv(self, x: str, channels: int, *, has_bias: bool = True, size: int = 3) -> str:
        axes = self.rank(x) - 2
        pads = ((size // 2, size // 2),) * axes
        op = (
            Conv1d(stride=1, pad_amount=pads[0])
            if axes == 1
            else CONVS[axes](stride=(1,) * axes, pad_amount=pads)
        )
        filters = self.random(*(size,) * axes, int(self.shape(x)[1]), channels)
        bias = [self.random(channels)] if has_bias else []
        return self.move_channels_first(self.emit(op, self.move_channels_last(x), filters, *bias))

    def depthwise(self, x: str) -> str:
        op = DepthWiseConv2d(stride=(1, 1), pad_amount=((1, 1), (1, 1)))
        filters = self.random(3, 3, 1, int(self.shape(x)[1]))
        return self.move_channels_first(self.emit(op, self.move_channels_last(x), filters))

    def batchnorm(self, x: str) -> str:
        channels = int(self.shape(x)[1])
        turned = self.emit(
            Batchnorm(), self.move_channels_last(x), self.random(channels), self.random(channels)
        )
        return self.move_channels_first(turned)

    def pool(self, x: str) -> str:
        op = PoolMax2d(filter_size=(2, 2), stride=(1, 1), pad_amount=((0, 1), (0, 1)))
        return self.move_channels_first(self.emit(op, self.move_channels_last(x)))

    def relu(self, x: str) -> str:
        return self.emit(Relu(), x)

    def fully_connected(self, x: str, units: int) -> str:
        return self.emit(FullyConnected(), x, self.random(units, int(self.shape(x)[-1])))

    def done(self, *outputs: str) -> Graph:
        self.graph.outputs = list(outputs)
        return self.graph


def chain() -> Graph:
    net = Net()
    x = net.relu(net.conv(net.x, 4))
    return net.done(net.relu(net.batchnorm(net.depthwise(x))))


def residual() -> Graph:
    net = Net()
    stem = net.relu(net.conv(net.x, 4))
    branch = net.conv(net.relu(net.conv(stem, 4)), 4)
    return net.done(net.relu(net.emit(ElementWiseAdd(), branch, stem)))


def residual_of_the_input() -> Graph:
    net = Net()
    return net.done(net.relu(net.emit(ElementWiseAdd(), net.conv(net.x, 4), net.x)))


def concatenation() -> Graph:
    net = Net()
    stem = net.conv(net.x, 4)
    parts = [net.conv(stem, 3), net.pool(stem), net.relu(stem)]
    return net.done(net.conv(net.emit(Concat(axis=1), *parts), 2))


def preprocessing() -> Graph:
    net = Net(1, 3, 6, 6)
    mean, scale = net.random(1, 3, 1, 1), net.random(3, 1, 1)
    turned = net.emit(ElementWiseMultiply(), net.emit(ElementWiseSubtract(), net.x, mean), scale)
    return net.done(net.conv(turned, 4))


def squeeze_excite_by_convolution() -> Graph:
    net = Net()
    x = net.conv(net.x, 8)
    mean = net.emit(ReduceMean(axes=(2, 3), keep_dims=True), x)
    gate = net.emit(Sigmoid(), net.conv(net.relu(net.conv(mean, 2, size=1)), 8, size=1))
    return net.done(net.conv(net.emit(ElementWiseMultiply(), x, gate), 4))


def squeeze_excite_by_fully_connected() -> Graph:
    net = Net()
    x = net.conv(net.x, 8)
    mean = net.emit(ReduceMean(axes=(2, 3)), x)
    gate = net.emit(Sigmoid(), net.fully_connected(net.relu(net.fully_connected(mean, 2)), 8))
    product = net.emit(ElementWiseMultiply(), x, net.reshape(gate, (1, 8, 1, 1)))
    return net.done(net.conv(product, 4))


def reduction() -> Graph:
    net = Net()
    x = net.relu(net.conv(net.x, 5))
    return net.done(net.fully_connected(net.emit(ReduceMean(axes=(2, 3)), x), 3))


def global_pool_and_flatten() -> Graph:
    net = Net()
    x = net.move_channels_last(net.conv(net.x, 5))
    pooled = net.emit(PoolAvg2d(filter_size=(6, 6), stride=(1, 1), pad_amount=((0, 0), (0, 0))), x)
    return net.done(net.fully_connected(net.reshape(net.move_channels_first(pooled), (1, 5)), 3))


def segmentation() -> Graph:
    net = Net()
    small = net.move_channels_last(net.conv(net.x, 5))
    big = net.move_channels_first(net.emit(ResizeNearestNeighbor(size=(12, 12)), small))
    return net.done(net.emit(Softmax(axis=1), net.conv(big, 3)))


def one_dimensional() -> Graph:
    net = Net(1, 4, 9)
    x = net.relu(net.conv(net.x, 6))
    return net.done(net.relu(net.emit(ElementWiseAdd(), net.conv(x, 6), net.random(6, 1))))


def three_dimensional() -> Graph:
    net = Net(1, 2, 4, 4, 4)
    x = net.relu(net.conv(net.x, 3))
    return net.done(net.emit(ElementWiseAdd(), net.conv(x, 3), net.random(3, 1, 1, 1)))


SPATIAL: dict[str, Callable[[], Graph]] = {
    make.__name__: make
    for make in (
        chain,
        residual,
        residual_of_the_input,
        concatenation,
        preprocessing,
        squeeze_excite_by_convolution,
        squeeze_excite_by_fully_connected,
        reduction,
        global_pool_and_flatten,
        segmentation,
        one_dimensional,
        three_dimensional,
    )
}


def cnn_head() -> Graph:
    """Flattened channel first, as exporters write it: the weights know that order."""
    net = Net()
    x = net.relu(net.conv(net.x, 5))
    return net.done(net.fully_connected(net.reshape(x, (1, 5 * 6 * 6)), 3))


def transposes(graph: Graph) -> int:
    return sum(isinstance(node.op, Transpose) for node in graph.nodes)


def feed(graph: Graph, seed: int = 0) -> dict[str, Array]:
    """Random inputs of the declared types."""
    random = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    for name in graph.inputs:
        shape, dtype = graph.types[name].static_shape(), graph.types[name].dtype
        values = random.normal(size=shape) * 3 if dtype.is_float else random.integers(0, 3, shape)
        made[name] = values.astype(dtype.numpy if dtype != DType.BOOL_8 else np.bool_)
    return made


def results(graph: Graph, inputs: dict[str, Array]) -> list[Array]:
    """Outputs by the reference, in order."""
    found = reference.run(graph, inputs)
    return [found[name] for name in graph.outputs]
