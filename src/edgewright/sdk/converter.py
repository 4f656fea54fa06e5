"""The legacy converters: options in, QNN artifacts out; channels last and 32-bit integers by default."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from edgewright.analyse.architecture.check import check_architecture
from edgewright.config.converter import (
    ArchChecker,
    CustomIo,
    GraphChanges,
    OpPackage,
    Output,
    Source,
    Target,
)
from edgewright.config.io_config import IoConfig
from edgewright.config.onnx import OnnxOnly
from edgewright.config.preserve_io import PreserveIo
from edgewright.config.pytorch import PytorchOnly
from edgewright.config.quantizer import Quantizer
from edgewright.config.spelling import has_option, spell_option
from edgewright.config.tensorflow import TensorflowOnly
from edgewright.config.tflite import TfliteOnly
from edgewright.core.errors import EdgewrightError, UsageError, shown
from edgewright.core.events import announce_progress
from edgewright.core.files import keep_sources, with_own_name, write_whole
from edgewright.frontends._common.input_spec import InputSpec, list_unknown_names
from edgewright.frontends.conversion import (
    ConversionRequest,
    IoLayouts,
    Rewrites,
    SourceEncodings,
    convert_source,
)
from edgewright.frontends.open_source import FixedSource, fix_shapes
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.ir.contract import IoTensor, dtype_of_word, dtype_word
from edgewright.ir.graph import Graph
from edgewright.ir.text import to_text
from edgewright.ir.types import TensorType
from edgewright.lower.lower import QNN_PACKAGE, LowerOptions
from edgewright.lower.names import NameTable, sanitize_name
from edgewright.model.saving import SavedFiles, SaveOptions, load_graph, save_graph
from edgewright.quantize.overrides import KnownEncodings
from edgewright.quantize.report import QuantizationSummary
from edgewright.quantize.tensor_encodings import TensorEncoding
from edgewright.run.op_packages import load_op_packages, map_ops_to_packages, use_converter_packages
from edgewright.sdk.architecture_checker import write_table
from edgewright.sdk.conversion import Conversion, read_copyright, record_conversion
from edgewright.sdk.converter_quantizer import quantize_converted
from edgewright.sdk.custom_io import describe_io, find_full_names, list_pinned_encodings, retype_quantized
from edgewright.sdk.device_notes import describe_device_gaps
from edgewright.sdk.encoding_listing import add_listing, list_tensors
from edgewright.sdk.io_config import list_unknown_inputs, raise_all
from edgewright.sdk.io_templates import describe_custom_io, write_template
from edgewright.sdk.tensorflow_notes import list_unconsumed_nodes

OUTPUT_NAMES = "model_output_names.json"
CHANNELS_LAST = frozenset({"NFC", "NHWC", "NDHWC"})


@dataclass(frozen=True)
class ConverterOptions:
    """The options of a converter that change what is written."""

    source: Source
    output: Output = field(default_factory=Output)
    changes: GraphChanges = field(default_factory=GraphChanges)
    package: OpPackage = field(default_factory=OpPackage)
    preserve: PreserveIo = field(default_factory=PreserveIo)
    custom: CustomIo = field(default_factory=CustomIo)
    onnx: OnnxOnly = field(default_factory=OnnxOnly)
    quantizer: Quantizer = field(default_factory=Quantizer)
    tflite: TfliteOnly = field(default_factory=TfliteOnly)
    pytorch: PytorchOnly = field(default_factory=PytorchOnly)
    tensorflow: TensorflowOnly = field(default_factory=TensorflowOnly)
    architecture: ArchChecker = field(default_factory=ArchChecker)
    target: Target = field(default_factory=Target)
    # Inputs that become constants.
    input_values: tuple[tuple[str, tuple[float, ...]], ...] = ()
    # Whether states of recurrent layers become inputs and outputs.
    expose_states: bool = False
    # QNN's backends compute with 32-bit integers.
    is_narrowed: bool = True


def convert_files(options: ConverterOptions, command: str = "edgewright") -> Conversion:
    """Imports, rewrites and writes a model; on any problem nothing is written."""
    name = Path(options.source.input_network).name
    with use_packages(options.package), announce_progress(f"converting {name}", total=3) as step:
        prepared = prepare_conversion(options)
        step()
        conversion = write_conversion(prepared, options, command, step)
        step()
        return conversion


@dataclass(frozen=True)
class PreparedConversion:
    """A model that is imported and rewritten: it can be quantized and written more than once."""

    graph: Graph
    # Inputs and outputs as the source has them.
    io_types: Mapping[str, TensorType]
    # Those of the source, where they were taken out of the graph, and the names of all its tensors.
    encodings: tuple[TensorEncoding, ...]
    tensors: frozenset[str]
    io: IoConfig
    notes: tuple[str, ...]
    # With the names of inputs spelled out.
    source: Source


def prepare_conversion(options: ConverterOptions) -> PreparedConversion:
    """The first half of a conversion, which reads the source and knows no widths; see `use_packages`."""
    source = fix_shapes(Path(options.source.input_network), make_input_spec(options))
    imported = source.graph()
    _dump_imported(options, imported)
    options = _complete_names(options, imported)
    _check_names(options, imported)
    is_quantized = options.quantizer.is_asked_for
    io = describe_io(options.source, options.custom.custom_io, imported, is_quantized=is_quantized)
    unread = tuple(_list_unread(options, source))
    converted = convert_source(_make_request(options, io), source)
    return PreparedConversion(
        converted.graph,
        converted.io_types,
        converted.encodings,
        frozenset(converted.model.tensors),
        io,
        (*converted.notes, *unread),
        options.source,
    )


def write_conversion(
    prepared: PreparedConversion,
    options: ConverterOptions,
    command: str = "edgewright",
    step: Callable[[], None] | None = None,
) -> Conversion:
    """The second half: quantizes as the options ask for it, and writes; ``step`` is called in between."""
    options = replace(options, source=prepared.source)
    graph, quantization = _quantize(prepared, options)
    if step is not None:
        step()
    files = _save(graph, options, command, prepared.tensors)
    files, findings = _check_architecture(options, files)
    record = record_conversion(graph, prepared.io_types, files, prepared.notes)
    notes = (
        *record.notes,
        *_list_idle(options),
        *_list_changes(record.contract),
        *findings,
        *describe_device_gaps(graph, options.target.target_device),
    )
    return replace(record, notes=notes, quantization=quantization)


@contextmanager
def use_packages(package: OpPackage) -> Iterator[None]:
    """Makes the ops of the named packages known while a model is converted and written."""
    load_op_packages(package.op_package_lib or ())
    with use_converter_packages(package.op_package_config, package.converter_op_package_lib or ()):
        yield


def write_custom_io_template(options: ConverterOptions) -> Path:
    """Writes the file that --dump_custom_io_config_template names."""
    assert options.onnx.dump_custom_io_config_template is not None
    target = Path(options.onnx.dump_custom_io_config_template)
    source = Path(options.source.input_network)
    return write_template(source, target, make_input_spec(options), describe_custom_io)


def make_input_spec(options: ConverterOptions) -> InputSpec:
    """What the options say about the source's inputs and outputs."""
    groups = (options.source, options.changes, options.onnx, options.tensorflow, options.tflite)
    return replace(
        InputSpec.from_options(*groups),
        input_values=dict(options.input_values),
        expose_states=options.expose_states,
        dtype_hints={name: dtype_of_word(word) for name, word in options.source.input_dtypes},
    )


