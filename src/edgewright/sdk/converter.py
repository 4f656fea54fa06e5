"""From a source model to QNN artifacts, as the legacy converters do it: spatial-first, 32-bit integers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from edgewright.config.converter import ArchChecker, CustomIo, GraphChanges, OpPackage, Output, Source
from edgewright.config.group import OptionGroup
from edgewright.config.io_config import IoConfig
from edgewright.config.onnx import OnnxOnly
from edgewright.config.preserve_io import PreserveIo
from edgewright.config.pytorch import PytorchOnly
from edgewright.config.quantizer import Quantizer
from edgewright.config.spelling import spell_option
from edgewright.config.tensorflow import TensorflowOnly
from edgewright.config.tflite import TfliteOnly
from edgewright.core.errors import EdgewrightError, Problems, UsageError, shown
from edgewright.core.events import announce_progress
from edgewright.core.files import keep_sources, write_whole
from edgewright.core.numbers import DType
from edgewright.frontends._common.overrides import Overrides
from edgewright.frontends._common.report import report_on
from edgewright.frontends._common.source_model import SourceModel
from edgewright.frontends.open_source import fixed_source
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.ir.contract import IoTensor, contract, dtype_of_word, dtype_word
from edgewright.ir.graph import Graph
from edgewright.ir.text import to_text
from edgewright.ir.types import TensorType
from edgewright.lower.lower import QNN_PACKAGE, LowerOptions
from edgewright.lower.names import sanitize_name
from edgewright.model.convert import Rewrites
from edgewright.model.saving import SavedFiles, SaveOptions, save_graph
from edgewright.passes.layout.spatial_io import drop_io_transposes
from edgewright.passes.pipeline import LEGACY, QUANTIZED, TARGET, run_passes
from edgewright.passes.target.colour_io import Colours, recolour_input
from edgewright.passes.target.narrow_float import narrow_float
from edgewright.passes.target.retype_io import retype_input, retype_output
from edgewright.quantize.overrides import KnownEncodings
from edgewright.quantize.report import QuantizationSummary
from edgewright.quantize.source_encodings import take_source_encodings
from edgewright.quantize.tensor_encodings import TensorEncoding
from edgewright.run.op_packages import load_op_packages, map_ops_to_packages, use_converter_packages
from edgewright.sdk.converter_quantizer import quantize_converted
from edgewright.sdk.custom_io import custom_io_of, pinned_ends, retype_quantized
from edgewright.sdk.encoding_listing import add_listing
from edgewright.sdk.io_config import label_ends, retype_ends, turn_ends
from edgewright.sdk.pytorch_outputs import with_output_names
from edgewright.sdk.source_io import (
    CHANNEL_FIRST,
    copyright_text,
    full_names,
    is_channel_first,
    state_notes,
    unknown_names,
)
from edgewright.sdk.tensorflow_notes import unconsumed_notes

__all__ = ["Conversion", "ConverterOptions", "command_text", "convert_files", "output_path", "overrides_of"]

WIDE = frozenset({DType.INT_64, DType.UINT_64})
SPATIAL = frozenset({"NFC", "NHWC", "NDHWC"})
MOVES_AS_VIEWS = ("transpose_to_reshape",)
TIDY = ("merge_moves", "drop_identity", "absorb_transposes", "drop_dead_code")
# Options that name files: the written text must not depend on where they lie.
_PATHS = frozenset(
    {"input_network", "model", "output_path", "copyright_file", "custom_io", "input_list", "io_config"}
    | {"dump_custom_io_config_template", "dump_relay"}
    | {"dump_io_config_template", "quantization_overrides", "input_dlc", "output_dlc", "data"}
)


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
    # Inputs that become constants.
    input_values: tuple[tuple[str, tuple[float, ...]], ...] = ()
    # QNN's backends compute with 32-bit integers.
    is_narrowed: bool = True


@dataclass(frozen=True)
class Conversion:
    """What a conversion wrote, and what its user must know."""

    files: SavedFiles
    contract: tuple[IoTensor, ...]
    notes: tuple[str, ...]
    ops: int
    parameters: int
    macs: int
    quantization: QuantizationSummary | None = None


def convert_files(options: ConverterOptions, command: str = "edgewright") -> Conversion:
    """Imports, rewrites and writes a model; on any problem nothing is written."""
    load_op_packages(options.package.op_package_lib or ())
    with use_converter_packages(
        options.package.op_package_config, options.package.converter_op_package_lib or ()
    ):
        return _converted(options, command)


def _converted(options: ConverterOptions, command: str) -> Conversion:
    path = Path(options.source.input_network)
    with announce_progress(f"converting {path.name}", total=3) as step:
        source = fixed_source(path, overrides_of(options))
        graph = source.graph()
        opened = source.opened
        notes = (*source.notes, *opened.notes, *state_notes(opened), *_loose(options, opened))
        _dump(options, graph)
        step()
        before = {name: graph.types[name] for name in (*graph.inputs, *graph.outputs)}
        options = _named_fully(options, graph)
        _check_named(options, graph)
        is_quantized = options.quantizer.is_asked_for
        ends = custom_io_of(options.custom.custom_io, options.source, graph, is_quantized=is_quantized)
        brought = _take_encodings(graph, options.quantizer)
        _rewrite(graph, options, before, source.opened, ends)
        known = KnownEncodings(_with_pins(brought, options, ends), source.opened.tensors)
        graph, quantization = _quantized(graph, options, known, _float_ends(options, before, ends))
        (retype_quantized if is_quantized else _retype_float)(graph, ends)
        step()
        files = save_graph(graph, output_path(options), _save_options(options, command))
        if options.quantizer.dump_encoding_json and quantization is not None:
            files = add_listing(files, files.cpp, graph)
        if options.pytorch.dump_out_names:
            files = with_output_names(files, graph)
        step()
    tensors = contract(graph, before)
    macs = sum(n.op.macs(graph.input_types(n), graph.output_types(n)) for n in graph.nodes)
    return Conversion(
        files,
        tensors,
        (*notes, *_idle(options), *_changes(tensors), *_checker(options, files)),
        len(graph),
        sum(array.size for array in graph.constants.values()),
        macs,
        quantization,
    )


def _take_encodings(graph: Graph, quantizer: Quantizer) -> list[TensorEncoding]:
    """The encodings that an imported graph brings, where they are used; the graph is changed in place."""
    if not quantizer.is_asked_for:
        return []
    return take_source_encodings(
        graph, keep_pairs=quantizer.keep_quant_nodes, is_ignored=quantizer.ignore_encodings
    )


def _with_pins(
    brought: Sequence[TensorEncoding], options: ConverterOptions, ends: IoConfig
) -> list[TensorEncoding]:
    """Encodings known beforehand: those of --custom_io and of images come before the source's own."""
    images = [name for name, kind in options.source.input_types if kind == "image"]
    pins = {name: TensorEncoding(name, 8, scales=(1.0,), offsets=(0,)) for name in images}
    pins |= {pin.name: pin for pin in pinned_ends(ends)}
    return [*(entry for entry in brought if entry.name not in pins), *pins.values()]


