"""Real numbers at the surface of a graph whose inputs and outputs are stored integers."""

from collections.abc import Mapping

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType


class Surface:
    """Encodes floats that are given for fixed-point and half-precision inputs, decodes fixed-point outputs.

    Integers of the stored datatype are taken as they are.
    """

    def __init__(self, graph: Graph) -> None:
        self._inputs = _list_fixed_point(graph, graph.inputs)
        # Half precision is a way of storing real numbers as well.
        halves = [name for name in graph.inputs if graph.types[name].dtype == DType.FLOAT_16]
        self._inputs |= {name: graph.types[name] for name in halves}
        self._outputs = _list_fixed_point(graph, graph.outputs)
        # Whether nothing has to be encoded or decoded.
        self.is_idle = not self._inputs and not self._outputs
        self._has_fixed = bool(_list_fixed_point(graph, [*graph.inputs, *graph.outputs]))

    def encode_inputs(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """The inputs as the graph stores them."""
        if not self._inputs:
            return inputs
        return {name: self._encode_value(name, np.asarray(array)) for name, array in inputs.items()}

    def is_real(self, inputs: Mapping[str, Array]) -> bool:
        """Whether some inputs are stored as integers, and all values given for them are real numbers."""
        given = (inputs.get(name) for name, t in self._inputs.items() if t.encoding is not None)
        is_float = all(isinstance(array, np.ndarray) and array.dtype == np.float32 for array in given)
        return self._has_fixed and is_float

    def decode_outputs(self, outputs: dict[str, Array]) -> dict[str, Array]:
        """The outputs as real numbers."""
        for name, tensor_type in self._outputs.items():
            assert tensor_type.encoding is not None
            outputs[name] = tensor_type.encoding.decode(outputs[name])
        return outputs

    def _encode_value(self, name: str, array: Array) -> Array:
        tensor_type = self._inputs.get(name)
        if tensor_type is None or array.dtype == tensor_type.dtype.numpy:
            return array
        if tensor_type.encoding is None:
            return array.astype(np.float16) if array.dtype == np.float32 else array
        return tensor_type.encoding.encode(array, tensor_type.dtype)


def _list_fixed_point(graph: Graph, names: list[str]) -> dict[str, TensorType]:
    types = {name: graph.types[name] for name in names}
    return {name: t for name, t in types.items() if t.encoding is not None}
