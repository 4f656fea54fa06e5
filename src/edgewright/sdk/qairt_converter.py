"""From a source model to a DLC, as qairt-converter does it: layouts and data types stay the source's."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from edgewright.config.io_config import IoConfig, read_io_config
from edgewright.config.qairt_converter import (
    QairtIo,
    QairtOnnx,
    QairtOpPackage,
    QairtOutput,
    QairtOverrides,
    QairtSource,
    QairtTensorflow,
    QairtTflite,
)
from edgewright.config.qairt_quantizer import QairtDlc, QairtPrecision
from edgewright.core.errors import UsageError, shown
from edgewright.core.events import announce_progress
from edgewright.core.files import keep_sources, write_whole
from edgewright.frontends._common.overrides import Overrides
from edgewright.frontends.open_source import FixedSource, fixed_source, open_source, source_graph
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.ir.contract import contract
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.lower.lower import QNN_PACKAGE, LowerOptions
from edgewright.model.convert import Rewrites
from edgewright.model.inspect import DryRunReport, dry_run
from edgewright.model.saving import SavedFiles, SaveOptions, save_dlc
from edgewright.passes.pipeline import LEGACY, QUANTIZED, TARGET, run_passes
from edgewright.passes.target.narrow_float import narrow_float
from edgewright.quantize.report import QuantizationSummary
from edgewright.quantize.source_encodings import take_source_encodings
from edgewright.run.op_packages import map_ops_to_packages, use_converter_packages
from edgewright.sdk.converter import MOVES_AS_VIEWS, TIDY, Conversion
from edgewright.sdk.encoding_listing import add_listing
from edgewright.sdk.io_config import (
    check_ends,
    check_names,
    check_options,
    label_ends,
    merged,
    recolour_ends,
    retype_ends,
    source_shapes,
    turn_ends,
)
from edgewright.sdk.io_config_template import template_text
from edgewright.sdk.qairt_encodings import KeptEncodings, keep_encodings
from edgewright.sdk.qairt_quantizer import QairtQuantizerOptions, quantize_dlc
from edgewright.sdk.source_io import copyright_text, state_notes
from edgewright.sdk.tensorflow_notes import unconsumed_notes, validate_rewrites, validation_notes

__all__ = [
    "QairtConverterOptions",
    "convert_to_dlc",
    "dlc_path",
    "dry_run_source",
    "write_io_config_template",
]

# The guide: "only first 64 bytes will be stored".
LONGEST_VERSION = 64
STORED = (".cpp", ".bin", ".json", ".so")


@dataclass(frozen=True)
class QairtConverterOptions:
    """The options of qairt-converter that change what is written."""

    source: QairtSource
    io: QairtIo = field(default_factory=QairtIo)
    output: QairtOutput = field(default_factory=QairtOutput)
    overrides: QairtOverrides = field(default_factory=QairtOverrides)
    package: QairtOpPackage = field(default_factory=QairtOpPackage)
    onnx: QairtOnnx = field(default_factory=QairtOnnx)
    tflite: QairtTflite = field(default_factory=QairtTflite)
    tensorflow: QairtTensorflow = field(default_factory=QairtTensorflow)


def convert_to_dlc(options: QairtConverterOptions, command: str = "edgewright") -> Conversion:
    """Imports, rewrites and writes a model; on any problem nothing is written."""
    with use_converter_packages(
        options.package.op_package_config, options.package.converter_op_package_lib or ()
    ):
        return _as_asked(options, command)


def _as_asked(options: QairtConverterOptions, command: str) -> Conversion:
    if options.overrides.float_fallback:
        return _converted_and_quantized(options, command)
    conversion, kept = _converted(options, command)
    files = conversion.files
    if options.overrides.dump_encoding_json:
        files = add_listing(files, files.dlc, kept.encodings())
    return replace(conversion, files=files, notes=(*conversion.notes, *kept.notes))


def _converted(options: QairtConverterOptions, command: str) -> tuple[Conversion, KeptEncodings]:
    path, target = _source_path(options), dlc_path(options)
    about = _save_options(options, command)
    with announce_progress(f"converting {path.name}", total=3) as step:
        config = _config(options)
        source = fixed_source(path, _wishes(options, config))
        graph = source.graph()
        step()
        before = {name: graph.types[name] for name in (*graph.inputs, *graph.outputs)}
        check_options(options.source, graph)
        check_ends(config, graph)
        kept = _rewrite(graph, options, config, source, before)
        step()
        files = save_dlc(graph, target, kept.add_to(about))
        step()
    notes = (*source.notes, *source.opened.notes, *state_notes(source.opened))
    return _conversion(graph, before, files, (*notes, *_tensorflow_notes(options, config, source))), kept


def _converted_and_quantized(options: QairtConverterOptions, command: str) -> Conversion:
    """What qairt-quantizer --float_fallback makes of the DLC that is not kept."""
    target, output = dlc_path(options), options.output
    precision = QairtPrecision(
        float_bitwidth=output.float_bitwidth, float_bias_bitwidth=output.float_bias_bitwidth
    )
    with TemporaryDirectory(prefix="edgewright-") as folder:
        plain = str(Path(folder, target.name))
        # The quantizer narrows what stays float: encodings are for the numbers of the source.
        wide = replace(output, output_path=plain, float_bitwidth=32, float_bias_bitwidth=None)
        conversion, _ = _converted(replace(options, output=wide), command)
        dlc = QairtDlc(
            input_dlc=plain,
            output_dlc=str(target),
            float_fallback=True,
            dump_encoding_json=options.overrides.dump_encoding_json,
        )
        done = quantize_dlc(QairtQuantizerOptions(dlc, precision), command)
    sources = {tensor.name: tensor for tensor in conversion.contract}
    ends = tuple(
        replace(end, source_dtype=sources[end.name].source_dtype, source_shape=sources[end.name].source_shape)
        for end in done.contract
    )
    quantization = QuantizationSummary(done.coverage, done.rules, done.converts, done.notes)
    return replace(conversion, files=done.files, contract=ends, quantization=quantization)


def write_io_config_template(options: QairtConverterOptions) -> Path:
    """Writes the YAML file that --io_config reads, with the model's inputs and outputs."""
    assert options.io.dump_io_config_template is not None
    target = Path(options.io.dump_io_config_template)
    keep_sources([Path(options.source.input_network)], [target])
    graph = source_graph(_source_path(options), _wishes(options, _config(options)))
    Rewrites(left_out=MOVES_AS_VIEWS).apply(graph)
    write_whole(target, [template_text(graph).encode()])
    return target


