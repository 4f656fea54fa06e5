"""The data of a DLC's tensors, as views of the mapped file."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from edgewright.artifacts import raw_data
from edgewright.artifacts.dlc.tables import GraphDataSlot, ModelSlot, NodeDataSlot, PlaceSlot, TensorDataSlot
from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.core.flatbuffer import FlatBuffer, Table
from edgewright.core.numbers import Array, DType


class TensorFile:
    """Bytes of one group of tensors by their names."""

    def __init__(self, spans: Mapping[str, memoryview], copies: "_Copies", where: Where) -> None:
        self._spans = spans
        self._copies = copies
        self._where = where

    @classmethod
    def empty(cls, where: Where) -> "TensorFile":
        """For graphs and nodes without tensors."""
        return cls({}, _Copies(0, where), where)

    def array(self, name: str, dtype: DType, dims: tuple[int, ...]) -> Array:
        """A tensor, its size checked against datatype and dims."""
        where = replace(self._where, tensor=name)
        if dtype == DType.STRING:
            raise BadInput("the tensor holds strings, a static tensor of QNN holds numbers", where)
        content = self._spans.get(name)
        if content is None:
            raise BadInput(f"there is no data for it among {len(self._spans)} tensors", where)
        count, expected = math.prod(dims), raw_data.measure_stored(dtype, dims)
        if dtype.bits == 4 and len(content) == count:
            # Other writers use a byte for each value.
            return np.frombuffer(content, dtype.numpy).reshape(dims)
        if len(content) != expected:
            raise BadInput(
                f"the data has {len(content)} bytes, {dtype.name} {list(dims)} needs {expected}", where
            )
        if dtype == DType.BOOL_8 or dtype.bits == 4:
            self._copies.spend(count)
        return raw_data.view_array(content, 0, dtype, dims)


class _Copies:
    """Limits what is copied out of the file: many tensors may name the same bytes."""

    def __init__(self, limit: int, where: Where) -> None:
        self._limit = limit
        self._left = limit
        self._where = where

    def spend(self, size: int) -> None:
        """Counts bytes that are about to be copied."""
        self._left -= size
        if self._left < 0:
            what = f"its tensors need more than the {self._limit} bytes that the file can hold"
            raise LimitExceeded(what, self._where)


@dataclass(frozen=True)
class GraphData:
    """The tensors of a graph, and those of each of its nodes."""

    tensors: TensorFile
    nodes: list[TensorFile]


def read_params(buffer: FlatBuffer, raw: memoryview | None, size: int) -> dict[str, GraphData]:
    """The data by graph.

    Args:
        buffer: the index.
        raw: the member of raw data, since 4.1.
        size: bytes of the whole file.
    """
    # Packed values take half a byte each.
    reader = _Reader(buffer, raw, _Copies(2 * size, buffer.where))
    graphs: dict[str, GraphData] = {}
    for table in buffer.root().children(ModelSlot.GRAPHS):
        name = table.text(GraphDataSlot.NAME)
        if name in graphs:
            raise BadInput(f"the weights hold two graphs '{shown(name)}'", buffer.where)
        graphs[name] = reader.read_graph(table)
    return graphs


class _Reader:
    def __init__(self, buffer: FlatBuffer, raw: memoryview | None, copies: _Copies) -> None:
        self._buffer = buffer
        self._raw = raw
        self._copies = copies
        self._where = buffer.where

    def read_graph(self, table: Table) -> GraphData:
        tensors = self._read_group(table, GraphDataSlot.TENSORS)
        nodes = [self._read_group(node, NodeDataSlot.TENSORS) for node in table.children(GraphDataSlot.NODES)]
        return GraphData(tensors, nodes)

    def _read_group(self, table: Table, slot: int) -> TensorFile:
        spans: dict[str, memoryview] = {}
        for tensor in table.children(slot):
            name = tensor.text(TensorDataSlot.NAME)
            if name in spans:
                raise BadInput("its data is there twice", replace(self._where, tensor=name))
            spans[name] = self._find_bytes(tensor, replace(self._where, tensor=name))
        return TensorFile(spans, self._copies, self._where)

    def _find_bytes(self, tensor: Table, where: Where) -> memoryview:
        place = tensor.child(TensorDataSlot.PLACE)
        if place is None:
            return tensor.blob(TensorDataSlot.BYTES)
        offset, size = place.integer(PlaceSlot.OFFSET, "q"), place.integer(PlaceSlot.SIZE, "q")
        there = 0 if self._raw is None else len(self._raw)
        if offset < 0 or size < 0 or offset + size > there:
            raise BadInput(
                f"its data is at bytes {offset} to {offset + size} of 'model.params.bin', which has {there}",
                where,
            )
        return self._buffer.content[:0] if self._raw is None else self._raw[offset : offset + size]
