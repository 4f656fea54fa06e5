"""From a float DLC to one in fixed point, as qairt-quantizer does it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgewright.artifacts.description import Description
from edgewright.artifacts.dlc import reader as dlc_reader
from edgewright.backends.executor import CpuExecutor
from edgewright.config.qairt_quantizer import QairtAimet, QairtCalibration, QairtDlc, QairtPrecision
from edgewright.core.errors import BadInput, Problems, UnsupportedFeature, UsageError, Where, shown
from edgewright.core.files import keep_sources, measure_file, with_own_name
from edgewright.data.input_list import check_head
from edgewright.data.open_samples import open_samples
from edgewright.frontends._common.input_spec import list_unknown_names
from edgewright.ir.contract import IoTensor, contract
from edgewright.ir.graph import Graph
from edgewright.lower.lift import lift
from edgewright.model.saving import SavedFiles, SaveOptions, save_dlc
from edgewright.ops.quant import Dequantize
from edgewright.passes.target.float_io import make_io_float
from edgewright.quantize.executor import Samples
from edgewright.quantize.overrides import KnownEncodings, ResolvedEncodings
from edgewright.quantize.quantized_graph import QuantizedGraph
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.report import AppliedRule, QuantizationReport
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles
from edgewright.quantize.weights.cle import equalize
from edgewright.run.op_packages import load_op_packages
from edgewright.sdk.aimet import compute_aimet_encodings, find_aimet_python
from edgewright.sdk.encoding_listing import add_listing
from edgewright.sdk.qairt_encodings import read_kept_encodings
from edgewright.sdk.qairt_fixed_io import OpenedGraph, open_fixed_io


@dataclass(frozen=True)
class QairtQuantizerOptions:
    """The options of qairt-quantizer that change what is written."""

    dlc: QairtDlc
    precision: QairtPrecision = field(default_factory=QairtPrecision)
    calibration: QairtCalibration = field(default_factory=QairtCalibration)
    aimet: QairtAimet = field(default_factory=QairtAimet)


@dataclass(frozen=True)
class QuantizedDlc:
    """What was written, where the encodings came from, and what its user must know."""

    files: SavedFiles
    contract: tuple[IoTensor, ...]
    coverage: str
    rules: tuple[AppliedRule, ...]
    notes: tuple[str, ...]
    converts: int
    bytes_before: int
    bytes_after: int


def quantize_dlc(options: QairtQuantizerOptions, command: str = "edgewright") -> QuantizedDlc:
    """Reads, calibrates, quantizes and writes; on any problem nothing is written."""
    dlc = options.dlc
    load_op_packages(options.aimet.op_package_lib or ())
    python = find_aimet_python() if options.aimet.use_aimet_quantizer else None
    source = dlc_reader.read(_check_dlc_path(dlc.input_dlc))
    keep_sources([Path(dlc.input_dlc)], [name_output(dlc)])
    graph = _take_only_graph([lift(each) for each in source.graphs], dlc.input_dlc)
    _check_float(graph, dlc.input_dlc, source.description.quantizer_command)
    _check_preserved(graph, dlc)
    opened = open_fixed_io(graph)
    request, known = _fill_request(options, opened, source.description)
    samples = None
    if dlc.input_list is not None:
        check_head(dlc.input_list)
        stored = open_samples(opened.stored, dlc.input_list, is_native=dlc.use_native_input_files)
        samples = opened.decode_samples(stored)
    if python is not None and samples is not None:
        result = _quantize_with_aimet(graph, request, samples, known, python)
    else:
        result = quantize_graph(graph, request, samples, CpuExecutor(), known)
    make_io_float(result.graph, _list_preserved(result.graph, dlc))
    for node in result.graph.nodes:
        # Notes are for a quantizer; it has done its work.
        node.notes = {}
    about = SaveOptions(
        command=source.description.command,
        copyright_text=source.description.copyright_text,
        model_version=source.description.model_version,
        quantizer_command=command,
        pack_4_bit_weights=options.precision.pack_4_bit_weights,
    )
    return _write(options, result, about)


def name_output(dlc: QairtDlc) -> Path:
    """The DLC to write: model.quantized.dlc for model.dlc where nothing, or only a folder, is said."""
    source = with_own_name(dlc.input_dlc)
    name = f"{source.stem}.quantized.dlc"
    if dlc.output_dlc is None:
        return source.with_name(name)
    path = Path(dlc.output_dlc)
    if path.is_dir():
        return path / name
    return path if path.suffix == ".dlc" else path.with_name(f"{path.name}.dlc")


# What is asked for


def _fill_request(
    options: QairtQuantizerOptions, opened: OpenedGraph, description: Description
) -> tuple[QuantizationRequest, KnownEncodings]:
    """The request, and the encodings that the DLC keeps; those of its inputs and outputs come first."""
    groups = (options.precision, options.calibration)
    if options.dlc.ignore_encodings:
        return QuantizationRequest.from_options(*groups, overrides=None), KnownEncodings()
    source, overrides = read_kept_encodings(description, options.dlc.input_dlc)
    request = QuantizationRequest.from_options(*groups, overrides=overrides)
    # Guide 3888: encodings of channels replace those that the source model had for a weight.
    replaced = _list_convolution_weights(opened.graph) if request.per_channel else ()
    names = {opened.graph.source_names.get(value, value) for value in opened.graph.types}
    folded = [tensor.name for tensor in source.tensors if tensor.name not in names]
    return request, KnownEncodings(
        [tensor for tensor in source.tensors if tensor.name not in replaced],
        # They were checked when they were put in; what is not there any more was folded away.
        {tensor.name for tensor in overrides.tensors},
        ResolvedEncodings(opened.pins, folded),
    )


def _list_convolution_weights(graph: Graph) -> set[str]:
    """The source model's names of all weights of convolutions."""
    roles = {node: find_roles(graph, node) for node in graph.nodes}
    values = [node.inputs[place] for node, r in roles.items() if r.is_convolution for place in r.weights]
    return {graph.source_names.get(value, value) for value in values}