def dry_run_source(options: QairtConverterOptions) -> DryRunReport:
    """What a conversion would meet."""
    return dry_run(_source_path(options), _wishes(options, _config(options)))


def dlc_path(options: QairtConverterOptions) -> Path:
    """The DLC to write: named after the source where nothing, or only a folder, is said."""
    source = Path(options.source.input_network)
    if options.output.output_path is None:
        return source.with_name(f"{source.stem}.dlc")
    wanted = Path(options.output.output_path)
    if wanted.is_dir():
        return wanted / f"{source.stem}.dlc"
    if wanted.suffix in STORED:
        raise UsageError(
            f"'{shown(wanted)}' is to be written, expected the name of a .dlc file",
            do=f"use -o {shown(wanted.with_suffix('.dlc'))}; qnn-onnx-converter writes C++ and JSON",
        )
    return wanted if wanted.suffix == ".dlc" else wanted.with_name(f"{wanted.name}.dlc")


def _source_path(options: QairtConverterOptions) -> Path:
    path = Path(options.source.input_network)
    if path.suffix.lower() == ".dlc":
        raise UsageError(f"'{shown(path)}' is converted already", do="qairt-quantizer quantizes it")
    return path


def _config(options: QairtConverterOptions) -> IoConfig:
    file = options.io.io_config
    config = IoConfig() if file is None else read_io_config(file)
    if file is not None:
        named = replace(_wishes(options, IoConfig()), input_shapes={}, batch=None, symbols={})
        opened = open_source(_source_path(options), named)
        check_names(config, list(opened.inputs), opened.outputs)
    return merged(config, options.source)


