"""The metadata of a DLC: tool, versions, copyright, and our notes on what its tables cannot hold."""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgewright.artifacts.description import Description
from edgewright.artifacts.dlc.formats import Layout, find_lost_layout
from edgewright.artifacts.net_json.fields import Fields, as_integer, as_name, parse
from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.core.numbers import Array
from edgewright.lower.qnn_graph import QnnGraph

TEXT_NAME = "dlc.metadata"
JSON_NAME = "dlc.metadata2.0.0"
_JSON_START = "dlc.metadata2."
_HISTORY_START = "dlc.metadata.history"
_NOTHING = "N/A"
_OURS = "edgewright"
_LARGEST = 1 << 26
_LARGEST_COUNT = 2**63
# Keys of the text form -> fields of a description.
_TEXTS = {
    "converter-command": "command",
    "model-copyright": "copyright_text",
    "model-version": "model_version",
    "quantizer-command": "quantizer_command",
}
# Keys of our notes -> fields of a description; written where there are any.
_ENCODINGS = {"source": "source_encodings", "overrides": "override_encodings"}


@dataclass(frozen=True)
class GraphNotes:
    """What no table holds of a graph: names in the source model, layouts without a number ..."""

    source_names: dict[str, str] = field(default_factory=dict)
    macs: dict[str, int] = field(default_factory=dict)
    layouts: dict[str, Layout] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    # Gains and shifts of batch norms that were folded into nodes.
    nodes: dict[str, dict[str, Array]] = field(default_factory=dict)
    # Tensors of the source model without a tensor here, and why.
    gone: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: QnnGraph) -> "GraphNotes":
        """The notes that a graph needs."""
        layouts = {name: find_lost_layout(tensor) for name, tensor in graph.tensors.items()}
        return cls(
            graph.source_names,
            {node.name: node.macs for node in graph.nodes if node.macs},
            {name: layout for name, layout in layouts.items() if layout is not None},
            graph.forms,
            {node.name: node.notes for node in graph.nodes if node.notes},
            graph.gone,
        )


@dataclass(frozen=True)
class Metadata:
    """What was read."""

    description: Description
    graphs: dict[str, GraphNotes]


def as_text(graphs: Sequence[QnnGraph], description: Description) -> bytes:
    """The form of DLC 4.0: one 'key=value' on each line."""
    values = {key: _join_lines(getattr(description, name)) for key, name in _TEXTS.items()}
    values["converter-version"] = _own_version()
    values[_OURS] = json.dumps(_describe_graphs(graphs, description, values), separators=(",", ":"))
    return "".join(f"{key}={value}\n" for key, value in sorted(values.items())).encode()


def as_json(graphs: Sequence[QnnGraph], description: Description) -> bytes:
    """The form of DLC 4.1."""
    tool = _join_lines(description.command).split(" ")[0]
    command = {"tool": tool, "converter-version": _own_version(), "args": {}}
    document = {
        "meta-data-version": "2.0.0",
        "dlc-generation-info": [{"converter-command": command}],
        _OURS: _describe_graphs(graphs, description, {"converter-command": tool}),
    }
    return json.dumps(document, separators=(",", ":")).encode()


def read_metadata(members: Mapping[str, memoryview], where: Where) -> Metadata:
    """From the member that holds it; a container may have none."""
    for name, content in sorted(members.items()):
        if name.startswith((TEXT_NAME, _JSON_START)) and len(content) > _LARGEST:
            raise LimitExceeded(
                f"'{shown(name)}' has {len(content)} bytes, at most {_LARGEST} are read", where
            )
    if TEXT_NAME in members:
        return _from_text(bytes(members[TEXT_NAME]), where)
    found = [name for name in sorted(members) if name.startswith((_HISTORY_START, _JSON_START))]
    metadata = Metadata(Description(command=""), {})
    for name in found:
        metadata = _from_json(bytes(members[name]), where, metadata)
    return metadata


def _from_text(content: bytes, where: Where) -> Metadata:
    # Only our own line must be valid; the others may be from any tool, in any encoding.
    lines = (line.partition("=") for line in content.decode("utf-8", "replace").split("\n"))
    values = {key: value.removesuffix("\r") for key, _, value in lines}
    texts = {name: _drop_unknown(values.get(key, "")) for key, name in _TEXTS.items()}
    if _OURS not in values:
        return Metadata(Description(**texts), {})
    ours = parse(values[_OURS].encode(), where)
    return Metadata(Description(**(texts | dict(_list_exact_texts(ours)))), _read_graphs(ours))


