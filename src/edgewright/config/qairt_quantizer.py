"""The options of qairt-quantizer, which makes fixed-point DLCs of float ones."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.encoding_options import (
    ALGORITHM_NAMES,
    DUMPED_ENCODINGS,
    NATIVE_INPUTS,
    NATIVE_OUTPUTS,
    PER_CHANNEL,
    PER_ROW,
    RESTRICTED_STEPS,
)
from edgewright.config.group import OptionGroup
from edgewright.config.model_options import PACKAGE_LIBRARIES
from edgewright.config.qairt_converter import QairtLog
from edgewright.config.rules import Excludes, Given, OneRequired, Rule, WithoutEffect
from edgewright.config.values import make_range_parser

CALIBRATIONS = ("min-max", "sqnr", "entropy", "mse", "percentile")
SCHEMAS = ("asymmetric", "symmetric")
# Guide 3963; its --float_bw is another spelling of --float_bitwidth.
_NOT_WITH_AIMET = (
    *("--float_bitwidth", "--float_bias_bitwidth", "--disable_relu_squashing"),
    *("--restrict_quantization_steps", "--float_fallback", "--use_dynamic_16_bit_weights"),
    *("--pack_4_bit_weights", "--op_package_lib"),
)


class _IdlePercentile(Rule):
    """The value of a method that nobody chose."""

    def warning(self, given: Given) -> str | None:
        """That it does nothing."""
        methods = {given.get(f"--{kind}_quantizer_calibration") for kind in ("act", "param")}
        if "--percentile_calibration_value" not in given or "percentile" in methods:
            return None
        return "--percentile_calibration_value has no effect without the calibration method percentile"


@dataclass(frozen=True)
class QairtDlc(OptionGroup):
    """What is quantized, with which data, and what is written."""

    title = "Model and data"
    rules = (
        Excludes("--input_list", "--float_fallback"),
        Excludes("--float_fallback", "--ignore_encodings"),
        OneRequired(("--input_list", "--float_fallback")),
    )

    input_dlc: str = opt(metavar="FILE", help="the float DLC to quantize")
    output_dlc: str | None = opt(
        metavar="FILE", help="the DLC to write; NAME.quantized.dlc beside NAME.dlc otherwise"
    )
    input_list: str | None = opt(
        metavar="FILE",
        help="calibration inputs, one set a line, files of a set separated by spaces; this or "
        "--float_fallback is needed",
    )
    float_fallback: bool = opt(
        also="--floatFallback",
        help="quantize from the encodings in the DLC alone; what they do not tell stays float",
    )
    ignore_encodings: bool = opt(help="compute all encodings, leaving out those that the DLC keeps")
    use_native_input_files: bool = NATIVE_INPUTS
    use_native_output_files: bool = opt(
        like=NATIVE_OUTPUTS, without_effect="the quantizer writes no output files"
    )
    preserve_io_datatype: tuple[tuple[str, ...], ...] = opt(
        nargs="*",
        repeated=True,
        metavar=("[NAME ...]",),
        example="--preserve_io_datatype image scores",
        help="keep the float types of the inputs and outputs that are named, of all where nothing follows",
    )
    dump_encoding_json: bool = DUMPED_ENCODINGS


@dataclass(frozen=True)
class QairtPrecision(OptionGroup):
    """Widths, and what shares an encoding."""

    title = "Precision"

    act_bitwidth: int = opt(fills="act_bw", choices=(8, 16), default=8, help="bits of quantized activations")
    weights_bitwidth: int = opt(
        fills="weight_bw", choices=(8, 4, 16), default=8, help="bits of quantized weights"
    )
    bias_bitwidth: int = opt(fills="bias_bw", choices=(8, 32), default=8, help="bits of quantized biases")
    float_bitwidth: int = opt(
        fills="float_bw",
        also="--float_bw",
        choices=(32, 16),
        default=32,
        help="bits of tensors that stay float",
    )
    float_bias_bitwidth: int | None = opt(
        fills="float_bias_bw",
        choices=(32, 16),
        help="bits of biases that stay float, those of --float_bitwidth by default",
    )
    use_per_channel_quantization: bool = PER_CHANNEL
    use_per_row_quantization: bool = PER_ROW
    disable_relu_squashing: bool = opt(help="an op before a Relu keeps an encoding of its own")
    use_dynamic_16_bit_weights: bool = opt(
        help="16 bits for the second operand of a MatMul of two activations, and for what it gives"
    )
    pack_4_bit_weights: bool = opt(help="store two 4-bit weights in a byte")


@dataclass(frozen=True)
class QairtCalibration(OptionGroup):
    """How ranges are chosen, and what is corrected before."""

    title = "Calibration"
    rules = (_IdlePercentile(),)

    act_calibration: str = opt(
        "--act_quantizer_calibration",
        fills="act_quantizer",
        choices=(*CALIBRATIONS, "auto"),
        default="min-max",
        help="how the range of activations is chosen; auto keeps what comes closest to the float model",
    )
    param_calibration: str = opt(
        "--param_quantizer_calibration",
        fills="param_quantizer",
        choices=CALIBRATIONS,
        default="min-max",
        help="how the range of weights is chosen",
    )
    act_schema: str = opt(
        "--act_quantizer_schema",
        choices=SCHEMAS,
        default="asymmetric",
        help="whether the range of activations lies around zero",
    )
    param_schema: str = opt(
        "--param_quantizer_schema",
        choices=SCHEMAS,
        default="asymmetric",
        help="whether the range of weights lies around zero; one a channel or row always does",
    )
    percentile: float = opt(
        "--percentile_calibration_value",
        type=make_range_parser("a number from 90 to 100", 90, 100),
        default=99.99,
        metavar="PERCENT",
        help="how much of the values the method percentile keeps, 90 to 100",
    )
    algorithms: tuple[str, ...] = opt(also="--apply_algorithms", like=ALGORITHM_NAMES)
    restrict_quantization_steps: tuple[int, int] | None = RESTRICTED_STEPS


@dataclass(frozen=True)
class QairtAimet(OptionGroup):
    """Other quantizers, and ops that are not QNN's own."""

    title = "Extensions"

    use_aimet_quantizer: bool = opt(help="let AIMET choose the encodings, from an environment of its own")
    op_package_lib: tuple[str, ...] | None = PACKAGE_LIBRARIES


QAIRT_QUANTIZER: tuple[type[OptionGroup], ...] = (
    *(QairtDlc, QairtPrecision, QairtCalibration, QairtAimet, QairtLog),
)
QAIRT_QUANTIZER_RULES: tuple[Rule, ...] = (
    *(Excludes("--use_aimet_quantizer", option) for option in _NOT_WITH_AIMET),
    WithoutEffect(
        (
            *("--act_quantizer_calibration", "--act_quantizer_schema", "--act_bitwidth"),
            *("--param_quantizer_calibration", "--param_quantizer_schema", "--weights_bitwidth"),
            *("--use_per_channel_quantization", "--use_per_row_quantization", "--use_native_input_files"),
        ),
        unless=("--input_list",),
    ),
)
