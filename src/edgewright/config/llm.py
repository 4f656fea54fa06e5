"""The options of the commands for language models."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.values import make_number_parser, make_range_parser

BACKENDS = ("htp-sim", "htp-native", "cpu")
BACKEND_HELP = (
    "where a folder of `edgewright llm build` runs: htp-sim, the simulation, where nothing is said; "
    "htp-native, the emulator; cpu"
)


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
        "CHECKPOINT",
        help="a Hugging Face folder: config.json, .safetensors and the tokenizer's files; or a GGUF file",
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
        choices=("int4", "lpbq", "int8", "fp16", "fp32"),
        default="int4",
        help="the precision of the weights; lpbq: the 4 bits of Qualcomm's NPUs, blocks of 64 whose scale is "
        "1 to 16 times that of the row; with --to safetensors their encodings stand beside them",
    )
    gguf_type: str | None = opt(
        also="--gguf-type",
        choices=("q4_0", "q4_1", "q4_k_s", "q4_k_m", "q6_k", "q8_0", "f16", "f32"),
        help="the type of a GGUF file by its name, in place of --precision and --asym",
    )
    recipe: str | None = opt(
        choices=("fast", "balanced", "best"),
        help="fast: scales searched; balanced: errors made up for on a text (GPTQ); best: chosen anew in "
        "turns; where nothing is said, best with --calib and fast without",
    )
    block: int = opt(
        type=make_number_parser(0),
        metavar="N",
        default=32,
        help="weights that share a scale; GGUF has 32 only; 0: whole rows, for OpenVINO and safetensors",
    )
    asym: bool = opt(help="codes with a zero point in place of symmetric ones")
    activations: str | None = opt(
        choices=("int8", "float"),
        help="what products round their inputs to: int8 (with --precision int8: w8a8) or nothing; ONNX and "
        "OpenVINO files say it to their runtimes, which round to int8 by themselves on most processors",
    )
    calib: str | None = opt(
        metavar="TEXT", help="a text that calibrates 4 bits, or a .npy file of its tokens; 50,000 words do"
    )
    calib_tokens: int = opt(
        also="--calib-tokens",
        type=make_number_parser(1),
        metavar="N",
        default=1 << 16,
        help="tokens of --calib at most, in pieces of 256 or an eighth of them from all over it; fewer take "
        "less time",
    )
    context: int | None = opt(
        type=make_number_parser(1),
        metavar="N",
        help="tokens of the longest text, for --to mlx: mlx-lm has one set of LongRoPE's factors for texts "
        "of every length, those of long ones where nothing is said",
    )
    awq: bool = opt(
        help="give inputs that are large finer weights where that leaves less error; the rest is folded "
        "into the norms and matrices before; needs --calib"
    )
    mixed: float | None = opt(
        type=make_range_parser("a number of bits, 2 or more", 2.0),
        metavar="BITS",
        help="bits of a weight on the average, scales included: matrices whose rounding alone changes most "
        "of what the model says of --calib get 8 for 4",
    )
    device: str = opt(
        choices=("auto", "cpu", "gpu"),
        default="auto",
        help="what computes: a GPU where torch has one, or numpy; their codes differ a little",
    )
    keep: tuple[tuple[str, str], ...] = opt(
        type=_parse_kept,
        keyed=True,
        metavar="NAME=PRECISION",
        help="another precision for matrices whose names contain NAME, lm_head=int8 for example",
    )
    verify: bool = opt(
        help="run what was written in its own runtime on --text, beside the checkpoint; exit code 5 where "
        "perplexity rises by more than --max_increase"
    )
    text: str | None = opt(
        metavar="TEXT", help="a text that judges, or a .npy file of tokens; never the one that calibrates"
    )
    max_increase: float | None = opt(
        type=make_range_parser("a number of percent, 0 or more", 0.0),
        metavar="PERCENT",
        help="of perplexity; 5 for int4, 0.5 for int8, 0.1 for floats where nothing is said",
    )
    report: str | None = opt(
        metavar="FOLDER",
        help="write llm_report.html and llm_report.json there; files of the same checkpoint share a report; "
        "beside the output where --verify is given",
    )
    resume: bool = opt(
        help="take the layers that an earlier run of the same command has finished; runs with a text keep "
        "them until all is written, others where this is given"
    )
    output_path: str | None = opt(
        also="-o", metavar="PATH", help="the file or folder to write; named after the checkpoint otherwise"
    )


@dataclass(frozen=True)
class LanguageModelPath(OptionGroup):
    """Which language model is meant."""

    title = "Model"

    path: str = opt(
        "FILE", help="a GGUF file, or a folder of ONNX Runtime, OpenVINO, MLX, or a Hugging Face checkpoint"
    )


@dataclass(frozen=True)
class LanguageModelText(OptionGroup):
    """The text that judges."""

    title = "Text"

    text: str = opt(metavar="TEXT", help="a text, or a .npy file of tokens")
    against: str | None = opt(
        metavar="CHECKPOINT", help="the folder that it was made from: gives what quantization costs"
    )
    window: int | None = opt(
        type=make_number_parser(2), metavar="N", help="tokens of a piece, each from an empty context; 256"
    )
    windows: int | None = opt(
        type=make_number_parser(1), metavar="N", help="pieces at most; the whole text otherwise"
    )
    backend: str | None = opt(choices=BACKENDS, help=BACKEND_HELP)


@dataclass(frozen=True)
class GenerationOptions(OptionGroup):
    """How tokens are chosen."""

    title = "Generation"

    tokens: int = opt(type=make_number_parser(1), metavar="N", default=128, help="tokens at most")
    context: int = opt(
        type=make_number_parser(2), metavar="N", default=2048, help="tokens of prompt and answer together"
    )
    temperature: float = opt(
        type=make_range_parser("a number, 0 or more", 0.0),
        metavar="T",
        default=0.0,
        help="0 takes the likeliest token",
    )
    top_k: int = opt(
        type=make_number_parser(0),
        metavar="N",
        default=0,
        help="only so many of the likeliest tokens; 0: all",
    )
    top_p: float = opt(
        type=make_range_parser("a share above 0, 1 at most", 1e-6, 1.0),
        metavar="P",
        default=1.0,
        help="only the likeliest tokens that have this share together",
    )
    repetition_penalty: float = opt(
        type=make_range_parser("a number above 0", 1e-6),
        metavar="X",
        default=1.0,
        help="above 1, tokens of the text so far are less likely",
    )
    seed: int = opt(type=make_number_parser(0), metavar="N", default=0, help="the same seed, the same text")
    backend: str | None = opt(choices=BACKENDS, help=BACKEND_HELP)


@dataclass(frozen=True)
class Prompt(OptionGroup):
    """What the model continues."""

    title = "Prompt"

    prompt: str = opt(metavar="TEXT", help="the beginning of the text")


@dataclass(frozen=True)
class LanguageBuildOptions(OptionGroup):
    """How a model is built for the NPU."""

    title = "Build"

    target: str = opt(metavar="CHIP", help="SM8650, 'Snapdragon X Elite', 'Galaxy S24' ...")
    calib: str = opt(
        metavar="TEXT",
        help="a text that shows ranges of activations and calibrates 4 bits, or a .npy file of its tokens",
    )
    output_path: str = opt(also="-o", metavar="FOLDER", help="the folder to write")
    context: int = opt(
        type=make_number_parser(3),
        metavar="N",
        default=4096,
        help="tokens that the graphs look back on, new ones included",
    )
    prefill: int = opt(
        type=make_number_parser(2), metavar="N", default=128, help="tokens of a prompt that are read at once"
    )
    precision: str = opt(
        choices=("w4a16", "w8a16"), default="w4a16", help="bits of weights and of activations; the head has 8"
    )
    recipe: str = opt(
        choices=("lpbq", "per-channel"),
        default="lpbq",
        help="how weights of 4 bits share scales: blocks of 64 have whole multiples of a channel's, or all "
        "of a channel have one",
    )
    text: str | None = opt(
        metavar="TEXT", help="a text that judges, or a .npy file of tokens; never the one that calibrates"
    )
    max_increase: float = opt(
        type=make_range_parser("a number of percent, 0 or more", 0.0),
        metavar="PERCENT",
        default=2.0,
        help="of perplexity on --text; exit code 5 where it is more, or not proven to be less",
    )
    native_windows: int = opt(
        type=make_number_parser(0),
        metavar="N",
        default=8,
        help="pieces of --text that are run on the emulator, too, where it is installed; 0: none",
    )
    share_weights: bool = opt(
        help="one copy of the weights for both graphs: half the size, but no ONNX files for ONNX Runtime, "
        "whose provider crashes on such a context"
    )
    kv_bits: int = opt(
        type=int,
        choices=(8, 16),
        default=16,
        help="of keys and values, whose ranges --calib shows; runs count the values that reach the ends",
    )
    embedding: str | None = opt(
        choices=("inside", "outside"),
        help="inside of the first graph, which takes tokens; or outside: a table in a file, and the graph "
        "takes its rows; inside where nothing is said, unless it has over 134 million values",
    )
    parts: int | None = opt(
        type=make_number_parser(1),
        metavar="N",
        help="contexts that the model is cut into; as few as hold it otherwise: one holds 2 GiB",
    )
    effort: str | None = opt(
        choices=("fast", "balanced", "best"),
        help="how codes of weights are chosen, as for `edgewright llm quantize`; best for 4 bits",
    )
    mixed: float | None = opt(
        type=make_range_parser("a number of bits, 2 or more", 2.0),
        metavar="BITS",
        help="bits of a weight on the average over layers and head, scales included: matrices whose rounding "
        "alone changes most of what the model says of --calib get 8 for 4",
    )
    calib_tokens: int = opt(
        also="--calib-tokens",
        type=make_number_parser(1),
        metavar="N",
        default=1 << 16,
        help="tokens of --calib at most, in pieces of 256 or an eighth of them from all over it; fewer take "
        "less time",
    )
    no_compile: bool = opt(help="write the graphs only: no context binaries, and no ONNX files around them")