def _make_request(options: ConverterOptions, io: IoConfig) -> ConversionRequest:
    left_out: tuple[str, ...] = ()
    if options.changes.disable_batchnorm_folding:
        # Many frameworks write batch norms as products and sums.
        left_out = ("fold_batchnorm", "fold_channels")
    if options.target.optimization_level == "medium":
        left_out = ("fold_batchnorm", "fold_biases", "fold_channels")
    left_out += ("drop_dead_code",) if options.changes.keep_disconnected_nodes else ()
    quantizer, output = options.quantizer, options.output
    # Rewrites could take away what an encodings file or a package names (guide 10562).
    is_named = bool(options.package.op_package_config)
    kept = list_tensors(quantizer.quantization_overrides)
    is_low = options.onnx.no_simplification or options.target.optimization_level == "low"
    return ConversionRequest(
        options.source.input_network,
        rewrites=Rewrites(not (is_low or is_named), left_out, kept=kept),
        layouts=IoLayouts.SPATIAL_FIRST,
        io=io,
        kept_layouts=options.preserve.layouts(),
        kept_dtypes=options.preserve.dtypes(),
        keeps_wide_inputs=options.onnx.keep_int64_inputs,
        input_dtypes={name: dtype_of_word(word) for name, word in options.source.input_dtypes},
        narrows_integers=options.is_narrowed,
        # A quantizer narrows what it leaves in floating point.
        float_bits=32 if quantizer.is_asked_for else output.float_bw,
        float_bias_bits=None if quantizer.is_asked_for else output.float_bias_bw,
        encodings=SourceEncodings.TAKE if quantizer.is_asked_for else SourceEncodings.LEAVE,
        ignores_encodings=quantizer.ignore_encodings,
        keeps_quant_nodes=quantizer.keep_quant_nodes,
    )


