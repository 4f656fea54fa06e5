"""The converted models that a tool is given by name: which file holds each, and its graphs."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.ir.graph import Graph
from edgewright.model.saving import load_program


def find_model_file(path: Path) -> Path:
    """The DLC, net.json or library of the model that was named, by itself or by the files beside it."""
    if path.suffix == ".onnx":
        raise UsageError(
            f"'{shown(path)}' is not converted yet",
            do=f"convert it with qnn-onnx-converter -i {shown(path)}, or use edgewright run {shown(path)}",
        )
    if path.suffix in {".cpp", ".bin"}:
        beside = path.with_name(f"{path.stem}_net.json")
        if not beside.exists():
            raise BadInput(
                f"'{shown(beside)}' does not exist, it is needed to run '{shown(path.name)}'",
                Where(file=str(path)),
                do="keep the three files of a model together; a context binary goes to --retrieve_context",
            )
        return beside
    return path


def list_model_parts(path: Path) -> list[Path]:
    """The files that make a model, whichever of them was named."""
    if path.suffix not in {".cpp", ".bin", ".json"}:
        return [path]
    stem = path.stem.removesuffix("_net")
    return [path.with_name(f"{stem}{ending}") for ending in (".cpp", ".bin", "_net.json")]


def load_model_graphs(files: Sequence[Path], prefix: str = "QnnModel") -> list[Graph]:
    """The graphs of all files, each with a unique name; ``prefix`` is that of model libraries."""
    graphs = [graph for file in files for graph in load_program(file, prefix=prefix).graphs]
    name, count = Counter(graph.name for graph in graphs).most_common(1)[0]
    if count > 1:
        raise UsageError(
            f"{count} graphs are named '{shown(name)}', expected a different name for each",
            do="convert one of the models again under another file name",
        )
    return graphs
