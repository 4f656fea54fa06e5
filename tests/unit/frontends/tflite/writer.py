"""Writes small TFLite models with the flatbuffers runtime, for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.frontends.tflite.codes import BUILTINS, DTYPES
from edgewright.frontends.tflite.options import find_fields

CODES = {dtype: code for code, dtype in DTYPES.items()}
# The union member that holds the options of an op; ops whose options have no fields need none.
OPTION_CODES = {
    "CONV_2D": 1, "DEPTHWISE_CONV_2D": 2, "AVERAGE_POOL_2D": 5, "MAX_POOL_2D": 5, "L2_POOL_2D": 5,
    "SVDF": 6, "FULLY_CONNECTED": 8, "SOFTMAX": 9, "CONCATENATION": 10, "ADD": 11, "L2_NORMALIZATION": 12,
    "LOCAL_RESPONSE_NORMALIZATION": 13, "LSTM": 14, "RESIZE_BILINEAR": 15, "CALL": 16, "RESHAPE": 17,
    "SPACE_TO_DEPTH": 19, "MUL": 21, "GATHER": 23, "MEAN": 27, "SUM": 27, "REDUCE_PROD": 27,
    "REDUCE_MAX": 27, "REDUCE_MIN": 27, "REDUCE_ANY": 27, "REDUCE_ALL": 27, "SUB": 28, "DIV": 29,
    "SQUEEZE": 30, "UNIDIRECTIONAL_SEQUENCE_RNN": 31, "STRIDED_SLICE": 32, "SPLIT": 35, "ARG_MAX": 40,
    "TRANSPOSE_CONV": 49, "SHAPE": 55, "ARG_MIN": 57, "FAKE_QUANT": 58, "PACK": 59, "ONE_HOT": 61,
    "UNPACK": 64, "BIDIRECTIONAL_SEQUENCE_LSTM": 69, "UNIDIRECTIONAL_SEQUENCE_LSTM": 71,
    "RESIZE_NEAREST_NEIGHBOR": 74, "LEAKY_RELU": 75, "MIRROR_PAD": 77, "SPLIT_V": 79,
    "REVERSE_SEQUENCE": 87, "IF": 92, "WHILE": 93, "DEPTH_TO_SPACE": 94, "BATCH_MATMUL": 101, "CUMSUM": 102,
    "CALL_ONCE": 103, "CONV_3D": 106, "CONV_3D_TRANSPOSE": 106, "VAR_HANDLE": 111, "GELU": 116,
}  # fmt: skip
OPTION_CODES_2 = {"STABLEHLO_COMPOSITE": 21}
RESOURCE = 13


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor: with data it is a constant; without a dtype it is the handle of a variable."""

    shape: tuple[int, ...] = ()
    dtype: DType | None = DType.FLOAT_32
    data: Array | None = None
    scales: tuple[float, ...] = ()
    zeros: tuple[int, ...] = ()
    axis: int = 0
    name: str = ""
    signature: tuple[int, ...] = ()
    is_variable: bool = False
    # Traversal order, block map, and (format, size, segments, indices) of each level.
    sparsity: tuple[Any, Any, Any] | None = None
    # Offset and size of data that is said to lie behind the flatbuffer, in place of what is in it.
    behind: tuple[int, int] | None = None


@dataclass(frozen=True)
class Operator:
    """An operator; operands are places among the tensors."""

    op: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    options: dict[str, Any] = field(default_factory=dict)
    custom: bytes = b""


@dataclass(frozen=True)
class Subgraph:
    """A subgraph."""

    tensors: Sequence[Tensor]
    inputs: Sequence[int]
    outputs: Sequence[int]
    operators: Sequence[Operator]
    name: str = "main"


def const(array: Any, dtype: Any = None, **more: Any) -> Tensor:
    """A constant tensor of an array."""
    data = np.asarray(array, dtype)
    return Tensor(data.shape, DType.of(data.dtype), data, **more)


def model(
    *graphs: Subgraph, signatures: Sequence[tuple[str, int, dict[str, int], dict[str, int]]] = ()
) -> bytes:
    """The file."""
    return _Writer().model(graphs, signatures)