def _quantize(
    prepared: PreparedConversion, options: ConverterOptions
) -> tuple[Graph, QuantizationSummary | None]:
    graph, quantizer, io = prepared.graph, options.quantizer, prepared.io
    if not quantizer.is_asked_for:
        return graph, None
    known = KnownEncodings(_add_pins(prepared.encodings, options, io), prepared.tensors)
    float_io = _list_float_io(prepared, options)
    # Guide 11119: whoever keeps the types of the source has its data as well.
    is_kept = any(name in options.preserve.dtypes() for name in graph.inputs)
    is_native = quantizer.use_native_input_files or is_kept
    graph, quantization = quantize_converted(
        graph, quantizer, options.output, known, float_io, is_native=is_native
    )
    retype_quantized(graph, io)
    return graph, quantization


def _add_pins(
    encodings: Sequence[TensorEncoding], options: ConverterOptions, io: IoConfig
) -> list[TensorEncoding]:
    """Encodings known beforehand: those of --custom_io and of images come before the source's own."""
    images = [name for name, kind in options.source.input_types if kind == "image"]
    pins = {name: TensorEncoding(name, 8, scales=(1.0,), offsets=(0,)) for name in images}
    pins |= {pin.name: pin for pin in list_pinned_encodings(io)}
    return [*(entry for entry in encodings if entry.name not in pins), *pins.values()]


def _list_float_io(prepared: PreparedConversion, options: ConverterOptions) -> list[str]:
    """Inputs and outputs that a quantizer must leave as real numbers."""
    opaque = {name for name, kind in options.source.input_types if kind == "opaque"}
    floats = [name for name, tensor_type in prepared.io_types.items() if tensor_type.dtype.is_float]
    kept = [name for name in floats if name in opaque or name in options.preserve.dtypes()]
    return [name for name in kept if not prepared.io.tensor(name).dtype]


# What is checked


def _complete_names(options: ConverterOptions, graph: Graph) -> ConverterOptions:
    """The options with TensorFlow's :0 after names that lack it, as --input_dim has them too."""
    full = find_full_names(graph.inputs)
    changed: dict[str, Any] = {
        name: tuple((full.get(tensor, tensor), *rest) for tensor, *rest in getattr(options.source, name))
        for name in ("input_types", "input_dtypes", "input_layouts", "input_encodings")
    }
    return replace(options, source=replace(options.source, **changed))


def _check_names(options: ConverterOptions, graph: Graph) -> None:
    """Every name that an option gives must be in the model, and types that are kept must be the model's."""
    source, names = options.source, (*graph.inputs, *graph.outputs)
    problems = list_unknown_names("preserve_io", options.preserve.named(), names, "input or output")
    keys = ("input_types", "input_dtypes", "input_layouts", "input_encodings")
    problems += list_unknown_inputs({key: getattr(source, key) for key in keys}, graph)
    for name, word in source.input_dtypes:
        if name in options.preserve.dtypes() and name in graph.inputs:
            problems += _list_clashes(name, word, graph)
    raise_all(problems)


def _list_clashes(name: str, word: str, graph: Graph) -> Iterator[EdgewrightError]:
    if dtype_of_word(word) != graph.types[name].dtype:
        yield UsageError(
            f"{spell_option('input_dtypes')} gives '{shown(name)}' the type {word}, "
            f"{spell_option('preserve_io')} keeps the source's {dtype_word(graph.types[name].dtype)}",
            do="leave one of the two options out for this input",
        )


# What is written


def _dump_imported(options: ConverterOptions, graph: Graph) -> None:
    """What --dump_relay writes: our own text of the imported graph."""
    file = options.tflite.dump_relay or options.pytorch.dump_relay
    if file is not None:
        keep_sources([Path(options.source.input_network)], [Path(file)])
        write_whole(Path(file), [to_text(graph).encode()])


