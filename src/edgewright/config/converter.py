"""The options that all four legacy converters share."""

from dataclasses import dataclass

from edgewright.config.converter_parts import (
    COLOURS,
    CPP_FILE,
    INPUT_DTYPES,
    INPUT_LAYOUTS,
    LAYOUTS,
    OUT_NAMES,
    OpPackages,
)
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.log_options import LOG_LEVEL, DebugLog
from edgewright.config.model_options import PACKAGE_LIBRARIES
from edgewright.config.quantizer import Quantizer
from edgewright.config.shape_options import INPUT_SHAPES
from edgewright.config.values import OneOf


@dataclass(frozen=True)
class Source(OptionGroup):
    """The model to convert and what is known about its inputs and outputs."""

    title = "Source model"

    input_network: str = opt(also="-i", metavar="FILE", help="the model to convert")
    out_names: tuple[str, ...] = opt("--out_node", "--out_name", like=OUT_NAMES)
    input_dims: tuple[tuple[str, tuple[int, ...]], ...] = opt("--input_dim", "-d", like=INPUT_SHAPES)
    input_types: tuple[tuple[str, str], ...] = opt(
        "--input_type",
        "-t",
        keyed=True,
        type=(str, OneOf(("image", "default", "opaque"))),
        metavar=("NAME", "{image,default,opaque}"),
        example="--input_type data opaque",
        help="how a DSP treats an input: image (0 to 255, passed as bytes), default (quantized there), "
        "opaque (stays float)",
    )
    input_dtypes: tuple[tuple[str, str], ...] = opt(
        "--input_dtype",
        like=INPUT_DTYPES,
        example="--input_dtype data float32",
        help="the data type of an input, float32 where nothing is said; once for each input",
    )
    input_encodings: tuple[tuple[str, ...], ...] = opt(
        "--input_encoding",
        "-e",
        like=COLOURS,
        example="--input_encoding data rgba rgb",
    )
    input_layouts: tuple[tuple[str, str], ...] = opt(
        "--input_layout",
        "-l",
        like=INPUT_LAYOUTS,
        example="--input_layout data NCHW",
        help=f"the layout that an input has in the source: {', '.join(LAYOUTS)}; it does not change the "
        "layout of the converted input (--preserve_io and --custom_io do)",
    )


@dataclass(frozen=True)
class GraphChanges(OptionGroup):
    """Which changes of the graph are made or left out."""

    title = "Graph"

    disable_batchnorm_folding: bool = opt(help="keep batch norms apart from the convolutions before them")
    keep_disconnected_nodes: bool = opt(
        fills="keep_disconnected", help="keep ops that lead to no output of the model"
    )


@dataclass(frozen=True)
class Output(OptionGroup):
    """What is written, and under which names."""

    title = "Output"

    output_path: str | None = CPP_FILE
    copyright_file: str | None = opt(
        metavar="FILE", help="a text that is put at the head of the written model"
    )
    float_bw: int = opt(choices=(32, 16), default=32, help="bits of float weights and activations")
    float_bias_bw: int | None = opt(
        choices=(32, 16), help="bits of float biases, those of --float_bw by default"
    )
    overwrite_model_prefix: bool = opt(
        help="name the functions in the model after the output file, so that several models can be linked "
        "together; QnnModel_ otherwise"
    )
    exclude_named_tensors: bool = opt(
        help="number the tensors in place of keeping their source names, for a smaller model library"
    )


@dataclass(frozen=True)
class DryRun(OptionGroup):
    """A look at the model without converting it."""

    title = "Dry run"

    dry_run: str | None = opt(
        nargs="?",
        const="info",
        choices=("info", "debug"),
        metavar="[{info,debug}]",
        help="do not convert: report unsupported ops and attributes and unused inputs and outputs, as a "
        "table (info) or in detail (debug)",
    )


@dataclass(frozen=True)
class CustomIo(OptionGroup):
    """Inputs and outputs as a file describes them."""

    title = "Custom inputs and outputs"

    custom_io: str | None = opt(
        metavar="FILE", help="a YAML file with layouts, data types and encodings of inputs and outputs"
    )


@dataclass(frozen=True)
class OpPackage(OpPackages):
    """Ops that are not QNN's own."""

    op_package_lib: tuple[str, ...] | None = PACKAGE_LIBRARIES


@dataclass(frozen=True)
class ArchChecker(OptionGroup):
    """The architecture check."""

    title = "Architecture check"

    arch_checker: bool = opt(
        help="check the written model as qnn-architecture-checker does, which takes the place of this"
    )


@dataclass(frozen=True)
class Target(OptionGroup):
    """What the model is converted for."""

    title = "Target"

    target_device: str | None = opt(
        choices=("cpu", "gpu", "htp", "hexagon", "dsp"),
        help="the device that the model is for: what it lacks is said; the files fit every backend",
    )
    optimization_level: str = opt(
        choices=("low", "medium", "high"),
        default="high",
        help="how much the graph is rewritten: low leaves out all optional rewrites, medium those that go "
        "into the weights (batch norms, factors and summands of channels)",
    )


@dataclass(frozen=True)
class ConverterLog(DebugLog):
    """How much the converter says."""

    log_level: str | None = LOG_LEVEL

    @property
    def loudness(self) -> str | None:
        """The level of --log_level, or debug with --debug."""
        return self.log_level or super().loudness


CONVERTER: tuple[type[OptionGroup], ...] = (
    *(Source, Output, GraphChanges, Quantizer, CustomIo, OpPackage, ArchChecker, Target, ConverterLog),
)
