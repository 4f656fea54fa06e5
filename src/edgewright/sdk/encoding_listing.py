"""The listing of encodings that tools write beside a model."""

from dataclasses import replace
from pathlib import Path

from edgewright.artifacts.encodings import write_encodings
from edgewright.core.files import write_whole
from edgewright.ir.graph import Graph
from edgewright.model.saving import SavedFiles
from edgewright.quantize.tensor_encodings import EncodingSet, list_encodings


def add_listing(files: SavedFiles, model: Path, encodings: Graph | EncodingSet) -> SavedFiles:
    """Writes NAME_encoding.json beside NAME.dlc or NAME.cpp: what overrides of a quantizer take back."""
    listing = model.with_name(f"{model.stem}_encoding.json")
    entries = list_encodings(encodings) if isinstance(encodings, Graph) else encodings
    # Entries of a width alone ended with 0.6.1.
    version = "0.6.1" if any(tensor.is_wish for tensor in entries.tensors) else "1.0.0"
    write_whole(listing, [write_encodings(entries, version).encode()])
    return replace(files, paths=(*files.paths, listing))