def _wishes(options: QairtConverterOptions, config: IoConfig) -> Overrides:
    return Overrides(
        input_shapes=source_shapes(config),
        batch=options.onnx.batch,
        symbols=dict(options.onnx.define_symbols),
        outputs=options.source.out_names,
        signature=options.tflite.tflite_signature_name or options.tensorflow.tf_saved_model_signature_key,
        tag=options.tensorflow.tf_saved_model_tag,
    )


def _tensorflow_notes(options: QairtConverterOptions, config: IoConfig, source: FixedSource) -> list[str]:
    """What --tf_show_unconsumed_nodes and --tf_validate_models find."""
    wanted, opened = options.tensorflow, source.opened
    if not isinstance(opened, TensorflowSource):
        return []
    listed = unconsumed_notes(opened) if wanted.tf_show_unconsumed_nodes else []
    if not wanted.tf_validate_models:
        return listed
    return [*listed, *validation_notes(validate_rewrites(_source_path(options), _wishes(options, config)))]


def _rewrite(
    graph: Graph,
    options: QairtConverterOptions,
    config: IoConfig,
    source: FixedSource,
    before: dict[str, TensorType],
) -> KeptEncodings:
    # A model that is quantized already is written so, unless its encodings are asked for.
    is_quantized = source.opened.keeps_integers and options.overrides == QairtOverrides()
    overrides = options.overrides
    taken = (
        []
        if is_quantized
        else take_source_encodings(
            graph, keep_pairs=overrides.keep_quant_nodes, is_ignored=overrides.ignore_encodings
        )
    )
    turn_ends(graph, config)
    # Guide 10562: rewrites could squash the very layers that overrides name.
    is_plain = options.onnx.no_simplification or options.tensorflow.tf_no_optimization
    is_simplified = not is_plain and options.overrides.quantization_overrides is None
    # A transpose at the graph's ends must still look like one when layouts are read off.
    Rewrites(is_simplified, left_out=MOVES_AS_VIEWS).apply(graph)
    label_ends(graph, config)
    recolour_ends(graph, config)
    run_passes(graph, (*MOVES_AS_VIEWS, *TIDY, *(QUANTIZED if is_quantized else ())))
    kept = keep_encodings(graph, source.opened.tensors, taken, options.overrides.quantization_overrides)
    run_passes(graph, LEGACY)
    narrow_float(graph, options.output.float_bitwidth, options.output.float_bias_bitwidth)
    run_passes(graph, TARGET)
    # Where encodings were taken for a quantizer, quantized ends are real numbers until it comes.
    retype_ends(
        graph,
        config,
        {n: graph.types[n] if t.encoding and not is_quantized else t for n, t in before.items()},
    )
    return kept


def _save_options(options: QairtConverterOptions, command: str) -> SaveOptions:
    return SaveOptions(
        command=command,
        copyright_text=copyright_text(options.output.copyright_file),
        model_version=_version(options.output.model_version or ""),
        lowering=LowerOptions(
            package=options.package.package_name or QNN_PACKAGE,
            packages=map_ops_to_packages(options.package.op_package_config),
        ),
    )


def _version(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise UsageError(f"--model_version is '{shown(text)}', expected printable ASCII characters")
    return text[:LONGEST_VERSION]


def _conversion(
    graph: Graph, before: dict[str, TensorType], files: SavedFiles, notes: Iterable[str]
) -> Conversion:
    macs = sum(n.op.macs(graph.input_types(n), graph.output_types(n)) for n in graph.nodes)
    parameters = sum(array.size for array in graph.constants.values())
    return Conversion(files, contract(graph, before), tuple(notes), len(graph), parameters, macs)
