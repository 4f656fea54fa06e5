"""The data of a DLC's tensors: an index of tables, followed by the bytes, streamed one tensor at a time."""

import struct
from collections.abc import Iterator, Sequence

from edgewright.artifacts import raw_data
from edgewright.artifacts.dlc.flat_writer import FlatWriter
from edgewright.artifacts.dlc.tables import (
    PARAMS_IDENTIFIER,
    GraphDataSlot,
    ModelSlot,
    NodeDataSlot,
    PlaceSlot,
    TensorDataSlot,
)
from edgewright.core.numbers import Array
from edgewright.lower.qnn_graph import QnnGraph, QnnTensor, TensorKind

# A FlatBuffer is limited by its signed 32-bit offsets; 64 MB are left for names and tables.
LARGEST_INLINE = 2**31 - (1 << 26)
_ALIGNMENT = 4


class Params:
    """The data of all graphs: those of the graph first, then those of each node, as in genuine files."""

    def __init__(self, graphs: Sequence[QnnGraph]) -> None:
        self._graphs = graphs
        self._data = [raw_data.pack_data(tensor) for tensor in _list_tensors(graphs)]

    @property
    def size(self) -> int:
        """Bytes of data."""
        return sum(data.nbytes for data in self._data)

    def inline(self) -> Iterator[bytes | memoryview]:
        """The index with all data in it (4.0).

        The tables are made first, and the vectors of bytes that they point to follow them, so that no more
        than one tensor is in memory.
        """
        index = _Index()
        content = index.write(self._graphs)
        content += bytes(-len(content) % _ALIGNMENT)
        position = len(content)
        for table, data in zip(index.tables, self._data, strict=True):
            field = FlatWriter.place(index.content, table, TensorDataSlot.BYTES)
            struct.pack_into("<I", content, field, position - field)
            position += 4 + data.nbytes + -data.nbytes % _ALIGNMENT
        yield bytes(content)
        for data in self._data:
            yield struct.pack("<I", data.nbytes)
            yield from raw_data.to_chunks(data)
            yield bytes(-data.nbytes % _ALIGNMENT)

    def index(self) -> Iterator[bytes | memoryview]:
        """The index alone, which says where in the file of raw data a tensor is (4.1)."""
        yield bytes(_Index(self._data).write(self._graphs))

    def raw(self) -> Iterator[bytes | memoryview]:
        """The file of raw data (4.1)."""
        for data in self._data:
            yield from raw_data.to_chunks(data)


class _Index:
    """Builds the tables; with data given, they hold its offsets, otherwise room for one."""

    def __init__(self, data: Sequence[Array] | None = None) -> None:
        self.tables: list[int] = []
        self.content = bytearray()
        self._writer = FlatWriter()
        self._sizes = None if data is None else iter([array.nbytes for array in data])
        self._position = 0

    def write(self, graphs: Sequence[QnnGraph]) -> bytearray:
        tables = [self._write_graph(graph) for graph in graphs]
        root = self._writer.table({ModelSlot.GRAPHS: ("o", self._writer.vector(tables))})
        self.content = self._writer.finished(root, PARAMS_IDENTIFIER)
        return bytearray(self.content)

    def _write_graph(self, graph: QnnGraph) -> int:
        tensors = self._write_vector(graph.of_kind(TensorKind.STATIC))
        # One entry for each node, in their order, also where it is empty.
        nodes = [
            self._writer.table(
                {NodeDataSlot.TENSORS: ("o", self._write_vector(list(node.tensor_params.values())))}
            )
            for node in graph.nodes
        ]
        return self._writer.table(
            {
                GraphDataSlot.NAME: ("o", self._writer.text(graph.name)),
                GraphDataSlot.TENSORS: ("o", tensors),
                GraphDataSlot.NODES: ("o", self._writer.vector(nodes)),
            }
        )

    def _write_vector(self, tensors: Sequence[QnnTensor]) -> int:
        return self._writer.vector([self._write_tensor(tensor) for tensor in tensors])

    def _write_tensor(self, tensor: QnnTensor) -> int:
        name = self._writer.text(tensor.name)
        if self._sizes is None:
            # The offset is not known yet; it takes the same room as a number.
            table = self._writer.table({TensorDataSlot.NAME: ("o", name), TensorDataSlot.BYTES: ("I", 0)})
        else:
            size = next(self._sizes)
            place = self._writer.table({PlaceSlot.OFFSET: ("q", self._position), PlaceSlot.SIZE: ("q", size)})
            self._position += size
            table = self._writer.table({TensorDataSlot.NAME: ("o", name), TensorDataSlot.PLACE: ("o", place)})
        self.tables.append(table)
        return table


def _list_tensors(graphs: Sequence[QnnGraph]) -> Iterator[QnnTensor]:
    for graph in graphs:
        yield from graph.of_kind(TensorKind.STATIC)
        for node in graph.nodes:
            yield from node.tensor_params.values()
