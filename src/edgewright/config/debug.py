"""The options of `edgewright debug`."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.quantize import PRECISIONS, SCHEMES
from edgewright.config.rules import Excludes
from edgewright.config.values import parse_names


@dataclass(frozen=True)
class DebugOptions(OptionGroup):
    """What is looked at."""

    title = "Debugging"
    rules = (
        Excludes("--quantized", "--quantization_overrides"),
        Excludes("--quantized", "--precision"),
        Excludes("--quantized", "--act_quantizer"),
    )

    data: str = opt(
        metavar="PATH",
        help="samples: a folder of .npy, .npz or .raw files or of images, an .npz or .npy file of stacked "
        "arrays, or an input list; up to 50 are used",
    )
    quantized: str | None = opt(
        metavar="FILE", help="a DLC or _net.json that was made from the model; it is quantized here otherwise"
    )
    precision: str = opt(
        choices=tuple(name for name, bits in PRECISIONS.items() if bits),
        default="w8a8",
        help="bits of weights and activations",
    )
    act_quantizer: str = opt(
        choices=("auto", *SCHEMES), default="auto", help="how the range of activations is chosen"
    )
    quantization_overrides: str | None = opt(
        fills="overrides", metavar="FILE", help="a JSON file with encodings to quantize with"
    )
    target: str | None = opt(
        metavar="CHIP",
        help="a chip such as SM8650: its emulator, where it is installed, is measured too, and compared with "
        "the simulation op by op",
    )
    backends: tuple[str, ...] = opt(
        "--compare_backends",
        type=parse_names,
        metavar="A,B",
        example="--compare_backends cpu,htp-sim",
        help="compare two backends (cpu, htp-sim, htp-native) op by op, or with the float model cpu,gpu and "
        "cpu,framework, its own framework; the first op that differs is saved",
    )
    page: str | None = opt(
        "--output_path", "-o", metavar="FILE", help="the HTML page to write; MODEL_debug.html otherwise"
    )
