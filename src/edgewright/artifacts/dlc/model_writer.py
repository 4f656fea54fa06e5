"""The graphs of a DLC: nodes, attributes, tensors and their encodings, without the data of tensors."""

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from edgewright.artifacts.blockwise import BLOCKWISE_EXPANSION, FACTOR_BITS, count_blocks
from edgewright.artifacts.description import Description, check_scalar_type, check_tensor_type
from edgewright.artifacts.dlc.flat_writer import Field, FlatWriter
from edgewright.artifacts.dlc.formats import encode_layout
from edgewright.artifacts.dlc.spelling import spell_in_dlc
from edgewright.artifacts.dlc.tables import (
    BOOKKEEPING,
    MODEL_IDENTIFIER,
    PACKAGE_NAME,
    PARAMETER,
    UNDEFINED,
    AttributeKind,
    AttributeSlot,
    AxisSlot,
    BlockwiseSlot,
    EncodingSlot,
    GraphSlot,
    ModelSlot,
    NodeSlot,
    ScalarSlot,
    StepSlot,
    TensorSlot,
)
from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind

_DEFINED = 1


def write_model(graphs: Sequence[QnnGraph], description: Description) -> bytearray:
    """The FlatBuffer that describes all graphs."""
    writer = FlatWriter()
    tables = [_Graph(writer, graph, description).table() for graph in graphs]
    root = writer.table({ModelSlot.GRAPHS: ("o", writer.vector(tables))})
    return writer.finished(root, MODEL_IDENTIFIER)