class _Writer:
    def __init__(self) -> None:
        self.b = flatbuffers.Builder(1024)
        self.buffers: list[Array | tuple[int, int] | None] = [None]
        self.codes: dict[tuple[str, bool], int] = {}

    def model(self, graphs: Sequence[Subgraph], signatures: Sequence[Any]) -> bytes:
        subgraphs = self._tables([self._subgraph(graph) for graph in graphs])
        codes = self._tables([self._code(*key) for key in self.codes])
        named = self._tables([self._signature(*item) for item in signatures])
        buffers = self._tables([self._buffer(data) for data in self.buffers])
        table = self._table(8, {0: ("Uint32", 3), 1: codes, 2: subgraphs, 4: buffers, 7: named})
        self.b.Finish(table, file_identifier=b"TFL3")
        return bytes(self.b.Output())

    def _subgraph(self, graph: Subgraph) -> int:
        tensors = self._tables([self._tensor(item, place) for place, item in enumerate(graph.tensors)])
        operators = self._tables([self._operator(item) for item in graph.operators])
        inputs, outputs = self._ints(graph.inputs), self._ints(graph.outputs)
        name = self.b.CreateString(graph.name)
        return self._table(5, {0: tensors, 1: inputs, 2: outputs, 3: operators, 4: name})

    def _tensor(self, item: Tensor, place: int) -> int:
        buffer = 0
        if item.data is not None:
            buffer = len(self.buffers)
            self.buffers.append(item.behind or _packed(item))
        shape, name = self._ints(item.shape), self.b.CreateString(item.name or f"t{place}")
        quant = self._quantization(item) if item.scales else None
        sparse = None if item.sparsity is None else self._sparsity(*item.sparsity)
        signature = self._ints(item.signature) if item.signature else None
        code = RESOURCE if item.dtype is None else CODES[item.dtype]
        fields = {0: shape, 1: ("Int8", code), 2: ("Uint32", buffer), 3: name, 4: quant, 6: sparse}
        return self._table(8, {**fields, 5: ("Bool", item.is_variable), 7: signature})

    def _quantization(self, item: Tensor) -> int:
        scales = self.b.CreateNumpyVector(np.asarray(item.scales, np.float32))
        zeros = self.b.CreateNumpyVector(np.asarray(item.zeros or (0,) * len(item.scales), np.int64))
        return self._table(7, {2: scales, 3: zeros, 6: ("Int32", item.axis)})

    def _sparsity(self, order: Sequence[int], blocks: Sequence[int], levels: Sequence[Any]) -> int:
        made = self._tables([self._level(*level) for level in levels])
        places, axes = self._ints(order), self._ints(blocks)
        return self._table(3, {0: places, 1: axes, 2: made})

    def _level(self, form: int, size: int, segments: Sequence[int], indices: Sequence[int]) -> int:
        fields: dict[int, Any] = {0: ("Int8", form), 1: ("Int32", size)}
        if form:
            vectors = [self._table(1, {0: self._ints(values)}) for values in (segments, indices)]
            fields |= {2: ("Uint8", 1), 3: vectors[0], 4: ("Uint8", 1), 5: vectors[1]}
        return self._table(6, fields)

    def _operator(self, item: Operator) -> int:
        is_custom = item.op not in BUILTINS
        code = self.codes.setdefault((item.op, is_custom), len(self.codes))
        inputs, outputs = self._ints(item.inputs), self._ints(item.outputs)
        fields: dict[int, Any] = {0: ("Uint32", code), 1: inputs, 2: outputs}
        if item.op in OPTION_CODES:
            fields |= {3: ("Uint8", OPTION_CODES[item.op]), 4: self._options(item)}
        if item.op in OPTION_CODES_2:
            fields |= {11: ("Uint8", OPTION_CODES_2[item.op]), 12: self._options(item)}
        if item.custom:
            fields[5] = self.b.CreateByteVector(item.custom)
        return self._table(13, fields)

    def _options(self, item: Operator) -> int:
        fields: dict[int, Any] = {}
        kinds = {"b": "Int8", "i": "Int32", "I": "Uint32", "f": "Float32", "truth": "Bool"}
        for name, (slot, kind, default) in find_fields(item.op).items():
            value = item.options.get(name, default)
            if kind == "text":
                fields[slot] = self.b.CreateString(value)
            elif kind == "ints":
                fields[slot] = None if value is None else self._ints(value)
            else:
                fields[slot] = (kinds[kind], value)
        return self._table(max(fields, default=0) + 1, fields)

    def _signature(self, key: str, graph: int, inputs: dict[str, int], outputs: dict[str, int]) -> int:
        maps = [self._tables([self._map(*pair) for pair in names.items()]) for names in (inputs, outputs)]
        name = self.b.CreateString(key)
        return self._table(5, {0: maps[0], 1: maps[1], 2: name, 4: ("Uint32", graph)})

    def _map(self, name: str, place: int) -> int:
        return self._table(2, {0: self.b.CreateString(name), 1: ("Uint32", place)})

    def _code(self, name: str, is_custom: bool) -> int:
        text = self.b.CreateString(name) if is_custom else None
        code = BUILTINS.index("CUSTOM" if is_custom else name)
        return self._table(
            4, {0: ("Int8", min(code, 127)), 1: text, 2: ("Int32", VERSIONS.get(name, 1)), 3: ("Int32", code)}
        )

    def _buffer(self, data: Array | tuple[int, int] | None) -> int:
        stored = None
        if isinstance(data, tuple):
            return self._table(3, {1: ("Uint64", data[0]), 2: ("Uint64", data[1])})
        if data is not None:
            self.b.StartVector(1, data.nbytes, 16)
            self.b.head -= data.nbytes
            self.b.Bytes[self.b.head : self.b.head + data.nbytes] = data.tobytes()
            stored = self.b.EndVector()
        return self._table(1, {0: stored})

    def _ints(self, values: Sequence[int]) -> int:
        return int(self.b.CreateNumpyVector(np.asarray(values, np.int32).reshape(-1)))

    def _tables(self, offsets: Sequence[int]) -> int:
        self.b.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.b.PrependUOffsetTRelative(offset)
        return int(self.b.EndVector())

    def _table(self, size: int, fields: dict[int, Any]) -> int:
        self.b.StartObject(size)
        for slot, value in fields.items():
            if isinstance(value, tuple):
                # Stored even where it is the default: readers must find it.
                getattr(self.b, f"Prepend{value[0]}")(value[1])
                self.b.Slot(slot)
            elif value is not None:
                self.b.PrependUOffsetTRelativeSlot(slot, value, 0)
        return int(self.b.EndObject())


