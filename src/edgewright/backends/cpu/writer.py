"""Writes part of an IR graph as an ONNX model for the engine."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from edgewright.backends.cpu.linear import decode_value, encode_value
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, Shape
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType

ENGINE_OPSET = 21
# Larger constants are handed to the engine by reference instead of being copied into the model's bytes.
LARGEST_INLINE = 256
_T = onnx.TensorProto
ENGINE_CODES: dict[DType, int] = {
    DType.FLOAT_32: _T.FLOAT,
    DType.FLOAT_16: _T.FLOAT16,
    DType.FLOAT_64: _T.DOUBLE,
    DType.INT_8: _T.INT8,
    DType.INT_16: _T.INT16,
    DType.INT_32: _T.INT32,
    DType.INT_64: _T.INT64,
    DType.UINT_8: _T.UINT8,
    DType.UINT_16: _T.UINT16,
    DType.UINT_32: _T.UINT32,
    DType.UINT_64: _T.UINT64,
    DType.BOOL_8: _T.BOOL,
    DType.SFIXED_POINT_4: _T.INT8,
    DType.SFIXED_POINT_8: _T.INT8,
    DType.SFIXED_POINT_16: _T.INT16,
    DType.SFIXED_POINT_32: _T.INT32,
    DType.UFIXED_POINT_4: _T.UINT8,
    DType.UFIXED_POINT_8: _T.UINT8,
    DType.UFIXED_POINT_16: _T.UINT16,
    DType.UFIXED_POINT_32: _T.UINT32,
}


class Writer:
    """An ONNX graph under construction. Values have the engine's names, which differ from the IR's."""

    def __init__(self, graph: Graph, opset: int = ENGINE_OPSET) -> None:
        self.graph = graph
        self.opset = opset
        # Whether the model may have ops of ONNX only, none of the engine's own.
        self.is_standard = False
        self.external: dict[str, Array] = {}
        # Dimensions that follow from the shapes of a run -> the input that gives them.
        self.computed: dict[Dim | tuple[Dim, ...], str] = {}
        self._names: dict[str, str] = {}  # IR value -> engine value
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: dict[str, onnx.TensorProto] = {}
        self._inputs: list[str] = []
        self._outputs: set[str] = set()
        # engine value -> (engine value, order): transposes that need not be computed when they are undone
        self._turned: dict[str, tuple[str, tuple[int, ...]]] = {}
        self._made: dict[tuple[str, tuple[int, ...]], str] = {}
        # While an op is written: how it sees its values, and what stands in for them.
        self._seen_as: dict[str, TensorType] = {}
        self._stand_ins: dict[str, str] = {}
        # engine value -> (stored engine value, its type): real numbers that were decoded
        self._stored: dict[str, tuple[str, TensorType]] = {}
        self._decoded: dict[tuple[str, Encoding], str] = {}
        self._count = 0
        self._label = ""

    def type(self, value: str) -> TensorType:
        """Type of an IR value, as the op that is being written sees it."""
        return self._seen_as.get(value) or self.graph.types[value]

    def add_input(self, value: str) -> str:
        """Declares an IR value as an input of the model."""
        self._inputs.append(value)
        self._names[value] = value
        return value

    def value(self, name: str) -> str:
        """The engine's name of an IR value; constants are declared when they are first read."""
        if name in self._stand_ins:
            return self._stand_ins[name]
        if name not in self._names:
            self._names[name] = self.constant(self.graph.constants[name])
        return self._names[name]

    def is_written(self, name: str) -> bool:
        """Whether an IR value was written before, or is an input."""
        return name in self._names

    def node(self, op_type: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Writes an engine node of one output."""
        return self.node_all(op_type, *inputs, outputs=1, domain=domain, **attributes)[0]

    def node_all(
        self, op_type: str, *inputs: str, outputs: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Writes an engine node of several outputs."""
        names = [self._fresh() for _ in range(outputs)]
        given = {key: value for key, value in attributes.items() if value is not None}
        self._nodes.append(
            onnx.helper.make_node(
                op_type, inputs, names, name=f"{self._label}#{self._count}", domain=domain, **given
            )
        )
        return names

    def constant(self, array: Array) -> str:
        """Declares a constant; large ones stay where they are."""
        name = self._fresh()
        if array.size > LARGEST_INLINE:
            self.external[name] = array
            self._initializers[name] = _make_external_tensor(name, array)
        else:
            self._initializers[name] = onnx.numpy_helper.from_array(
                np.ascontiguousarray(array).reshape(array.shape), name
            )
        return name

    @staticmethod
    def code(dtype: DType) -> int:
        """The engine's code of a datatype."""
        return ENGINE_CODES[dtype]

    def decoded(self, stored: str, tensor_type: TensorType) -> str:
        """Real numbers of a fixed-point value, transposed after decoding where the value was."""
        assert tensor_type.encoding is not None
        base, order = self._turned.get(stored, (stored, None))
        if order is not None:
            back = tuple(order.index(axis) for axis in range(len(order)))
            return self.transpose(self.decoded(base, tensor_type.permuted(back)), order)
        key = (stored, tensor_type.encoding)
        if key not in self._decoded:
            if tensor_type.encoding.block_axis is not None and stored in self._initializers:
                self._decoded[key] = self.constant(tensor_type.encoding.decode(self._array(stored)))
            else:
                name = decode_value(self, stored, tensor_type.dtype, tensor_type.encoding, DType.FLOAT_32)
                self._decoded[key], self._stored[name] = name, (stored, tensor_type)
        return self._decoded[key]

    def before_transpose(self, value: str) -> tuple[str, tuple[int, ...] | None]:
        """What a value was before it was transposed, and the order; itself and None where it was not."""
        return self._turned.get(value, (value, None))

    def encoded(self, value: str, tensor_type: TensorType) -> str:
        """The integers of a fixed-point type that stand for real numbers."""
        assert tensor_type.encoding is not None
        base, order = self._turned.get(value, (value, None))
        if order is None:
            return encode_value(self, value, DType.FLOAT_32, tensor_type.dtype, tensor_type.encoding)
        back = tuple(order.index(axis) for axis in range(len(order)))
        return self.transpose(self.encoded(base, tensor_type.permuted(back)), order)

    def scalar(self, number: float | bool, dtype: DType) -> str:
        """A constant of rank 0."""
        return self.constant(np.asarray(number).astype(dtype.numpy))

    def ints(self, dims: Sequence[Dim]) -> str:
        """An int64 vector; symbolic entries make it an input that the session computes."""
        if all(isinstance(dim, int) for dim in dims):
            return self.constant(np.asarray([int(dim) for dim in dims], np.int64))
        return self._compute_dims(tuple(dims))

    def dim(self, dim: Dim) -> str:
        """One dimension as an int64 scalar."""
        return self.constant(np.asarray(dim, np.int64)) if isinstance(dim, int) else self._compute_dims(dim)

    def _compute_dims(self, dims: Dim | tuple[Dim, ...]) -> str:
        if dims not in self.computed:
            self.computed[dims] = f"@dims{len(self.computed)}"
        return self.computed[dims]

    def transpose(self, value: str, order: Sequence[int]) -> str:
        """A transposed value; what was transposed before is not transposed twice."""
        base, before = self._turned.get(value, (value, tuple(range(len(order)))))
        combined = tuple(before[axis] for axis in order)
        if combined == tuple(range(len(order))):
            return base
        key = (base, combined)
        if key not in self._made:
            self._made[key] = self._transpose_value(base, combined)
            self._turned[self._made[key]] = key
        return self._made[key]

    def channel_first(self, value: str, rank: int) -> str:
        """N, spatial..., C to N, C, spatial..."""
        return self.transpose(value, (0, rank - 1, *range(1, rank - 1)))

    def channel_last(self, value: str, rank: int) -> str:
        """N, C, spatial... to N, spatial..., C."""
        return self.transpose(value, (0, *range(2, rank), 1))

    def model(self, outputs: Sequence[str]) -> tuple[onnx.ModelProto, list[str]]:
        """The model that computes the given IR values, and the engine's names of them."""
        names = [self._write_output(value) for value in outputs]
        nodes = _find_needed(self._nodes, names)
        used = {name for node in nodes for name in node.input} | set(names)
        inputs = [self._make_value_info(name, self.type(name)) for name in self._inputs]
        self.computed = {dims: name for dims, name in self.computed.items() if name in used}
        for dims, name in self.computed.items():
            shape = (len(dims),) if isinstance(dims, tuple) else ()
            inputs.append(self._make_value_info(name, TensorType(shape, DType.INT_64)))
        results = [
            self._make_value_info(name, self.type(value)) for name, value in zip(names, outputs, strict=True)
        ]
        weights = [tensor for name, tensor in self._initializers.items() if name in used]
        self.external = {name: array for name, array in self.external.items() if name in used}
        graph = onnx.helper.make_graph(nodes, "edgewright", inputs, results, weights)
        domains = sorted({node.domain for node in nodes if node.domain})
        opsets = [
            onnx.helper.make_opsetid("", self.opset),
            *(onnx.helper.make_opsetid(domain, 1) for domain in domains),
        ]
        return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10), names

    def list_shapes(self) -> dict[str, Shape]:
        """The engine's values that stand for IR values, with the shapes of those."""
        return {name: self.graph.types[value].shape for value, name in self._names.items()}

    def _write_output(self, value: str) -> str:
        name = self.value(value)
        taken = name in self._inputs or name in self._initializers or name in self._outputs
        name = self.node("Identity", name) if taken else name
        self._outputs.add(name)
        return name

    def _make_value_info(self, name: str, tensor_type: TensorType) -> onnx.ValueInfoProto:
        dims = [dim if isinstance(dim, int) else str(dim) for dim in tensor_type.shape]
        return onnx.helper.make_tensor_value_info(name, ENGINE_CODES[tensor_type.dtype], dims)

    def _transpose_value(self, value: str, order: tuple[int, ...]) -> str:
        if value in self._stored:
            stored, tensor_type = self._stored[value]
            return self.decoded(self._move_value(stored, order), tensor_type.permuted(order))
        return self._move_value(value, order)

    def _move_value(self, value: str, order: tuple[int, ...]) -> str:
        if value in self._initializers:
            return self.constant(np.transpose(self._array(value), order))
        return self.node("Transpose", value, perm=list(order))

    def _array(self, constant: str) -> Array:
        if constant in self.external:
            return self.external[constant]
        array: Array = onnx.numpy_helper.to_array(self._initializers[constant])
        return array

    def _fresh(self) -> str:
        self._count += 1
        # Inputs keep the names of the model, which may look like these.
        while f"t{self._count}" in self._names:
            self._count += 1
        return f"t{self._count}"


def _make_external_tensor(name: str, array: Array) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, dims=array.shape, data_type=ENGINE_CODES[DType.of(array.dtype)])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "memory"), ("offset", "0"), ("length", str(array.nbytes))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def _find_needed(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str]) -> list[onnx.NodeProto]:
    """The nodes that the outputs depend on: undone transposes stay unwritten."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            kept.append(node)
    return kept[::-1]
