"""What a translation of a TFLite op may use: the shared builder, fixed point, subgraphs and variables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from edgewright.config.spelling import advise_cut
from edgewright.core.errors import BadInput, UnsupportedOp, Where
from edgewright.core.numbers import DType
from edgewright.frontends._common.builder import Builder, NeedsValue
from edgewright.frontends.tflite.encoded import read_encoding
from edgewright.frontends.tflite.reader import Subgraph, Tensor
from edgewright.frontends.tflite.source import SourceNode
from edgewright.frontends.tflite.variables import Variables
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu, Relu1, Relu6, Tanh
from edgewright.ops.quant import Dequantize, Quantize

if TYPE_CHECKING:
    from edgewright.frontends.tflite.importer import Importer

# Fused activations and the range that each leaves.
ACTIVATIONS: dict[str, Op] = {"RELU": Relu(), "RELU_N1_TO_1": Relu1(), "RELU6": Relu6(), "TANH": Tanh()}
RANGES = {"RELU": (0.0, np.inf), "RELU_N1_TO_1": (-1.0, 1.0), "RELU6": (0.0, 6.0)}


class Context(Builder):
    """A builder that also knows the model it builds from."""

    def __init__(self, graph: Graph, importer: "Importer") -> None:
        super().__init__(graph)
        self.variables = Variables(self)
        self._importer = importer
        self._real: dict[str, str] = {}
        self._complex: dict[str, tuple[str, str]] = {}

    def inline(self, place: int, arguments: Sequence[str]) -> list[str]:
        """Translates a subgraph in place, its inputs bound to values; returns its outputs' values."""
        return self._importer.inline(place, arguments)

    def subgraph(self, place: int) -> Subgraph:
        """A subgraph of the file."""
        return self._importer.subgraph(place)

    def sizes(self, value: str) -> tuple[int, ...]:
        """The shape of a value, which must be known as numbers to go on."""
        if not self.type(value).is_static:
            raise NeedsValue(value, is_shape=True)
        return self.type(value).static_shape()

    def real(self, value: str) -> str:
        """Real numbers: the value itself, or what its integers stand for."""
        if not value or value not in self.graph.types or self.type(value).encoding is None:
            return value
        if value not in self._real:
            encoding = self.type(value).encoding
            assert encoding is not None
            self._real[value] = self.emit(Dequantize(encoding=encoding), value)
        return self._real[value]

    def stored(self, value: str, tensor: Tensor) -> str:
        """A result in the form that the file declares: integers in fixed point where it is quantized."""
        found = read_encoding(tensor)
        if found is None or not self.dtype(value).is_float:
            return value
        dtype, encoding = found
        if min(encoding.scales) <= 0:
            raise BadInput(
                f"a scale is {min(encoding.scales)}, expected more than 0",
                Where(tensor=tensor.name),
                do="export the model again",
            )
        fixed = self.emit(Quantize(dtype=dtype, encoding=encoding), value)
        self.graph.source_names.setdefault(value, tensor.name)
        return fixed

    def activated(self, node: SourceNode, value: str) -> str:
        """The value behind the op's fused activation.

        TFLite clamps the integers of the result, so a result that is quantized is so before and after.
        """
        name = node.activation
        if name == "NONE":
            return value
        if name not in ACTIVATIONS:
            raise self.refuse(node, f"activation '{name}'")
        found = read_encoding(node.results[0])
        if found is not None:
            if name in RANGES and _is_within(*found, RANGES[name]):
                return value
            value = self.real(self.stored(value, node.results[0]))
        return self.emit(ACTIVATIONS[name], value)

    def complex_of(self, real: str, imaginary: str) -> str:
        """A name for complex numbers, which the graph does not know: it has their parts."""
        name = self.graph.fresh_name("complex")
        self._complex[name] = (real, imaginary)
        return name

    def is_complex(self, value: str) -> bool:
        """Whether a name stands for complex numbers."""
        return value in self._complex

    def parts(self, value: str) -> tuple[str, str]:
        """Real and imaginary part of complex numbers."""
        if value not in self._complex:
            raise BadInput(f"{self.type(value)} is given, expected complex numbers", Where(tensor=value))
        return self._complex[value]

    def turned(self, value: str, order: Sequence[int]) -> str:
        """A weight with its axes in another order; integers that are dequantized move as they are stored."""
        if tuple(order) == tuple(range(len(order))):
            return value
        node = self.graph.producer(value)
        if node is None or not isinstance(node.op, Dequantize) or node.inputs[0] not in self.graph.constants:
            return self.transpose(value, order)
        stored = node.inputs[0]
        name = self.graph.fresh_name(stored)
        array = self.graph.constants[stored].transpose(order)
        self.graph.add_constant(name, array, self.type(stored).permuted(order), of=stored)
        return self.real(name)

    def zeros(self, tensor_type: TensorType, name: str) -> str:
        """A constant of real zeros."""
        encoding = tensor_type.encoding
        zero = 0 if encoding is None else -encoding.offsets[0]
        array = np.full(tensor_type.static_shape(), zero, tensor_type.dtype.numpy)
        free = name if name not in self.graph.types else self.graph.fresh_name(name)
        return self.graph.add_constant(free, array, tensor_type)

    def rename(self, old: str, new: str) -> None:
        """Gives a produced value another name, in complex numbers too."""
        super().rename(old, new)
        self._real = {key: new if value == old else value for key, value in self._real.items()}
        for name, pair in self._complex.items():
            if old in pair:
                self._complex[name] = (new if pair[0] == old else pair[0], new if pair[1] == old else pair[1])

    def refuse(self, node: SourceNode, reason: str, do: str = "") -> UnsupportedOp:
        """The error for an operator that cannot be translated."""
        return UnsupportedOp(
            f"TFLite op '{node.op}' is not supported here: {reason}",
            node.where,
            do=do or advise_cut(),
        )


def _is_within(dtype: DType, encoding: Encoding, limits: tuple[float, float]) -> bool:
    """Whether no integer of an encoding stands for a number outside of the limits, by more than rounding."""
    if encoding.axis is not None:
        return False
    low, high = encoding.limits(dtype)
    scale, offset = encoding.scales[0], encoding.offsets[0]
    slack = scale / 2
    return (low + offset) * scale > limits[0] - slack and (high + offset) * scale < limits[1] + slack
