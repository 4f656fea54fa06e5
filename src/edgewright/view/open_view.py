"""Opens any file that is known, or a model in memory, as what a viewer shows."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgewright.artifacts.context.frame import is_framed
from edgewright.artifacts.encodings.comments import without_comments
from edgewright.artifacts.file_kinds import WEIGHTS
from edgewright.core.errors import BadInput, UnsupportedFeature, Where
from edgewright.core.files import measure_file, read_limited
from edgewright.core.json_text import parse_json
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.model.model_files import find_model_file
from edgewright.view.build_folders import (
    REPORT,
    find_built_model,
    is_build_folder,
    list_facts,
    list_layers,
    read_report,
)
from edgewright.view.layer_overlays import colour_layers
from edgewright.view.records import ViewModel

# The keys that files of encodings have.
_ENCODINGS = ("encodings", "activation_encodings", "param_encodings")
_LARGEST_JSON = 1 << 28


def open_view(model: Path | str | Any, spec: InputSpec | None = None) -> ViewModel:
    """The model in a file or folder, or the one in memory."""
    if not isinstance(model, str | Path):
        return _view_memory(model)
    path = Path(model)
    viewed = _find_reader(path)(path, spec or InputSpec())
    return replace(viewed, facts=(("file", str(path)), *viewed.facts))


def _find_reader(path: Path) -> Callable[[Path, InputSpec], ViewModel]:
    suffix = path.suffix.lower()
    if path.is_dir():
        return _view_build if is_build_folder(path) else _view_source
    if suffix == ".bin" and path.is_file():
        return _view_bin
    return _READERS.get(suffix, _view_source)


def _view_build(path: Path, spec: InputSpec) -> ViewModel:
    report = read_report(path)
    model = _view_dlc(find_built_model(path, report), spec)
    return colour_layers(replace(model, facts=(*list_facts(report), *model.facts)), list_layers(report))


def _view_source(path: Path, spec: InputSpec) -> ViewModel:
    from edgewright.frontends.open_source import open_source
    from edgewright.view.source_graphs import view_source

    source = open_source(path, spec)
    graph, notes = view_source(source)
    return ViewModel(path.name, source.format, (graph,), notes=notes)


def _view_dlc(path: Path, _: InputSpec) -> ViewModel:
    from edgewright.artifacts.dlc import reader
    from edgewright.view.qnn_graphs import view_qnn_graph

    content = reader.read(path)
    about = content.description
    facts = [("size", f"{measure_file(path):,} bytes"), ("version", ".".join(map(str, content.version)))]
    facts += [
        (name, value)
        for name, value in (
            ("converted by", about.command),
            ("quantized by", about.quantizer_command),
            ("model version", about.model_version),
            ("copyright", about.copyright_text),
        )
        if value
    ]
    return ViewModel(path.name, "DLC", tuple(map(view_qnn_graph, content.graphs)), tuple(facts))


def _view_json(path: Path, _: InputSpec) -> ViewModel:
    from edgewright.artifacts.net_json import reader
    from edgewright.view.qnn_graphs import view_qnn_graph

    document = _read_object(path)
    if any(key in document for key in _ENCODINGS):
        return _view_encodings(path, _)
    if path.name == REPORT and "artifacts" in document:
        return _view_build(path.parent, _)
    if "graph" not in document:
        raise BadInput(
            "the file has no 'graph', expected the _net.json of a converted model or an encodings file",
            Where(file=str(path)),
            do="name the _net.json that a converter wrote",
        )
    graph = reader.read(path)
    command = document.get("converter_command")
    facts = [("size", f"{measure_file(path):,} bytes")]
    if isinstance(command, str) and command:
        facts.append(("converted by", command))
    return ViewModel(path.name, "QNN net.json", (view_qnn_graph(graph),), tuple(facts))


def _read_object(path: Path) -> dict[str, Any]:
    try:
        document = parse_json(without_comments(read_limited(path, _LARGEST_JSON)))
    except (ValueError, RecursionError):
        raise BadInput(
            "the file is not JSON", Where(file=str(path)), do="name the _net.json of a converted model"
        ) from None
    return document if isinstance(document, dict) else {}


def _view_encodings(path: Path, _: InputSpec) -> ViewModel:
    from edgewright.artifacts.encodings.reader import read_encodings
    from edgewright.view.encoding_lists import view_encodings

    encodings = read_encodings(path)
    facts = (("version", encodings.version), ("tensors", str(len(encodings.tensors))))
    return ViewModel(path.name, "encodings", (view_encodings(encodings),), facts)


def _view_beside(path: Path, spec: InputSpec) -> ViewModel:
    """A C++ source or its weights: what they describe is in the JSON beside them."""
    return _view_json(find_model_file(path), spec)


def _view_bin(path: Path, spec: InputSpec) -> ViewModel:
    """Weights of a C++ source, or a context binary of ours or of the genuine libraries."""
    if is_framed(path):
        return _view_own_context(path, spec)
    with path.open("rb") as file:
        head = file.read(512)
    return _view_beside(path, spec) if WEIGHTS.is_start(head) else _view_context(path, spec)


def _view_context(path: Path, _: InputSpec) -> ViewModel:
    """A genuine context tells its graphs with their inputs and outputs; the ops inside are compiled."""
    from edgewright.run.context.info import read_context_info
    from edgewright.view.qnn_graphs import view_graph_info

    info = read_context_info(path)
    binary = info.binary
    facts = [
        ("backend", info.backend),
        ("made by", binary.build_id),
        ("architecture", "" if binary.dsp_arch is None else f"v{binary.dsp_arch}"),
        ("chip", str(binary.soc_model or "")),
        ("size", f"{info.bytes:,} bytes"),
    ]
    graphs = tuple(view_graph_info(graph) for graph in binary.graphs)
    notes = ("the ops of a compiled graph are not in the file: its inputs and outputs are",)
    return ViewModel(path.name, "context binary", graphs, tuple((n, v) for n, v in facts if v), notes)


def _view_library(path: Path, _: InputSpec) -> ViewModel:
    from edgewright.artifacts.model_library import reader
    from edgewright.view.qnn_graphs import view_qnn_graph

    graphs = reader.read(path, "QnnModel")
    return ViewModel(path.name, "model library", tuple(map(view_qnn_graph, graphs)))


def _view_own_context(path: Path, _: InputSpec) -> ViewModel:
    from edgewright.artifacts.context import reader
    from edgewright.view.qnn_graphs import view_qnn_graph

    context = reader.read(path)
    head = context.head
    facts = [("backend", head.backend), ("made by", head.producer), ("chip", head.soc)]
    graphs = tuple(map(view_qnn_graph, context.graphs))
    return ViewModel(path.name, "context binary", graphs, tuple((n, v) for n, v in facts if v))


def _view_memory(model: Any) -> ViewModel:
    from edgewright.lower.lower import lower
    from edgewright.model.open_model import open_any_model
    from edgewright.view.qnn_graphs import view_qnn_graph

    opened = open_any_model(model)
    if opened.graph is None:
        raise UnsupportedFeature(
            "the model has no graph before its inputs are known",
            do="convert it with the sizes and values of its inputs",
        )
    return ViewModel(opened.graph.name, "model in memory", (view_qnn_graph(lower(opened.graph)),))


_READERS: dict[str, Callable[[Path, InputSpec], ViewModel]] = {
    ".dlc": _view_dlc,
    ".json": _view_json,
    ".encodings": _view_encodings,
    ".cpp": _view_beside,
    ".so": _view_library,
    ".dll": _view_library,
}