class _Graph:
    def __init__(self, writer: FlatWriter, graph: QnnGraph, description: Description) -> None:
        self._writer = writer
        self._graph = graph
        self._description = description
        # Ids count parameter tensors too, as in a model library.
        self._ids = count(1)

    def table(self) -> int:
        tensors = [self._write_tensor(tensor) for tensor in self._graph.tensors.values()]
        nodes = [self._write_node(node) for node in self._graph.nodes]
        name = self._writer.text(self._graph.name)
        return self._writer.table(
            {
                GraphSlot.NAME: ("o", name),
                GraphSlot.NODES: ("o", self._writer.vector(nodes)),
                GraphSlot.TENSORS: ("o", self._writer.vector(tensors)),
                GraphSlot.NAME_AGAIN: ("o", name),
            }
        )

    def _write_node(self, node: QnnNode) -> int:
        package = self._description.package_of(node)
        spelling = spell_in_dlc(node.type, package)
        kept = {PACKAGE_NAME: QnnScalar(DType.STRING, package)} | spelling.bookkeeping
        where = Where(op=node.type, node=node.name)
        attributes = [
            *self._write_scalars(spelling.parameters | node.scalar_params, PARAMETER, where),
            *(self._write_tensor_param(name, tensor) for name, tensor in node.tensor_params.items()),
            *self._write_scalars(kept, BOOKKEEPING, where),
        ]
        writer = self._writer
        return writer.table(
            {
                NodeSlot.NAME: ("o", writer.text(node.name)),
                NodeSlot.TYPE: ("o", writer.text(spelling.type)),
                NodeSlot.INPUTS: ("o", writer.texts(node.inputs)),
                NodeSlot.OUTPUTS: ("o", writer.texts(node.outputs)),
                NodeSlot.ATTRIBUTES: ("o", writer.vector(attributes)),
            }
        )

    def _write_scalars(self, scalars: dict[str, QnnScalar], flag: int, where: Where) -> Iterable[int]:
        for name, scalar in scalars.items():
            value = self._write_scalar(name, scalar, where)
            yield self._write_attribute(
                name, AttributeKind.SCALAR, flag, {AttributeSlot.SCALAR: ("o", value)}
            )

    def _write_tensor_param(self, name: str, tensor: QnnTensor) -> int:
        if tensor.kind != TensorKind.STATIC:
            found, expected = int(tensor.kind), int(TensorKind.STATIC)
            raise BadInput(
                f"parameter '{name}' has tensor type {found}, expected {expected}", Where(tensor=tensor.name)
            )
        value = self._write_tensor(tensor)
        return self._write_attribute(
            name, AttributeKind.TENSOR, PARAMETER, {AttributeSlot.TENSOR: ("o", value)}
        )

    def _write_attribute(self, name: str, kind: AttributeKind, flag: int, value: dict[int, Field]) -> int:
        return self._writer.table(
            {
                AttributeSlot.NAME: ("o", self._writer.text(name)),
                AttributeSlot.KIND: ("i", int(kind)),
                AttributeSlot.FLAG: ("B", flag),
            }
            | value
        )

    def _write_scalar(self, name: str, scalar: QnnScalar, where: Where) -> int:
        check_scalar_type(name, scalar, where)
        value: dict[int, Field] = {}
        if isinstance(scalar.value, str):
            value[ScalarSlot.TEXT] = ("o", self._writer.text(scalar.value))
        elif scalar.dtype.is_float:
            value[ScalarSlot.REAL] = ("d", float(scalar.value))
        else:
            value[ScalarSlot.INTEGER] = ("q", _as_int64(int(scalar.value), name, where))
        return self._writer.table({ScalarSlot.DTYPE: ("I", int(scalar.dtype))} | value)

    def _write_tensor(self, tensor: QnnTensor) -> int:
        check_tensor_type(tensor)
        writer = self._writer
        code, source_code = encode_layout(tensor)
        plain = DType.FLOAT_32 if tensor.dtype.is_fixed_point else tensor.dtype
        return writer.table(
            {
                TensorSlot.ID: ("I", next(self._ids)),
                TensorSlot.NAME: ("o", writer.text(tensor.name)),
                TensorSlot.KIND: ("i", int(tensor.kind)),
                TensorSlot.DIMS: ("o", writer.numbers(tensor.dims)),
                TensorSlot.FORMAT: ("i", code),
                TensorSlot.ENCODING: ("o", self._write_encoding(tensor)),
                TensorSlot.DTYPE: ("I", int(tensor.dtype)),
                TensorSlot.PLAIN_DTYPE: ("I", int(plain)),
                TensorSlot.IS_QUANTIZABLE: ("B", int(plain.is_float)),
                TensorSlot.SOURCE_FORMAT: ("i", source_code),
            }
        )

    def _write_encoding(self, tensor: QnnTensor) -> int:
        encoding, writer = tensor.encoding, self._writer
        if encoding is None:
            return writer.table(
                {EncodingSlot.TYPE: ("I", UNDEFINED), EncodingSlot.DEFINITION: ("I", UNDEFINED)}
            )
        if encoding.block_axis is not None:
            return self._write_blocks(tensor, encoding)
        pairs = zip(encoding.scales, encoding.offsets, strict=True)
        steps = [self._step(tensor, encoding, scale, offset) for scale, offset in pairs]
        # Encodings 2 and 3 are 0 and 1 for values that use fewer bits than their container has.
        narrow = 2 if encoding.bitwidth != tensor.dtype.bits else 0
        if encoding.axis is None:
            value: dict[int, Field] = {EncodingSlot.STEP: ("o", steps[0])}
        else:
            listed: dict[int, Field] = {
                AxisSlot.AXIS: ("i", encoding.axis),
                AxisSlot.STEPS: ("o", writer.vector(steps)),
            }
            value = {EncodingSlot.AXIS: ("o", writer.table(listed))}
        head: dict[int, Field] = {
            EncodingSlot.TYPE: ("I", narrow + (encoding.axis is not None)),
            EncodingSlot.IS_OVERRIDDEN: ("B", 0),
            EncodingSlot.DEFINITION: ("I", _DEFINED),
        }
        return writer.table(head | value)

    def _write_blocks(self, tensor: QnnTensor, encoding: Encoding) -> int:
        """The steps of channels are those of the integers times their blocks' factors."""
        blocks, writer = count_blocks(tensor), self._writer
        expanded = replace(encoding, bitwidth=encoding.bitwidth + FACTOR_BITS)
        pairs = zip(encoding.scales, encoding.offsets, strict=True)
        steps = [self._step(tensor, expanded, scale, offset) for scale, offset in pairs]
        factors = writer.write_bytes(bytes(encoding.block_scales))
        value: dict[int, Field] = {
            BlockwiseSlot.AXIS: ("i", encoding.axis or 0),
            BlockwiseSlot.STEPS: ("o", writer.vector(steps)),
            BlockwiseSlot.BLOCKS: ("I", blocks),
            BlockwiseSlot.STORAGE: ("I", 0),
            BlockwiseSlot.FACTOR_BITS: ("B", FACTOR_BITS),
            BlockwiseSlot.FACTORS: ("o", factors),
        }
        head: dict[int, Field] = {
            EncodingSlot.TYPE: ("I", BLOCKWISE_EXPANSION),
            EncodingSlot.IS_OVERRIDDEN: ("B", 0),
            EncodingSlot.BLOCKWISE: ("o", writer.table(value)),
            EncodingSlot.DEFINITION: ("I", _DEFINED),
        }
        return writer.table(head)

    def _step(self, tensor: QnnTensor, encoding: Encoding, scale: float, offset: int) -> int:
        low, high = encoding.limits(tensor.dtype)
        middle = 0 if tensor.dtype.is_signed else -(1 << (encoding.bitwidth - 1))
        # Limits are computed from what is stored, so that reading and writing keeps the bytes.
        stored = _as_float32(scale, tensor)
        return self._writer.table(
            {
                StepSlot.BITWIDTH: ("I", encoding.bitwidth),
                StepSlot.MINIMUM: ("f", _bound(stored * (low + offset))),
                StepSlot.MAXIMUM: ("f", _bound(stored * (high + offset))),
                StepSlot.SCALE: ("f", stored),
                StepSlot.OFFSET: ("i", offset),
                StepSlot.IS_SYMMETRIC: ("B", int(offset == middle)),
            }
        )


def _as_int64(value: int, name: str, where: Where) -> int:
    """The int64 with the same 64 bits; a UINT_64 may be too large for an int64."""
    if not -(2**63) <= value < 2**64:
        raise BadInput(f"parameter '{name}' is {value}, which does not fit 64 bits", where)
    return value - 2**64 if value >= 2**63 else value


def _as_float32(scale: float, tensor: QnnTensor) -> float:
    """The scale as QNN stores it; the nearest float32 must still be a valid scale."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", scale))[0]
    except OverflowError:
        rounded = math.inf
    if not math.isfinite(rounded) or (scale and not rounded):
        what = f"the scale is {scale}, QNN holds it as float32, where it is {rounded}"
        raise BadInput(what, Where(tensor=tensor.name))
    return rounded


def _bound(value: float) -> float:
    largest = 3.4028234663852886e38
    return min(max(value, -largest), largest)
