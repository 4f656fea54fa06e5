"""What stands around an EPContext node: conversions between what callers give and what the binary stores."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.types import TensorType
from edgewright.lower.names import NameTable
from edgewright.lower.qnn_graph import QnnTensor

REAL = np.dtype(np.float32)


@dataclass(frozen=True)
class _Outside:
    """A tensor as callers see it."""

    dtype: "np.dtype[np.generic]"
    shape: tuple[int, ...]


@dataclass
class IoConversions:
    """Inputs, outputs and the nodes between them and the EPContext node.

    Args:
        tensors: all inputs and outputs of the binary's graph.
        source: the types of the source model by the binary's names, which callers then keep.
        is_float: where there is no source, callers see float32 in place of fixed point and half precision.
    """

    tensors: Iterable[QnnTensor]
    source: Mapping[str, TensorType]
    is_float: bool
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    before: list[onnx.NodeProto] = field(default_factory=list)
    after: list[onnx.NodeProto] = field(default_factory=list)
    between: list[onnx.ValueInfoProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    # The node's names of tensors, and the binary's where those are others.
    overrides: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Names that are made here must not be those of an input or output."""
        self._names = NameTable(tensor.name for tensor in self.tensors)

    def add_input(self, tensor: QnnTensor) -> str:
        """The name that the node reads for an input of the graph."""
        outside = self._choose_outside(tensor)
        self.inputs.append(_declare(tensor.name, outside.dtype, outside.shape))
        name = tensor.name
        if outside.shape != tensor.dims:
            name = self._add_node(self.before, "Reshape", [name, self._add_shape(tensor.dims)])
        if outside.dtype != tensor.dtype.numpy or self._is_decoded(tensor, outside):
            name = self._convert_input(name, tensor, outside)
        return self._finish(name, tensor)

    def add_output(self, tensor: QnnTensor) -> str:
        """The name that the node writes for an output of the graph."""
        outside = self._choose_outside(tensor)
        self.outputs.append(_declare(tensor.name, outside.dtype, outside.shape))
        steps = self._list_output_steps(tensor, outside)
        if not steps:
            return tensor.name
        made = [self._names.reserve(f"{tensor.name}_stored") for _ in steps]
        for step, (read, written) in zip(
            steps, zip(made, [*made[1:], tensor.name], strict=True), strict=True
        ):
            op, more, attributes = step
            self.after.append(
                helper.make_node(op, [read, *more], [written], name=f"{written}_{op}", **attributes)
            )
        return self._finish(made[0], tensor)

    def _choose_outside(self, tensor: QnnTensor) -> _Outside:
        source = self.source.get(tensor.name)
        stored = tensor.dtype.numpy
        if source is None or not source.is_static:
            is_real = self.is_float and (_find_scale(tensor) is not None or tensor.dtype == DType.FLOAT_16)
            return _Outside(REAL if is_real else stored, tensor.dims)
        shape = source.static_shape()
        shape = shape if np.prod(shape, dtype=int) == np.prod(tensor.dims, dtype=int) else tensor.dims
        if not source.dtype.is_fixed_point:
            return _Outside(source.dtype.numpy, shape)
        is_same = source.dtype == tensor.dtype and _is_same_encoding(source.encoding, tensor.encoding)
        return _Outside(stored if is_same or _find_scale(tensor) is None else REAL, shape)

    def _is_decoded(self, tensor: QnnTensor, outside: _Outside) -> bool:
        """Whether callers see real numbers or the source's integers in place of stored ones."""
        if _find_scale(tensor) is None:
            return False
        source = self.source.get(tensor.name)
        if source is None:
            return outside.dtype == REAL
        return not source.dtype.is_fixed_point or outside.dtype == REAL

    def _convert_input(self, name: str, tensor: QnnTensor, outside: _Outside) -> str:
        if not self._is_decoded(tensor, outside):
            return self._add_cast(name, tensor.dtype.numpy, tensor)
        if outside.dtype != REAL:
            name = self._add_cast(name, REAL, tensor)
        return self._add_node(self.before, "QuantizeLinear", [name, *self._add_scale(tensor)], tensor.name)

    def _list_output_steps(
        self, tensor: QnnTensor, outside: _Outside
    ) -> list[tuple[str, list[str], dict[str, Any]]]:
        """Ops with their constant inputs and attributes, from the node to the caller."""
        steps: list[tuple[str, list[str], dict[str, Any]]] = []
        dtype = tensor.dtype.numpy
        if self._is_decoded(tensor, outside):
            steps.append(("DequantizeLinear", self._add_scale(tensor), {}))
            dtype = REAL
        if dtype != outside.dtype:
            steps.append(("Cast", [], {"to": helper.np_dtype_to_tensor_dtype(outside.dtype)}))
        if outside.shape != tensor.dims:
            steps.append(("Reshape", [self._add_shape(outside.shape)], {}))
        return steps

    def _add_cast(self, name: str, dtype: "np.dtype[np.generic]", tensor: QnnTensor) -> str:
        written = self._names.reserve(f"{tensor.name}_stored")
        kind = helper.np_dtype_to_tensor_dtype(dtype)
        self.before.append(helper.make_node("Cast", [name], [written], name=f"{written}_Cast", to=kind))
        return written

    def _add_node(self, nodes: list[onnx.NodeProto], op: str, inputs: list[str], base: str = "") -> str:
        written = self._names.reserve(f"{base or inputs[0]}_stored")
        nodes.append(helper.make_node(op, inputs, [written], name=f"{written}_{op}"))
        return written

    def _add_scale(self, tensor: QnnTensor) -> list[str]:
        encoding = _find_scale(tensor)
        assert encoding is not None
        # QNN: real = scale * (stored + offset), so the zero point of ONNX is the negated offset.
        return [
            self._add_constant(f"{tensor.name}_scale", np.asarray(np.float32(encoding.scales[0]))),
            self._add_constant(
                f"{tensor.name}_zero_point", np.asarray(-encoding.offsets[0], tensor.dtype.numpy)
            ),
        ]

    def _add_shape(self, shape: tuple[int, ...]) -> str:
        return self._add_constant("shape", np.asarray(shape, np.int64))

    def _add_constant(self, name: str, value: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> str:
        free = self._names.reserve(name)
        self.constants.append(numpy_helper.from_array(value, free))
        return free

    def _finish(self, name: str, tensor: QnnTensor) -> str:
        if name != tensor.name:
            self.overrides[name] = tensor.name
            # The node's own outputs have only the types that are declared.
            self.between.append(_declare(name, tensor.dtype.numpy, tensor.dims))
        return name


def _find_scale(tensor: QnnTensor) -> Encoding | None:
    """The encoding of a tensor that has one for all of it."""
    encoding = tensor.encoding
    return None if encoding is None or encoding.axis is not None else encoding


def _is_same_encoding(one: Encoding | None, other: Encoding | None) -> bool:
    if one is None or other is None:
        return False
    return one.offsets == other.offsets and bool(np.allclose(one.scales, other.scales, rtol=1e-6))


def _declare(name: str, dtype: "np.dtype[np.generic]", shape: tuple[int, ...]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), list(shape))
