"""The options that the subcommands of `edgewright` share."""

from dataclasses import dataclass

from edgewright.config.converter_parts import CPP_FILE
from edgewright.config.declare import opt
from edgewright.config.device import DEVICE
from edgewright.config.group import OptionGroup
from edgewright.config.log_options import LOG_LEVEL
from edgewright.config.net_run import ENGINE
from edgewright.config.rules import Excludes, Needs
from edgewright.config.shape_options import BATCH_SIZE, INPUT_SHAPES, INPUT_VALUES, SYMBOL_SIZES
from edgewright.config.values import make_range_parser


@dataclass(frozen=True)
class OpName(OptionGroup):
    """Which op is meant."""

    title = "Op"

    name: str | None = opt("NAME", help="the name of an op as QNN spells it; all are listed without it")


@dataclass(frozen=True)
class ModelFile(OptionGroup):
    """Which model is meant."""

    title = "Model"

    model: str = opt(
        "MODEL", help="a source model (ONNX, TFLite ...), or the _net.json or DLC of a converted one"
    )


@dataclass(frozen=True)
class Shapes(OptionGroup):
    """Numbers for dimensions and inputs that a source model leaves open, or other numbers than it gives."""

    title = "Shapes and values of a source model"

    input_dims: tuple[tuple[str, tuple[int, ...]], ...] = opt("--input_dim", "-d", like=INPUT_SHAPES)
    batch: int | None = opt(also="-b", like=BATCH_SIZE, help="replace the first dimension of every input")
    define_symbols: tuple[tuple[str, int], ...] = opt("--define_symbol", "-s", like=SYMBOL_SIZES)
    input_values: tuple[tuple[str, tuple[float, ...]], ...] = opt("--input_value", like=INPUT_VALUES)
    expose_states: bool = opt(
        help="make states of recurrent layers inputs and outputs: a sequence comes in pieces, what one run "
        "leaves is given to the next"
    )


@dataclass(frozen=True)
class ConvertTo(OptionGroup):
    """Where a converted model goes."""

    title = "Output"

    output_path: str | None = CPP_FILE


def _parse_name_and_file(text: str) -> tuple[str, str]:
    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise ValueError("NAME=FILE")
    return name, file


@dataclass(frozen=True)
class RunInputs(OptionGroup):
    """What a model is run on."""

    title = "Inputs"
    rules = (
        Excludes("--input", "--input_list"),
        Excludes("--input", "--random"),
        Excludes("--input_list", "--random"),
    )

    inputs: tuple[tuple[str, str], ...] = opt(
        "--input",
        type=_parse_name_and_file,
        keyed=True,
        metavar="NAME=FILE",
        example="--input data=image.npy",
        help="the file of an input: .npy, .npz, or raw values in the model's type or float32; once for each "
        "input",
    )
    input_list: str | None = opt(
        metavar="FILE", help="a text file with one set of input files a line, as in qnn-net-run"
    )
    random: int | None = opt(
        nargs="?", const=0, metavar="[SEED]", help="random inputs: 0 to 1 for floats, 0 or 1 for integers"
    )


@dataclass(frozen=True)
class RunOutputs(OptionGroup):
    """Where a model runs, and where its outputs go."""

    title = "Run"

    backend: str = opt(
        default="cpu",
        metavar="NAME",
        help="cpu, gpu, htp, htp-sim, htp+cpu (the CPU does what HTP lacks) or auto, which says why",
    )
    engine: str = ENGINE

    output_dir: str | None = opt(
        also="-o",
        metavar="FOLDER",
        help="write the outputs there as Result_N/NAME.npy; they are only summarised otherwise",
    )
    threads: int = opt(default=0, metavar="N", help="threads to run on; 0 leaves it open")
    device: str | None = DEVICE


@dataclass(frozen=True)
class Comparison(OptionGroup):
    """The check against the source's own engine."""

    title = "Comparison"
    rules = (Needs("--tolerance", "--compare"),)

    compare: str | None = opt(
        nargs="?",
        const="",
        metavar="[FILE]",
        help="run the source model (MODEL where it is one) in its own engine (ONNX Runtime, LiteRT, "
        "TensorFlow or torch) on the same inputs and compare",
    )
    tolerance: float = opt(
        type=make_range_parser("a number, 0 or more", 0),
        default=1e-4,
        metavar="SHARE",
        help="the largest difference allowed, as a share of the output's range",
    )


@dataclass(frozen=True)
class Names(OptionGroup):
    """The names of a source."""

    title = "Names"

    names: bool = opt(
        help="list every tensor of the source: its name in a converted model, or why it is gone"
    )


@dataclass(frozen=True)
class Report(OptionGroup):
    """The form of what is printed."""

    title = "Report"

    json: bool = opt(help="print JSON in place of a table")


@dataclass(frozen=True)
class Messages(OptionGroup):
    """How much is said on the way."""

    title = "Messages"

    debug: bool = opt(help="say what happens in detail; show tracebacks")
    log_level: str | None = LOG_LEVEL

    @property
    def loudness(self) -> str | None:
        """The level of --log_level, or debug with --debug."""
        return self.log_level or ("debug" if self.debug else None)
