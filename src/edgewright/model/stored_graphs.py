"""Graphs kept between the stages of a build: text, an index, and numbers that are mapped when read."""

import json
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import edgewright.ops  # noqa: F401 - fills the registry that texts are read with
from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.files import map_file, write_all
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ir.text import parse, to_text

ALIGNMENT = 64
# The node and the key of what it remembers, or a constant's name alone.
_Key = tuple[str, ...]


def store_graph(graph: Graph, path: Path) -> None:
    """Writes PATH.graph, PATH.json and PATH.raw, all or none."""
    arrays = dict(_list_arrays(graph))
    write_all(
        {
            path.with_suffix(".raw"): _pad_arrays(arrays),
            path.with_suffix(".json"): [json.dumps(_write_index(arrays)).encode()],
            path.with_suffix(".graph"): [to_text(graph).encode()],
        }
    )


def load_stored_graph(path: Path) -> Graph:
    """The graph; its constants stay in their file until they are needed."""
    where = Where(file=str(path.with_suffix(".json")))
    try:
        return _read_graph(path)
    except BadInput as problem:
        raise _make_damage_error(problem.what, where) from None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as problem:
        raise _make_damage_error(shown(problem), where) from None


def _read_graph(path: Path) -> Graph:
    index = json.loads(path.with_suffix(".json").read_bytes())
    raw = path.with_suffix(".raw")
    content = map_file(raw) if raw.stat().st_size else memoryview(b"")
    arrays = {tuple(entry["key"]): _view_array(content, entry) for entry in index}
    constants = {key[0]: array for key, array in arrays.items() if len(key) == 1}
    graph = parse(path.with_suffix(".graph").read_text("utf-8"), constants)
    for node, key in (key for key in arrays if len(key) == 2):
        graph.node(node).notes[key] = arrays[node, key]
    return graph


def _list_arrays(graph: Graph) -> Iterator[tuple[_Key, Array]]:
    """Constants, and what nodes remember: a batch norm that was folded matters to equalization."""
    for name, array in graph.constants.items():
        if array.dtype == object:
            raise UnsupportedFeature(f"constant '{name}' holds texts, which no target has")
        yield (name,), array
    for node in graph.nodes:
        for key, array in node.notes.items():
            yield (node.name, key), np.asarray(array)


def _write_index(arrays: Mapping[_Key, Array]) -> list[dict[str, Any]]:
    entries = []
    at = 0
    for key, array in arrays.items():
        entries.append({"key": key, "dtype": str(array.dtype), "shape": array.shape, "at": at})
        at += array.nbytes + -array.nbytes % ALIGNMENT
    return entries


def _pad_arrays(arrays: Mapping[_Key, Array]) -> Iterator[bytes | memoryview]:
    for array in arrays.values():
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        yield bytes(-array.nbytes % ALIGNMENT)


def _view_array(content: memoryview, entry: Mapping[str, Any]) -> Array:
    dtype, shape, at = np.dtype(entry["dtype"]), tuple(entry["shape"]), entry["at"]
    size = prod(shape) * dtype.itemsize
    if dtype.hasobject or any(not isinstance(number, int) or number < 0 for number in (*shape, at)):
        raise BadInput(f"an array of {dtype} {list(shape)} is at byte {at}")
    if at + size > len(content):
        raise BadInput(f"{dtype} {list(shape)} takes bytes {at} to {at + size}, {len(content)} are stored")
    view: Array = np.frombuffer(content[at : at + size], np.uint8).view(dtype).reshape(shape)
    return view


def _make_damage_error(what: str, where: Where) -> BadInput:
    return BadInput(f"a graph of the build is damaged: {what}", where, do="build again without --resume")
