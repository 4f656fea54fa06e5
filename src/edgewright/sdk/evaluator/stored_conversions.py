"""A conversion as files, so that it is made once and quantized by many processes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from edgewright.config.converter import Source
from edgewright.config.io_config import IoConfig
from edgewright.core.files import write_whole
from edgewright.core.plain import from_plain, to_json
from edgewright.ir.graph import Graph
from edgewright.ir.sources import SourceFlow
from edgewright.ir.text import parse, to_text
from edgewright.ir.types import TensorType
from edgewright.model.stored_graphs import load_stored_graph, store_graph
from edgewright.quantize.tensor_encodings import TensorEncoding
from edgewright.sdk.converter import PreparedConversion

GRAPH, FACTS = "graph", "facts.json"
FILES = (f"{GRAPH}.graph", f"{GRAPH}.json", f"{GRAPH}.raw", FACTS)
# Of this process: the 32 combinations of a model follow one another.
MOST_LOADED = 2


@dataclass(frozen=True)
class _Facts:
    """What a conversion has besides its graph."""

    # A graph of them alone, as text.
    io_types: str
    encodings: tuple[TensorEncoding, ...]
    tensors: frozenset[str]
    io: IoConfig
    notes: tuple[str, ...]
    source: Source
    flow: SourceFlow


def store_conversion(prepared: PreparedConversion, folder: Path) -> None:
    """Writes the files of a conversion."""
    facts = _Facts(
        _write_types(prepared.io_types),
        prepared.encodings,
        prepared.tensors,
        prepared.io,
        prepared.notes,
        # Where it was does not matter: equal models are equal conversions.
        replace(prepared.source, input_network=Path(prepared.source.input_network).name),
        prepared.graph.sources,
    )
    store_graph(prepared.graph, folder / GRAPH)
    write_whole(folder / FACTS, [to_json(facts)])


@lru_cache(maxsize=MOST_LOADED)
def load_conversion(folder: Path) -> PreparedConversion:
    """The conversion of a folder, which nobody changes; its constants stay in their file."""
    facts = from_plain(_Facts, json.loads((folder / FACTS).read_bytes()))
    graph = load_stored_graph(folder / GRAPH)
    graph.sources = facts.flow
    return PreparedConversion(
        graph,
        _read_types(facts.io_types),
        facts.encodings,
        facts.tensors,
        facts.io,
        facts.notes,
        facts.source,
    )


def _write_types(types: Mapping[str, TensorType]) -> str:
    graph = Graph("io")
    for name, tensor_type in types.items():
        graph.add_input(name, tensor_type)
    return to_text(graph)


def _read_types(text: str) -> dict[str, TensorType]:
    graph = parse(text)
    return {name: graph.types[name] for name in graph.inputs}