# LiteRT has kernels by version: newer datatypes and options need newer ones.
VERSIONS = {
    "BATCH_MATMUL": 4, "CONV_2D": 5, "DEPTHWISE_CONV_2D": 6, "FULLY_CONNECTED": 9, "TRANSPOSE_CONV": 3,
    "ADD": 2, "SUB": 2, "MUL": 2, "DIV": 1, "DEQUANTIZE": 3, "RESIZE_BILINEAR": 3,
    "RESIZE_NEAREST_NEIGHBOR": 3, "GATHER": 5, "STRIDED_SLICE": 4, "SOFTMAX": 2, "LOGISTIC": 2, "TANH": 2,
    "SPLIT_V": 2, "CONCATENATION": 2, "PAD": 2, "PADV2": 2, "MEAN": 2, "REDUCE_MAX": 2, "REDUCE_MIN": 2,
    "SUM": 2, "MAX_POOL_2D": 2, "AVERAGE_POOL_2D": 2, "MAXIMUM": 2, "MINIMUM": 2, "QUANTIZE": 2,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": 1, "TRANSPOSE": 2, "PACK": 2, "SLICE": 2, "SPACE_TO_BATCH_ND": 3,
    "BATCH_TO_SPACE_ND": 3, "LEAKY_RELU": 2, "RELU": 2, "RELU6": 2, "ABS": 2, "EQUAL": 2, "LESS": 2,
    "GREATER": 2, "LESS_EQUAL": 2, "GREATER_EQUAL": 2, "NOT_EQUAL": 2, "ARG_MAX": 2, "ARG_MIN": 2,
    "SELECT": 2, "TOPK_V2": 2, "GELU": 2, "REVERSE_V2": 2, "GATHER_ND": 2, "TILE": 2, "L2_NORMALIZATION": 2,
    "FILL": 2, "SQUEEZE": 2, "MIRROR_PAD": 2, "SPLIT": 3, "UNPACK": 3, "LOG_SOFTMAX": 2, "RSQRT": 2,
    "SIGN": 2, "FLOOR_DIV": 2, "FLOOR_MOD": 2, "NEG": 1, "SQUARED_DIFFERENCE": 2,
    "EMBEDDING_LOOKUP": 1, "BROADCAST_TO": 2,
}  # fmt: skip


def _packed(item: Tensor) -> Array:
    """Stored bytes; elements of 4 bits lie two in a byte, the first one in the lower half."""
    assert item.data is not None
    assert item.dtype is not None
    if item.dtype.bits != 4:
        return item.data
    flat = item.data.astype(np.int8).reshape(-1) & 15
    padded = np.append(flat, np.zeros(flat.size % 2, np.int8)).astype(np.uint8)
    return padded[::2] | (padded[1::2] << 4)
