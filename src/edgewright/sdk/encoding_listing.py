"""The listing of encodings that tools write beside a model."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from edgewright.artifacts.encodings import load_encodings, write_encodings
from edgewright.core.files import write_whole
from edgewright.ir.graph import Graph
from edgewright.model.saving import SavedFiles
from edgewright.quantize.tensor_encodings import EncodingSet, list_encodings


def add_listing(
    files: SavedFiles, model: Path, encodings: Graph | EncodingSet, tensors: Collection[str] = ()
) -> SavedFiles:
    """Writes NAME_encoding.json beside NAME.dlc or NAME.cpp: what overrides of a quantizer take back.

    ``tensors`` are those of the source, where they are known: others are listed apart.
    """
    listing = model.with_name(f"{model.stem}_encoding.json")
    entries = encodings if isinstance(encodings, EncodingSet) else _list_apart(encodings, tensors)
    # Entries of a width alone ended with 0.6.1.
    version = "0.6.1" if any(tensor.is_wish for tensor in entries.tensors) else "1.0.0"
    write_whole(listing, [write_encodings(entries, version).encode()])
    return replace(files, paths=(*files.paths, listing))


def list_tensors(file: str | None) -> frozenset[str]:
    """The tensors of the source that a file of encodings names."""
    encodings = load_encodings(file)
    return frozenset(
        tensor.name for tensor in (encodings.tensors if encodings else ()) if not tensor.is_added
    )


def _list_apart(graph: Graph, tensors: Collection[str]) -> EncodingSet:
    names = {graph.source_names.get(value, value) for value in graph.types}
    return list_encodings(graph, added=names - set(tensors) if tensors else ())
