"""Opens a TFLite model: its subgraphs, signatures and buffers as plain records, checked as they are read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, UnsupportedFeature, Where, shown
from edgewright.core.flatbuffer import FlatBuffer, Table
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.mapping import map_file
from edgewright.frontends._common.stored import check_dims, read_stored_array
from edgewright.frontends.tflite.codes import BUILTINS, DTYPES, IDENTIFIER, RESOURCE
from edgewright.frontends.tflite.options import read_options
from edgewright.frontends.tflite.sparse import read_dense

VERSION = 3
_ADVICE = "check that the file is complete and is a TFLite model"
# Tensors and operators together: many subgraphs of a small file could be the same table.
MOST_RECORDS = 1 << 21
# The place of an operand that is left out.
ABSENT = -1


@dataclass(frozen=True)
class Quantization:
    """Scales and zero points: none, one pair for the tensor, or one for each slice along ``axis``."""

    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    axis: int


@dataclass(frozen=True)
class Tensor:
    """One tensor of a subgraph; ``dtype`` is None for handles, which hold no elements."""

    name: str
    shape: tuple[int, ...]
    # With -1 for dimensions that are left open; empty where the shape says all.
    signature: tuple[int, ...]
    dtype: DType | None
    buffer: int
    quantization: Quantization | None
    sparsity: Table | None
    is_variable: bool


@dataclass(frozen=True)
class Operator:
    """One op of a subgraph; operands are places among its tensors, -1 where one is left out."""

    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: dict[str, Any]
    custom_options: Array
    is_custom: bool
    version: int


@dataclass(frozen=True)
class Subgraph:
    """A graph: tensors with names of their own, and the operators in the order in which they run."""

    name: str
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[Operator, ...]


@dataclass(frozen=True)
class Signature:
    """A way to call the model: names for the inputs and outputs of a subgraph, by place."""

    key: str
    subgraph: int
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)


class TfliteFile:
    """A parsed model and where its weights lie."""

    def __init__(self, data: memoryview, name: str = "model") -> None:
        self.name = name
        self._data = data
        self._records = 0
        where = Where(file=name)
        if bytes(data[4:8]) != IDENTIFIER:
            raise BadInput("not a TFLite model: 'TFL3' is missing at its head", where, do="check the file")
        try:
            self._read(FlatBuffer(data, "the TFLite model", where, _ADVICE).root())
        except (BadInput, LimitExceeded, UnsupportedFeature) as problem:
            raise type(problem)(problem.what, where, problem.do) from None

    @classmethod
    def open(cls, path: Path) -> "TfliteFile":
        """Maps a file."""
        return cls(map_file(path, Where(file=str(path))), str(path))

    def array(self, tensor: Tensor) -> Array | None:
        """The elements that the file stores for a tensor; None where it stores none."""
        where = Where(file=self.name, tensor=tensor.name)
        data = self._find_bytes(tensor.buffer, where)
        if not len(data) or tensor.dtype is None:
            return None
        if tensor.dtype == DType.STRING:
            raise UnsupportedFeature("a constant holds text", where, do="convert a model without text")
        if tensor.sparsity is not None:
            return read_dense(data, tensor.dtype, tensor.shape, tensor.sparsity, where)
        return read_stored_array(data, tensor.dtype, tensor.shape, where)

    def _read(self, model: Table) -> None:
        version = model.integer(0, "I")
        if version != VERSION:
            raise UnsupportedFeature(
                f"the file has version {version}, expected {VERSION}", do="convert it with a newer TensorFlow"
            )
        self._buffers = list(model.children(4))
        codes = [_read_op_code(table) for table in model.children(1)]
        self.subgraphs = [self._read_subgraph(table, codes) for table in model.children(2)]
        if not self.subgraphs:
            raise BadInput("the model holds no graph", do="export the model again")
        self._check_calls()
        self.signatures = [self._read_signature(table) for table in model.children(7)]

    def _read_subgraph(self, table: Table, codes: Sequence[tuple[str, bool, int]]) -> Subgraph:
        tensors = list(table.children(0))
        operators = list(table.children(3))
        self._records += len(tensors) + len(operators)
        if self._records > MOST_RECORDS:
            raise LimitExceeded(
                f"the model has more than {MOST_RECORDS} tensors and operators", do="check the file"
            )
        read = tuple(_read_tensor(item) for item in tensors)
        return Subgraph(
            table.text(4),
            _name_tensors(read),
            _read_places(table.numbers(1, "i4"), len(read), "input"),
            _read_places(table.numbers(2, "i4"), len(read), "output"),
            tuple(_read_operator(item, codes, len(read)) for item in operators),
        )

    def _read_signature(self, table: Table) -> Signature:
        place = table.integer(4, "I")
        if place >= len(self.subgraphs):
            raise _make_place_error("signature", "subgraph", place, len(self.subgraphs))
        count = len(self.subgraphs[place].tensors)
        inputs, outputs = (
            {
                item.text(0): _read_places([item.integer(1, "I")], count, "signature")[0]
                for item in table.children(slot)
            }
            for slot in (0, 1)
        )
        return Signature(table.text(2), place, inputs, outputs)

    def _check_calls(self) -> None:
        """Subgraphs that operators name must be there."""
        count = len(self.subgraphs)
        for operator in (o for graph in self.subgraphs for o in graph.operators):
            for name, place in operator.options.items():
                if name.endswith(("subgraph_index", "subgraph")) and not 0 <= place < count:
                    raise _make_place_error(operator.op, "subgraph", place, count)

    def _find_bytes(self, buffer: int, where: Where) -> Any:
        if not 0 <= buffer < len(self._buffers):
            raise BadInput(
                f"the tensor lies in buffer {buffer}, the file has {len(self._buffers)}",
                where,
                do="export the model again",
            )
        table = self._buffers[buffer]
        # Files of more than 2 GB keep their weights behind the flatbuffer.
        start, size = table.integer(1, "Q"), table.integer(2, "Q")
        if start <= 1 or not size:
            return table.numbers(0, "u1")
        if start + size > len(self._data):
            raise BadInput(
                f"weights end at {start + size}, the file has {len(self._data)} bytes",
                where,
                do="check that the file is complete",
            )
        return self._data[start : start + size]


def _read_op_code(table: Table) -> tuple[str, bool, int]:
    """Name, whether it is a custom op, and version."""
    # Old files have only a byte; new ones put 127 there where the code is larger.
    code = max(table.integer(0, "b"), table.integer(3, "i"))
    if not 0 <= code < len(BUILTINS):
        raise UnsupportedFeature(
            f"op code {code} is not known, expected 0 to {len(BUILTINS) - 1}",
            do="convert it with a TensorFlow that this version knows",
        )
    is_custom = BUILTINS[code] == "CUSTOM"
    name = table.text(1) if is_custom else BUILTINS[code]
    return name or "CUSTOM", is_custom, table.integer(2, "i", 1)


def _read_operator(table: Table, codes: Sequence[tuple[str, bool, int]], tensors: int) -> Operator:
    place = table.integer(0, "I")
    if place >= len(codes):
        raise _make_place_error("operator", "op code", place, len(codes))
    name, is_custom, version = codes[place]
    options = table.child(4) or table.child(12)
    return Operator(
        name,
        _read_places(table.numbers(1, "i4"), tensors, name, lowest=ABSENT),
        _read_places(table.numbers(2, "i4"), tensors, name),
        {} if is_custom else read_options(name, options),
        table.numbers(5, "u1"),
        is_custom,
        version,
    )


def _read_tensor(table: Table) -> Tensor:
    name, code = table.text(3), table.integer(1, "b")
    where = Where(tensor=name)
    if code not in DTYPES and code not in {RESOURCE, RESOURCE + 1}:
        raise UnsupportedFeature(f"datatype code {code} is not known", where, do="export the model again")
    shape = _read_shape(table.numbers(0, "i4"), where)
    return Tensor(
        name,
        shape,
        tuple(table.numbers(7, "i4").tolist()),
        DTYPES.get(code),
        table.integer(2, "I"),
        _read_quantization(table.child(4), shape, where),
        table.child(6),
        table.truth(5),
    )


def _read_shape(dims: Array, where: Where) -> tuple[int, ...]:
    shape = tuple(dims.tolist())
    check_dims(shape, where)
    return shape


def _read_quantization(table: Table | None, shape: tuple[int, ...], where: Where) -> Quantization | None:
    """None where the tensor is not quantized; a range without a scale says nothing that counts."""
    if table is None:
        return None
    scales, zeros, axis = table.numbers(2, "f4"), table.numbers(3, "i8"), table.integer(6, "i")
    if not len(scales):
        return None
    # Zero is a scale too: TensorFlow writes it for channels of zeros.
    if not np.isfinite(scales).all() or bool((scales < 0).any()):
        raise BadInput(f"a scale is {scales.min()}, expected 0 or more", where, do="export the model again")
    count = len(scales)
    zeros = np.zeros(count, np.int64) if not len(zeros) else zeros
    fits = len(zeros) in {1, count} and (count == 1 or (0 <= axis < len(shape) and shape[axis] == count))
    if not fits:
        raise BadInput(
            f"{count} scales and {len(zeros)} zero points along axis {axis} do not fit shape {list(shape)}",
            where,
            do="export the model again",
        )
    spread = np.broadcast_to(zeros, (count,))
    return Quantization(tuple(scales.astype(float).tolist()), tuple(spread.tolist()), axis)


def _name_tensors(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Tensors with names of their own: TFLite allows the same name twice, or none."""
    taken: set[str] = {tensor.name for tensor in tensors}
    seen: set[str] = set()
    found = []
    for place, tensor in enumerate(tensors):
        name = tensor.name or f"tensor_{place}"
        if name in seen or (not tensor.name and name in taken):
            name = _find_free_name(f"{name}_{place}", taken | seen)
        seen.add(name)
        found.append(tensor if name == tensor.name else _rename_tensor(tensor, name))
    return tuple(found)


def _rename_tensor(tensor: Tensor, name: str) -> Tensor:
    return Tensor(
        name,
        tensor.shape,
        tensor.signature,
        tensor.dtype,
        tensor.buffer,
        tensor.quantization,
        tensor.sparsity,
        tensor.is_variable,
    )


def _find_free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _read_places(places: Any, count: int, what: str, lowest: int = 0) -> tuple[int, ...]:
    found = tuple(int(place) for place in places)
    for place in found:
        if not lowest <= place < count:
            raise _make_place_error(what, "tensor", place, count)
    return found


def _make_place_error(what: str, kind: str, place: int, count: int) -> BadInput:
    return BadInput(
        f"'{shown(what)}' names {kind} {place}, the file has {count}", do="export the model again"
    )