def _retype_float(graph: Graph, ends: IoConfig) -> None:
    retype_ends(graph, ends, dict(graph.types))


def _idle(options: ConverterOptions) -> list[str]:
    """What was asked for and changes nothing."""
    images = [f"'{shown(name)}'" for name, kind in options.source.input_types if kind == "image"]
    if not images or options.quantizer.is_asked_for:
        return []
    return [f"--input_type image of {', '.join(images)} is about quantized models: this one stays float"]


def _checker(options: ConverterOptions, files: SavedFiles) -> list[str]:
    """Guide 6054: the option is on its way out, a tool of its own checks what was written."""
    if not options.architecture.arch_checker:
        return []
    tool = "qnn-architecture-checker, which takes its place and is not built yet"
    return [f"--arch_checker checks nothing itself: {tool}, reads {shown(files.net_json)}"]


def _quantized(
    graph: Graph, options: ConverterOptions, known: KnownEncodings, float_io: Sequence[str]
) -> tuple[Graph, QuantizationSummary | None]:
    if not options.quantizer.is_asked_for:
        return graph, None
    # Guide 11119: whoever keeps the types of the source has its data as well.
    is_kept = any(options.preserve.datatype_of(name) for name in graph.inputs)
    is_native = options.quantizer.use_native_input_files or is_kept
    return quantize_converted(graph, options.quantizer, options.output, known, float_io, is_native=is_native)


def _loose(options: ConverterOptions, source: SourceModel) -> list[str]:
    """What --show_unconsumed_nodes lists."""
    if options.tensorflow.show_unconsumed_nodes and isinstance(source, TensorflowSource):
        return unconsumed_notes(source)
    if not options.tflite.show_unconsumed_nodes:
        return []
    found = report_on(source).unused_outputs
    return [f"nothing reads '{shown(name)}'" for name in found] or ["every tensor is read"]


def _dump(options: ConverterOptions, graph: Graph) -> None:
    """What --dump_relay writes: our own text of the imported graph."""
    file = options.tflite.dump_relay or options.pytorch.dump_relay
    if file is not None:
        keep_sources([Path(options.source.input_network)], [Path(file)])
        write_whole(Path(file), [to_text(graph).encode()])


