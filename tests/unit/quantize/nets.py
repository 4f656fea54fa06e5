"""Small channel-last networks for the quantizer, and an executor for them."""

from collections.abc import Mapping, Sequence

import numpy as np

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.core.numbers import Array
from edgewright.frontends._common.builder import Builder
from edgewright.ir.graph import Graph
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.matmul import FullyConnected


class Engine:
    """The CPU backend as an executor; it counts what it is asked for."""

    def __init__(self) -> None:
        self.runs = 0
        self.returned: list[int] = []

    def prepare(self, graph: Graph, outputs: Sequence[str]) -> "Running":
        twin = graph.copy()
        twin.outputs = list(outputs)
        return Running(self, CpuBackend().prepare(twin, RunOptions(threads=1)))


class Running:
    def __init__(self, engine: Engine, session) -> None:
        self._engine, self._session = engine, session

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        results = self._session.run(inputs)
        self._engine.runs += 1
        self._engine.returned.append(sum(array.size for array in results.values()))
        return results


class Net(Builder):
    """A builder of channel-last networks with random weights."""

    def __init__(self, *shape: int, seed: int = 3) -> None:
        super().__init__(Graph("net"))
        self.random = np.random.default_rng(seed)
        self.x = self.graph.add_input("x", TensorType(shape or (1, 8, 8, 4)))

    def weights(self, *shape: int, scale: float = 0.3) -> str:
        return self.add_constant((self.random.normal(size=shape) * scale).astype(np.float32))

    def conv(self, x: str, channels: int, *, size: int = 3, has_bias: bool = True, stride: int = 1) -> str:
        filters = self.weights(size, size, int(self.shape(x)[-1]), channels)
        bias = [self.weights(channels)] if has_bias else []
        pads = ((size // 2, size // 2),) * 2
        return self.emit(Conv2d(stride=(stride, stride), pad_amount=pads), x, filters, *bias)

    def depthwise(self, x: str) -> str:
        channels = int(self.shape(x)[-1])
        op = DepthWiseConv2d(stride=(1, 1), pad_amount=((1, 1), (1, 1)))
        return self.emit(op, x, self.weights(3, 3, 1, channels), self.weights(channels))

    def dense(self, x: str, units: int) -> str:
        return self.emit(
            FullyConnected(), x, self.weights(units, int(self.shape(x)[-1])), self.weights(units)
        )

    def dense_rows(self, x: str, units: int) -> str:
        weights, bias = self.weights(units, int(self.shape(x)[-1])), self.weights(units)
        return self.emit(FullyConnected(keep_dims=True), x, weights, bias)

    def unary(self, op: Op, x: str) -> str:
        return self.emit(op, x)

    def done(self, *outputs: str) -> Graph:
        self.graph.outputs = list(outputs)
        return self.graph


def samples(graph: Graph, count: int = 8, seed: int = 0) -> list[dict[str, Array]]:
    random = np.random.default_rng(seed)
    return [
        {
            name: random.normal(size=graph.types[name].static_shape()).astype(graph.types[name].dtype.numpy)
            for name in graph.inputs
        }
        for _ in range(count)
    ]
