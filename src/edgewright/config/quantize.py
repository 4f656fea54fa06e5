"""The options of `edgewright quantize`."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.encoding_options import ALGORITHM_NAMES
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Check, Given
from edgewright.core.errors import UsageError

# Bits of weights and of activations; none where all stays in floating point.
PRECISIONS: dict[str, tuple[int, int] | None] = {
    "w8a8": (8, 8),
    "w8a16": (8, 16),
    "w4a8": (4, 8),
    "w4a16": (4, 16),
    "fp16": None,
}
SCHEMES = ("tf", "enhanced", "symmetric", "mse", "percentile", "entropy")


def _check_data(given: Given) -> UsageError | None:
    is_half = given.get("--precision") == "fp16"
    if is_half or "--data" in given or "--quantization_overrides" in given:
        return None
    return UsageError(
        "option '--data' is missing, fixed point needs calibration data",
        do="add --data FOLDER, --data samples.npz or --data list.txt; --precision fp16 needs none",
    )


@dataclass(frozen=True)
class QuantizeOptions(OptionGroup):
    """How the model is quantized."""

    title = "Quantization"
    rules = (Check(_check_data),)

    data: str | None = opt(
        metavar="PATH",
        help="samples: a folder of .npy, .npz or .raw files or of images, an .npz or .npy file of stacked "
        "arrays, or an input list; they calibrate, and the quantized model is compared with the float one on "
        "them",
    )
    precision: str = opt(
        choices=tuple(PRECISIONS), default="w8a8", help="bits of weights and activations, or half precision"
    )
    act_quantizer: str = opt(
        choices=("auto", *SCHEMES),
        default="auto",
        help="how the range of activations is chosen; auto keeps what comes closest to the float model",
    )
    param_quantizer: str = opt(choices=SCHEMES, default="tf", help="how the range of weights is chosen")
    algorithms: tuple[str, ...] = ALGORITHM_NAMES
    uniform: bool = opt(
        help="leave all activations in one width, also those of a transformer that 8 bits cannot carry"
    )
    quantization_overrides: str | None = opt(
        fills="overrides", metavar="FILE", help="a JSON file with encodings that come before those computed"
    )


@dataclass(frozen=True)
class QuantizeOutput(OptionGroup):
    """Where the quantized model goes."""

    title = "Output"

    output_path: str | None = opt(
        also="-o",
        metavar="FILE",
        help="the file to write: .dlc, .cpp (with .bin and _net.json) or .onnx (QDQ); MODEL_PRECISION.dlc "
        "otherwise",
    )
