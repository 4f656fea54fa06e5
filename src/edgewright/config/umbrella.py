"""The options that the subcommands of `edgewright` share."""

import math
from dataclasses import dataclass

from edgewright.config.group import OptionGroup
from edgewright.config.option import opt
from edgewright.config.rules import Excludes, Needs
from edgewright.config.shape_options import batch_size, input_numbers, input_shapes, symbol_sizes
from edgewright.config.values import number_from

__all__ = [
    "Comparison",
    "ConvertTo",
    "Messages",
    "ModelFile",
    "Names",
    "OpName",
    "Report",
    "RunInputs",
    "RunOutputs",
    "Shapes",
]


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
        "MODEL",
        required=True,
        help="a source model (ONNX, TFLite ...), or the _net.json or DLC of a converted one",
    )


@dataclass(frozen=True)
class Shapes(OptionGroup):
    """Numbers for dimensions and inputs that a source model leaves open, or other numbers than it gives."""

    title = "Shapes and values of a source model"

    input_dims: tuple[tuple[str, tuple[int, ...]], ...] = input_shapes("--input_dim", "-d")
    batch: int | None = batch_size("--batch", "-b")
    define_symbols: tuple[tuple[str, int], ...] = symbol_sizes("--define_symbol", "-s")
    input_values: tuple[tuple[str, tuple[float, ...]], ...] = input_numbers("--input_value")


@dataclass(frozen=True)
class ConvertTo(OptionGroup):
    """Where a converted model goes."""

    title = "Output"

    output_path: str | None = opt(
        *("--output_path", "-o"),
        metavar="FILE",
        help="the C++ file to write, its .bin and _net.json beside it; named after the source otherwise",
    )


def _name_and_file(text: str) -> tuple[str, str]:
    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise ValueError("NAME=FILE")
    return name, file


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise ValueError("a number, 0 or more")
    return value


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
        type=_name_and_file,
        repeated=True,
        keyed=True,
        metavar="NAME=FILE",
        example="--input data=image.npy",
        help="the file of an input: .npy, .npz, or raw values in the model's type or float32; once for each "
        "input",
    )
    input_list: str | None = opt(
        "--input_list",
        metavar="FILE",
        help="a text file with one set of input files a line, as in qnn-net-run",
    )
    random: int | None = opt(
        "--random",
        nargs="?",
        const=0,
        type=number_from(0),
        metavar="[SEED]",
        help="random inputs: 0 to 1 for floats, 0 or 1 for integers",
    )


@dataclass(frozen=True)
class RunOutputs(OptionGroup):
    """Where a model runs, and where its outputs go."""

    title = "Run"

    backend: str = opt(
        "--backend",
        default="cpu",
        metavar="NAME",
        help="cpu, htp, htp-sim, htp+cpu (the CPU does what HTP lacks) or auto, which says why",
    )

    output_dir: str | None = opt(
        *("--output_dir", "-o"),
        metavar="FOLDER",
        help="write the outputs there as Result_N/NAME.npy; they are only summarised otherwise",
    )
    threads: int = opt(
        "--threads", type=number_from(0), default=0, metavar="N", help="threads to run on; 0 leaves it open"
    )


@dataclass(frozen=True)
class Comparison(OptionGroup):
    """The check against the source's own engine."""

    title = "Comparison"
    rules = (Needs("--tolerance", "--compare"),)

    compare: str | None = opt(
        "--compare",
        nargs="?",
        const="",
        metavar="[FILE]",
        help="run the source model (MODEL where it is one) in its own engine (ONNX Runtime, LiteRT, "
        "TensorFlow or torch) on the same inputs and compare",
    )
    tolerance: float = opt(
        "--tolerance",
        type=_share,
        default=1e-4,
        metavar="SHARE",
        help="the largest difference allowed, as a share of the output's range",
    )


@dataclass(frozen=True)
class Names(OptionGroup):
    """The names of a source."""

    title = "Names"

    names: bool = opt(
        "--names",
        nargs=0,
        help="list every tensor of the source: its name in a converted model, or why it is gone",
    )


@dataclass(frozen=True)
class Report(OptionGroup):
    """The form of what is printed."""

    title = "Report"

    json: bool = opt("--json", nargs=0, help="print JSON in place of a table")


@dataclass(frozen=True)
class Messages(OptionGroup):
    """How much is said on the way."""

    title = "Messages"

    debug: bool = opt("--debug", nargs=0, help="say what happens in detail; show tracebacks")
    log_level: str | None = opt(
        "--log_level",
        choices=("error", "warn", "warning", "info", "debug", "verbose"),
        help="the least grave messages to show",
    )

    @property
    def loudness(self) -> str | None:
        """The level of --log_level, or debug with --debug."""
        return self.log_level or ("debug" if self.debug else None)
