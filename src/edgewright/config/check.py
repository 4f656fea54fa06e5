"""The options of `edgewright check`."""

from dataclasses import dataclass

from edgewright.config.context import DEVICE_VERSION
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.quantize import PRECISIONS
from edgewright.config.rules import Excludes, Needs


@dataclass(frozen=True)
class CheckedFile(OptionGroup):
    """What is checked."""

    title = "Model"

    model: str = opt(
        "MODEL",
        help="a source model (ONNX, TFLite ...), the _net.json or DLC of a converted one, a context binary",
    )
    target: str | None = opt(
        metavar="CHIP",
        example="--target SM8650",
        help="the chip that it should run on: SM8650, 'Snapdragon 8 Gen 3', v75 or a SoC number; a context "
        "binary needs it",
    )
    device_version: tuple[int, ...] | None = opt(like=DEVICE_VERSION)


@dataclass(frozen=True)
class CheckedEncodings(OptionGroup):
    """The encodings in question."""

    title = "Encodings"
    rules = (
        Excludes("--quantized", "--quantization_overrides"),
        Excludes("--quantized", "--precision"),
        Needs("--quantized", "--data"),
        Needs("--quantization_overrides", "--data"),
        Needs("--repaired", "--data"),
    )

    data: str | None = opt(
        metavar="PATH",
        help="samples: a folder of .npy, .npz or .raw files or of images, an .npz or .npy file of stacked "
        "arrays, or an input list; with them encodings are checked, too",
    )
    quantized: str | None = opt(
        metavar="FILE", help="a DLC or _net.json that was made from the model; it is quantized here otherwise"
    )
    quantization_overrides: str | None = opt(
        fills="overrides", metavar="FILE", help="a JSON file with the encodings in question"
    )
    precision: str = opt(
        choices=tuple(name for name, bits in PRECISIONS.items() if bits),
        default="w8a8",
        help="bits of weights and activations",
    )
    repaired: str | None = opt(
        metavar="FILE",
        help="write the model with fresh encodings in place of those that are odd, as .dlc or .cpp",
    )
