"""The document that a page draws: a model as plain JSON, nodes and tensors by number, groups as a tree."""

from collections.abc import Mapping, Sequence
from typing import Any

from edgewright.core.errors import shown
from edgewright.ir.encodings import Encoding
from edgewright.view.groups import Group, group_nodes
from edgewright.view.overlays import measure_nodes
from edgewright.view.qnn_graphs import count_bytes
from edgewright.view.records import (
    INPUT,
    OP,
    OUTPUT,
    Diff,
    Overlay,
    ViewGraph,
    ViewModel,
    ViewNode,
    ViewTensor,
)

VERSION = 1
# Longer names are cut in the middle: a page draws none of them whole.
_LONGEST_NAME = 1000
_MOST_SCALES = 4096
Document = dict[str, Any]


def make_document(model: ViewModel) -> Document:
    """The whole model without its weights."""
    return {
        "version": VERSION,
        "title": _cut(model.title),
        "format": model.format,
        "facts": [[name, _cut(value)] for name, value in model.facts],
        "notes": [_cut(note) for note in model.notes],
        "graphs": [
            _make_graph(graph, model.overlays.get(graph.name, ()), model.diffs.get(graph.name))
            for graph in model.graphs
        ],
    }


def list_drawn_nodes(graph: ViewGraph) -> list[tuple[str, ViewNode]]:
    """Every box of the picture with its kind: the inputs, the ops, the outputs."""
    starts = [ViewNode(name, "Input", (), (name,), source=name) for name in graph.inputs]
    sinks = [ViewNode(name, "Output", (name,), (), source=name) for name in graph.outputs]
    return [
        *((INPUT, node) for node in starts),
        *((OP, node) for node in graph.nodes),
        *((OUTPUT, node) for node in sinks),
    ]


def _make_graph(graph: ViewGraph, given: Sequence[Overlay], diff: Diff | None) -> Document:
    drawn = list_drawn_nodes(graph)
    places = {name: place for place, name in enumerate(graph.tensors)}
    names = [node.source or node.name if kind == OP else node.name for kind, node in drawn]
    # An input or output stands beside the groups, whatever its name is.
    paths = [name if kind == OP else "" for name, (kind, _) in zip(names, drawn, strict=True)]
    ops = [node.name if kind == OP else "" for kind, node in drawn]
    made: Document = {
        "name": _cut(graph.name),
        "tensors": [_make_tensor(tensor) for tensor in graph.tensors.values()],
        "nodes": [_make_node(kind, node, places) for kind, node in drawn],
        "groups": _make_groups(group_nodes(paths)),
        # What a build or a comparison measured comes first, and is shown at once.
        "overlays": [_make_overlay(overlay, ops) for overlay in (*given, *measure_nodes(graph))],
        "overlayAtFirst": 0 if given else -1,
    }
    if diff is not None:
        rows = [diff.rows.get(name, ()) if name else () for name in ops]
        made["diff"] = [[[_cut(what), _cut(text)] for what, text in listed] for listed in rows]
    return made


def _make_node(kind: str, node: ViewNode, places: Mapping[str, int]) -> Document:
    made: Document = {
        "name": _cut(node.name),
        "type": _cut(node.type),
        "inputs": [places.get(name, -1) for name in node.inputs],
        "outputs": [places.get(name, -1) for name in node.outputs],
    }
    if kind != OP:
        made["kind"] = kind
    if node.source and node.source != node.name:
        made["source"] = _cut(node.source)
    for key, value in (("package", node.package), ("note", node.note)):
        if value:
            made[key] = _cut(value)
    if node.params:
        made["params"] = [[_cut(name), _cut(value)] for name, value in node.params]
    return made


def _make_tensor(tensor: ViewTensor) -> Document:
    made: Document = {"name": _cut(tensor.name), "dtype": tensor.dtype}
    if tensor.shape is not None:
        made["shape"] = [dim if isinstance(dim, int) else _cut(dim) for dim in tensor.shape]
    if tensor.encoding is not None:
        made["encoding"] = _make_encoding(tensor.encoding)
    if tensor.encoding_text:
        made["encodingText"] = tensor.encoding_text
    if tensor.source and tensor.source != tensor.name:
        made["source"] = _cut(tensor.source)
    if tensor.load is not None:
        made["stored"] = count_bytes(tensor) or 0
    if tensor.values is not None:
        made["hasValues"] = True
    return made


def _make_encoding(encoding: Encoding) -> Document:
    made: Document = {
        "bits": encoding.bitwidth,
        "scales": list(encoding.scales[:_MOST_SCALES]),
        "offsets": list(encoding.offsets[:_MOST_SCALES]),
        "count": len(encoding.scales),
    }
    if encoding.axis is not None:
        made["axis"] = encoding.axis
    if encoding.block_size:
        made["blockSize"] = encoding.block_size
    return made


def _make_groups(root: Group) -> list[Document]:
    """The groups in a list, each after the one around it; members are nodes, and groups as negative numbers.

    The first is the whole picture. Group 3 among the members is written as -3.
    """
    listed: list[Group] = [root]
    documents: list[Document] = []
    for group in listed:
        members: list[int] = []
        for member in group.members:
            if isinstance(member, Group):
                listed.append(member)
                members.append(1 - len(listed))
            else:
                members.append(member)
        documents.append({"name": _cut(group.name), "members": members})
    return documents


def _make_overlay(overlay: Overlay, names: Sequence[str]) -> Document:
    made: Document = {
        "key": overlay.key,
        "title": overlay.title,
        "unit": overlay.unit,
        "isLowWorse": overlay.is_low_worse,
        "values": [overlay.values.get(name) if name else None for name in names],
    }
    if overlay.threshold is not None:
        made["threshold"] = overlay.threshold
    return made


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME and text.isprintable() else shown(text, _LONGEST_NAME)
