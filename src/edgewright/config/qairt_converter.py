"""The options of qairt-converter, one tool for every source format."""

from dataclasses import dataclass

from edgewright.config.converter import DryRun
from edgewright.config.converter_parts import (
    COLOURS,
    INPUT_DTYPES,
    INPUT_LAYOUTS,
    LAYOUTS,
    OUT_NAMES,
    SAVED_MODEL_TAG,
    SIGNATURE_KEY,
    SUBGRAPH_SIGNATURE,
    UNUSED_NODES,
    OpPackages,
)
from edgewright.config.declare import opt
from edgewright.config.encoding_options import DUMPED_ENCODINGS
from edgewright.config.group import OptionGroup
from edgewright.config.log_options import DebugLog
from edgewright.config.rules import Excludes
from edgewright.config.shape_options import BATCH_SIZE, INPUT_SHAPES, SYMBOL_SIZES


@dataclass(frozen=True)
class QairtSource(OptionGroup):
    """The model to convert and what is known about its inputs and outputs."""

    title = "Source model"

    input_network: str = opt(
        also="-i",
        metavar="FILE",
        help="the model to convert: .onnx, .tflite, .pb, .meta, .pt, .pt2, or the folder of a SavedModel",
    )
    input_dims: tuple[tuple[str, tuple[int, ...]], ...] = opt(
        "--desired_input_shape",
        "-d",
        like=INPUT_SHAPES,
        help="the shape of an input in the source's layout, dimensions separated by commas; once for each "
        "input",
    )
    out_names: tuple[str, ...] = opt("--out_tensor_node", "--out_tensor_name", like=OUT_NAMES)
    input_dtypes: tuple[tuple[str, str], ...] = opt(
        "--source_model_input_datatype",
        like=INPUT_DTYPES,
        example="--source_model_input_datatype data float32",
        help="the data type that an input has in the source; an ONNX model must agree",
    )
    input_layouts: tuple[tuple[str, str], ...] = opt(
        "--source_model_input_layout",
        "-l",
        like=INPUT_LAYOUTS,
        example="--source_model_input_layout data NCHW",
        help=f"the layout that an input has in the source: {', '.join(LAYOUTS)}; the converted input keeps "
        "it unless --io_config asks for another",
    )
    colour_encodings: tuple[tuple[str, ...], ...] = opt(
        "--desired_input_color_encoding",
        "--input_color_encoding",
        like=COLOURS,
        example="--desired_input_color_encoding data rgba rgb",
    )


@dataclass(frozen=True)
class QairtIo(OptionGroup):
    """Inputs and outputs as a file describes them."""

    title = "Inputs and outputs"

    io_config: str | None = opt(
        metavar="FILE",
        help="a YAML file with layouts, data types, shapes and encodings of inputs and outputs; options on "
        "the command line come before it",
    )
    dump_io_config_template: str | None = opt(
        metavar="FILE", help="write a YAML file to start from for --io_config, and stop"
    )


@dataclass(frozen=True)
class QairtOutput(OptionGroup):
    """What is written."""

    title = "Output"

    output_path: str | None = opt(
        also="-o", metavar="FILE", help="the DLC to write; named after the source, and beside it, otherwise"
    )
    copyright_file: str | None = opt(metavar="FILE", help="a text that is put into the written model")
    float_bitwidth: int = opt(choices=(32, 16), default=32, help="bits of float weights and activations")
    float_bias_bitwidth: int | None = opt(
        choices=(32, 16), help="bits of float biases, those of --float_bitwidth by default"
    )
    model_version: str | None = opt(
        metavar="TEXT", help="an ASCII text that identifies the model; its first 64 bytes are stored"
    )


@dataclass(frozen=True)
class QairtOverrides(OptionGroup):
    """Encodings that go into the DLC for the quantizer, or are used at once."""

    title = "Quantization"
    rules = (
        Excludes("--ignore_encodings", "--quantization_overrides"),
        Excludes("--ignore_encodings", "--float_fallback"),
    )

    quantization_overrides: str | None = opt(
        metavar="FILE",
        help="a JSON file with encodings, kept in the DLC, that qairt-quantizer uses in place of those of "
        "the model and of those it would compute",
    )
    ignore_encodings: bool = opt(help="leave out the encodings of a model trained with quantization")
    keep_quant_nodes: bool = opt(help="keep the quantization nodes of activations in the graph")
    float_fallback: bool = opt(
        help="quantize at once, from the encodings of the model and the overrides alone, as qairt-quantizer "
        "--float_fallback does; the rest stays float"
    )
    dump_encoding_json: bool = DUMPED_ENCODINGS


@dataclass(frozen=True)
class QairtOpPackage(OpPackages):
    """Ops that are not QNN's own."""


@dataclass(frozen=True)
class QairtOnnx(OptionGroup):
    """What only ONNX models have or need."""

    title = "ONNX"

    no_simplification: bool = opt(
        "--onnx_no_simplification", help="leave out the optional rewrites; some models convert only with them"
    )
    batch: int | None = opt("--onnx_batch", like=BATCH_SIZE, example="--onnx_batch 6")
    define_symbols: tuple[tuple[str, int], ...] = opt(
        "--onnx_define_symbol", like=SYMBOL_SIZES, example="--onnx_define_symbol height 224"
    )


@dataclass(frozen=True)
class QairtTensorflow(OptionGroup):
    """What only TensorFlow models have or need."""

    title = "TensorFlow"

    tf_no_optimization: bool = opt(help="leave out the optional rewrites")
    tf_show_unconsumed_nodes: bool = UNUSED_NODES
    tf_saved_model_tag: str | None = SAVED_MODEL_TAG
    tf_saved_model_signature_key: str | None = SIGNATURE_KEY
    tf_validate_models: bool = opt(help="compare the original with the optimized model on inputs of ones")


@dataclass(frozen=True)
class QairtTflite(OptionGroup):
    """What only TFLite models have or need."""

    title = "TFLite"

    tflite_signature_name: str | None = SUBGRAPH_SIGNATURE


@dataclass(frozen=True)
class QairtLog(DebugLog):
    """How much the tool says."""


QAIRT_CONVERTER: tuple[type[OptionGroup], ...] = (
    *(QairtSource, QairtIo, DryRun, QairtOutput, QairtOverrides, QairtOpPackage),
    *(QairtOnnx, QairtTensorflow, QairtTflite, QairtLog),
)
