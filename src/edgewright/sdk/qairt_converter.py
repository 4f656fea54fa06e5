"""qairt-converter: options in, a DLC out; layouts and data types stay the source's."""

from collections.abc import Sequence
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
from edgewright.core.files import with_own_name
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.conversion import (
    ConversionRequest,
    IoLayouts,
    Rewrites,
    SourceEncodings,
    convert_source,
)
from edgewright.frontends.framework import Framework, framework_of
from edgewright.frontends.open_source import FixedSource, fix_shapes, open_source
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.lower.lower import QNN_PACKAGE, LowerOptions
from edgewright.model.saving import SaveOptions, save_dlc
from edgewright.quantize.report import QuantizationSummary
from edgewright.run.op_packages import map_ops_to_packages, use_converter_packages
from edgewright.sdk.conversion import Conversion, read_copyright, record_conversion
from edgewright.sdk.encoding_listing import add_listing, list_tensors
from edgewright.sdk.io_config import (
    check_file_names,
    check_io,
    list_source_shapes,
    list_unknown_inputs,
    merge_options,
    raise_all,
)
from edgewright.sdk.io_templates import describe_io_config, write_template
from edgewright.sdk.qairt_encodings import KeptEncodings, keep_encodings
from edgewright.sdk.qairt_quantizer import QairtQuantizerOptions, quantize_dlc
from edgewright.sdk.tensorflow_notes import describe_rewrite_errors, list_unconsumed_nodes, validate_rewrites

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
    package = options.package
    with use_converter_packages(package.op_package_config, package.converter_op_package_lib or ()):
        if options.overrides.float_fallback:
            return _convert_and_quantize(options, command)
        conversion, kept = _convert(options, command)
    files = conversion.files
    if options.overrides.dump_encoding_json:
        files = add_listing(files, files.dlc, kept.encodings())
    return replace(conversion, files=files, notes=(*conversion.notes, *kept.notes))


def write_io_config_template(options: QairtConverterOptions) -> Path:
    """Writes the YAML file that --io_config reads, with the model's inputs and outputs."""
    assert options.io.dump_io_config_template is not None
    target = Path(options.io.dump_io_config_template)
    return write_template(_check_source(options), target, make_input_spec(options), describe_io_config)


def make_input_spec(options: QairtConverterOptions) -> InputSpec:
    """What the options say about the source's inputs and outputs."""
    return replace(_fill_input_spec(options), input_shapes=list_source_shapes(_describe_io(options)))


def _fill_input_spec(options: QairtConverterOptions) -> InputSpec:
    _check_framework(options)
    return InputSpec.from_options(options.source, options.onnx, options.tensorflow, options.tflite)


def _check_framework(options: QairtConverterOptions) -> None:
    """Refuses options of another framework than the source's."""
    own = framework_of(options.source.input_network)
    groups = {
        Framework.ONNX: options.onnx,
        Framework.TENSORFLOW: options.tensorflow,
        Framework.TFLITE: options.tflite,
    }
    others = [flag for framework, group in groups.items() if framework != own for flag in group.given()]
    if others:
        raise UsageError(
            f"'{shown(options.source.input_network)}' is a model of {own.value}, "
            f"{', '.join(others)} {'is' if len(others) == 1 else 'are'} for other frameworks",
            do=f"leave out {', '.join(others)}",
        )


def _convert(options: QairtConverterOptions, command: str) -> tuple[Conversion, KeptEncodings]:
    path, target = _check_source(options), _choose_output(options)
    about = _make_save_options(options, command)
    with announce_progress(f"converting {path.name}", total=3) as step:
        io = _describe_io(options)
        spec = replace(_fill_input_spec(options), input_shapes=list_source_shapes(io))
        source = fix_shapes(path, spec)
        imported = source.graph()
        given = {
            "input_layouts": options.source.input_layouts,
            "input_dtypes": options.source.input_dtypes,
            "input_encodings": options.source.colour_encodings,
        }
        raise_all(list_unknown_inputs(given, imported))
        check_io(io, imported)
        step()
        converted = convert_source(_make_request(options, io), source)
        file = options.overrides.quantization_overrides
        kept = keep_encodings(converted.graph, converted.model.tensors, converted.encodings, file)
        step()
        files = save_dlc(converted.graph, target, kept.add_to(about))
        step()
    notes = (*converted.notes, *_list_tensorflow_notes(options, spec, source))
    return record_conversion(converted.graph, converted.io_types, files, notes), kept


