"""The options of `edgewright llm quantize`."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.values import make_number_parser


def _parse_kept(text: str) -> tuple[str, str]:
    name, equals, precision = text.partition("=")
    if not (name and equals and precision):
        raise ValueError("NAME=PRECISION")
    return name, precision


@dataclass(frozen=True)
class LanguageModelFolder(OptionGroup):
    """Which language model is meant."""

    title = "Model"

    checkpoint: str = opt(
        "CHECKPOINT", help="a Hugging Face folder: config.json, .safetensors and the tokenizer's files"
    )


@dataclass(frozen=True)
class LanguageModelOptions(OptionGroup):
    """How it is quantized and written."""

    title = "Quantization"

    to: str = opt(
        "--to",
        choices=("gguf", "onnx", "openvino", "mlx", "safetensors"),
        default="gguf",
        help="gguf: one file for llama.cpp; folders: onnx for ONNX Runtime (GenAI), openvino for OpenVINO "
        "(GenAI), mlx for mlx-lm, safetensors for PyTorch: what the codes stand for, in floats",
    )
    precision: str = opt(
        choices=("int4", "int8", "fp16", "fp32"), default="int4", help="the precision of the weights"
    )
    recipe: str | None = opt(
        choices=("fast", "balanced", "best"),
        help="fast: scales searched; balanced: errors made up for on a text (GPTQ); best: chosen anew in "
        "turns; where nothing is said, best with --calib and fast without",
    )
    block: int = opt(
        type=make_number_parser(1),
        metavar="N",
        default=32,
        help="weights that share a scale; GGUF has 32 only",
    )
    asym: bool = opt(help="codes with a zero point in place of symmetric ones")
    calib: str | None = opt(
        metavar="TEXT", help="a text that calibrates 4 bits, or a .npy file of its tokens; 50,000 words do"
    )
    keep: tuple[tuple[str, str], ...] = opt(
        type=_parse_kept,
        keyed=True,
        metavar="NAME=PRECISION",
        help="another precision for matrices whose names contain NAME, lm_head=int8 for example",
    )
    output_path: str | None = opt(
        also="-o", metavar="PATH", help="the file or folder to write; named after the checkpoint otherwise"
    )