def overrides_of(options: ConverterOptions) -> Overrides:
    """What the options say about the source's inputs and outputs."""
    return Overrides(
        input_shapes=dict(options.source.input_dims),
        batch=options.onnx.batch,
        symbols=dict(options.onnx.define_symbols),
        input_values=dict(options.input_values),
        outputs=options.source.out_names,
        keep_disconnected=options.changes.keep_disconnected_nodes,
        signature=options.tflite.signature_name or options.tensorflow.saved_model_signature_key,
        tag=options.tensorflow.saved_model_tag,
        dtype_hints={name: dtype_of_word(word) for name, word in options.source.input_dtypes},
    )


def output_path(options: ConverterOptions) -> Path:
    """The C++ file to write: named after the source where nothing, or only a folder, is said."""
    source = Path(options.source.input_network)
    if options.output.output_path is None:
        return source.with_name(f"{source.stem}.cpp")
    wanted = Path(options.output.output_path)
    return wanted / f"{source.stem}.cpp" if wanted.is_dir() else wanted


def command_text(tool: str, groups: Iterable[OptionGroup]) -> str:
    """The tool and all its options as one line that is the same on every machine."""
    values = {name: getattr(group, name) for group in groups for name in group.options()}
    return "; ".join([tool, *(f"{name}={_value_text(name, values[name])}" for name in sorted(values))])


def _value_text(name: str, value: object) -> str:
    return Path(value).name if name in _PATHS and isinstance(value, str) else str(value)


def _rewrite(
    graph: Graph,
    options: ConverterOptions,
    before: dict[str, TensorType],
    source: SourceModel,
    ends: IoConfig,
) -> None:
    turn_ends(graph, ends)
    left_out: tuple[str, ...] = ("fold_batchnorm",) if options.changes.disable_batchnorm_folding else ()
    left_out += ("drop_dead_code",) if options.changes.keep_disconnected_nodes else ()
    # A transpose at the graph's ends must still look like one when layouts are assigned.
    layouts_first = (*left_out, *MOVES_AS_VIEWS)
    # Rewrites could take away what an encodings file or a package names (guide 10562).
    is_named = options.quantizer.quantization_overrides or options.package.op_package_config
    is_simplified = not (options.onnx.no_simplification or is_named)
    Rewrites(is_simplified=is_simplified, left_out=layouts_first).apply(graph)
    _assign_layouts(graph, options, ends, is_channel_last=source.is_channel_last)
    layouts = {**dict(options.source.input_layouts), **ends.layouts()}
    for name, *colours in options.source.input_encodings:
        recolour_input(graph, name, Colours(*colours), graph.types[name].layout or layouts.get(name))
    # A quantizer takes encodings from the source and gives types itself.
    last = QUANTIZED if source.keeps_integers and not options.quantizer.is_asked_for else ()
    run_passes(graph, [name for name in (*MOVES_AS_VIEWS, *TIDY, *last) if name not in left_out])
    if options.is_narrowed:
        run_passes(graph, LEGACY)
    if not options.quantizer.is_asked_for:
        narrow_float(graph, options.output.float_bw, options.output.float_bias_bw)
    # Here and not only where files are written: the contract must show what they hold.
    run_passes(graph, TARGET)
    for name, dtype in _wanted_dtypes(graph, options, before).items():
        if ends.input(name).dtype or ends.output(name).dtype:
            continue
        # A quantizer gives real numbers their types.
        if options.quantizer.is_asked_for and graph.types[name].dtype.is_float and dtype.is_float:
            continue
        (retype_input if name in graph.inputs else retype_output)(graph, name, dtype)


def _assign_layouts(
    graph: Graph, options: ConverterOptions, ends: IoConfig, *, is_channel_last: bool
) -> None:
    """Spatial first at both ends, except where the source is so already or the layout is said."""
    custom = ends.layouts()
    label_ends(graph, ends, custom)
    if is_channel_last:
        return
    given = dict(options.source.input_layouts)
    kept = {n for n in (*graph.inputs, *graph.outputs) if options.preserve.layout_of(n) and n not in custom}
    turned = set(CHANNEL_FIRST.values())
    told = [name for name, layout in given.items() if layout not in turned]
    drop_io_transposes(graph, {*kept, *custom, *told})
    for name in kept:
        found = graph.types[name]
        if found.rank in CHANNEL_FIRST and is_channel_first(graph, name):
            graph.types[name] = replace(found, layout=CHANNEL_FIRST[found.rank])


def _wanted_dtypes(
    graph: Graph, options: ConverterOptions, before: dict[str, TensorType]
) -> dict[str, DType]:
    wanted = {name: dtype_of_word(word) for name, word in options.source.input_dtypes}
    for name in (*graph.inputs, *graph.outputs):
        is_wide_input = name in graph.inputs and before[name].dtype in WIDE
        if options.preserve.datatype_of(name) or (options.onnx.keep_int64_inputs and is_wide_input):
            wanted.setdefault(name, before[name].dtype)
    return wanted


