"""Documents as the JSON graphs and node data of Google's Model Explorer, for people who know that viewer."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from edgewright.view.document import Document

# A folder of this name holds such files.
FOLDER = "model-explorer"
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]")


def describe_files(documents: Sequence[Document]) -> dict[str, list[bytes]]:
    """The files of all models: a graph collection for each, and a file for each of its overlays."""
    files: dict[str, list[bytes]] = {}
    for number, document in enumerate(documents):
        stem = f"{number}_{_UNFIT.sub('_', document['title'])[:60]}"
        graphs = [_make_graph(graph) for graph in document["graphs"]]
        files[f"{stem}.json"] = [_dump({"label": document["title"], "graphs": graphs})]
        keys = dict.fromkeys(overlay["key"] for graph in document["graphs"] for overlay in graph["overlays"])
        for key in keys:
            files[f"{stem}.{key}.node_data.json"] = [_dump(_make_node_data(document["graphs"], key))]
    return files


def _make_graph(graph: Document) -> Document:
    spaces = _list_namespaces(graph["groups"], len(graph["nodes"]))
    makers = {
        tensor: (number, place)
        for number, node in enumerate(graph["nodes"])
        for place, tensor in enumerate(node["outputs"])
    }
    nodes = [_make_node(graph, number, spaces[number], makers) for number in range(len(graph["nodes"]))]
    return {"id": graph["name"], "nodes": nodes}


def _make_node(
    graph: Document, number: int, namespace: str, makers: Mapping[int, tuple[int, int]]
) -> Document:
    node = graph["nodes"][number]
    rows = [["name", node["name"]], ["source name", node.get("source", "")], *node.get("params", [])]
    edges = [
        {"sourceNodeId": str(maker[0]), "sourceNodeOutputId": str(maker[1]), "targetNodeInputId": str(place)}
        for place, tensor in enumerate(node["inputs"])
        if (maker := makers.get(tensor)) is not None and maker[0] != number
    ]
    return {
        "id": str(number),
        "label": node["type"],
        "namespace": namespace,
        "attrs": [{"key": key, "value": value} for key, value in rows if value],
        "incomingEdges": edges,
        "outputsMetadata": _list_metadata(graph, node["outputs"], "tensor_name"),
        "inputsMetadata": _list_metadata(graph, node["inputs"], "__tensor_tag"),
    }


def _list_metadata(graph: Document, tensors: Sequence[int], name_key: str) -> list[Document]:
    return [
        {"id": str(place), "attrs": _describe_tensor(graph["tensors"][tensor], name_key)}
        for place, tensor in enumerate(tensors)
        if tensor >= 0
    ]


def _describe_tensor(tensor: Document, name_key: str) -> list[Document]:
    rows = [(name_key, tensor["name"])]
    if "shape" in tensor:
        # The key that Model Explorer labels lines with.
        rows.append(("tensor_shape", f"{tensor['dtype']}[{','.join(map(str, tensor['shape']))}]"))
    if "encoding" in tensor:
        encoding = tensor["encoding"]
        rows.append(("bits", str(encoding["bits"])))
        if encoding["count"] == 1:
            rows += [("scale", f"{encoding['scales'][0]:.7g}"), ("offset", str(encoding["offsets"][0]))]
        else:
            rows.append(("encodings", f"{encoding['count']} along axis {encoding.get('axis')}"))
    return [{"key": key, "value": value} for key, value in rows]


def _list_namespaces(groups: Sequence[Document], nodes: int) -> list[str]:
    """The names of the groups around each node as a path; a slash inside a name would make two groups."""
    spaces = [""] * nodes
    paths = {0: ""}
    for number, group in enumerate(groups):
        for member in group["members"]:
            if member < 0:
                name = groups[-member]["name"].replace("/", "_")
                paths[-member] = f"{paths[number]}/{name}".strip("/")
            else:
                spaces[member] = paths[number]
    return spaces


def _make_node_data(graphs: Sequence[Document], key: str) -> Document:
    data: Document = {}
    for graph in graphs:
        for overlay in graph["overlays"]:
            if overlay["key"] == key:
                data[graph["name"]] = _describe_overlay(overlay)
    return data


def _describe_overlay(overlay: Document) -> Document:
    results = {
        str(number): {"value": value} for number, value in enumerate(overlay["values"]) if value is not None
    }
    colours = ["#a8194e", "#ffffff"] if overlay["isLowWorse"] else ["#ffffff", "#a8194e"]
    gradient = [{"stop": stop, "bgColor": colour} for stop, colour in enumerate(colours)]
    unit = f" ({overlay['unit']})" if overlay["unit"] else ""
    return {"name": f"{overlay['title']}{unit}", "results": results, "gradient": gradient}


def _dump(value: Any) -> bytes:
    return f"{json.dumps(value, indent=1, allow_nan=False)}\n".encode()