def _quantize_with_aimet(
    graph: Graph, request: QuantizationRequest, samples: Samples, known: KnownEncodings, python: Path
) -> QuantizedGraph:
    """AIMET's encodings come after those that the DLC keeps; what it has none for is calibrated here."""
    resolved = known.resolve(graph, request.overrides)
    notes: list[str] = []
    if "cle" in request.algorithms:
        # Before AIMET looks at the weights, not between it and the quantizer.
        graph, equalization = equalize(graph)
        notes = equalization.list_notes()
    others = [name for name in request.algorithms if name != "cle"]
    notes += [f"{name}: left out, AIMET chooses the encodings of weights" for name in others]
    encodings = compute_aimet_encodings(graph, samples, request, python)
    joined = ResolvedEncodings({**encodings.pins, **resolved.pins}, resolved.ignored)
    plain = replace(request, algorithms=(), overrides=None)
    result = quantize_graph(graph, plain, samples, CpuExecutor(), KnownEncodings(resolved=joined))
    count = len(encodings.pins)
    result.report.notes[:0] = [*notes, f"AIMET gave {count} encodings, the others were calibrated"]
    return result


# What is refused


def _check_dlc_path(path: str) -> Path:
    if Path(path).suffix in {".onnx", ".json", ".cpp", ".pb", ".tflite", ".pt"}:
        raise UsageError(
            f"--input_dlc is '{shown(path)}', expected a .dlc file",
            do="convert it with qairt-converter first",
        )
    return Path(path)


def _take_only_graph(graphs: Sequence[Graph], file: str) -> Graph:
    if len(graphs) != 1:
        names = ", ".join(f"'{shown(graph.name, 60)}'" for graph in graphs[:10])
        raise UnsupportedFeature(
            f"the DLC holds {len(graphs)} graphs ({names}), expected one: an input list feeds one",
            Where(file=file),
            do="write one DLC for each graph, and quantize them one by one",
        )
    return graphs[0]


def _check_float(graph: Graph, file: str, quantizer_command: str) -> None:
    stored = [
        name
        for name in graph.constants
        if graph.types[name].encoding is not None
        and not all(isinstance(node.op, Dequantize) for node in graph.consumers(name))
    ]
    if stored or quantizer_command:
        raise BadInput(
            f"the DLC is quantized already ({len(stored)} constants in fixed point), expected a float one",
            Where(file=file),
            do="give the DLC that qairt-converter wrote",
        )


def _check_preserved(graph: Graph, dlc: QairtDlc) -> None:
    names = [name for usage in dlc.preserve_io_datatype for name in usage]
    io = (*graph.inputs, *graph.outputs)
    problems = list_unknown_names("preserve_io_datatype", names, io, "input or output")
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)


# What is written


def _list_preserved(graph: Graph, dlc: QairtDlc) -> set[str]:
    """Inputs and outputs that stay real numbers; an option without names means all."""
    if any(not usage for usage in dlc.preserve_io_datatype):
        return {*graph.inputs, *graph.outputs}
    return {name for usage in dlc.preserve_io_datatype for name in usage}


def _list_notes(report: QuantizationReport, dlc: QairtDlc) -> Iterator[str]:
    yield from report.notes
    if dlc.input_list is None and report.is_all_float:
        yield "the DLC keeps no encodings: everything stays in floating point"
    if dlc.input_list is not None and any(check_head(dlc.input_list)):
        yield "the input list names outputs: all activations are calibrated nevertheless"


def _write(options: QairtQuantizerOptions, result: QuantizedGraph, about: SaveOptions) -> QuantizedDlc:
    target, report = name_output(options.dlc), result.report
    bytes_before, notes = measure_file(options.dlc.input_dlc), tuple(_list_notes(report, options.dlc))
    files = save_dlc(result.graph, target, about)
    if options.dlc.dump_encoding_json:
        files = add_listing(files, target, result.graph)
    return QuantizedDlc(
        files,
        contract(result.graph),
        report.coverage(),
        report.list_rules(),
        notes,
        report.converts,
        bytes_before,
        measure_file(target),
    )
