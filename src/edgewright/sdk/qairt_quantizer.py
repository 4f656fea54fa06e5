"""From a float DLC to one in fixed point, as qairt-quantizer does it."""

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgewright.artifacts.dlc import reader as dlc_reader
from edgewright.backends.executor import CpuExecutor
from edgewright.config.qairt_quantizer import QairtAimet, QairtCalibration, QairtDlc, QairtPrecision
from edgewright.core.errors import (
    BadInput,
    Problems,
    UnsupportedFeature,
    UsageError,
    Where,
    shown,
)
from edgewright.core.files import file_size, keep_sources
from edgewright.core.numbers import Array
from edgewright.data.input_list import check_head
from edgewright.data.open_samples import open_samples
from edgewright.frontends._common.input_spec import list_unknown_names
from edgewright.ir.contract import IoTensor, contract
from edgewright.ir.graph import Graph
from edgewright.lower.lift import lift
from edgewright.model.quantizing import AppliedRule, applied_rules
from edgewright.model.saving import SavedFiles, SaveOptions, save_dlc
from edgewright.ops.quant import Dequantize
from edgewright.passes.target.float_io import float_input, float_output
from edgewright.quantize.executor import Samples
from edgewright.quantize.overrides import Resolved
from edgewright.quantize.pins import Origin
from edgewright.quantize.quantizer import Quantized, quantize_graph
from edgewright.quantize.roles import roles_of
from edgewright.quantize.schemes import scheme_named
from edgewright.quantize.settings import Settings
from edgewright.quantize.tensor_encodings import EncodingSet
from edgewright.quantize.weights.cle import equalize
from edgewright.run.op_packages import load_op_packages
from edgewright.sdk.aimet import aimet_encodings, aimet_python, aimet_request
from edgewright.sdk.dynamic_weights import wide_products
from edgewright.sdk.encoding_listing import with_listing
from edgewright.sdk.qairt_encodings import cached_encodings
from edgewright.sdk.qairt_fixed_ends import Opened, opened_ends

__all__ = ["QairtQuantizerOptions", "QuantizedDlc", "quantize_dlc", "quantized_path"]


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
    load_op_packages(options.aimet.op_package_lib or ())
    python = aimet_python() if options.aimet.use_aimet_quantizer else None
    source = dlc_reader.read(_dlc_file(options.dlc.input_dlc))
    keep_sources([Path(options.dlc.input_dlc)], [quantized_path(options.dlc)])
    graph = _only_graph([lift(each) for each in source.graphs], options.dlc.input_dlc)
    _check_float(graph, options.dlc.input_dlc, source.description.quantizer_command)
    _check_kept(graph, options.dlc)
    opened = opened_ends(graph)
    given, file = _given(opened, options, cached_encodings(graph, source.description, options.dlc.input_dlc))
    settings = _settings(options, file)
    samples = _samples(opened, options.dlc)
    if python is not None and samples is not None:
        result = _quantized_by_aimet(graph, options, samples, given, python)
    else:
        result = quantize_graph(graph, settings, samples, CpuExecutor(), given)
    _keep_floats(result.graph, options.dlc)
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
    return _written(options, result, about, _notes(result, options.dlc, samples))


def quantized_path(dlc: QairtDlc) -> Path:
    """The DLC to write: model.quantized.dlc for model.dlc where nothing, or only a folder, is said."""
    source = Path(dlc.input_dlc)
    name = f"{source.stem}.quantized.dlc"
    if dlc.output_dlc is None:
        return source.with_name(name)
    wanted = Path(dlc.output_dlc)
    if wanted.is_dir():
        return wanted / name
    return wanted if wanted.suffix == ".dlc" else wanted.with_name(f"{wanted.name}.dlc")


# What is asked for


def _settings(options: QairtQuantizerOptions, file: EncodingSet) -> Settings:
    """The quantizer's settings; widths that an encodings file gives for all tensors come first."""
    precision, calibration = options.precision, options.calibration
    is_searched = calibration.act_calibration == "auto"
    return Settings(
        act_bits=file.act_bits or precision.act_bitwidth,
        weight_bits=file.weight_bits or precision.weights_bitwidth,
        bias_bits=file.bias_bits or precision.bias_bitwidth,
        float_bits=precision.float_bitwidth,
        float_bias_bits=precision.float_bias_bitwidth or 0,
        act_scheme=scheme_named(
            "min-max" if is_searched else calibration.act_calibration, calibration.percentile
        ),
        is_searched=is_searched,
        weight_scheme=scheme_named(calibration.param_calibration, calibration.percentile),
        is_act_symmetric=calibration.act_schema == "symmetric",
        is_weight_symmetric=calibration.param_schema == "symmetric",
        is_per_channel=precision.use_per_channel_quantization,
        is_per_row=precision.use_per_row_quantization,
        steps=calibration.restrict_quantization_steps,
        algorithms=calibration.algorithms,
        is_relu_squashed=not precision.disable_relu_squashing,
    )


