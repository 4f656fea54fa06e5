"""Saving a graph as QNN artifacts and loading it back."""

from dataclasses import dataclass, field
from pathlib import Path

from edgewright.artifacts.cpp import bin as weights
from edgewright.artifacts.cpp import writer as cpp
from edgewright.artifacts.description import Description
from edgewright.artifacts.net_json import reader, writer
from edgewright.core.errors import UsageError, Where
from edgewright.core.files import write_all
from edgewright.ir.graph import Graph
from edgewright.lower.lift import lift
from edgewright.lower.lower import LowerOptions, lower
from edgewright.lower.names import sanitized
from edgewright.lower.qnn_graph import TensorKind
from edgewright.passes.pipeline import TARGET, run_passes

__all__ = ["SaveOptions", "SavedFiles", "load_graph", "save_graph"]


@dataclass(frozen=True)
class SaveOptions:
    """What the files say of themselves, and how tensors are named."""

    command: str = "edgewright"
    copyright_text: str = ""
    prefix: str = "QnnModel"
    lowering: LowerOptions = field(default_factory=LowerOptions)


@dataclass(frozen=True)
class SavedFiles:
    """The files of one model."""

    cpp: Path
    bin: Path
    net_json: Path


def save_graph(graph: Graph, path: Path | str, options: SaveOptions | None = None) -> SavedFiles:
    """Writes model.cpp, model.bin and model_net.json, all or none; the graph itself is not changed."""
    options = options or SaveOptions()
    files = _files(Path(path))
    prepared = graph.copy()
    prepared.name = sanitized(files.cpp.stem)
    run_passes(prepared, TARGET)
    records = lower(prepared, options.lowering)
    about = Description(
        cpp_name=files.cpp.name,
        bin_name=files.bin.name,
        command=options.command,
        copyright_text=options.copyright_text,
        prefix=options.prefix,
    )
    write_all(
        {
            files.bin: weights.to_chunks(records.of_kind(TensorKind.STATIC)),
            files.cpp: cpp.to_chunks(records, about),
            files.net_json: writer.to_chunks(records, about),
        }
    )
    return files


def load_graph(path: Path | str, weight_file: Path | str | None = None) -> Graph:
    """The graph of a net.json and its weights, which stay in their file until they are needed."""
    return lift(reader.read(path, weight_file))


def _files(path: Path) -> SavedFiles:
    base = path.with_suffix("") if path.suffix in {".cpp", ".json", ".bin"} else path
    stem = base.name.removesuffix("_net")
    if not stem:
        raise UsageError(
            f"'{path}' names no file", Where(file=str(path)), do="give a path such as out/model.cpp"
        )
    return SavedFiles(*(base.with_name(stem + ending) for ending in (".cpp", ".bin", "_net.json")))
