"""The options of the quantizer inside the legacy converters."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.encoding_options import (
    ALGORITHM_NAMES,
    NATIVE_INPUTS,
    NATIVE_OUTPUTS,
    PER_CHANNEL,
    PER_ROW,
    RESTRICTED_STEPS,
)
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Excludes, WithoutEffect

_QUANTIZERS = ("tf", "enhanced", "adjusted", "symmetric")
# What makes a converter quantize (guide 2037, 11744); overrides alone count as --float_fallback.
_QUANTIZES = ("--input_list", "--float_fallback", "--quantization_overrides")


@dataclass(frozen=True)
class Quantizer(OptionGroup):
    """Quantization at conversion."""

    title = "Quantizer"
    rules = (
        Excludes("--ignore_encodings", "--quantization_overrides"),
        Excludes("--ignore_encodings", "--float_fallback"),
        Excludes("--float_fallback", "--input_list"),
        WithoutEffect(
            (
                *(
                    "--param_quantizer",
                    "--act_quantizer",
                    "--algorithms",
                    "--bias_bw",
                    "--act_bw",
                    "--weight_bw",
                ),
                *("--use_per_row_quantization", "--use_per_channel_quantization", "--use_native_input_files"),
                *("--restrict_quantization_steps", "--ignore_encodings", "--keep_quant_nodes"),
                "--dump_encoding_json",
            ),
            unless=_QUANTIZES,
        ),
    )

    quantization_overrides: str | None = opt(
        fills="overrides",
        metavar="FILE",
        help="a JSON file with encodings that replace those of the model and those computed",
    )
    keep_quant_nodes: bool = opt(help="keep the quantization nodes of activations in the graph")
    input_list: str | None = opt(
        metavar="FILE",
        help="calibration inputs, one set a line, files of a set separated by spaces; needed to quantize",
    )
    float_fallback: bool = opt(
        help="quantize from the encodings of the model and the overrides alone; the rest stays float"
    )
    param_quantizer: str = opt(choices=_QUANTIZERS, default="tf", help="how the range of weights is chosen")
    act_quantizer: str = opt(
        choices=(*_QUANTIZERS, "auto"),
        default="tf",
        help="how the range of activations is chosen; auto keeps what comes closest to the float model",
    )
    algorithms: tuple[str, ...] = ALGORITHM_NAMES
    bias_bw: int = opt(choices=(8, 32), default=8, help="bits of quantized biases")
    act_bw: int = opt(choices=(8, 16), default=8, help="bits of quantized activations")
    weight_bw: int = opt(choices=(4, 8, 16), default=8, help="bits of quantized weights")
    ignore_encodings: bool = opt(help="compute all encodings, leaving out those of the model")
    use_per_row_quantization: bool = PER_ROW
    use_per_channel_quantization: bool = PER_CHANNEL
    use_native_input_files: bool = opt(also="--use_native_dtype", like=NATIVE_INPUTS)
    use_native_output_files: bool = opt(
        like=NATIVE_OUTPUTS, without_effect="a converter writes no outputs; qnn-net-run has the same option"
    )
    restrict_quantization_steps: tuple[int, int] | None = RESTRICTED_STEPS
    dump_encoding_json: bool = opt(
        help="write the encodings of all tensors to NAME_encoding.json beside the C++ file"
    )

    @property
    def is_asked_for(self) -> bool:
        """Whether anything is quantized."""
        return bool(self.input_list or self.float_fallback or self.quantization_overrides)