def _make_request(options: QairtConverterOptions, io: IoConfig) -> ConversionRequest:
    overrides, output = options.overrides, options.output
    is_plain = options.onnx.no_simplification or options.tensorflow.tf_no_optimization
    # A model that is quantized already is written so, unless its encodings are asked for.
    is_default = overrides == QairtOverrides()
    return ConversionRequest(
        options.source.input_network,
        rewrites=Rewrites(not is_plain, kept=list_tensors(overrides.quantization_overrides)),
        layouts=IoLayouts.SOURCE,
        io=io,
        float_bits=output.float_bitwidth,
        float_bias_bits=output.float_bias_bitwidth,
        encodings=SourceEncodings.TAKE_FROM_FLOAT if is_default else SourceEncodings.TAKE,
        ignores_encodings=overrides.ignore_encodings,
        keeps_quant_nodes=overrides.keep_quant_nodes,
    )


def _convert_and_quantize(options: QairtConverterOptions, command: str) -> Conversion:
    """What qairt-quantizer --float_fallback makes of the DLC that is not kept."""
    target, output = _choose_output(options), options.output
    precision = QairtPrecision(
        float_bitwidth=output.float_bitwidth, float_bias_bitwidth=output.float_bias_bitwidth
    )
    with TemporaryDirectory(prefix="edgewright-") as folder:
        plain = str(Path(folder, target.name))
        # The quantizer narrows what stays float: encodings are for the numbers of the source.
        wide = replace(output, output_path=plain, float_bitwidth=32, float_bias_bitwidth=None)
        conversion, _ = _convert(replace(options, output=wide), command)
        dlc = QairtDlc(
            input_dlc=plain,
            output_dlc=str(target),
            float_fallback=True,
            dump_encoding_json=options.overrides.dump_encoding_json,
        )
        quantized = quantize_dlc(QairtQuantizerOptions(dlc, precision), command)
    sources = {tensor.name: tensor for tensor in conversion.contract}
    tensors = tuple(
        replace(t, source_dtype=sources[t.name].source_dtype, source_shape=sources[t.name].source_shape)
        for t in quantized.contract
    )
    quantization = QuantizationSummary(
        quantized.coverage, quantized.rules, quantized.converts, quantized.notes
    )
    return replace(conversion, files=quantized.files, contract=tensors, quantization=quantization)


def _choose_output(options: QairtConverterOptions) -> Path:
    """The DLC to write: named after the source where nothing, or only a folder, is said."""
    source = with_own_name(options.source.input_network)
    if options.output.output_path is None:
        return source.with_name(f"{source.stem}.dlc")
    target = Path(options.output.output_path)
    if target.is_dir():
        return target / f"{source.stem}.dlc"
    if target.suffix in STORED:
        raise UsageError(
            f"'{shown(target)}' is to be written, expected the name of a .dlc file",
            do=f"use -o {shown(target.with_suffix('.dlc'))}; qnn-onnx-converter writes C++ and JSON",
        )
    return target if target.suffix == ".dlc" else target.with_name(f"{target.name}.dlc")


def _check_source(options: QairtConverterOptions) -> Path:
    path = Path(options.source.input_network)
    if path.suffix.lower() == ".dlc":
        raise UsageError(f"'{shown(path)}' is converted already", do="qairt-quantizer quantizes it")
    return path


def _describe_io(options: QairtConverterOptions) -> IoConfig:
    """What the file and the options say; names of the file are checked before its shapes are used."""
    path, file = _check_source(options), options.io.io_config
    if file is None:
        return merge_options(IoConfig(), options.source)
    io = read_io_config(file)
    spec = replace(_fill_input_spec(options), input_shapes={}, batch=None, symbols={})
    model = open_source(path, spec)
    check_file_names(io, list(model.inputs), model.outputs)
    return merge_options(io, options.source)


def _list_tensorflow_notes(
    options: QairtConverterOptions, spec: InputSpec, source: FixedSource
) -> Sequence[str]:
    """What --tf_show_unconsumed_nodes and --tf_validate_models find."""
    if not isinstance(source.model, TensorflowSource):
        return ()
    notes = list_unconsumed_nodes(source.model) if options.tensorflow.tf_show_unconsumed_nodes else []
    if options.tensorflow.tf_validate_models:
        notes += describe_rewrite_errors(validate_rewrites(options.source.input_network, spec))
    return notes


def _make_save_options(options: QairtConverterOptions, command: str) -> SaveOptions:
    version = options.output.model_version or ""
    if not version.isascii() or not version.isprintable():
        raise UsageError(f"--model_version is '{shown(version)}', expected printable ASCII characters")
    return SaveOptions(
        command=command,
        copyright_text=read_copyright(options.output.copyright_file),
        model_version=version[:LONGEST_VERSION],
        lowering=LowerOptions(
            package=options.package.package_name or QNN_PACKAGE,
            packages=map_ops_to_packages(options.package.op_package_config),
        ),
    )