def _save(graph: Graph, options: ConverterOptions, command: str, tensors: Collection[str]) -> SavedFiles:
    target, output = _choose_output(options), options.output
    about = SaveOptions(
        command=command,
        copyright_text=read_copyright(output.copyright_file),
        prefix=sanitize_name(target.stem) if output.overwrite_model_prefix else "QnnModel",
        lowering=LowerOptions(
            package=options.package.package_name or QNN_PACKAGE,
            packages=map_ops_to_packages(options.package.op_package_config),
            is_counted=output.exclude_named_tensors,
        ),
    )
    files = save_graph(graph, target, about)
    if options.quantizer.dump_encoding_json and options.quantizer.is_asked_for:
        files = add_listing(files, files.cpp, graph, tensors)
    return _add_output_names(files, graph) if options.pytorch.dump_out_names else files


def _add_output_names(files: SavedFiles, graph: Graph) -> SavedFiles:
    """Writes the names beside the model: programs name few of their tensors, so the tool does."""
    qnn_name = NameTable((*graph.inputs, *graph.outputs))
    target = files.cpp.with_name(OUTPUT_NAMES)
    names = {qnn_name(name): name for name in graph.outputs}
    write_whole(target, [json.dumps(names, indent=2).encode()])
    return replace(files, paths=(*files.paths, target))


def _choose_output(options: ConverterOptions) -> Path:
    """The C++ file to write: named after the source where nothing, or only a folder, is said."""
    source = with_own_name(options.source.input_network)
    if options.output.output_path is None:
        return source.with_name(f"{source.stem}.cpp")
    target = Path(options.output.output_path)
    return target / f"{source.stem}.cpp" if target.is_dir() else target


# What is said


def _list_unread(options: ConverterOptions, source: FixedSource) -> list[str]:
    """What --show_unconsumed_nodes lists."""
    if options.tensorflow.show_unconsumed_nodes and isinstance(source.model, TensorflowSource):
        return list_unconsumed_nodes(source.model)
    if not options.tflite.show_unconsumed_nodes:
        return []
    unread = source.report.unused_outputs
    return [f"nothing reads '{shown(name)}'" for name in unread] or ["every tensor is read"]


def _list_idle(options: ConverterOptions) -> list[str]:
    """What was asked for and changes nothing."""
    images = [f"'{shown(name)}'" for name, kind in options.source.input_types if kind == "image"]
    if not images or options.quantizer.is_asked_for:
        return []
    return [f"--input_type image of {', '.join(images)} is about quantized models: this one stays float"]


def _check_architecture(options: ConverterOptions, files: SavedFiles) -> tuple[SavedFiles, list[str]]:
    """What --arch_checker does: the tool of its own, on what was written (guide 6054)."""
    if not options.architecture.arch_checker:
        return files, []
    issues = check_architecture(load_graph(files.net_json))
    table = write_table(issues, files.cpp.with_name(f"{files.cpp.stem}_architecture_checker.csv"))
    rules = ", ".join(dict.fromkeys(issue.rule for issue in issues))
    text = f"architecture check: {len(issues)} issues" + (f" ({rules})" if rules else "")
    tool = f"qnn-architecture-checker -i {shown(files.net_json)} explains them"
    return SavedFiles((*files.paths, table)), [f"{text} in {table.name}; {tool}"]


def _list_changes(tensors: Sequence[IoTensor]) -> list[str]:
    """What differs from the source, one line for each kind of change."""
    types = f"; {spell_option('preserve_io', 'datatype')} keeps the type of the source"
    layouts = f"; {spell_option('preserve_io', 'layout')} keeps the source's"
    if not has_option("preserve_io"):
        types = layouts = ""
    names: dict[tuple[str, str], list[str]] = {}
    for tensor in tensors:
        if tensor.dtype != tensor.source_dtype:
            change = f"{tensor.source_dtype} became {tensor.dtype}"
            names.setdefault((change, types), []).append(f"'{shown(tensor.name, 60)}'")
    for tensor in tensors:
        if tensor.layout in CHANNELS_LAST:
            change = f"the layout became {tensor.layout}"
            names.setdefault((change, layouts), []).append(f"'{shown(tensor.name, 60)}'")
    return [f"{change} for {', '.join(listed)}{advice}" for (change, advice), listed in names.items()]