def _float_ends(options: ConverterOptions, before: dict[str, TensorType], ends: IoConfig) -> list[str]:
    """Inputs and outputs that a quantizer must leave as real numbers."""
    opaque = {name for name, kind in options.source.input_types if kind == "opaque"}
    floats = [name for name, found in before.items() if found.dtype.is_float]
    told = {name for name in floats if ends.input(name).dtype or ends.output(name).dtype}
    return [n for n in floats if n not in told and (n in opaque or options.preserve.datatype_of(n))]


def _named_fully(options: ConverterOptions, graph: Graph) -> ConverterOptions:
    """The options with TensorFlow's :0 after names that lack it, as --input_dim has them too."""
    fields = ("input_types", "input_dtypes", "input_layouts", "input_encodings")
    full = full_names(graph.inputs)
    changed: dict[str, Any] = {
        field: tuple((full.get(name, name), *rest) for name, *rest in getattr(options.source, field))
        for field in fields
    }
    return replace(options, source=replace(options.source, **changed))


def _check_named(options: ConverterOptions, graph: Graph) -> None:
    """Every name that an option gives must be in the model, with a rank and a type that fit."""
    ends = (*graph.inputs, *graph.outputs)
    problems = [*unknown_names("preserve_io", options.preserve.named(), ends, "input or output")]
    pairs: dict[str, Sequence[tuple[str, ...]]] = {
        "input_types": options.source.input_types,
        "input_dtypes": options.source.input_dtypes,
        "input_layouts": options.source.input_layouts,
        "input_encodings": options.source.input_encodings,
    }
    for option, given in pairs.items():
        problems += unknown_names(option, [name for name, *_ in given], graph.inputs, "input")
    problems += _unfit(options.source.input_layouts, graph, _layout_problem)
    problems += _unfit(
        [(n, w) for n, w in options.source.input_dtypes if options.preserve.datatype_of(n)],
        graph,
        _dtype_problem,
    )
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)


def _unfit(
    pairs: Iterable[tuple[str, str]],
    graph: Graph,
    problem: Callable[[str, str, TensorType], UsageError | None],
) -> list[EdgewrightError]:
    known = [(name, word) for name, word in pairs if name in graph.inputs]
    found = [problem(name, word, graph.types[name]) for name, word in known]
    return [item for item in found if item is not None]


def _layout_problem(name: str, layout: str, tensor_type: TensorType) -> UsageError | None:
    if layout == "NONTRIVIAL" or len(layout) == tensor_type.rank:
        return None
    return UsageError(
        f"{spell_option('input_layouts')} gives '{shown(name)}' the layout {layout} of {len(layout)} axes, "
        f"the input has {tensor_type.rank}",
        do="use a layout with as many letters as the input has axes, or NONTRIVIAL",
    )


def _dtype_problem(name: str, word: str, tensor_type: TensorType) -> UsageError | None:
    if dtype_of_word(word) == tensor_type.dtype:
        return None
    return UsageError(
        f"{spell_option('input_dtypes')} gives '{shown(name)}' the type {word}, "
        f"{spell_option('preserve_io')} keeps the source's {dtype_word(tensor_type.dtype)}",
        do="leave one of the two options out for this input",
    )


def _save_options(options: ConverterOptions, command: str) -> SaveOptions:
    stem = output_path(options).stem
    return SaveOptions(
        command=command,
        copyright_text=copyright_text(options.output.copyright_file),
        prefix=sanitize_name(stem) if options.output.overwrite_model_prefix else "QnnModel",
        lowering=LowerOptions(
            package=options.package.package_name or QNN_PACKAGE,
            packages=map_ops_to_packages(options.package.op_package_config),
            is_counted=options.output.exclude_named_tensors,
        ),
    )


def _changes(tensors: Sequence[IoTensor]) -> tuple[str, ...]:
    """What differs from the source, one line for each kind of change."""
    retyped: dict[str, list[str]] = {}
    turned: dict[str, list[str]] = {}
    for tensor in tensors:
        if tensor.dtype != tensor.source_dtype:
            change = f"{tensor.source_dtype} became {tensor.dtype}"
            retyped.setdefault(change, []).append(f"'{shown(tensor.name, 60)}'")
        if tensor.layout in SPATIAL:
            turned.setdefault(f"the layout became {tensor.layout}", []).append(f"'{shown(tensor.name, 60)}'")
    types = f"{spell_option('preserve_io', 'datatype')} keeps the type of the source"
    layouts = f"{spell_option('preserve_io', 'layout')} keeps the source's"
    return (
        *(f"{change} for {', '.join(names)}; {types}" for change, names in retyped.items()),
        *(f"{change} for {', '.join(names)}; {layouts}" for change, names in turned.items()),
    )
