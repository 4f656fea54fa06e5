"""Weights in files beside the model: mapped, never copied, and never read from outside its folder."""

import mmap
import re
from collections.abc import Iterator
from pathlib import Path

import onnx

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.files import resolve_inside
from edgewright.frontends._common.mapping import map_file

# "basepath" and "prepacked..." are written by onnx and by ONNX Runtime; both only help a loader to be faster.
KNOWN_KEYS = re.compile(r"location|offset|length|checksum|basepath|prepacked\w*")
LONGEST_PATH = 4096
NUMBER = re.compile(r"[0-9]{1,19}")


def list_external_files(path: Path) -> list[Path]:
    """The files inside the folder of a model that hold weights of it; none where it cannot be read."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(b"location") < 0:
            return []
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception:  # whoever converts the model says what is wrong with it
        return []
    locations = {
        item.value
        for tensor in _iterate_tensors(model)
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        for item in tensor.external_data
        if item.key == "location"
    }
    folder = path.parent.resolve()
    files = [(folder / location).resolve() for location in sorted(locations)]
    return [
        path.parent / file.relative_to(folder)
        for file in files
        if file.is_relative_to(folder) and file.is_file()
    ]


def _iterate_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    graphs = [model.graph]
    nodes = [node for function in model.functions for node in function.node]
    while graphs or nodes:
        for graph in graphs:
            yield from graph.initializer
        nodes += [node for graph in graphs for node in graph.node]
        attributes = [attribute for node in nodes for attribute in node.attribute]
        for attribute in attributes:
            yield from (attribute.t, *attribute.tensors)
        graphs = [
            graph for attribute in attributes for graph in (attribute.g, *attribute.graphs) if graph.node
        ]
        nodes = []


class ExternalData:
    """The files that one model keeps its weights in."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._maps: dict[Path, memoryview] = {}

    def data(self, tensor: onnx.TensorProto, expected: int, where: Where) -> memoryview:
        """The bytes of a tensor, ``expected`` of them."""
        entries = _read_entries(tensor, where)
        view = self._map(entries.get("location", ""), where)
        offset = _number(entries, "offset", 0, where)
        length = _number(entries, "length", expected, where)
        if length != expected:
            raise BadInput(
                f"external data has length {length}, expected {expected} bytes",
                where,
                do="export the model again",
            )
        if offset + length > len(view):
            raise BadInput(
                f"external data ends at {offset + length}, but its file '{shown(entries['location'])}' "
                f"has {len(view)} bytes",
                where,
                do="check that the file is complete and belongs to this model",
            )
        return view[offset : offset + length]

    def _map(self, location: str, where: Where) -> memoryview:
        if self._folder is None:
            raise BadInput(
                f"weights lie in the file '{shown(location)}', but the model was given without a folder",
                where,
                do="convert the model from its file, or load the weights into it first",
            )
        if len(location) > LONGEST_PATH:
            raise BadInput(
                f"external data names a path of {len(location)} characters, at most {LONGEST_PATH}",
                where,
                do="give the file a shorter name",
            )
        path = resolve_inside(self._folder, location, where.file)
        if path not in self._maps:
            self._maps[path] = map_file(path, where, is_stranger=True)
        return self._maps[path]


def _read_entries(tensor: onnx.TensorProto, where: Where) -> dict[str, str]:
    entries: dict[str, str] = {}
    for item in tensor.external_data:
        if not isinstance(item.key, str) or not KNOWN_KEYS.fullmatch(item.key) or item.key in entries:
            raise BadInput(
                f"external data has the entry '{shown(item.key)}', expected location, offset and length once",
                where,
                do="export the model again",
            )
        entries[item.key] = item.value if isinstance(item.value, str) else ""
    return entries


def _number(entries: dict[str, str], key: str, default: int, where: Where) -> int:
    if key not in entries:
        return default
    if not NUMBER.fullmatch(entries[key]):
        raise BadInput(
            f"external data has {key} '{shown(entries[key])}', expected a number of bytes",
            where,
            do="export the model again",
        )
    return int(entries[key])
