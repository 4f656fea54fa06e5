"""The options of qnn-accuracy-evaluator."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Check, Given, Needs, OneRequired, Rule
from edgewright.config.values import make_number_parser, make_range_parser, parse_dims
from edgewright.core.errors import UsageError

COMPARATOR_NAMES = (
    *("abs", "cos", "topk", "avg", "l1norm", "l2norm", "std", "rme", "snr", "maxerror", "kld"),
    *("pixelbypixel", "box"),
)
_TOLERANCE = make_range_parser("a number, 0 or more", 0.0)


def parse_symbol(text: str) -> tuple[str, int]:
    """A symbol and its size: __unk_200:1."""
    name, colon, size = text.rpartition(":")
    if not (name and colon and size.isdigit() and int(size) > 0):
        raise ValueError("SYMBOL:SIZE, as in __unk_200:1")
    return name, int(size)


def parse_global(text: str) -> tuple[str, str]:
    """A name of the configuration's globals and its value: count:2."""
    name, colon, value = text.partition(":")
    if not (name and colon):
        raise ValueError("NAME:VALUE, as in count:2")
    return name.strip().strip("<>").lstrip("$"), value.strip()


def _check_mode(given: Given) -> UsageError | None:
    """Options of one mode do not go with the other."""
    other = _CONFIG_ONLY if "-model" in given else _MINIMAL_ONLY
    misplaced = [name for name in other if name in given and not {"-model", "-config"}.isdisjoint(given)]
    if not misplaced:
        return None
    mode = "minimal mode (-model)" if "-model" in given else "config mode (-config)"
    return UsageError(f"{mode} does not have {', '.join(misplaced)}", do="leave that out")


@dataclass(frozen=True)
class MinimalMode(OptionGroup):
    """What is tried out, and how it is compared."""

    title = "Minimal mode: all quantization options, ranked"

    model: str | None = opt("-model", metavar="MODEL", help="a model, or a folder of models")
    target_arch: str = opt(
        "-target_arch",
        choices=("x86_64-linux-clang", "aarch64-android"),
        default="x86_64-linux-clang",
        help="the machine that runs the quantized models: this one, or a device (-device_id)",
    )
    backend: str | None = opt(
        "-backend",
        metavar="BACKEND",
        help="what runs the quantized models: cpu, htp (the emulator where it is installed, else the "
        "simulation), htp-sim, htp-native, or dspvNN for the NPU of that architecture; gpu has float models "
        "only, in a configuration",
    )
    preproc_file: str | None = opt(
        "-preproc_file",
        metavar="FILE",
        help="a text file with one set of raw inputs a line, in the layout of the source; they calibrate "
        "too. In config mode it replaces inputlist_file",
    )
    comparator: str = opt(
        "-comparator", choices=COMPARATOR_NAMES, default="avg", help="how outputs are compared"
    )
    tol_thresh: float | None = opt(
        "-tol_thresh",
        type=_TOLERANCE,
        metavar="TOLERANCE",
        help="the tolerance of abs and avg, relative to each element (0.001 where none is given); for topk "
        "how many classes count (1)",
    )
    act_bw: int = opt("-act_bw", choices=(8, 16), default=8, help="bits of activations")
    bias_bw: int = opt("-bias_bw", choices=(8, 32), default=8, help="bits of biases")
    box_input: str | None = opt(
        "-box_input",
        also="--box_input",
        metavar="FILE",
        help="a JSON file that names the outputs with boxes, classes and scores, for the comparator box",
    )


@dataclass(frozen=True)
class ConfigMode(OptionGroup):
    """A configuration, and what is changed in it."""

    title = "Config mode: a model configuration"

    config: str | None = opt("-config", metavar="FILE", help="the model configuration, a YAML file")
    calib_file: str | None = opt(
        "-calib_file", metavar="FILE", help="replaces the calibration file of the configuration"
    )
    inference_schema: str | None = opt(
        "-inference_schema", metavar="NAME", help="run only the inference schemas of this name"
    )
    inference_schema_tag: str | None = opt(
        "-inference_schema_tag", metavar="TAG", help="run only the inference schema with this tag"
    )
    batchsize: int | None = opt(
        "-batchsize",
        type=make_number_parser(1),
        metavar="SIZE",
        help="replaces the batch size of the configuration",
    )
    set_global: tuple[tuple[str, str], ...] = opt(
        "-set_global",
        type=parse_global,
        nargs="+",
        metavar="NAME:VALUE",
        example="-set_global count:2",
        help="gives a name of the configuration's globals another value; several may follow",
    )
    use_memory_plugins: bool = opt(
        "-use_memory_plugins", help="hand samples from plugin to plugin in memory, not through files"
    )


@dataclass(frozen=True)
class EvaluatorSettings(OptionGroup):
    """What both modes have."""

    title = "Both modes"

    input_info: tuple[tuple[str, tuple[int, ...]], ...] = opt(
        "-input_info",
        keyed=True,
        type=(str, parse_dims),
        metavar=("NAME", "DIMS"),
        example="-input_info data 1,3,224,224",
        help="the name and the shape of an input, once for each; PyTorch models need it in minimal mode",
    )
    onnx_symbol: tuple[tuple[str, int], ...] = opt(
        "-onnx_symbol",
        fills="symbols",
        type=parse_symbol,
        nargs="+",
        metavar="SYMBOL:SIZE",
        example="-onnx_symbol __unk_200:1",
        help="the size of a dimension that an ONNX model gives by a name; 1 where nothing is said",
    )
    device_id: str | None = opt(
        "-device_id",
        metavar="ID",
        help="the device of the architecture aarch64-android: its serial number in adb (the first of the "
        "list without it), or an address such as ssh://USER@HOST",
    )
    work_dir: str = opt(
        "-work_dir", default="./qacc_temp", metavar="FOLDER", help="where models, results and tables go"
    )
    silent: bool = opt("-silent", help="print nothing but errors")
    debug: bool = opt("-debug", help="say what happens to each op; show tracebacks")

    @property
    def loudness(self) -> str | None:
        """Debug with -debug, errors alone with -silent."""
        if self.debug:
            return "debug"
        return "error" if self.silent else None


_MINIMAL_ONLY = (
    "-target_arch",
    "-backend",
    "-comparator",
    "-tol_thresh",
    "-act_bw",
    "-bias_bw",
    "--box_input",
)
_CONFIG_ONLY = tuple(option.name for option in ConfigMode.options().values() if option.name != "-config")
ACCURACY_EVALUATOR: tuple[type[OptionGroup], ...] = (MinimalMode, ConfigMode, EvaluatorSettings)
ACCURACY_EVALUATOR_RULES: tuple[Rule, ...] = (
    OneRequired(("-model", "-config")),
    Check(
        lambda given: (
            UsageError(
                "options '-model' and '-config' were given together, expected one of them",
                do="leave one of them out",
            )
            if {"-model", "-config"} <= given.keys()
            else None
        )
    ),
    Needs("-model", "-backend"),
    Check(_check_mode),
)