def _given(
    opened: Opened, options: QairtQuantizerOptions, cached: tuple[Resolved, EncodingSet]
) -> tuple[Resolved, EncodingSet]:
    """The encodings to use of those that the DLC keeps; those of its ends come before all others."""
    resolved, file = (Resolved(), EncodingSet()) if options.dlc.ignore_encodings else cached
    given = _without_replaced(opened, options, resolved)
    if options.precision.use_dynamic_16_bit_weights:
        given.pins.update(wide_products(opened.graph, given.pins))
    return given, file


def _without_replaced(opened: Opened, options: QairtQuantizerOptions, resolved: Resolved) -> Resolved:
    if options.dlc.ignore_encodings:
        return Resolved()
    pins = {**resolved.pins, **opened.pins}
    if options.precision.use_per_channel_quantization:
        # Guide 3888: this replaces encodings that the source model had for a weight.
        for value in _convolution_weights(opened.graph):
            if value in pins and pins[value].origin == Origin.SOURCE:
                del pins[value]
    return Resolved(pins, resolved.ignored)


def _convolution_weights(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        roles = roles_of(graph, node)
        if roles.is_convolution:
            yield from (node.inputs[place] for place in roles.weights)


def _quantized_by_aimet(
    graph: Graph, options: QairtQuantizerOptions, samples: Samples, given: Resolved, python: Path
) -> Quantized:
    """AIMET's encodings come after those that the DLC keeps; what it has none for is calibrated here."""
    request = aimet_request(options.precision, options.calibration)
    notes: list[str] = []
    if "cle" in options.calibration.algorithms:
        # Before AIMET looks at the weights, not between it and the quantizer.
        graph, done = equalize(graph)
        notes = [f"cle: {line}" for line in done.lines()]
    others = [name for name in options.calibration.algorithms if name != "cle"]
    notes += [f"{name}: left out, AIMET chooses the encodings of weights" for name in others]
    found = aimet_encodings(graph, samples, request, python)
    joined = Resolved({**found.pins, **given.pins}, given.ignored)
    settings = replace(_settings(options, EncodingSet()), algorithms=())
    result = quantize_graph(graph, settings, samples, CpuExecutor(), joined)
    result.report.notes[:0] = [*notes, f"AIMET gave {len(found.pins)} encodings, the others were calibrated"]
    return result


def _samples(opened: Opened, dlc: QairtDlc) -> Samples | None:
    if dlc.input_list is None:
        return None
    check_head(dlc.input_list)
    stored = open_samples(opened.stored, dlc.input_list, is_native=dlc.use_native_input_files)
    return _Decoded(stored, opened) if opened.pins else stored


class _Decoded:
    """Samples as real numbers: files hold what the DLC's fixed-point inputs take."""

    def __init__(self, samples: Samples, opened: Opened) -> None:
        self._samples, self._opened = samples, opened

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        for sample in self._samples:
            yield {name: self._real(name, array) for name, array in sample.items()}

    def __len__(self) -> int:
        return len(self._samples) if isinstance(self._samples, Sized) else 0

    def _real(self, name: str, array: Array) -> Array:
        stored = self._opened.stored.types[name]
        if stored.encoding is None:
            return array
        real = stored.encoding.decode(array)
        return real.astype(self._opened.graph.types[name].dtype.numpy)


# What is refused


def _dlc_file(path: str) -> Path:
    if Path(path).suffix in {".onnx", ".json", ".cpp", ".pb", ".tflite", ".pt"}:
        raise UsageError(
            f"--input_dlc is '{shown(path)}', expected a .dlc file",
            do="convert it with qairt-converter first",
        )
    return Path(path)


def _only_graph(graphs: Sequence[Graph], file: str) -> Graph:
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


def _check_kept(graph: Graph, dlc: QairtDlc) -> None:
    names = [name for usage in dlc.preserve_io_datatype for name in usage]
    ends = (*graph.inputs, *graph.outputs)
    problems = list_unknown_names("preserve_io_datatype", names, ends, "input or output")
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)


# What is written


def _keep_floats(graph: Graph, dlc: QairtDlc) -> None:
    usages = dlc.preserve_io_datatype
    kept = {name for usage in usages for name in usage}
    is_all = any(not usage for usage in usages)
    for name in list(graph.inputs):
        if is_all or name in kept:
            float_input(graph, name)
    for name in list(dict.fromkeys(graph.outputs)):
        if is_all or name in kept:
            float_output(graph, name)


def _notes(result: Quantized, dlc: QairtDlc, samples: Samples | None) -> Iterator[str]:
    yield from result.report.notes
    if samples is None and not any(record.placed.encoding for record in result.report.tensors):
        yield "the DLC keeps no encodings: everything stays in floating point"
    if dlc.input_list is not None and any(check_head(dlc.input_list)):
        yield "the input list names outputs: all activations are calibrated nevertheless"


def _written(
    options: QairtQuantizerOptions, result: Quantized, about: SaveOptions, notes: Iterator[str]
) -> QuantizedDlc:
    target = quantized_path(options.dlc)
    before = file_size(options.dlc.input_dlc)
    said = tuple(notes)
    files = save_dlc(result.graph, target, about)
    if options.dlc.dump_encoding_json:
        files = with_listing(files, target, result.graph)
    return QuantizedDlc(
        files,
        contract(result.graph),
        result.report.coverage(),
        applied_rules(result.report),
        said,
        result.report.converts,
        before,
        file_size(target),
    )