def _from_json(content: bytes, where: Where, known: Metadata) -> Metadata:
    document = parse(content, where)
    command = _drop_unknown(_read_command(document)) or known.description.command
    if _OURS not in document:
        return Metadata(Description(command=command), known.graphs)
    ours = document.fields(_OURS)
    return Metadata(Description(**({"command": command} | dict(_list_exact_texts(ours)))), _read_graphs(ours))


def _read_command(document: Fields) -> str:
    """The tool and its options; spelled in two ways, depending on the SDK's version."""
    for key, inner in (
        ("dlc-generation-info", "converter-command"),
        ("dlcGenerationInfo", "converterCommand"),
    ):
        steps = document.array(key) if key in document else []
        if not steps:
            continue
        fields = Fields(steps[0], document.where, f"an item of '{key}'")
        if inner in fields:
            command = fields.fields(inner)
            options = command.fields("args").items() if "args" in command else ()
            return " ".join([command.text("tool"), *(f"{name}={value}" for name, value in options)])
    return ""


def _describe_graphs(
    graphs: Sequence[QnnGraph], description: Description, told: Mapping[str, str]
) -> dict[str, Any]:
    """Only what a reader could not find elsewhere, so that most files carry little."""
    exact = {
        key: getattr(description, name)
        for key, name in _TEXTS.items()
        if _drop_unknown(told.get(key, "")) != getattr(description, name)
    }
    notes = {}
    for graph in graphs:
        found = GraphNotes.of(graph)
        parts: dict[str, Any] = {"source_names": found.source_names, "macs": found.macs}
        parts["layouts"] = {name: [form, list(order)] for name, (form, order) in found.layouts.items()}
        parts["forms"], parts["gone"] = found.forms, found.gone
        parts["nodes"] = {
            name: {key: _as_text(array) for key, array in kept.items()} for name, kept in found.nodes.items()
        }
        notes[graph.name] = {key: value for key, value in parts.items() if value}
    cached = {key: getattr(description, name) for key, name in _ENCODINGS.items()}
    encodings = {key: text for key, text in cached.items() if text}
    return {"texts": exact, "graphs": notes} | ({"encodings": encodings} if encodings else {})


def _list_exact_texts(ours: Fields) -> Iterator[tuple[str, str]]:
    texts = ours.fields("texts")
    yield from ((name, texts.text(key)) for key, name in _TEXTS.items() if key in texts)
    if "encodings" in ours:
        cached = ours.fields("encodings")
        yield from ((name, cached.text(key)) for key, name in _ENCODINGS.items() if key in cached)


def _read_graphs(ours: Fields) -> dict[str, GraphNotes]:
    return {
        name: _read_graph_notes(Fields(value, ours.where, f"the notes on graph '{shown(name)}'"))
        for name, value in ours.fields("graphs").items()
    }


def _read_graph_notes(fields: Fields) -> GraphNotes:
    nodes = fields.fields("nodes") if "nodes" in fields else None
    macs = fields.fields("macs").items() if "macs" in fields else ()
    layouts = fields.fields("layouts").items() if "layouts" in fields else ()
    return GraphNotes(
        _read_texts(fields, "source_names"),
        {name: as_integer(item, "'macs'", fields.where, 0, _LARGEST_COUNT) for name, item in macs},
        {name: _read_layout(item, fields.where) for name, item in layouts},
        _read_texts(fields, "forms"),
        {} if nodes is None else {name: _read_arrays(nodes, name) for name, _ in nodes.items()},
        _read_texts(fields, "gone"),
    )


def _read_texts(fields: Fields, key: str) -> dict[str, str]:
    if key not in fields:
        return {}
    texts = fields.fields(key)
    return {name: texts.text(name) for name, _ in texts.items()}


def _read_arrays(nodes: Fields, name: str) -> dict[str, Array]:
    kept = nodes.fields(name)
    return {key: _from_base64(kept.text(key), nodes.where) for key, _ in kept.items()}


def _as_text(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()


def _from_base64(text: str, where: Where) -> Array:
    try:
        content = base64.b64decode(text, validate=True)
        array: Array = np.frombuffer(content, "<f4")
    except ValueError:
        raise BadInput("the notes on a node are not a list of float32 numbers", where) from None
    return array


def _read_layout(value: Any, where: Where) -> Layout:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[1], list):
        raise BadInput(f"a layout is '{shown(value)}', expected a name and an order", where)
    order = tuple(as_integer(item, "an axis of a layout", where, 0, 31) for item in value[1])
    return as_name(value[0], "the name of a layout", where), order


def _join_lines(text: str) -> str:
    return re.sub(r"[\r\n\0]+", " ", text) or _NOTHING


def _drop_unknown(text: str) -> str:
    return "" if text == _NOTHING else text


def _own_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(_OURS)
    except PackageNotFoundError:
        return "unknown"
