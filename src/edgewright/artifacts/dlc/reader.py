"""A DLC back to records; no offset, length, name or number in it is trusted."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from edgewright.artifacts.description import Description, check_unique
from edgewright.artifacts.dlc.metadata import GraphNotes, read_metadata
from edgewright.artifacts.dlc.params_reader import GraphData, TensorFile, read_params
from edgewright.artifacts.dlc.spelling import TYPE_WORDS, Spelling, spell_in_qnn
from edgewright.artifacts.dlc.tables import (
    BLOB_HEADER,
    BOOKKEEPING,
    MODEL_IDENTIFIER,
    PACKAGE_NAME,
    PARAMS_IDENTIFIER,
    AttributeKind,
    AttributeSlot,
    GraphSlot,
    ModelSlot,
    NodeSlot,
    ScalarSlot,
)
from edgewright.artifacts.dlc.tensors import read_scalar, read_tensor
from edgewright.artifacts.dlc.zip_reader import open_members
from edgewright.artifacts.net_json.fields import as_name
from edgewright.artifacts.wiring import check_order
from edgewright.core.errors import BadInput, LimitExceeded, UnsupportedFeature, Where, advise_otherwise, shown
from edgewright.core.flatbuffer import FlatBuffer, Table
from edgewright.core.numbers import Array, DType
from edgewright.lower.lower import QNN_PACKAGE
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind

_MAJOR = 4
# A thousand bytes for each of 250,000 nodes and tensors.
_LARGEST_MODEL = 1 << 28
_HEADER_SIZE = struct.calcsize(BLOB_HEADER)


@dataclass(frozen=True, eq=False)
class Dlc:
    """The content of a DLC."""

    graphs: tuple[QnnGraph, ...]
    description: Description
    version: tuple[int, int]


@advise_otherwise("copy the file again, or convert the model again")
def read(path: Path | str) -> Dlc:
    """The graphs of a DLC 4.0 or 4.1, their weights as views of the file."""
    path = Path(path)
    where = Where(file=str(path))
    members = open_members(path)
    if "model" not in members:
        raise BadInput(f"there is no member 'model' among {shown(sorted(members))}", where)
    if len(members["model"]) > _LARGEST_MODEL:
        size = len(members["model"])
        raise LimitExceeded(f"'model' has {size} bytes, at most {_LARGEST_MODEL} are read", where)
    model, version = _open_buffer(members, "model", MODEL_IDENTIFIER, where)
    metadata = read_metadata(members, where)
    reader = _Reader(_read_data(members, where), metadata.graphs, where)
    graphs = [reader.read_graph(table) for table in model.root().children(ModelSlot.GRAPHS)]
    if not graphs:
        raise BadInput("the file holds no graph, expected at least one", where)
    check_unique("graph", [graph.name for graph in graphs])
    return Dlc(tuple(graphs), metadata.description, version)


def _open_buffer(
    members: Mapping[str, memoryview], name: str, identifier: bytes, where: Where
) -> tuple[FlatBuffer, tuple[int, int]]:
    content = members[name]
    if len(content) < _HEADER_SIZE:
        raise BadInput(f"'{name}' has {len(content)} bytes, its header alone has {_HEADER_SIZE}", where)
    magic, major, minor = struct.unpack_from(BLOB_HEADER, content)
    if magic != b"\xd5\x0a":
        raise BadInput(f"'{name}' starts with {magic.hex()}, expected d50a", where)
    if major != _MAJOR:
        raise UnsupportedFeature(
            f"the DLC has version {major}.{minor}, {_MAJOR}.0 and {_MAJOR}.1 are read",
            where,
            do="convert the model again with a converter of SDK 2.x or with Edgewright",
        )
    buffer = FlatBuffer(content[_HEADER_SIZE:], f"'{name}'", where)
    if buffer.identifier != identifier:
        found, expected = shown(buffer.identifier), shown(identifier)
        raise UnsupportedFeature(f"'{name}' is of the kind {found}, expected {expected}", where)
    return buffer, (major, minor)


def _read_data(members: Mapping[str, memoryview], where: Where) -> dict[str, GraphData]:
    if "model.params" not in members:
        return {}
    buffer, _ = _open_buffer(members, "model.params", PARAMS_IDENTIFIER, where)
    size = sum(len(content) for content in members.values())
    return read_params(buffer, members.get("model.params.bin"), size)


class _Reader:
    def __init__(self, data: dict[str, GraphData], notes: dict[str, GraphNotes], where: Where) -> None:
        self._data = data
        self._notes = notes
        self._where = where

    def read_graph(self, table: Table) -> QnnGraph:
        name = as_name(table.text(GraphSlot.NAME), "the name of a graph", self._where)
        notes = self._notes.get(name, GraphNotes())
        data = self._data.get(name) or GraphData(TensorFile.empty(self._where), [])
        tensors: dict[str, QnnTensor] = {}
        for item in table.children(GraphSlot.TENSORS):
            tensor = read_tensor(item, self._where, data.tensors.array, notes.layouts)
            if tensor.name in tensors:
                raise BadInput("there are two tensors of that name", replace(self._where, tensor=tensor.name))
            tensors[tensor.name] = tensor
        nodes = list(self._read_nodes(table, data, notes))
        check_unique("node", [node.name for node in nodes])
        check_order(tensors, nodes, self._where)
        return QnnGraph(name, tensors, nodes, notes.source_names, notes.forms, notes.gone)

    def _read_nodes(self, table: Table, data: GraphData, notes: GraphNotes) -> Iterator[QnnNode]:
        for index, item in enumerate(table.children(GraphSlot.NODES)):
            name = as_name(item.text(NodeSlot.NAME), "the name of a node", self._where)
            own = data.nodes[index] if index < len(data.nodes) else TensorFile.empty(self._where)
            node = _Node(item, name, own, replace(self._where, node=name))
            yield node.record(notes.macs.get(name, 0), notes.nodes.get(name, {}))


class _Node:
    """Collects the attributes of one node."""

    def __init__(self, table: Table, name: str, data: TensorFile, where: Where) -> None:
        self._table = table
        self._name = name
        self._data = data
        self._where = where
        self._package = QNN_PACKAGE
        self._scalars: dict[str, QnnScalar] = {}
        self._tensors: dict[str, QnnTensor] = {}
        self._bookkeeping: dict[str, QnnScalar] = {}

    def record(self, macs: int, notes: dict[str, Array]) -> QnnNode:
        for attribute in self._table.children(NodeSlot.ATTRIBUTES):
            self._add(attribute)
        found = as_name(self._table.text(NodeSlot.TYPE), "the type of a node", self._where)
        spelling = spell_in_qnn(Spelling(found, self._scalars, self._bookkeeping), self._package)
        return QnnNode(
            name=self._name,
            package=self._package,
            type=spelling.type,
            scalar_params=spelling.parameters,
            tensor_params=self._tensors,
            inputs=tuple(self._table.texts(NodeSlot.INPUTS)),
            outputs=tuple(self._table.texts(NodeSlot.OUTPUTS)),
            macs=macs,
            notes=notes,
        )

    def _add(self, attribute: Table) -> None:
        name = as_name(attribute.text(AttributeSlot.NAME), "the name of an attribute", self._where)
        if attribute.integer(AttributeSlot.FLAG, "B") == BOOKKEEPING:
            self._keep(name, attribute)
            return
        if name in self._scalars or name in self._tensors:
            raise BadInput(f"attribute '{shown(name)}' is there twice", self._where)
        kind = attribute.integer(AttributeSlot.KIND, "i")
        if kind == AttributeKind.SCALAR:
            self._scalars[name] = read_scalar(
                self._require_child(attribute, AttributeSlot.SCALAR, name), name, self._where
            )
        elif kind == AttributeKind.TENSOR:
            self._tensors[name] = self._read_tensor(name, attribute)
        else:
            raise BadInput(f"attribute '{shown(name)}' has kind {kind}, expected 0 or 1", self._where)

    def _keep(self, name: str, attribute: Table) -> None:
        """Keeps the converter's notes that identify the op; others are not used."""
        if name != PACKAGE_NAME and name not in TYPE_WORDS:
            return
        word = self._require_child(attribute, AttributeSlot.SCALAR, name).text(ScalarSlot.TEXT)
        if name == PACKAGE_NAME:
            self._package = as_name(word, f"'{PACKAGE_NAME}'", self._where)
        else:
            self._bookkeeping[name] = QnnScalar(DType.STRING, word)

    def _read_tensor(self, name: str, attribute: Table) -> QnnTensor:
        table = self._require_child(attribute, AttributeSlot.TENSOR, name)
        tensor = read_tensor(table, self._where, self._data.array, {})
        if tensor.kind != TensorKind.STATIC:
            found, expected = int(tensor.kind), int(TensorKind.STATIC)
            raise BadInput(
                f"parameter '{shown(name)}' has tensor type {found}, expected {expected}", self._where
            )
        return tensor

    def _require_child(self, attribute: Table, slot: int, name: str) -> Table:
        table = attribute.child(slot)
        if table is None:
            raise BadInput(f"attribute '{shown(name)}' has no value", self._where)
        return table
