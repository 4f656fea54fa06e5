"""Saving a graph as QNN artifacts and loading it back."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from edgewright.artifacts.context import reader as context_reader
from edgewright.artifacts.context.frame import is_framed
from edgewright.artifacts.cpp import bin as weights
from edgewright.artifacts.cpp import writer as cpp
from edgewright.artifacts.description import Description
from edgewright.artifacts.dlc import reader as dlc_reader
from edgewright.artifacts.dlc import writer as dlc_writer
from edgewright.artifacts.file_kinds import CPP, DLC, WEIGHTS, refuse_other_kinds
from edgewright.artifacts.model_library import reader as library_reader
from edgewright.artifacts.net_json import reader, writer
from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.files import write_all, write_whole
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Program
from edgewright.lower.lift import lift
from edgewright.lower.lower import LowerOptions, lower
from edgewright.lower.names import sanitize_name
from edgewright.lower.qnn_graph import QnnGraph, TensorKind
from edgewright.passes.pipeline import TARGET, run_passes

_DLC = ".dlc"
_CONTEXT = ".bin"
CONTEXT_FORMAT = "context"
_LIBRARIES = frozenset({".so", ".dll"})
# What each suffix means to `save`; a .bin may be two things, so it means none.
FORMATS = {".dlc": "dlc", ".onnx": "onnx", ".cpp": "cpp", ".json": "cpp", "": "cpp"}


@dataclass(frozen=True)
class SaveOptions:
    """The metadata of the files, and how tensors are named."""

    command: str = "edgewright"
    copyright_text: str = ""
    prefix: str = "QnnModel"
    # Only a DLC has a place for these four.
    model_version: str = ""
    quantizer_command: str = ""
    source_encodings: str = ""
    override_encodings: str = ""
    # 4-bit weights take half a byte each instead of one.
    pack_4_bit_weights: bool = False
    # Of an ONNX file; None: the lowest that holds the model.
    opset: int | None = None
    lowering: LowerOptions = field(default_factory=LowerOptions)


@dataclass(frozen=True)
class SavedFiles:
    """The files that were written for one model; asking for one that was not is an error."""

    paths: tuple[Path, ...]

    @property
    def cpp(self) -> Path:
        """The C++ source."""
        return self._find_one(".cpp")

    @property
    def bin(self) -> Path:
        """The tar of weights."""
        return self._find_one(".bin")

    @property
    def net_json(self) -> Path:
        """The JSON description, which ``load`` reads."""
        return self._find_one("_net.json")

    @property
    def dlc(self) -> Path:
        """The DLC."""
        return self._find_one(_DLC)

    @property
    def onnx(self) -> Path:
        """The ONNX file."""
        return self._find_one(".onnx")

    def _find_one(self, ending: str) -> Path:
        matches = [path for path in self.paths if path.name.endswith(ending)]
        if not matches:
            written = ", ".join(path.name for path in self.paths)
            raise UsageError(f"no {ending} was written, only {written}", do="save it under such a name")
        return matches[0]


def choose_format(path: Path, given: str | None) -> tuple[str, Path]:
    """The format of a file by its suffix or as it was given, and the path with the suffix of that format."""
    if given not in {None, CONTEXT_FORMAT, *FORMATS.values()}:
        raise UsageError(f"format is '{shown(given)}', expected one of: dlc, onnx, cpp, context")
    known = FORMATS.get(path.suffix)
    if given == CONTEXT_FORMAT:
        raise UsageError(
            f"'{shown(path)}' would be a context binary, which is compiled for a chip",
            do=f"edgewright.compile(model, '{shown(path)}', target='SM8650')",
        )
    if given is None:
        if known is None:
            raise _refuse_suffix(path)
        return known, path
    if path.suffix and known not in {None, given}:
        raise UsageError(
            f"'{shown(path)}' would be a file of format {given} under the suffix of {known}",
            do=f"name it {shown(path.with_suffix(f'.{given}').name)}, or leave format out",
        )
    is_named = bool(path.suffix) and (known == given or (given == "cpp" and path.suffix == _CONTEXT))
    return given, path if is_named else path.with_name(f"{path.name}.{given}")


def save_graph(graph: Graph, path: Path | str, options: SaveOptions | None = None) -> SavedFiles:
    """Writes model.cpp, model.bin and model_net.json, all or none; the graph itself is not changed."""
    options = options or SaveOptions()
    files = _list_files(Path(path))
    refuse_other_kinds([(files.bin, WEIGHTS), (files.cpp, CPP)])
    records = make_records(graph, files.cpp.stem, options)
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


def save_dlc(graph: Graph | Program, path: Path | str, options: SaveOptions | None = None) -> SavedFiles:
    """Writes a DLC of one graph, named after the file, or of several; they themselves are not changed."""
    options = options or SaveOptions()
    path = Path(path)
    refuse_other_kinds([(path, DLC)])
    if isinstance(graph, Program):
        records = [make_records(each, each.name, options) for each in graph.graphs]
    else:
        records = [make_records(graph, path.stem, options)]
    about = Description(
        command=options.command,
        copyright_text=options.copyright_text,
        model_version=options.model_version,
        quantizer_command=options.quantizer_command,
        source_encodings=options.source_encodings,
        override_encodings=options.override_encodings,
    )
    write_whole(path, dlc_writer.to_chunks(records, about))
    return SavedFiles((path,))


def is_stored(path: Path | str) -> bool:
    """Whether the name is that of a converted model, and not of a source model."""
    return Path(path).suffix in {".json", _DLC, _CONTEXT, *_LIBRARIES}


def load_graph(path: Path | str, weight_file: Path | str | None = None, name: str | None = None) -> Graph:
    """The graph of a net.json or a DLC (by its name where there are several)."""
    return load_program(path, weight_file).graph(name)


def load_shapes(path: Path | str) -> Graph:
    """The graph of a net.json whose weights are not at hand: they are zeros."""
    return lift(reader.read(path, is_empty=True))


def load_program(
    path: Path | str, weight_file: Path | str | None = None, prefix: str = "QnnModel"
) -> Program:
    """All graphs of a net.json, a DLC, a model library or a context of ours.

    Weights stay in their file until needed. ``prefix`` is that of a model library's functions.
    """
    if Path(path).suffix in _LIBRARIES and weight_file is None:
        return Program(tuple(lift(graph) for graph in library_reader.read(path, prefix)))
    if Path(path).suffix == _CONTEXT and weight_file is None:
        return _read_context_program(Path(path))
    if Path(path).suffix != _DLC:
        return Program((lift(reader.read(path, weight_file)),))
    if weight_file is not None:
        raise UsageError(
            f"'{shown(path)}' was given with the weights '{shown(weight_file)}', a DLC holds its own",
            do="give the DLC alone",
        )
    return Program(tuple(lift(graph) for graph in dlc_reader.read(path).graphs))


def _read_context_program(path: Path) -> Program:
    if not is_framed(path):
        raise BadInput(
            f"'{shown(path)}' is neither a model nor a context binary of Edgewright's own backends",
            Where(file=str(path)),
            do="weights are given by their _net.json; a genuine context is run by qnn-net-run "
            "--retrieve_context or load_context",
        )
    return Program(tuple(lift(graph) for graph in context_reader.read(path).graphs))


def make_records(graph: Graph, name: str, options: SaveOptions) -> QnnGraph:
    """The records of a graph under another name, adapted to what QNN can hold; the graph is not changed."""
    prepared = graph.copy()
    prepared.name = sanitize_name(name)
    run_passes(prepared, TARGET)
    if options.pack_4_bit_weights:
        _narrow_types(prepared)
    return lower(prepared, options.lowering)


def _narrow_types(graph: Graph) -> None:
    """Gives constants with 4-bit encodings 4-bit types, which formats pack."""
    for name in graph.constants:
        constant_type = graph.types[name]
        if (
            constant_type.encoding is not None
            and constant_type.encoding.bitwidth == 4
            and constant_type.dtype.bits == 8
        ):
            narrow = DType.SFIXED_POINT_4 if constant_type.dtype.is_signed else DType.UFIXED_POINT_4
            graph.types[name] = replace(constant_type, dtype=narrow)


def _refuse_suffix(path: Path) -> UsageError:
    if path.suffix == _CONTEXT:
        return UsageError(
            f"'{shown(path)}' may be the weights of a C++ source or a context binary",
            do=f"name it {shown(path.with_suffix('.cpp').name)} for the source with its weights; "
            f"edgewright.compile(model, '{shown(path)}', target='SM8650') makes a context binary",
        )
    return UsageError(
        f"'{shown(path)}' has the suffix '{shown(path.suffix)}', expected .dlc, .onnx or .cpp",
        do="use one of them, or say which is meant, as in format='dlc'",
    )


def _list_files(path: Path) -> SavedFiles:
    base = path.with_suffix("") if path.suffix in {".cpp", ".json", ".bin"} else path
    stem = base.name.removesuffix("_net")
    if not stem:
        raise UsageError(
            f"'{path}' names no file", Where(file=str(path)), do="give a path such as out/model.cpp"
        )
    return SavedFiles(tuple(base.with_name(stem + ending) for ending in (".cpp", ".bin", "_net.json")))
